use std::{
    io, panic,
    path::{Component, Path, PathBuf},
    sync::Arc,
    thread,
};

use nacre_backend::{Backend, LoadedModel, ModelSource};
use nacre_domain::{Error, Result};
use nacre_repository::{Contents, Files};
use nacre_scheduler::{InFlight, ModelQueue, PluginThreads};
use nacre_telemetry::ModelStatistics;
use tokio::runtime::Handle;

use super::known::{LoadedVersion, Origin};
use crate::{labels::read_labels, servable::RunningQueue};

/// How often a version is read again because its files changed meanwhile, before that is its error.
const READS: usize = 5;

/// One version to load.
pub(crate) struct LoadJob {
    pub(crate) source: ModelSource,
    pub(crate) backend: Arc<dyn Backend>,
}

/// Loads a version and starts its instances. Blocking.
///
/// # Errors
/// Why it cannot be served.
pub(crate) fn load(
    job: LoadJob,
    threads: &PluginThreads,
    queues: &InFlight,
    runtime: Handle,
) -> Result<LoadedVersion> {
    let LoadJob { source, backend } = job;
    let (model, contents) = read(&source, backend.as_ref())?;
    let config = model.config.clone();
    for (what, missing) in [("inputs", config.inputs.is_empty()), ("outputs", config.outputs.is_empty())] {
        if missing {
            return Err(Error::invalid_argument(format!(
                "neither config.pbtxt nor the model itself says what its {what} are; name them in config.pbtxt"
            )));
        }
    }
    let labels = read_labels(&config, &source.directory);
    let statistics = ModelStatistics::new(&source.key);
    let queue = ModelQueue::start(source.key.clone(), &model, statistics.clone(), threads)?;
    let queue = Arc::new(RunningQueue::new(queue, runtime, queues));
    let origin = Origin { config: source.config, contents };
    Ok(LoadedVersion { key: source.key, config, labels, statistics, queue, calls: model.calls, origin })
}

/// Loads the model and digests its files meanwhile; again if they changed before both had ended.
fn read(source: &ModelSource, backend: &dyn Backend) -> Result<(LoadedModel, Contents)> {
    for _ in 0..READS {
        if let Some(file) = &source.file {
            check_file(file)?;
        }
        let files = files_of(source, backend)?;
        let (model, contents) = thread::scope(|scope| {
            let digesting = scope.spawn(|| files.contents(&source.directory, None));
            let model = backend.load(source);
            (model, digesting.join().unwrap_or_else(|payload| panic::resume_unwind(payload)))
        });
        if files_of(source, backend)? == files {
            return Ok((model?, contents.map_err(cannot_read)?));
        }
        tracing::debug!(
            model = source.key.name,
            "its files changed while they were read: reading them again"
        );
    }
    Err(Error::unavailable("its files changed again and again while they were read".to_owned()))
}

/// Files that a version is made of, config.pbtxt aside.
///
/// # Errors
/// A folder cannot be read.
fn files_of(source: &ModelSource, backend: &dyn Backend) -> Result<Files> {
    let all = Files::find(&source.directory, &mut Default::default()).map_err(cannot_read)?;
    Ok(part_of(&all, source, backend))
}

/// Of the files in a model's folder those that a version is made of, config.pbtxt aside.
pub(crate) fn part_of(all: &Files, source: &ModelSource, backend: &dyn Backend) -> Files {
    let own = source.key.version.to_string();
    all.filter(|path| {
        let mut components = path.components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(first)), Some(_)) if is_version(Path::new(first)) => {
                first == own.as_str()
            }
            (Some(Component::Normal(first)), None) if first == "config.pbtxt" => false,
            _ => backend.reads_model_folder(),
        }
    })
}

fn is_version(name: &Path) -> bool {
    name.to_str().is_some_and(|name| name.parse::<u64>().is_ok())
}

fn cannot_read((path, error): (PathBuf, io::Error)) -> Error {
    Error::invalid_argument(format!("{} cannot be read ({error})", path.display())).with_source(error)
}

fn check_file(file: &Path) -> Result<()> {
    if file.is_file() {
        return Ok(());
    }
    if file.exists() {
        return Err(Error::invalid_argument(format!("{} is not a regular file", file.display())));
    }
    Err(Error::invalid_argument(format!(
        "there is no {}; another name can be given as default_model_filename in config.pbtxt",
        file.display()
    )))
}
