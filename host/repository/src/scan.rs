use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fs, io,
    path::{Path, PathBuf},
};

use nacre_domain::{Error, Result};

use crate::{
    files::{Files, folders_on_the_way},
    versions::{VersionName, version_name},
};

/// File beside the version folders that configures the model.
const CONFIG_FILE: &str = "config.pbtxt";

/// What the repositories hold at one moment.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Models by name.
    pub models: BTreeMap<String, ModelEntry>,
    /// Every folder in which a change of a model shows, and those in which a model may come or go.
    pub folders: BTreeSet<PathBuf>,
}

/// A model folder of a repository, as found. Nothing in it has been read but names and stamps.
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
    /// Everything in the folder.
    pub files: Files,
    /// What keeps this model from being read; the model is then unavailable with this sentence as its reason.
    pub problem: Option<String>,
}

/// Finds the models of the repositories. Symbolic links are followed; hidden folders and plain files
/// are passed over.
///
/// Blocking.
///
/// # Errors
/// Invalid argument if a repository is missing, is no folder or cannot be read. What is wrong with a single model is
/// its [`ModelEntry::problem`]: the others do not suffer from it.
pub fn scan(repositories: &[impl AsRef<Path>]) -> Result<Scan> {
    let mut scan = Scan::default();
    for repository in repositories {
        for entry in scan_repository(repository.as_ref(), &mut scan.folders)? {
            match scan.models.entry(entry.name.clone()) {
                Entry::Vacant(vacant) => {
                    vacant.insert(entry);
                }
                Entry::Occupied(mut occupied) => {
                    let first = occupied.get_mut();
                    first.problem = Some(format!(
                        "model '{}' is in two repositories ({} and {}), so it is not clear which is meant; rename or \
                         remove one",
                        first.name,
                        first.directory.display(),
                        entry.directory.display()
                    ));
                }
            }
        }
    }
    Ok(scan)
}

/// Checks that each path is a folder that can be read.
///
/// # Errors
/// Invalid argument, naming the path.
pub fn check_repositories(repositories: &[impl AsRef<Path>]) -> Result<()> {
    if repositories.is_empty() {
        return Err(Error::invalid_argument("no model repository is given"));
    }
    repositories.iter().try_for_each(|path| read_repository(path.as_ref()).map(drop))
}

fn read_repository(path: &Path) -> Result<fs::ReadDir> {
    fs::read_dir(path).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "does not exist".to_owned(),
            io::ErrorKind::NotADirectory => "is not a folder".to_owned(),
            _ => format!("cannot be read ({error})"),
        };
        Error::invalid_argument(format!("model repository {} {what}", path.display())).with_source(error)
    })
}

fn scan_repository(repository: &Path, folders: &mut BTreeSet<PathBuf>) -> Result<Vec<ModelEntry>> {
    let mut entries = Vec::new();
    folders.extend(folders_on_the_way(repository));
    for entry in read_repository(repository)? {
        let entry = entry.map_err(|error| {
            Error::invalid_argument(format!(
                "model repository {} cannot be read ({error})",
                repository.display()
            ))
            .with_source(error)
        })?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else {
            tracing::warn!(folder = %entry.path().display(), "ignoring a name that is not UTF-8");
            continue;
        };
        // Every ext4 file system has a lost+found in its root, and a volume is often mounted as a repository.
        if name.starts_with('.') || name == "lost+found" {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            folders.extend(folders_on_the_way(&entry.path()));
        }
        entries.extend(scan_model(name, entry.path(), folders));
    }
    Ok(entries)
}

/// `None` for a plain file.
fn scan_model(name: &str, directory: PathBuf, folders: &mut BTreeSet<PathBuf>) -> Option<ModelEntry> {
    let mut model = ModelEntry {
        name: name.to_owned(),
        directory,
        config_file: None,
        versions: BTreeMap::new(),
        files: Files::default(),
        problem: None,
    };
    match fs::metadata(&model.directory) {
        Ok(metadata) if metadata.is_dir() => {
            if let Err((path, error)) = read_model(&mut model, folders) {
                model.problem = Some(format!("model '{name}': {}", cannot_read(&path, &error)));
            }
        }
        Ok(_) => return None,
        Err(error) => {
            model.problem = Some(format!("model '{name}': {}", cannot_read(&model.directory, &error)))
        }
    }
    Some(model)
}

fn read_model(model: &mut ModelEntry, folders: &mut BTreeSet<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    model.files = Files::find(&model.directory, folders)?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    for entry in fs::read_dir(&model.directory).map_err(at(&model.directory))? {
        let entry = entry.map_err(at(&model.directory))?;
        let path = entry.path();
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else { continue };
        if name == CONFIG_FILE {
            model.config_file = Some(path);
            continue;
        }
        match version_name(name) {
            VersionName::Version(version) => {
                if fs::metadata(&path).map_err(at(&path))?.is_dir() {
                    model.versions.insert(version, path);
                }
            }
            VersionName::Malformed => tracing::warn!(
                model = model.name,
                folder = name,
                "ignoring a folder that is no version: versions are positive whole numbers without a leading zero"
            ),
            VersionName::Other => tracing::debug!(model = model.name, name, "not a version folder"),
        }
    }
    Ok(())
}

fn cannot_read(path: &Path, error: &io::Error) -> String {
    match fs::read_link(path) {
        Ok(target) => {
            format!("the link {} to {} cannot be followed ({error})", path.display(), target.display())
        }
        Err(_) => format!("{} cannot be read ({error})", path.display()),
    }
}
