use std::sync::Arc;

use nacre_backend::LoadedModel;
use nacre_domain::{Error, InferenceRequest, ModelKey, Parameters, Result, Tensor};
use nacre_telemetry::{ModelStatistics, RequestTiming};

use crate::PluginThreads;

/// What a model answered.
#[derive(Clone, Debug)]
pub struct Completion {
    /// Every output of the model, in the order of its configuration, whatever the request asked for.
    pub outputs: Vec<Tensor>,
    /// Parameters of the response.
    pub parameters: Parameters,
    /// Where the time went.
    pub timing: RequestTiming,
}

/// The queue of one served version.
pub struct ModelQueue {}

impl ModelQueue {
    /// Starts the instances. Blocking.
    ///
    /// # Errors
    /// An instance could not be made.
    pub fn start(
        _key: ModelKey,
        _model: &LoadedModel,
        _statistics: Arc<ModelStatistics>,
        _threads: &PluginThreads,
    ) -> Result<ModelQueue> {
        Err(Error::internal("not there yet"))
    }

    /// Runs one validated request.
    ///
    /// # Errors
    /// The queue is full, or whatever the model failed with.
    pub async fn submit(&self, _request: InferenceRequest) -> Result<Completion> {
        Err(Error::internal("not there yet"))
    }

    /// Waits until nothing is queued or running.
    pub async fn drain(&self) {}

    /// Blocking: joins the workers.
    pub fn stop(&self) {}
}
