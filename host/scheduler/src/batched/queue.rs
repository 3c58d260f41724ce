use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Instant,
};

use nacre_backend::{BatchedModel, Placement};
use nacre_domain::{Deadline, Error, InferenceRequest, Result, Tensor};
use nacre_telemetry::PendingGuard;
use tokio::{sync::oneshot, time::timeout_at};

use super::{
    assemble::Kind,
    form::{Decision, Settings, Waiting, form},
    worker::Worker,
};
use crate::{Completion, in_flight::InFlightGuard, model_queue::Served};

/// Queue and instance threads of a model that takes batches.
pub(crate) struct BatchedQueue {
    shared: Arc<Shared>,
    model: Arc<dyn BatchedModel>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

/// What requests and workers share. The lock is held for bookkeeping only, never while a model or tensor bytes are
/// touched.
pub(super) struct Shared {
    pub(super) served: Served,
    /// `None`: each request is a batch of its own.
    settings: Option<Settings>,
    max_queue_size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// In the order of arrival, so of ascending ids.
    queue: VecDeque<Job>,
    next_id: u64,
    workers: usize,
    /// Why nothing is run any more.
    closed: Option<Closed>,
}

struct Closed {
    error: Error,
    by_failure: bool,
}

/// A request that waits, or runs.
pub(super) struct Job {
    id: u64,
    pub(super) inputs: Vec<Tensor>,
    /// `None` without a batch dimension.
    pub(super) rows: Option<usize>,
    /// Filled only where batches are formed.
    kind: Kind,
    pub(super) submitted: Instant,
    deadline: Deadline,
    pub(super) answer: oneshot::Sender<Result<Completion>>,
    pub(super) pending: PendingGuard,
    pub(super) in_flight: InFlightGuard,
}

impl BatchedQueue {
    /// Makes every instance, side by side, each on its thread, and waits for them.
    pub(crate) fn start(served: Served, model: Arc<dyn BatchedModel>) -> Result<BatchedQueue> {
        let placements = model.placements();
        let shared = Arc::new(Shared {
            settings: Settings::of(&served.config),
            max_queue_size: served.max_queue_size(),
            served,
            state: Mutex::new(State {
                queue: VecDeque::new(),
                next_id: 0,
                workers: placements.len(),
                closed: None,
            }),
            changed: Condvar::new(),
        });
        // From here on an early return drops the queue, which ends the workers that there are.
        let queue = BatchedQueue { shared, model, workers: Mutex::default() };
        let (made, outcomes) = mpsc::channel();
        for placement in placements {
            let worker = queue.spawn(placement, made.clone())?;
            queue.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
        drop(made);
        let outcome = outcomes.iter().collect::<Result<()>>();
        if let Err(error) = outcome {
            queue.stop();
            return Err(error);
        }
        Ok(queue)
    }

    fn spawn(&self, placement: Placement, made: mpsc::Sender<Result<()>>) -> Result<JoinHandle<()>> {
        // Linux shows 15 bytes: the placement, which tells the threads of a model apart, goes first.
        let name = format!("{} {}", placement.name, self.shared.served.key.name);
        let worker = Worker::new(Arc::clone(&self.shared), Arc::clone(&self.model), placement);
        thread::Builder::new().name(name.replace('\0', "")).spawn(move || worker.run(made)).map_err(|e| {
            let model = &self.shared.served.key.name;
            Error::unavailable(format!("model '{model}': no thread for an instance: {e}")).with_source(e)
        })
    }

    pub(crate) async fn submit(&self, request: InferenceRequest, rows: Option<usize>) -> Result<Completion> {
        let deadline = request.deadline;
        let (answer, answered) = oneshot::channel();
        let mut place = Place { shared: &self.shared, id: Some(self.shared.push(request, rows, answer)?) };
        let outcome = match deadline.moment() {
            Some(moment) => match timeout_at(moment.into(), answered).await {
                Ok(outcome) => outcome,
                // Dropping the place takes the request out of the queue.
                Err(_) => return Err(self.shared.served.expired()),
            },
            None => answered.await,
        };
        place.id = None;
        // A worker answers every job that it takes, unless its thread is lost.
        outcome.unwrap_or_else(|_| Err(Error::internal("the request was lost with the instance that ran it")))
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.shared.state().closed.as_ref().filter(|closed| closed.by_failure).map(|c| c.error.clone())
    }

    pub(crate) fn stop(&self) {
        self.close();
        let workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        for worker in workers {
            if worker.join().is_err() {
                tracing::error!(model = %self.shared.served.key, "an instance's thread panicked");
            }
        }
    }

    fn close(&self) {
        if self.shared.close(self.shared.served.is_stopped(), false) {
            self.model.interrupt();
        }
    }
}

impl Drop for BatchedQueue {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a request into the queue; gives its id.
    fn push(
        &self,
        request: InferenceRequest,
        rows: Option<usize>,
        answer: oneshot::Sender<Result<Completion>>,
    ) -> Result<u64> {
        let kind = if self.settings.is_some() { Kind::of(&request.inputs) } else { Kind::default() };
        let pending = self.served.statistics.pending();
        let in_flight = self.served.in_flight.enter();
        let submitted = Instant::now();
        let mut state = self.state();
        if let Some(closed) = &state.closed {
            return Err(closed.error.clone());
        }
        if state.queue.len() >= self.max_queue_size {
            return Err(self.served.queue_is_full());
        }
        let id = state.next_id;
        state.next_id = id.wrapping_add(1);
        state.queue.push_back(Job {
            id,
            inputs: request.inputs,
            rows,
            kind,
            submitted,
            deadline: request.deadline,
            answer,
            pending,
            in_flight,
        });
        drop(state);
        self.changed.notify_one();
        Ok(id)
    }

