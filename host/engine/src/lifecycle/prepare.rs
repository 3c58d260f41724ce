use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc};

use nacre_backend::{Backend, ModelSource};
use nacre_config::ModelConfig;
use nacre_domain::ModelKey;
use nacre_repository::{ChosenVersions, ModelEntry, choose_versions};

use crate::labels::{Labels, read_labels};

/// Backend name of ensembles, which no backend runs.
const ENSEMBLE: &str = "ensemble";

/// Everything that is known of a model before it is loaded.
pub(crate) struct Prepared {
    pub(crate) config: Arc<ModelConfig>,
    /// Versions to load.
    pub(crate) versions: Vec<ModelSource>,
    /// Versions that the version policy asks for in vain, and the reason.
    pub(crate) missing: BTreeMap<u64, String>,
    /// Who loads them; `None` for an ensemble.
    pub(crate) backend: Option<Arc<dyn Backend>>,
    /// An ensemble's own labels; those of other models are read when they load.
    pub(crate) labels: Labels,
}

/// Reads and validates a model's configuration, finds its backend and applies its version policy. Blocking.
///
/// # Errors
/// Why the model as a whole cannot be served.
pub(crate) fn prepare(entry: &ModelEntry, backends: &[Arc<dyn Backend>]) -> Result<Prepared, String> {
    if let Some(problem) = &entry.problem {
        return Err(problem.clone());
    }
    let config = Arc::new(read_config(entry, backends)?);
    let backend = match config.backend.as_str() {
        ENSEMBLE => None,
        name => Some(find_backend(name, backends)?),
    };
    let filename = backend.as_ref().and_then(|backend| {
        let default = backend.default_filename()?;
        Some(config.default_model_filename.clone().unwrap_or_else(|| default.to_owned()))
    });
    let mut folders = entry.versions.clone();
    if folders.is_empty() {
        if let Some(filename) = &filename {
            return Err(format!(
                "it has no version folder: {} is where its file belongs",
                entry.directory.join("1").join(filename).display()
            ));
        }
        // Version control does not keep empty folders, and there is nothing to put into this one.
        folders.insert(1, entry.directory.join("1"));
    }
    let ChosenVersions { served, missing } = choose_versions(&config.version_policy, folders.keys().copied());
    let source = |(version, folder): (u64, PathBuf)| ModelSource {
        config: config.clone(),
        key: ModelKey { name: entry.name.clone(), version },
        directory: entry.directory.clone(),
        file: filename.as_ref().map(|name| folder.join(name)),
        version_directory: folder,
    };
    let versions =
        folders.into_iter().filter(|(version, _)| served.contains(version)).map(source).collect::<Vec<_>>();
    let missing: BTreeMap<u64, String> = missing
        .into_iter()
        .map(|version| {
            let folder = entry.directory.join(version.to_string());
            (
                version,
                format!(
                    "version_policy names version {version}, but there is no folder {}",
                    folder.display()
                ),
            )
        })
        .collect();
    if versions.is_empty() && missing.is_empty() {
        return Err("its version_policy serves none of its versions".to_owned());
    }
    let labels = if backend.is_none() { read_labels(&config, &entry.directory) } else { Labels::new() };
    Ok(Prepared { config, versions, missing, backend, labels })
}

fn read_config(entry: &ModelEntry, backends: &[Arc<dyn Backend>]) -> Result<ModelConfig, String> {
    let Some(file) = &entry.config_file else {
        let backend = guess_backend(entry, backends)?;
        return Ok(nacre_config::without_file(&entry.name, backend));
    };
    let cannot_read = |error| format!("{} cannot be read ({error})", file.display());
    // Reading a pipe or a device may never end.
    if !fs::metadata(file).map_err(cannot_read)?.is_file() {
        return Err(format!("{} is not a regular file", file.display()));
    }
    let text = fs::read_to_string(file).map_err(cannot_read)?;
    let guessed = guess_backend(entry, backends).ok();
    let parsed = nacre_config::parse_with_backend(&entry.name, file, &text, guessed)
        .map_err(|diagnostics| diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    for warning in &parsed.warnings {
        tracing::warn!(model = entry.name, "{warning}");
    }
    Ok(parsed.config)
}

/// The backend whose usual file lies in a version folder.
fn guess_backend<'a>(entry: &ModelEntry, backends: &'a [Arc<dyn Backend>]) -> Result<&'a str, String> {
    let with_file =
        backends.iter().filter_map(|backend| Some((*backend.names().first()?, backend.default_filename()?)));
    let with_file: Vec<(&str, &str)> = with_file.collect();
    let found: Vec<(&str, &str)> = with_file
        .iter()
        .filter(|(_, file)| entry.versions.values().any(|folder| folder.join(file).exists()))
        .copied()
        .collect();
    let describe = |files: &[(&str, &str)]| {
        files.iter().map(|(backend, file)| format!("{file} ({backend})")).collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [(backend, _)] => Ok(backend),
        [] => Err(format!(
            "it has no config.pbtxt, and its backend cannot be guessed: no version folder of {} has {}",
            entry.directory.display(),
            describe(&with_file)
        )),
        several => Err(format!(
            "it has no config.pbtxt, and its backend cannot be guessed: its version folders have {}",
            describe(several)
        )),
    }
}

fn find_backend(name: &str, backends: &[Arc<dyn Backend>]) -> Result<Arc<dyn Backend>, String> {
    backends.iter().find(|backend| backend.names().contains(&name)).cloned().ok_or_else(|| {
        let known = backends.iter().filter_map(|backend| backend.names().first().copied());
        let known: Vec<String> = known.chain([ENSEMBLE]).map(|name| format!("'{name}'")).collect();
        format!(
            "backend '{name}' is not part of this server, which has {}; pre- and post-processing belongs in a plugin \
             (backend: \"wasm\"), a network in a TorchScript file (backend: \"pytorch\")",
            known.join(", ")
        )
    })
}
