//! Python: componentize-py, which puts an interpreter and the modules into one component.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{
    Built, run,
    tools::{MissingToolchain, on_path, pythons},
    versions,
};
use crate::project::{Project, embedded};

/// Folder of a project into which `pip install --target` puts packages.
const PACKAGES: &str = "packages";

pub fn build(project: &Project, scratch: &Path, progress: &dyn Fn(&str)) -> Result<Built> {
    progress("looking for componentize-py");
    let compiler = find(project)?;
    let toolchain =
        run::first_line(Command::new(&compiler).arg("--version")).ok_or_else(|| missing(project))?;
    let sdk = project.folder.join(embedded::SDK);
    let module = scratch.join("plugin.wasm");
    let sources = entry_folder(project);
    // It would take packages from the environment that is active or, without one, from the system's Python; native
    // ones among them make it fail. A plugin's packages are those that lie beside it.
    let environment = scratch.join("environment");
    let empty = environment.join("lib/python3/site-packages");
    fs::create_dir_all(&empty).with_context(|| format!("cannot make {}", empty.display()))?;
    let mut command = Command::new(&compiler);
    command.current_dir(&project.folder).env("VIRTUAL_ENV", &environment);
    command.arg("-q").arg("-d").arg(sdk.join("wit")).args(["-w", "plugin", "componentize"]);
    command.arg("-p").arg(sdk.join("plugins/sdk/python")).arg("-p").arg(sources);
    let packages = project.folder.join(PACKAGES);
    if packages.is_dir() {
        command.arg("-p").arg(packages);
    }
    command.args(["nacre_main", "-o"]).arg(&module);
    progress("putting Python and the plugin into a component (about ten seconds)");
    run::quiet(&mut command, "componentize-py")?;
    let component = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    Ok(Built { component, toolchain })
}

/// The folder of plugin.py.
fn entry_folder(project: &Project) -> PathBuf {
    let source = project.sources.first().map(|source| project.folder.join(source)).unwrap_or_default();
    source.parent().map_or_else(|| project.folder.clone(), Path::to_owned)
}

fn find(project: &Project) -> Result<PathBuf, MissingToolchain> {
    let name = "componentize-py";
    let beside = |python: PathBuf| python.parent().map(|folder| folder.join(name));
    let mut found =
        pythons(&project.folder).into_iter().filter_map(beside).filter(|program| program.is_file());
    found.next().or_else(|| on_path(name)).ok_or_else(|| missing(project))
}

fn missing(project: &Project) -> MissingToolchain {
    let folder = project.folder.display();
    MissingToolchain(format!(
        "plugins in Python are built by componentize-py, which is not there: looked beside NACRE_PYTHON, in .venv in \
         {folder} and in the folders above it, in the active environment and on the PATH. To install it beside the \
         plugin (17 MB to download, 46 MB on disk):\n\n  cd {folder}\n  python3 -m venv .venv\n  .venv/bin/pip install \
         componentize-py=={}",
        versions::COMPONENTIZE_PY
    ))
}
