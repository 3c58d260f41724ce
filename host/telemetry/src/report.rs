use std::time::Duration;

use crate::RequestTiming;

/// A number of events and their time together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationCount {
    /// Events.
    pub count: u64,
    /// Nanoseconds in all.
    pub nanoseconds: u64,
}

impl DurationCount {
    pub(crate) fn add(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.count = self.count.saturating_add(1);
        self.nanoseconds = self.nanoseconds.saturating_add(nanoseconds);
    }
}

/// Executions of one batch size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    /// Rows of the batch.
    pub batch_size: u64,
    /// Gathering and moving inputs.
    pub compute_input: DurationCount,
    /// Running the model.
    pub compute_infer: DurationCount,
    /// Moving and cutting up outputs.
    pub compute_output: DurationCount,
}

/// What the statistics call (`GET /v2/models/M/stats`) reports of one version; every field is there even at zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatisticsReport {
    /// End of the last execution in milliseconds since 1970; 0 before the first.
    pub last_inference_ms: u64,
    /// Rows of the successful requests.
    pub inference_count: u64,
    /// Executions that gave a result.
    pub execution_count: u64,
    /// Requests answered with a result, from arrival to answer.
    pub success: DurationCount,
    /// Requests answered with an error, from arrival to answer.
    pub fail: DurationCount,
    /// Waiting of the successful requests.
    pub queue: DurationCount,
    /// Input part of the successful requests' executions.
    pub compute_input: DurationCount,
    /// Inference part of the successful requests' executions.
    pub compute_infer: DurationCount,
    /// Output part of the successful requests' executions.
    pub compute_output: DurationCount,
    /// Requests answered from the response cache.
    pub cache_hit: DurationCount,
    /// Requests that the response cache had no answer to.
    pub cache_miss: DurationCount,
    /// Executions by batch size, ascending.
    pub batches: Vec<BatchReport>,
}

impl StatisticsReport {
    pub(crate) fn add_batch(&mut self, batch_size: u64, timing: &RequestTiming) {
        let at = self.batches.partition_point(|batch| batch.batch_size < batch_size);
        if self.batches.get(at).is_none_or(|batch| batch.batch_size != batch_size) {
            self.batches.insert(at, BatchReport { batch_size, ..BatchReport::default() });
        }
        if let Some(batch) = self.batches.get_mut(at) {
            batch.compute_input.add(timing.compute_input);
            batch.compute_infer.add(timing.compute_infer);
            batch.compute_output.add(timing.compute_output);
        }
    }
}
