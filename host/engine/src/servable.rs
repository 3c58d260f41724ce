use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use nacre_backend::ModelCalls;
use nacre_config::ModelConfig;
use nacre_domain::{
    Error, ErrorCode, InferenceRequest, InferenceResponse, ModelKey, Parameters, RequestedOutput, Result,
    Tensor,
};
use nacre_scheduler::{Completion, InFlight, InFlightGuard, ModelQueue};
use nacre_telemetry::{FailureReason, ModelStatistics, RequestTiming};
use tokio::runtime::Handle;

use crate::{
    callees::Callees,
    ensemble::EnsemblePlan,
    labels::Labels,
    reshape::{reshape_inputs, reshape_outputs},
    validate::validate,
};

/// One version of a model, serving. It lives as long as a snapshot or a request holds it; so do its instances, which are
/// stopped off the reactor when nothing holds them any more.
pub(crate) struct Servable {
    pub(crate) key: ModelKey,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) labels: Labels,
    pub(crate) statistics: Arc<ModelStatistics>,
    pub(crate) runner: Runner,
}

/// How a servable answers.
pub(crate) enum Runner {
    /// By its instances, which may call other models meanwhile.
    Queue(Arc<RunningQueue>, Option<Arc<Callees>>),
    /// By the steps of its graph.
    Ensemble(EnsemblePlan),
}

/// A servable's answer before the outputs asked for are chosen, and where its time went.
pub(crate) struct Answer {
    pub(crate) outputs: Vec<Tensor>,
    pub(crate) parameters: Parameters,
    pub(crate) timing: RequestTiming,
}

impl Servable {
    /// Validates and answers one request and records it in the statistics, whatever becomes of it: success, failure
    /// or, where the future is dropped, cancellation.
    pub(crate) async fn infer(
        self: &Arc<Servable>,
        request: InferenceRequest,
    ) -> Result<(InferenceResponse, RequestTiming)> {
        let mut recording = Recording::start(&self.statistics);
        let rows = match validate(&self.config, &request) {
            Ok(rows) => rows,
            Err(error) => return Err(recording.failed(FailureReason::Other, error)),
        };
        let id = request.id.clone();
        let wanted = request.outputs.clone();
        let answer = self.answer(request, rows).await.and_then(|answer| {
            let outputs = choose_outputs(&self.config, answer.outputs, &wanted)?;
            Ok((outputs, answer.parameters, answer.timing))
        });
        match answer {
            Ok((outputs, parameters, timing)) => {
                recording.succeeded(rows, &timing);
                Ok((InferenceResponse { model: self.key.clone(), id, parameters, outputs }, timing))
            }
            Err(error) => Err(recording.failed(failure_reason(&error), error)),
        }
    }

    /// [`Servable::infer`] for a step of an ensemble: boxed, since an ensemble may be a step of another.
    pub(crate) fn infer_boxed(
        self: Arc<Servable>,
        request: InferenceRequest,
    ) -> BoxFuture<'static, Result<(InferenceResponse, RequestTiming)>> {
        Box::pin(async move { self.infer(request).await })
    }

    /// Why no request can succeed any more although it loaded: its instances are lost, or those of a step.
    pub(crate) fn failure(&self) -> Option<Error> {
        match &self.runner {
            Runner::Queue(queue, callees) => {
                let own = queue.queue.as_ref().and_then(ModelQueue::failure);
                own.or_else(|| callees.as_ref()?.failure())
            }
            Runner::Ensemble(plan) => {
                plan.steps.iter().find_map(|step| Some(step.servable.failure()?.context(&step.label)))
            }
        }
    }

    /// How many calls can follow one inside another from here; 0 for a model that calls none.
    pub(crate) fn levels(&self) -> usize {
        match &self.runner {
            Runner::Queue(_, callees) => callees.as_ref().map_or(0, |callees| callees.levels()),
            Runner::Ensemble(plan) => {
                plan.steps.iter().map(|step| step.servable.levels()).max().unwrap_or_default()
            }
        }
    }

    async fn answer(&self, mut request: InferenceRequest, rows: u64) -> Result<Answer> {
        reshape_inputs(&self.config, &mut request.inputs)?;
        let mut answer = match &self.runner {
            Runner::Ensemble(plan) => {
                let answer = plan.run(request).await?;
                self.statistics.record_execution(rows, &answer.timing);
                answer
            }
            Runner::Queue(queue, callees) => {
                let callees = callees.clone().map(|callees| callees as Arc<dyn ModelCalls>);
                let Completion { outputs, parameters, timing } = queue.submit(request, callees).await?;
                Answer { outputs, parameters, timing }
            }
        };
        reshape_outputs(&self.config, &mut answer.outputs)?;
        Ok(answer)
    }
}

