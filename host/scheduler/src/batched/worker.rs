use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use nacre_backend::{BatchedModel, Execution, Instance, Placement};
use nacre_domain::{Error, Parameters, Result, Tensor};
use nacre_telemetry::RequestTiming;
use tokio::sync::oneshot;

use super::{
    assemble::{gather, split},
    queue::{Job, Shared},
};
use crate::{Completion, in_flight::InFlightGuard, panic};

/// One instance on its thread: takes batches from the queue, runs them, answers their requests.
pub(super) struct Worker {
    shared: Arc<Shared>,
    model: Arc<dyn BatchedModel>,
    placement: Placement,
}

/// The instance panicked: it must not be used again.
struct Panicked;

/// A request of the batch that runs.
struct Running {
    submitted: Instant,
    answer: oneshot::Sender<Result<Completion>>,
    _in_flight: InFlightGuard,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, model: Arc<dyn BatchedModel>, placement: Placement) -> Worker {
        Worker { shared, model, placement }
    }

    /// The thread. Says once whether the instance was made.
    pub(super) fn run(&self, made: mpsc::Sender<Result<()>>) {
        let mut instance = match self.instantiate() {
            Ok(instance) => instance,
            Err(error) => {
                let _ = made.send(Err(error));
                return;
            }
        };
        // Nobody listens if another instance failed before.
        let _ = made.send(Ok(()));
        // The start waits until no sender is left.
        drop(made);
        while let Some(batch) = self.shared.next_batch() {
            let Err(Panicked) = self.execute(&mut *instance, batch) else { continue };
            discard(instance);
            instance = match self.instantiate() {
                Ok(instance) => instance,
                Err(error) => return self.shared.lose_worker(&error),
            };
            tracing::warn!(
                model = %self.shared.served.key,
                instance = %self.placement.name,
                "the instance was made anew after a panic"
            );
        }
        discard(instance);
    }

    fn instantiate(&self) -> Result<Box<dyn Instance>> {
        panic::catch(|| self.model.instantiate(&self.placement))
            .unwrap_or_else(|panic| Err(panic::error(&self.what(), &*panic)))
    }

    /// How errors call this instance.
    fn what(&self) -> String {
        format!("model '{}' on {}", self.shared.served.key.name, self.placement.name)
    }

    fn execute(&self, instance: &mut dyn Instance, batch: Vec<Job>) -> Result<(), Panicked> {
        let start = Instant::now();
        let mut inputs = Vec::with_capacity(batch.len());
        let mut rows = Vec::with_capacity(batch.len());
        let mut requests = Vec::with_capacity(batch.len());
        for job in batch {
            // Running, so no longer pending.
            drop(job.pending);
            inputs.push(job.inputs);
            rows.extend(job.rows);
            requests.push(Running {
                submitted: job.submitted,
                answer: job.answer,
                _in_flight: job.in_flight,
            });
        }
        let ran = panic::catch(|| run(instance, inputs));
        let outcome = match ran {
            Ok(outcome) => outcome.and_then(|ran| self.finish(&rows, start, ran)),
            Err(panic) => {
                let error = panic::error(&self.what(), &*panic);
                tracing::error!(model = %self.shared.served.key, instance = %self.placement.name, %error, "an instance panicked");
                answer_all(requests, &error);
                return Err(Panicked);
            }
        };
        match outcome {
            Ok(Finished { outputs, parameters, compute }) => {
                for (request, outputs) in requests.into_iter().zip(outputs) {
                    let queue = start.saturating_duration_since(request.submitted);
                    let timing = RequestTiming { queue, ..compute };
                    let completion = Completion { outputs, parameters: parameters.clone(), timing };
                    // The request may have been cancelled while it ran.
                    let _ = request.answer.send(Ok(completion));
                }
            }
            Err(error) => answer_all(requests, &error),
        }
        Ok(())
    }

    /// Cuts up what an execution gave, and records it. `rows` is empty without a batch dimension.
    fn finish(&self, rows: &[usize], start: Instant, ran: Ran) -> Result<Finished> {
        let Ran { execution, gathered, executed } = ran;
        let outputs = if rows.is_empty() {
            vec![execution.outputs]
        } else {
            split(&execution.outputs, rows)
                .map_err(|e| e.context(format!("model '{}'", self.shared.served.key.name)))?
        };
        let took = executed.saturating_duration_since(gathered);
        let compute = RequestTiming {
            queue: Duration::ZERO,
            compute_input: gathered.saturating_duration_since(start) + execution.input_time,
            compute_infer: took.saturating_sub(execution.input_time).saturating_sub(execution.output_time),
            compute_output: execution.output_time + executed.elapsed(),
        };
        let sum = rows.iter().fold(0_usize, |sum, &n| sum.saturating_add(n)).max(1);
        self.shared.served.statistics.record_execution(u64::try_from(sum).unwrap_or(u64::MAX), &compute);
        Ok(Finished { outputs, parameters: execution.parameters, compute })
    }
}

/// A batch's result: outputs by request, and what they share.
struct Finished {
    outputs: Vec<Vec<Tensor>>,
    parameters: Parameters,
    compute: RequestTiming,
}

/// What an instance gave, and when.
struct Ran {
    execution: Execution,
    gathered: Instant,
    executed: Instant,
}

fn run(instance: &mut dyn Instance, inputs: Vec<Vec<Tensor>>) -> Result<Ran> {
    let inputs = gather(instance, inputs)?;
    let gathered = Instant::now();
    let execution = instance.execute(inputs)?;
    Ok(Ran { execution, gathered, executed: Instant::now() })
}

fn answer_all(requests: Vec<Running>, error: &Error) {
    for request in requests {
        let _ = request.answer.send(Err(error.clone()));
    }
}

/// Drops an instance that may panic even in that.
fn discard(instance: Box<dyn Instance>) {
    if panic::catch(|| drop(instance)).is_err() {
        tracing::error!("an instance panicked while it was dropped");
    }
}
