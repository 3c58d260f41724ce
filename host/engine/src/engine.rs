use std::sync::Arc;

use nacre_backend::Backend;
use nacre_domain::{Error, InferenceRequest, InferenceResponse, ModelKey, Result};
use nacre_telemetry::StatisticsReport;

use crate::{EngineOptions, IndexEntry, ModelView};

/// What is served and how: the one value that both protocols talk to.
pub struct Engine {}

impl Engine {
    /// An engine that serves nothing yet.
    ///
    /// # Errors
    /// A repository path that is missing or is no folder; threads that cannot be started.
    pub fn new(_options: EngineOptions, _backends: Vec<Arc<dyn Backend>>) -> Result<Arc<Engine>> {
        Err(Error::internal("not built yet"))
    }

    /// Loads every model of the repositories and serves what loaded. A model that fails is unavailable, with its reason
    /// in the log and in [`Engine::index`].
    pub async fn load_all(&self) {}

    /// Answers one request. Dropping the future cancels it.
    ///
    /// # Errors
    /// Not found, unavailable, invalid argument or deadline exceeded as the request deserves it, or what the model
    /// failed with.
    pub async fn infer(&self, _request: InferenceRequest) -> Result<InferenceResponse> {
        Err(Error::internal("not built yet"))
    }

    /// Whether the process works at all.
    pub fn is_live(&self) -> bool {
        true
    }

    /// Whether requests are welcome: after [`Engine::load_all`], before [`Engine::begin_shutdown`].
    pub fn is_ready(&self) -> bool {
        false
    }

    /// Not ready from now on; new requests are unavailable, those that run go on.
    pub fn begin_shutdown(&self) {}

    /// Waits until no request is running.
    pub async fn drain(&self) {}

    /// Stops every model, after [`Engine::drain`].
    pub async fn shutdown(&self) {}

    /// Whether that version (without one: any) of the model serves requests.
    pub fn model_is_ready(&self, _name: &str, _version: Option<u64>) -> bool {
        false
    }

    /// A ready version of a model; without a version, the highest that is ready.
    ///
    /// # Errors
    /// Not found if there is no such model or version, unavailable, with the reason, if it did not load.
    pub fn model(&self, _name: &str, _version: Option<u64>) -> Result<ModelView> {
        Err(Error::internal("not built yet"))
    }

    /// Every model and version that the repositories hold, by name, then version.
    pub fn index(&self) -> Vec<IndexEntry> {
        Vec::new()
    }

    /// Statistics of the ready versions: of one model, of one version, or of all.
    ///
    /// # Errors
    /// As [`Engine::model`].
    pub fn statistics(
        &self,
        _name: Option<&str>,
        _version: Option<u64>,
    ) -> Result<Vec<(ModelKey, StatisticsReport)>> {
        Err(Error::internal("not built yet"))
    }
}
