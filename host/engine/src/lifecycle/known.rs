use std::{collections::BTreeMap, path::Path, sync::Arc};

use nacre_config::ModelConfig;
use nacre_domain::ModelKey;
use nacre_repository::{Contents, Files, ModelEntry};
use nacre_telemetry::ModelStatistics;

use crate::{labels::Labels, servable::RunningQueue};

/// What the lifecycle keeps of a model of the repository from one publication to the next, so that a change of one model
/// loads no other.
#[derive(Clone)]
pub(crate) struct Known {
    /// Its folder when it was last looked at.
    pub(crate) entry: ModelEntry,
    /// What it is by itself, before it is linked with those that it needs.
    pub(crate) model: Model,
    /// Why its files of now cannot be served as a whole; `model` is then of those before.
    pub(crate) failure: Option<String>,
}

/// What a model is by itself.
#[derive(Clone)]
pub(crate) enum Model {
    /// Nothing of it has ever loaded, or it was unloaded.
    Nothing,
    /// Versions that a backend loads.
    Loaded(BTreeMap<u64, KnownVersion>),
    /// An ensemble.
    Ensemble(Arc<KnownEnsemble>),
}

/// A version that a backend loads.
#[derive(Clone, Default)]
pub(crate) struct KnownVersion {
    /// The newest of it that loaded.
    pub(crate) loaded: Option<Arc<LoadedVersion>>,
    /// Why its files of now do not load.
    pub(crate) failure: Option<String>,
}

/// A version whose instances run.
#[derive(Clone)]
pub(crate) struct LoadedVersion {
    pub(crate) key: ModelKey,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) labels: Labels,
    pub(crate) statistics: Arc<ModelStatistics>,
    pub(crate) queue: Arc<RunningQueue>,
    /// Names of the models that it may call.
    pub(crate) calls: Vec<String>,
    /// What it was loaded from.
    pub(crate) origin: Origin,
}

/// What a version was loaded from: as long as it stays the same, there is no reason to load it again.
#[derive(Clone)]
pub(crate) struct Origin {
    /// The configuration as it was read, before the backend completed it.
    pub(crate) config: Arc<ModelConfig>,
    /// The files that the backend reads.
    pub(crate) contents: Contents,
}

impl Origin {
    /// This origin, with the stamps of now, if the configuration says the same (but for the version policy, which is about
    /// other versions) and the files hold the same. Blocking: reads files whose stamps have changed.
    pub(crate) fn unchanged(&self, config: &ModelConfig, directory: &Path, files: &Files) -> Option<Origin> {
        let message = |config: &ModelConfig| {
            let mut message = config.message.clone();
            message.clear_field_by_name("version_policy");
            message
        };
        if message(&self.config) != message(config) {
            return None;
        }
        if self.contents.files() == files {
            return Some(self.clone());
        }
        let contents = files.contents(directory, Some(&self.contents)).ok()?;
        let same = contents.same(&self.contents);
        same.then(|| Origin { config: self.config.clone(), contents })
    }
}

/// An ensemble whose steps are not looked up.
pub(crate) struct KnownEnsemble {
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) labels: Labels,
    /// Its versions with their statistics, which outlive each link, or the reason why one cannot be.
    pub(crate) versions: BTreeMap<u64, Result<Arc<ModelStatistics>, String>>,
}

impl Known {
    /// Names of the models that it cannot be served without; empty for most.
    pub(crate) fn needs(&self) -> Vec<String> {
        match &self.model {
            Model::Nothing => Vec::new(),
            Model::Ensemble(ensemble) => {
                ensemble.config.ensemble_steps.iter().map(|step| step.model.clone()).collect()
            }
            Model::Loaded(versions) => {
                let loaded = versions.values().filter_map(|version| version.loaded.as_ref());
                loaded.flat_map(|version| version.calls.iter().cloned()).collect()
            }
        }
    }

    /// Why something of its files does not load.
    pub(crate) fn any_failure(&self) -> Option<String> {
        let of_versions = match &self.model {
            Model::Loaded(versions) => versions.values().find_map(|version| version.failure.clone()),
            Model::Nothing | Model::Ensemble(_) => None,
        };
        self.failure.clone().or(of_versions)
    }

    /// The newest of a version that loaded.
    pub(crate) fn loaded(&self, version: u64) -> Option<&Arc<LoadedVersion>> {
        match &self.model {
            Model::Loaded(versions) => versions.get(&version)?.loaded.as_ref(),
            Model::Nothing | Model::Ensemble(_) => None,
        }
    }
}
