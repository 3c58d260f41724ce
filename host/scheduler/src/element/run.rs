use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use nacre_backend::{ElementRequest, Execution};
use nacre_domain::{Deadline, Error, Result};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{AbortHandle, JoinError, JoinSet},
    time::{Sleep, sleep_until},
};
use tokio_util::sync::PollSemaphore;

use super::queue::ElementQueue;
use crate::panic;

/// One element's result and how long it ran.
pub(super) struct Finished {
    pub(super) execution: Execution,
    pub(super) took: Duration,
}

/// The elements of one request. Dropping it interrupts those that run.
pub(super) struct Running<'a> {
    queue: &'a ElementQueue,
    /// Keeps its place in the line of those who want permits between calls; `None` once no more are wanted, since a
    /// place in the line can be given a permit that nobody takes.
    permits: Option<PollSemaphore>,
    expiry: Option<Pin<Box<Sleep>>>,
    tasks: JoinSet<(usize, Result<Finished>)>,
    /// By element.
    aborts: Vec<AbortHandle>,
}

impl<'a> Running<'a> {
    pub(super) fn new(queue: &'a ElementQueue, deadline: Deadline) -> Running<'a> {
        Running {
            queue,
            permits: Some(PollSemaphore::new(Arc::clone(&queue.permits))),
            expiry: deadline.moment().map(|moment| Box::pin(sleep_until(moment.into()))),
            tasks: JoinSet::new(),
            aborts: Vec::new(),
        }
    }

    /// Waits for permission to start one element.
    ///
    /// # Errors
    /// Unavailable if the model is stopped, deadline exceeded if that comes first.
    pub(super) async fn permit(&mut self) -> Result<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            permit = permit(&mut self.permits) => permit.ok_or_else(|| self.queue.served.is_stopped()),
            () = expiry(&mut self.expiry) => Err(self.queue.served.expired()),
        }
    }

    /// Runs all elements, starting each as soon as it is permitted; `first` is the first one's permit.
    ///
    /// # Errors
    /// The error of the first element, in the order of the rows, that failed; it names the element if there are
    /// several. Elements behind a failed one are interrupted or not started.
    pub(super) async fn run(
        mut self,
        elements: Vec<ElementRequest>,
        first: OwnedSemaphorePermit,
    ) -> Result<Vec<Finished>> {
        let count = elements.len();
        let mut finished: Vec<Option<Finished>> = std::iter::repeat_with(|| None).take(count).collect();
        let mut failed: Option<(usize, Error)> = None;
        let mut rest = elements.into_iter();
        if let Some(element) = rest.next() {
            self.start(element, first);
        }
        loop {
            if rest.len() == 0 {
                self.permits = None;
                if self.tasks.is_empty() {
                    break;
                }
            }
            let (element, outcome) = tokio::select! {
                biased;
                // Results first: a failure among them makes further starts pointless.
                Some(done) = self.tasks.join_next() => match done {
                    Ok(done) => done,
                    Err(error) => match self.lost(error) {
                        Some(lost) => lost,
                        None => continue,
                    },
                },
                permit = permit(&mut self.permits) => {
                    let permit = permit.ok_or_else(|| self.queue.served.is_stopped())?;
                    if let Some(element) = rest.next() {
                        self.start(element, permit);
                    }
                    continue;
                }
                // A started element is interrupted by its own deadline.
                () = expiry(&mut self.expiry), if self.permits.is_some() => {
                    return Err(self.queue.served.expired());
                }
            };
            match outcome {
                Ok(done) => {
                    if let Some(slot) = finished.get_mut(element) {
                        *slot = Some(done);
                    }
                }
                Err(error) => {
                    if failed.as_ref().is_none_or(|(first, _)| element < *first) {
                        failed = Some((element, error));
                    }
                    self.permits = None;
                    rest = Vec::new().into_iter();
                    self.aborts.iter().skip(element.saturating_add(1)).for_each(AbortHandle::abort);
                }
            }
        }
        match failed {
            Some((i, error)) if count > 1 => Err(error.context(format!("element {i} of the batch"))),
            Some((_, error)) => Err(error),
            // An element is only missing when the plugin threads are gone.
            None => finished.into_iter().collect::<Option<_>>().ok_or_else(|| self.queue.served.is_stopped()),
        }
    }

    fn start(&mut self, request: ElementRequest, permit: OwnedSemaphorePermit) {
        let element = self.aborts.len();
        let model = Arc::clone(&self.queue.model);
        let stopping = self.queue.stopping.clone();
        let served = Arc::clone(&self.queue.served);
        let in_flight = (self.queue.running.enter(), self.queue.served.in_flight.enter());
        let task = async move {
            // Held until nothing of the element is left.
            let _held = (permit, in_flight);
            let start = Instant::now();
            let outcome = tokio::select! {
                biased;
                outcome = model.process(request) => outcome,
                () = stopping.cancelled() => Err(served.is_stopped()),
            };
            (element, outcome.map(|execution| Finished { execution, took: start.elapsed() }))
        };
        self.aborts.push(self.tasks.spawn_on(task, &self.queue.threads));
    }

    /// What became of an element whose task gave no result: `None` if it was interrupted.
    fn lost(&self, error: JoinError) -> Option<(usize, Result<Finished>)> {
        let element = self.aborts.iter().position(|abort| abort.id() == error.id())?;
        let panic = error.try_into_panic().ok()?;
        let error = panic::error(&format!("model '{}'", self.queue.served.key.name), &*panic);
        tracing::error!(model = %self.queue.served.key, %error, "a plugin's host panicked");
        Some((element, Err(error)))
    }
}

/// The next permit; `None` if the model is stopped. Never there once no more are wanted.
async fn permit(permits: &mut Option<PollSemaphore>) -> Option<OwnedSemaphorePermit> {
    match permits {
        Some(permits) => poll_fn(|context| permits.poll_acquire(context)).await,
        None => pending().await,
    }
}

/// Returns when the deadline has passed.
async fn expiry(expiry: &mut Option<Pin<Box<Sleep>>>) {
    match expiry {
        Some(expiry) => expiry.as_mut().await,
        None => pending().await,
    }
}
