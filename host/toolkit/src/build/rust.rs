//! Rust: cargo for wasm32-wasip2, whose linker makes a component by itself.

use std::{fs, path::Path, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{
    Built, run,
    tools::{MissingToolchain, named, on_path, short},
};
use crate::project::Project;

const TARGET: &str = "wasm32-wasip2";

/// What cargo says of something that it made; other messages have other fields.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

pub fn build(project: &Project, progress: &dyn Fn(&str)) -> Result<Built> {
    progress("looking for cargo and its WebAssembly target");
    let cargo = named("NACRE_CARGO").or_else(|| on_path("cargo")).ok_or_else(no_cargo)?;
    check_target(&project.folder)?;
    progress("compiling with cargo");
    let mut command = Command::new(&cargo);
    command.current_dir(&project.folder).args(["build", "--release", "--target", TARGET]);
    command.arg("--message-format=json-render-diagnostics");
    let said = run::output_of(&mut command, "cargo")?;
    let component = artifact(&said, &project.folder.join("Cargo.toml"))?;
    Ok(Built {
        component: fs::read(&component).with_context(|| format!("cannot read {}", component.display()))?,
        toolchain: run::first_line(Command::new(&cargo).current_dir(&project.folder).arg("--version"))
            .unwrap_or_else(|| "cargo".to_owned()),
    })
}

/// The .wasm that cargo made of the project's own package.
fn artifact(said: &str, manifest: &Path) -> Result<PathBuf> {
    let mut files = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|artifact| artifact.reason == "compiler-artifact" && artifact.manifest_path == manifest)
        .flat_map(|artifact| artifact.filenames)
        .filter(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    match files.next_back() {
        Some(file) => Ok(file),
        None => bail!(
            "cargo made no component of {}: a plugin is a library of `crate-type = [\"cdylib\"]`",
            short(manifest)
        ),
    }
}

/// Whether rustc has a standard library for the target.
fn check_target(folder: &Path) -> Result<()> {
    let rustc = named("RUSTC").unwrap_or_else(|| PathBuf::from("rustc"));
    let mut command = Command::new(&rustc);
    command.current_dir(folder).args(["--print", "target-libdir", "--target", TARGET]);
    let Some(library) = run::first_line(&mut command) else { return Err(no_cargo().into()) };
    if Path::new(&library).is_dir() {
        return Ok(());
    }
    Err(MissingToolchain(format!(
        "Rust's standard library for {TARGET} is not installed (there is no {library}). To install it (4 seconds):\n\n  \
         rustup target add {TARGET}\n\nWhere rustup cannot fetch it, and on Debian, the repository of Nacre has \
         scripts/setup/debian_wasm_toolchain.sh, which builds it from Debian's packages; Fedora has the package \
         rust-std-static-{TARGET}."
    ))
    .into())
}

fn no_cargo() -> MissingToolchain {
    MissingToolchain(format!(
        "plugins in Rust are built by cargo, which is not there: looked for NACRE_CARGO and cargo on the PATH. To \
         install it:\n\n  sudo apt-get install rustup     (Debian 13, Ubuntu 24.04 or later; Fedora: dnf install \
         rustup)\n  rustup default stable\n  rustup target add {TARGET}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_that_of_the_project_and_not_of_a_package_that_it_uses() {
        let said = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/x/dep/Cargo.toml","filenames":["/x/dep.wasm"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/x/Cargo.toml","filenames":["/x/p.rlib","/x/p.wasm"]}"#,
            "\nwords\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(artifact(said, Path::new("/x/Cargo.toml")).unwrap(), Path::new("/x/p.wasm"));
        let error = artifact("", Path::new("/x/Cargo.toml")).unwrap_err();
        assert!(error.to_string().contains("cdylib"), "{error}");
    }
}
