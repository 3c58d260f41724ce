use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use nacre_domain::Result;

/// One model folder of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// Name of the folder, hence of the model.
    pub name: String,
    /// The folder.
    pub directory: PathBuf,
    /// Its config.pbtxt, if there is one.
    pub config_file: Option<PathBuf>,
    /// Version folders by version.
    pub versions: BTreeMap<u64, PathBuf>,
    /// What keeps this model from being read; the model is then unavailable with this sentence as its reason.
    pub problem: Option<String>,
}

/// Models of the repositories, by name.
///
/// # Errors
/// Invalid argument if a repository is missing or is no folder. What is wrong with a single model is its
/// [`ModelEntry::problem`].
pub fn scan(_repositories: &[impl AsRef<Path>]) -> Result<Vec<ModelEntry>> {
    Ok(Vec::new())
}
