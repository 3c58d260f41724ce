use std::{collections::BTreeMap, sync::Arc};

use nacre_config::ModelConfig;
use nacre_domain::ModelKey;
use nacre_telemetry::ModelStatistics;

use crate::{labels::Labels, servable::RunningQueue};

/// What a model of the repository is by itself, before it is linked with those that it needs. Kept by the lifecycle from
/// one publication to the next, so that a change of one model loads no other.
#[derive(Clone)]
pub(crate) enum Known {
    /// The model as a whole cannot be served, and why.
    Broken(String),
    /// Versions that a backend loaded, or the reason why one did not load.
    Loaded(BTreeMap<u64, Result<Arc<LoadedVersion>, String>>),
    /// An ensemble.
    Ensemble(Arc<KnownEnsemble>),
}

/// A version whose instances run.
pub(crate) struct LoadedVersion {
    pub(crate) key: ModelKey,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) labels: Labels,
    pub(crate) statistics: Arc<ModelStatistics>,
    pub(crate) queue: Arc<RunningQueue>,
    /// Names of the models that it may call.
    pub(crate) calls: Vec<String>,
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
        match self {
            Known::Broken(_) => Vec::new(),
            Known::Ensemble(ensemble) => {
                ensemble.config.ensemble_steps.iter().map(|step| step.model.clone()).collect()
            }
            Known::Loaded(versions) => {
                versions.values().flatten().flat_map(|version| version.calls.iter().cloned()).collect()
            }
        }
    }
}
