//! JavaScript and TypeScript: esbuild makes one module of all, componentize-qjs a component with the engine QuickJS.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::{
    Built, run,
    tools::{MissingToolchain, named, node_modules, on_path},
};
use crate::project::{Language, Project, embedded};

pub fn build(project: &Project, scratch: &Path, progress: &dyn Fn(&str)) -> Result<Built> {
    progress("looking for Node.js and its packages");
    let node = named("NACRE_NODE").or_else(|| on_path("node")).ok_or_else(no_node)?;
    let version = run::first_line(Command::new(&node).arg("--version")).ok_or_else(no_node)?;
    let mut packages = vec!["componentize-qjs", "esbuild"];
    if project.language == Language::TypeScript {
        packages.push("typescript");
    }
    let modules = node_modules(&packages, &project.folder).ok_or_else(|| no_packages(project, &packages))?;
    let sdk = project.folder.join(embedded::SDK);
    let component = scratch.join("plugin.wasm");
    let source = project.sources.first().map(|source| project.folder.join(source)).unwrap_or_default();
    progress("bundling the modules and putting an engine around them");
    let mut command = Command::new(&node);
    command.current_dir(&project.folder).arg(sdk.join("plugins/sdk/javascript/build.mjs"));
    command.arg(&modules).arg(&sdk).arg(&source).arg(&component);
    run::shown(&mut command, "the build of the JavaScript")?;
    Ok(Built {
        component: fs::read(&component).with_context(|| format!("cannot read {}", component.display()))?,
        toolchain: format!("node {version}, componentize-qjs {}", version_of(&modules, "componentize-qjs")),
    })
}

/// The version that a package says it is.
fn version_of(modules: &Path, package: &str) -> String {
    let text = fs::read(modules.join(package).join("package.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    manifest.get("version").and_then(|version| version.as_str()).unwrap_or("of an unknown version").to_owned()
}

fn no_node() -> MissingToolchain {
    MissingToolchain(
        "plugins in JavaScript and TypeScript are built with Node.js 20 or later, which is not there: looked for \
         NACRE_NODE and node on the PATH. To install it:\n\n  sudo apt-get install nodejs npm     (Fedora: dnf install \
         nodejs)"
            .to_owned(),
    )
}

fn no_packages(project: &Project, packages: &[&str]) -> MissingToolchain {
    let folder = project.folder.display();
    MissingToolchain(format!(
        "the packages {} are not installed: looked for them in NACRE_NODE_MODULES and in node_modules in {folder} and in \
         the folders above it. The plugin's package.json names them; to install them (20 MB to download, 80 MB on \
         disk):\n\n  npm install --prefix {folder}",
        packages.join(", ")
    ))
}
