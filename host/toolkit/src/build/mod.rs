//! `nacre plugin build`: finds the toolchain of a project's language, runs it, puts the component in its place.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::project::{Language, Project};

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

/// A compiler or a part of one is not there. The text says which one, where it was looked for, and which commands bring
/// it. Errors of [`build`] are this one, or what a compiler said, or what is wrong with the project.
#[derive(Debug)]
pub struct MissingToolchain(pub String);

impl std::fmt::Display for MissingToolchain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MissingToolchain {}

/// Builds the project in `folder`: `folder/1/plugin.wasm`, replaced at once and only if it differs.
///
/// # Errors
/// [`MissingToolchain`], or what kept it from being built; the compiler has said the rest on standard error.
pub fn build(folder: &Path, options: &BuildOptions<'_>) -> Result<BuildReport> {
    let project = Project::open(folder)?;
    (options.progress)("looking for the toolchain");
    bail!("plugins in {} cannot be built yet", project.language)
}
