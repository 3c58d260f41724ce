use std::sync::Arc;

use nacre_backend::{Executor, LoadedModel, ModelCalls};
use nacre_config::ModelConfig;
use nacre_domain::{Error, InferenceRequest, ModelKey, Parameters, Result, Tensor};
use nacre_telemetry::{ModelStatistics, RequestTiming};

use crate::{PluginThreads, batched::BatchedQueue, element::ElementQueue, in_flight::InFlight};

/// Requests of one version that may wait where its configuration names no `max_queue_size`. (Triton's default is no
/// bound; a queue that nobody bounds answers overload with memory running out.)
const DEFAULT_MAX_QUEUE_SIZE: usize = 1024;

/// What a model answered.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The model's outputs in the order of its configuration: from a batched model all of them, from a per-element one
    /// at least those that were asked for.
    pub outputs: Vec<Tensor>,
    /// Parameters of the response.
    pub parameters: Parameters,
    /// Where the time went.
    pub timing: RequestTiming,
}

/// Runs the requests of one served version.
///
/// Lives as long as the version is served. [`ModelQueue::drain`], then [`ModelQueue::stop`] end it in order; dropping
/// it alone ends it too, without waiting for its threads.
pub struct ModelQueue {
    key: ModelKey,
    max_batch_size: usize,
    path: Path,
    in_flight: InFlight,
}

/// Either way that models run.
enum Path {
    Batched(BatchedQueue),
    PerElement(ElementQueue),
}

/// What both ways have to know of the model.
pub(crate) struct Served {
    pub(crate) key: ModelKey,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) statistics: Arc<ModelStatistics>,
    pub(crate) in_flight: InFlight,
}

impl Served {
    /// Most requests that wait.
    pub(crate) fn max_queue_size(&self) -> usize {
        let configured = self.config.dynamic_batching.as_ref().and_then(|batching| batching.max_queue_size);
        configured.and_then(|n| usize::try_from(n).ok()).unwrap_or(DEFAULT_MAX_QUEUE_SIZE).max(1)
    }

    pub(crate) fn queue_is_full(&self) -> Error {
        Error::unavailable(format!(
            "model '{}' has {} requests waiting, as many as its queue holds: send fewer at once, or raise \
             dynamic_batching.default_queue_policy.max_queue_size in its config.pbtxt",
            self.key.name,
            self.max_queue_size()
        ))
    }

    pub(crate) fn is_stopped(&self) -> Error {
        Error::unavailable(format!(
            "model '{}' version {} is being unloaded",
            self.key.name, self.key.version
        ))
    }

    pub(crate) fn expired(&self) -> Error {
        Error::deadline_exceeded(format!(
            "model '{}': the request's time ran out before its execution was over",
            self.key.name
        ))
    }
}

impl ModelQueue {
    /// Makes the model's instances, each on a thread of its own, and waits for them; a per-element model needs none.
    /// Blocking and slow: to be called off the reactor.
    ///
    /// # Errors
    /// An instance cannot be made, or its thread not started; those already made are gone again.
    pub fn start(
        key: ModelKey,
        model: &LoadedModel,
        statistics: Arc<ModelStatistics>,
        threads: &PluginThreads,
    ) -> Result<ModelQueue> {
        let in_flight = InFlight::default();
        let config = Arc::clone(&model.config);
        let max_batch_size = usize::try_from(config.max_batch_size).unwrap_or(usize::MAX);
        let served = Served { key: key.clone(), config, statistics, in_flight: in_flight.clone() };
        let path = match &model.executor {
            Executor::Batched(model) => Path::Batched(BatchedQueue::start(served, Arc::clone(model))?),
            Executor::PerElement(model) => {
                Path::PerElement(ElementQueue::new(served, Arc::clone(model), threads.handle().clone()))
            }
        };
        Ok(ModelQueue { key, max_batch_size, path, in_flight })
    }

    /// [`ModelQueue::submit_with`] for a model that calls no others.
    ///
    /// # Errors
    /// The same.
    pub async fn submit(&self, request: InferenceRequest) -> Result<Completion> {
        self.submit_with(request, None).await
    }

    /// Runs one request, which has been validated against the configuration; `models` are those that a per-element model
    /// may call meanwhile. Needs a tokio runtime with time.
    ///
    /// Never waits for room in the queue. Dropping the future cancels: a request that waits leaves the queue, elements
    /// that run are interrupted, and a batch that runs goes on for the others in it.
    ///
    /// # Errors
    /// Unavailable if the queue is full, the model stopped or its instances lost; deadline exceeded; invalid argument
    /// for a batch of no rows; or what the model failed with.
    pub async fn submit_with(
        &self,
        request: InferenceRequest,
        models: Option<&Arc<dyn ModelCalls>>,
    ) -> Result<Completion> {
        let rows = self.rows(&request)?;
        match &self.path {
            Path::Batched(queue) => queue.submit(request, rows).await,
            Path::PerElement(queue) => queue.submit(request, rows, models).await,
        }
    }

    /// Waits until nothing is queued or running. Requests submitted meanwhile are waited for too.
    pub async fn drain(&self) {
        self.in_flight.idle().await;
    }

    /// Why nothing can be run any more, although the model was not stopped: its last instance panicked and could not be
    /// made anew.
    pub fn failure(&self) -> Option<Error> {
        match &self.path {
            Path::Batched(queue) => queue.failure(),
            Path::PerElement(_) => None,
        }
    }

    /// Refuses new requests, answers those that wait with unavailable, interrupts what can be interrupted and waits for
    /// the rest to end. Blocking: to be called off the reactor. A second call has no effect.
    pub fn stop(&self) {
        match &self.path {
            Path::Batched(queue) => queue.stop(),
            Path::PerElement(queue) => queue.stop(),
        }
    }

    /// Rows of the request's batch; `None` if the model has no batch dimension.
    fn rows(&self, request: &InferenceRequest) -> Result<Option<usize>> {
        if self.max_batch_size == 0 {
            return Ok(None);
        }
        let first = request.inputs.first().and_then(|input| input.shape.first());
        match first.and_then(|&rows| usize::try_from(rows).ok()) {
            Some(rows) if rows > 0 => Ok(Some(rows)),
            _ => Err(Error::invalid_argument(format!(
                "model '{}' takes batches of 1 to {} rows in the first dimension of each input, got none",
                self.key.name, self.max_batch_size
            ))),
        }
    }
}
