use std::{sync::Arc, time::Duration};

use nacre_domain::ModelKey;

use crate::RequestTiming;

/// Why a request failed: the `reason` label of `nv_inference_request_failure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The queue was full or the request expired in it.
    Rejected,
    /// The client gave up.
    Canceled,
    /// The model failed.
    Backend,
    /// Anything else.
    Other,
}

/// One per served version.
#[derive(Debug)]
pub struct ModelStatistics {}

/// Counts a waiting request while it lives.
#[derive(Debug)]
pub struct PendingGuard {}

/// A number of events and their time together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationCount {
    /// Events.
    pub count: u64,
    /// Nanoseconds in all.
    pub nanoseconds: u64,
}

/// Executions of one batch size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    /// Rows.
    pub batch_size: u64,
    /// Input part.
    pub compute_input: DurationCount,
    /// Inference part.
    pub compute_infer: DurationCount,
    /// Output part.
    pub compute_output: DurationCount,
}

/// What `/stats` reports of one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatisticsReport {
    /// Milliseconds since 1970 of the last inference request; 0 before the first.
    pub last_inference_ms: u64,
    /// Rows inferred.
    pub inference_count: u64,
    /// Executions.
    pub execution_count: u64,
    /// Successful requests.
    pub success: DurationCount,
    /// Failed requests.
    pub fail: DurationCount,
    /// Queue part.
    pub queue: DurationCount,
    /// Input part.
    pub compute_input: DurationCount,
    /// Inference part.
    pub compute_infer: DurationCount,
    /// Output part.
    pub compute_output: DurationCount,
    /// Cache hits.
    pub cache_hit: DurationCount,
    /// Cache misses.
    pub cache_miss: DurationCount,
    /// By batch size, ascending.
    pub batches: Vec<BatchReport>,
}

impl ModelStatistics {
    /// Registers the series of one version, all at zero.
    pub fn new(_key: &ModelKey) -> Arc<ModelStatistics> {
        Arc::new(ModelStatistics {})
    }
    /// Once per request, by the engine.
    pub fn record_success(&self, _rows: u64, _total: Duration, _timing: &RequestTiming) {}
    /// Once per request, by the engine.
    pub fn record_failure(&self, _reason: FailureReason, _total: Duration) {}
    /// Once per batch.
    pub fn record_execution(&self, _rows: u64, _timing: &RequestTiming) {}
    /// While the guard lives, one more request is pending.
    pub fn pending(&self) -> PendingGuard {
        PendingGuard {}
    }
    /// The numbers so far.
    pub fn report(&self) -> StatisticsReport {
        StatisticsReport::default()
    }
}
