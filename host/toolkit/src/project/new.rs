use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;

use super::Language;

/// What `nacre plugin new` was asked for.
#[derive(Debug)]
pub struct NewOptions {
    /// Name of the plugin, of its folder and of the model.
    pub name: String,
    /// What it is to be written in.
    pub language: Language,
    /// The folder in which its folder is made; one that serves as a model repository, say.
    pub parent: PathBuf,
}

/// What was made.
#[derive(Debug, Serialize)]
pub struct NewReport {
    /// Name of the plugin.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// Its folder.
    pub folder: PathBuf,
    /// Files in it, relative to it; without those of `.nacre`.
    pub files: Vec<PathBuf>,
    /// Commands to go on with, from the current folder, in order.
    pub next: Vec<String>,
}

/// Makes the folder of a new plugin from its language's template.
///
/// # Errors
/// If the name cannot be a model's, if the folder is there already, or if it cannot be written.
pub fn new(options: &NewOptions) -> Result<NewReport> {
    bail!("plugins in {} cannot be made yet", options.language)
}
