use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use nacre_backend::{ElementModel, Execution, ModelCalls};
use nacre_domain::{InferenceRequest, Parameters, Result, Tensor};
use nacre_telemetry::{PendingGuard, RequestTiming};
use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::sync::CancellationToken;

use super::{
    join::join,
    run::{Finished, Running},
    split::split,
};
use crate::{Completion, in_flight::InFlight, model_queue::Served};

/// Queue of a model that takes one element at a time.
///
/// It has no list of requests: each waits in its own future for permission to start an element, first come first
/// served. As many elements run at once, over all requests, as the model allows.
pub(crate) struct ElementQueue {
    pub(super) served: Arc<Served>,
    pub(super) model: Arc<dyn ElementModel>,
    pub(super) threads: Handle,
    pub(super) permits: Arc<Semaphore>,
    /// Interrupts the elements that run.
    pub(super) stopping: CancellationToken,
    /// Elements on the plugin threads, of requests that were given up too.
    pub(super) running: InFlight,
    /// Requests of which no element has started.
    waiting: AtomicUsize,
    max_queue_size: usize,
}

/// A request's place among those that wait for their first element to start.
struct Place<'a> {
    waiting: &'a AtomicUsize,
    _pending: PendingGuard,
}

impl ElementQueue {
    pub(crate) fn new(served: Served, model: Arc<dyn ElementModel>, threads: Handle) -> ElementQueue {
        let concurrency = model.concurrency().clamp(1, Semaphore::MAX_PERMITS);
        ElementQueue {
            max_queue_size: served.max_queue_size(),
            served: Arc::new(served),
            model,
            threads,
            permits: Arc::new(Semaphore::new(concurrency)),
            stopping: CancellationToken::new(),
            running: InFlight::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(crate) async fn submit(
        &self,
        request: InferenceRequest,
        rows: Option<usize>,
        models: Option<&Arc<dyn ModelCalls>>,
    ) -> Result<Completion> {
        let submitted = Instant::now();
        let _in_flight = self.served.in_flight.enter();
        let place = self.enter()?;
        let mut running = Running::new(self, request.deadline);
        let permit = running.permit().await?;
        drop(place);
        let start = Instant::now();

        let elements = split(request, rows, models)?;
        let began = Instant::now();
        let finished = running.run(elements, permit).await?;
        let ran = Instant::now();

        let mut timing = compute_timing(&finished, ran.saturating_duration_since(began));
        let (outputs, parameters) = self.join(finished, rows)?;
        timing.compute_input += began.saturating_duration_since(start);
        timing.compute_output += ran.elapsed();
        let rows = u64::try_from(rows.unwrap_or(1)).unwrap_or(u64::MAX);
        self.served.statistics.record_execution(rows, &timing);
        timing.queue = start.saturating_duration_since(submitted);
        Ok(Completion { outputs, parameters, timing })
    }

    fn join(&self, finished: Vec<Finished>, rows: Option<usize>) -> Result<(Vec<Tensor>, Parameters)> {
        let mut parameters = Parameters::new();
        let mut outputs = Vec::with_capacity(finished.len());
        for Finished { execution, .. } in finished {
            parameters.extend(execution.parameters);
            outputs.push(execution.outputs);
        }
        let outputs = match rows {
            Some(_) => join(outputs).map_err(|e| e.context(format!("model '{}'", self.served.key.name)))?,
            None => outputs.pop().unwrap_or_default(),
        };
        Ok((outputs, parameters))
    }

    pub(crate) fn stop(&self) {
        self.close();
        // What still runs ends where it next yields; it needs no wakeup of ours, so any thread may wait here.
        self.threads.block_on(self.running.idle());
    }

    fn close(&self) {
        self.permits.close();
        self.stopping.cancel();
    }

    fn enter(&self) -> Result<Place<'_>> {
        if self.permits.is_closed() {
            return Err(self.served.is_stopped());
        }
        let place = Place { waiting: &self.waiting, _pending: self.served.statistics.pending() };
        // A request that can start at once takes a place too, for an instant.
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.max_queue_size {
            return Err(self.served.queue_is_full());
        }
        Ok(place)
    }
}

impl Drop for ElementQueue {
    fn drop(&mut self) {
        self.close();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time from the first element's start to the last one's end, shared out in the proportion in which the elements
/// spent theirs. (Their times added up would exceed the request's, as they run side by side.)
fn compute_timing(finished: &[Finished], took: Duration) -> RequestTiming {
    let sum = |part: fn(&Finished) -> Duration| {
        finished.iter().fold(Duration::ZERO, |sum, element| sum.saturating_add(part(element)))
    };
    let busy = sum(|element| element.took).as_secs_f64();
    let share = |part: Duration| {
        if busy > 0.0 { took.mul_f64((part.as_secs_f64() / busy).min(1.0)) } else { Duration::ZERO }
    };
    let compute_input = share(sum(|Finished { execution: Execution { input_time, .. }, .. }| *input_time));
    let compute_output = share(sum(|Finished { execution: Execution { output_time, .. }, .. }| *output_time));
    RequestTiming {
        queue: Duration::ZERO,
        compute_input,
        compute_infer: took.saturating_sub(compute_input).saturating_sub(compute_output),
        compute_output,
    }
}