    /// Takes a request out of the queue, if it still waits there.
    fn remove(&self, id: u64) -> Option<Job> {
        let mut state = self.state();
        let at = state.queue.binary_search_by_key(&id, |job| job.id).ok()?;
        state.queue.remove(at)
    }

    /// Waits for the next batch: never empty, of requests that somebody still waits for. `None` when the queue is
    /// closed.
    pub(super) fn next_batch(&self) -> Option<Vec<Job>> {
        let mut state = self.state();
        loop {
            if state.closed.is_some() {
                return None;
            }
            let now = Instant::now();
            match self.decide(&state.queue, now) {
                Decision::Run(places) => {
                    let batch = take(&mut state.queue, &places);
                    let others_wait = !state.queue.is_empty();
                    drop(state);
                    if others_wait {
                        // There may be a second batch among them, and another instance free.
                        self.changed.notify_one();
                    }
                    let batch = self.still_wanted(batch);
                    if !batch.is_empty() {
                        return Some(batch);
                    }
                    state = self.state();
                }
                Decision::WaitUntil(moment) => {
                    let delay = moment.saturating_duration_since(now);
                    (state, _) =
                        self.changed.wait_timeout(state, delay).unwrap_or_else(PoisonError::into_inner);
                }
                Decision::Idle => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn decide(&self, queue: &VecDeque<Job>, now: Instant) -> Decision {
        match &self.settings {
            None if queue.is_empty() => Decision::Idle,
            None => Decision::Run(vec![0]),
            Some(settings) => {
                let waiting = queue.iter().map(|job| Waiting {
                    kind: &job.kind,
                    rows: job.rows.unwrap_or(1),
                    since: job.submitted,
                });
                form(waiting, now, settings)
            }
        }
    }

    /// Those that were neither cancelled nor expired in the instant before they were taken. Otherwise such requests
    /// leave the queue by themselves.
    fn still_wanted(&self, batch: Vec<Job>) -> Vec<Job> {
        let mut wanted = Vec::with_capacity(batch.len());
        for job in batch {
            if job.deadline.has_passed() {
                // A receiver that is gone wants no answer.
                let _ = job.answer.send(Err(self.served.expired()));
            } else if !job.answer.is_closed() {
                wanted.push(job);
            }
        }
        wanted
    }

    /// An instance is lost for good. With the last one the queue closes.
    pub(super) fn lose_worker(&self, error: &Error) {
        let mut state = self.state();
        state.workers = state.workers.saturating_sub(1);
        let left = state.workers;
        drop(state);
        tracing::error!(model = %self.served.key, left, %error, "an instance panicked and cannot be made anew");
        if left == 0 {
            let error = Error::unavailable(format!(
                "model '{}' has no instance left: its last one panicked and cannot be made anew: {error}",
                self.served.key.name
            ));
            self.close(error, true);
        }
    }

    /// Refuses whatever comes and answers those that wait. False if it was closed already.
    fn close(&self, error: Error, by_failure: bool) -> bool {
        let mut state = self.state();
        if state.closed.is_some() {
            return false;
        }
        state.closed = Some(Closed { error: error.clone(), by_failure });
        let waiting = std::mem::take(&mut state.queue);
        drop(state);
        self.changed.notify_all();
        for job in waiting {
            let _ = job.answer.send(Err(error.clone()));
        }
        true
    }
}

/// Takes the jobs at the given places, which ascend, out of the queue.
fn take(queue: &mut VecDeque<Job>, places: &[usize]) -> Vec<Job> {
    let taken_before = 0..;
    places
        .iter()
        .zip(taken_before)
        .filter_map(|(place, taken)| queue.remove(place.saturating_sub(taken)))
        .collect()
}

/// A submitted request's place. Dropped before the answer, it takes the request out of the queue.
struct Place<'a> {
    shared: &'a Shared,
    id: Option<u64>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // The job, with its tensors, is dropped after the lock is released.
            drop(self.shared.remove(id));
        }
    }
}
