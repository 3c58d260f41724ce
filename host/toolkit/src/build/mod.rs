//! `nacre plugin build`: finds the toolchain of a project's language, runs it, puts the component in its place.

mod component;
mod javascript;
mod python;
mod run;
mod rust;
mod tools;
pub mod versions;
mod zig;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::project::{Language, Project, embedded};

pub use tools::MissingToolchain;

/// How a project is built.
pub struct BuildOptions<'a> {
    /// Told of each step as it begins: one short line. What compilers say goes to standard error as they say it.
    pub progress: &'a dyn Fn(&str),
}

/// What was built.
#[derive(Debug, Serialize)]
pub struct BuildReport {
    /// Name of the plugin.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// The component.
    pub component: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Whether it differs from the one that was there. One that does not is left alone, so that no server reloads it.
    pub changed: bool,
    /// How long it took.
    pub seconds: f64,
    /// The compiler, with its version where it tells one.
    pub toolchain: String,
}

/// What a language's build leaves: the component, and the compiler that made it.
struct Built {
    component: Vec<u8>,
    toolchain: String,
}

/// Builds the project in `folder`: `folder/1/plugin.wasm`, replaced at once and only if it differs.
///
/// # Errors
/// [`MissingToolchain`], or what kept it from being built; the compiler has said the rest on standard error.
pub fn build(folder: &Path, options: &BuildOptions<'_>) -> Result<BuildReport> {
    let started = Instant::now();
    let mut project = Project::open(folder)?;
    // Compilers are run in the project's folder, and would take a relative path for one from there.
    project.folder =
        folder.canonicalize().with_context(|| format!("cannot find the folder {}", folder.display()))?;
    project.check_sources()?;
    embedded::write_sdk(&project.folder, project.language)?;
    let scratch = project.folder.join(embedded::SDK).join(embedded::SCRATCH);
    fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let built = match project.language {
        Language::Rust => rust::build(&project, options.progress),
        Language::C | Language::Cpp | Language::Zig => zig::build(&project, &scratch, options.progress),
        Language::Python => python::build(&project, &scratch, options.progress),
        Language::JavaScript | Language::TypeScript => {
            javascript::build(&project, &scratch, options.progress)
        }
    }?;
    let component = folder.join("1").join("plugin.wasm");
    let changed = publish(&component, &built.component)?;
    Ok(BuildReport {
        name: project.name,
        language: project.language,
        component,
        bytes: built.component.len() as u64,
        changed,
        seconds: started.elapsed().as_secs_f64(),
        toolchain: built.toolchain,
    })
}

/// Puts a component in its place at once, unless it is there already. A server never sees a part of it.
fn publish(place: &Path, component: &[u8]) -> Result<bool> {
    if fs::read(place).is_ok_and(|old| old == component) {
        return Ok(false);
    }
    // Beside the version's folder: one that holds only a half-written file would be a version to a server.
    let model = place.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let new = model.join(embedded::SDK).join(embedded::SCRATCH).join("plugin.wasm.new");
    fs::write(&new, component).with_context(|| format!("cannot write {}", new.display()))?;
    if let Some(version) = place.parent() {
        fs::create_dir_all(version).with_context(|| format!("cannot make {}", version.display()))?;
    }
    fs::rename(&new, place).with_context(|| format!("cannot write {}", place.display()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_has_not_changed_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".nacre/build")).unwrap();
        let place = folder.path().join("1/plugin.wasm");
        assert!(publish(&place, b"one").unwrap());
        assert!(!publish(&place, b"one").unwrap());
        assert!(publish(&place, b"two").unwrap());
        assert_eq!(fs::read(&place).unwrap(), b"two");
    }
}