impl fmt::Debug for Servable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Servable").field(&self.key).finish()
    }
}

/// Those asked for, in that order; without such a wish all that there are, in the order of the configuration (an identity
/// model gives none for an optional input that was left out).
fn choose_outputs(
    config: &ModelConfig,
    outputs: Vec<Tensor>,
    wanted: &[RequestedOutput],
) -> Result<Vec<Tensor>> {
    let find = |name: &str| outputs.iter().find(|tensor| tensor.name == name).cloned();
    if wanted.is_empty() {
        return Ok(config.outputs.iter().filter_map(|output| find(&output.spec.name)).collect());
    }
    let missing =
        |name: &str| Error::internal(format!("model '{}' did not give its output '{name}'", config.name));
    wanted.iter().map(|output| find(&output.name).ok_or_else(|| missing(&output.name))).collect()
}

fn failure_reason(error: &Error) -> FailureReason {
    match error.code() {
        ErrorCode::Unavailable | ErrorCode::DeadlineExceeded => FailureReason::Rejected,
        ErrorCode::Cancelled => FailureReason::Canceled,
        ErrorCode::InvalidArgument
        | ErrorCode::NotFound
        | ErrorCode::Unsupported
        | ErrorCode::ResourceExhausted
        | ErrorCode::Internal => FailureReason::Backend,
    }
}

/// Sees to it that a request is recorded exactly once.
struct Recording<'a> {
    statistics: &'a ModelStatistics,
    start: Instant,
    done: bool,
}

impl<'a> Recording<'a> {
    fn start(statistics: &'a ModelStatistics) -> Recording<'a> {
        Recording { statistics, start: Instant::now(), done: false }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn succeeded(&mut self, rows: u64, timing: &RequestTiming) {
        self.done = true;
        self.statistics.record_success(rows, self.elapsed(), timing);
    }

    fn failed(&mut self, reason: FailureReason, error: Error) -> Error {
        self.done = true;
        self.statistics.record_failure(reason, self.elapsed());
        error
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.statistics.record_failure(FailureReason::Canceled, self.elapsed());
        }
    }
}

/// A started queue that stops itself off the reactor when it is dropped, wherever that happens.
pub(crate) struct RunningQueue {
    queue: Option<ModelQueue>,
    runtime: Handle,
    /// Held until the queue has stopped.
    guard: Option<InFlightGuard>,
}

impl RunningQueue {
    pub(crate) fn new(queue: ModelQueue, runtime: Handle, running: &InFlight) -> RunningQueue {
        RunningQueue { queue: Some(queue), runtime, guard: Some(running.enter()) }
    }

    async fn submit(
        &self,
        request: InferenceRequest,
        callees: Option<Arc<dyn ModelCalls>>,
    ) -> Result<Completion> {
        match &self.queue {
            Some(queue) => queue.submit_with(request, callees.as_ref()).await,
            // Only between the taking in `drop` and the end of `drop`, when nobody can call this.
            None => Err(Error::unavailable(format!("model '{}' is being unloaded", request.model))),
        }
    }
}

impl Drop for RunningQueue {
    fn drop(&mut self) {
        let (queue, guard) = (self.queue.take(), self.guard.take());
        self.runtime.spawn_blocking(move || {
            if let Some(queue) = queue {
                queue.stop();
            }
            drop(guard);
        });
    }
}
