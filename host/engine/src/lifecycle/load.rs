use std::{path::Path, sync::Arc};

use nacre_backend::{Backend, ModelSource};
use nacre_domain::{Error, Result};
use nacre_scheduler::{InFlight, ModelQueue, PluginThreads};
use nacre_telemetry::ModelStatistics;
use tokio::runtime::Handle;

use super::known::LoadedVersion;
use crate::{labels::read_labels, servable::RunningQueue};

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
    if let Some(file) = &source.file {
        check_file(file)?;
    }
    let model = backend.load(&source)?;
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
    Ok(LoadedVersion { key: source.key, config, labels, statistics, queue, calls: model.calls })
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
