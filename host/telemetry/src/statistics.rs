use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use metrics::{Counter, Gauge, Histogram, counter};
use nacre_domain::ModelKey;

use crate::{
    RequestTiming,
    metric_name::MetricName,
    report::{DurationCount, StatisticsReport},
};

/// Why a request failed: the `reason` label of `nv_inference_request_failure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// Never executed: the queue was full, or the request's time ran out in it.
    Rejected,
    /// The client gave up.
    Canceled,
    /// The model failed.
    Backend,
    /// Anything else, such as a step of an ensemble.
    Other,
}

impl FailureReason {
    const ALL: [FailureReason; 4] =
        [FailureReason::Rejected, FailureReason::Canceled, FailureReason::Backend, FailureReason::Other];

    const fn label(self) -> &'static str {
        match self {
            FailureReason::Rejected => "REJECTED",
            FailureReason::Canceled => "CANCELED",
            FailureReason::Backend => "BACKEND",
            FailureReason::Other => "OTHER",
        }
    }
}

/// Numbers of one served version: the only place where the `nv_inference_*` metrics and those of the statistics call
/// are recorded.
///
/// What is counted is what Triton counts:
/// - A request counts once, in `success` or in `fail`, with its time from arrival to answer. Queue and compute times
///   are those of successful requests, and each request of a batch counts the whole batch's compute time.
/// - `inference_count` counts the rows of successful requests (a request without a batch dimension is one row).
/// - `execution_count`, `last_inference` and the batch sizes count executions that gave a result: one for a batch; one
///   for a request that a plugin works off element by element, its rows being the batch size; one for the run of an
///   ensemble.
/// - An ensemble's compute times are the sums over its steps, so with steps side by side they may exceed the time of
///   the request; its queue time is its own, nearly none, while its steps' waiting is in the steps' statistics.
///
/// The metrics of a version that is loaded again go on from where they were; the numbers here start at zero.
pub struct ModelStatistics {
    numbers: Mutex<StatisticsReport>,
    success: Counter,
    failure: [Counter; FailureReason::ALL.len()],
    inference_count: Counter,
    execution_count: Counter,
    request_us: Counter,
    queue_us: Counter,
    compute_input_us: Counter,
    compute_infer_us: Counter,
    compute_output_us: Counter,
    pending: Gauge,
    first_response_ms: Histogram,
    request_seconds: Histogram,
    queue_seconds: Histogram,
    compute_seconds: Histogram,
}

impl ModelStatistics {
    /// Registers the series of one version, all at zero.
    pub fn new(key: &ModelKey) -> Arc<ModelStatistics> {
        let failure = FailureReason::ALL.map(|reason| {
            counter!(MetricName::RequestFailure.as_str(),
                "model" => key.name.clone(), "version" => key.version.to_string(), "reason" => reason.label())
        });
        Arc::new(ModelStatistics {
            numbers: Mutex::default(),
            success: MetricName::RequestSuccess.counter(key),
            failure,
            inference_count: MetricName::InferenceCount.counter(key),
            execution_count: MetricName::ExecutionCount.counter(key),
            request_us: MetricName::RequestDuration.counter(key),
            queue_us: MetricName::QueueDuration.counter(key),
            compute_input_us: MetricName::ComputeInputDuration.counter(key),
            compute_infer_us: MetricName::ComputeInferDuration.counter(key),
            compute_output_us: MetricName::ComputeOutputDuration.counter(key),
            pending: MetricName::PendingRequests.gauge(key),
            first_response_ms: MetricName::FirstResponse.histogram(key),
            request_seconds: MetricName::RequestSeconds.histogram(key),
            queue_seconds: MetricName::QueueSeconds.histogram(key),
            compute_seconds: MetricName::ComputeSeconds.histogram(key),
        })
    }

    /// Counts a request that was answered with a result. Called once per request, by the engine.
    ///
    /// `rows` is its batch size, at least 1; `total` the time from arrival to answer.
    pub fn record_success(&self, rows: u64, total: Duration, timing: &RequestTiming) {
        let mut numbers = self.numbers();
        numbers.inference_count = numbers.inference_count.saturating_add(rows);
        add(&mut numbers.success, total, &self.request_us);
        add(&mut numbers.queue, timing.queue, &self.queue_us);
        add(&mut numbers.compute_input, timing.compute_input, &self.compute_input_us);
        add(&mut numbers.compute_infer, timing.compute_infer, &self.compute_infer_us);
        add(&mut numbers.compute_output, timing.compute_output, &self.compute_output_us);
        drop(numbers);
        self.success.increment(1);
        self.inference_count.increment(rows);
        self.first_response_ms.record(total.as_secs_f64() * 1e3);
        self.request_seconds.record(total);
        self.queue_seconds.record(timing.queue);
        self.compute_seconds.record(timing.compute());
    }

    /// Counts a request that was answered with an error, or not at all because the client had gone. Called once per
    /// request, by the engine.
    pub fn record_failure(&self, reason: FailureReason, total: Duration) {
        self.numbers().fail.add(total);
        let [rejected, canceled, backend, other] = &self.failure;
        match reason {
            FailureReason::Rejected => rejected,
            FailureReason::Canceled => canceled,
            FailureReason::Backend => backend,
            FailureReason::Other => other,
        }
        .increment(1);
    }

    /// Counts an execution that gave a result. Called once per batch by the scheduler, and once per run of an ensemble
    /// by the engine. `rows` is the batch's size, at least 1.
    pub fn record_execution(&self, rows: u64, timing: &RequestTiming) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let mut numbers = self.numbers();
        numbers.last_inference_ms = numbers.last_inference_ms.max(now_ms);
        numbers.execution_count = numbers.execution_count.saturating_add(1);
        numbers.add_batch(rows, timing);
        drop(numbers);
        self.execution_count.increment(1);
    }

    /// One request more is pending while the guard lives: from when it is queued to when its execution begins. Taken by
    /// the scheduler.
    pub fn pending(&self) -> PendingGuard {
        self.pending.increment(1);
        PendingGuard { gauge: self.pending.clone() }
    }

    /// The numbers so far, all of one moment.
    pub fn report(&self) -> StatisticsReport {
        self.numbers().clone()
    }

    fn numbers(&self) -> MutexGuard<'_, StatisticsReport> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a waiting request while it lives.
pub struct PendingGuard {
    gauge: Gauge,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        self.gauge.decrement(1);
    }
}

/// Adds to the sum in nanoseconds, and to the metric in microseconds what the sum grew by: so the fractions of each
/// request are not lost but carried over.
fn add(sum: &mut DurationCount, duration: Duration, metric: &Counter) {
    let before = sum.nanoseconds / 1000;
    sum.add(duration);
    metric.increment((sum.nanoseconds / 1000).saturating_sub(before));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics_handle::builder;

    fn key() -> ModelKey {
        ModelKey { name: "resnet".into(), version: 2 }
    }

    /// What a scrape shows after the given use of a new version.
    fn scrape(use_it: impl FnOnce(&ModelStatistics)) -> String {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || use_it(&ModelStatistics::new(&key())));
        recorder.handle().render()
    }

    #[track_caller]
    fn assert_line(text: &str, line: &str) {
        assert!(text.lines().any(|l| l == line), "no line '{line}' in:\n{text}");
    }

    #[test]
    fn every_series_is_there_at_zero_from_the_start() {
        let text = scrape(|_| ());
        for name in [
            "nv_inference_request_success",
            "nv_inference_count",
            "nv_inference_exec_count",
            "nv_inference_request_duration_us",
            "nv_inference_queue_duration_us",
            "nv_inference_compute_input_duration_us",
            "nv_inference_compute_infer_duration_us",
            "nv_inference_compute_output_duration_us",
            "nv_inference_pending_request_count",
            "nv_inference_first_response_histogram_ms_count",
            "nacre_request_duration_seconds_count",
            "nacre_queue_duration_seconds_count",
            "nacre_compute_duration_seconds_count",
        ] {
            assert_line(&text, &format!("{name}{{model=\"resnet\",version=\"2\"}} 0"));
        }
        for reason in ["REJECTED", "CANCELED", "BACKEND", "OTHER"] {
            let labels = format!("{{model=\"resnet\",version=\"2\",reason=\"{reason}\"}}");
            assert_line(&text, &format!("nv_inference_request_failure{labels} 0"));
        }
    }

    #[test]
    fn microseconds_are_exact_over_many_short_requests() {
        let text = scrape(|statistics| {
            let timing = RequestTiming { queue: Duration::from_nanos(1_700), ..RequestTiming::default() };
            for _ in 0..1000 {
                statistics.record_success(2, Duration::from_nanos(2_999), &timing);
            }
        });
        assert_line(&text, "nv_inference_queue_duration_us{model=\"resnet\",version=\"2\"} 1700");
        assert_line(&text, "nv_inference_request_duration_us{model=\"resnet\",version=\"2\"} 2999");
        assert_line(&text, "nv_inference_count{model=\"resnet\",version=\"2\"} 2000");
        assert_line(&text, "nv_inference_request_success{model=\"resnet\",version=\"2\"} 1000");
        assert_line(
            &text,
            "nacre_queue_duration_seconds_bucket{model=\"resnet\",version=\"2\",le=\"0.0001\"} 1000",
        );
    }

    #[test]
    fn a_version_that_is_loaded_again_goes_on_counting() {
        let text = scrape(|first| {
            first.record_success(1, Duration::from_millis(5), &RequestTiming::default());
            ModelStatistics::new(&key()).record_success(
                1,
                Duration::from_millis(3),
                &RequestTiming::default(),
            );
        });
        assert_line(&text, "nv_inference_request_duration_us{model=\"resnet\",version=\"2\"} 8000");
    }

    #[test]
    fn the_report_is_what_triton_reports() {
        let statistics = ModelStatistics::new(&key());
        let ms = Duration::from_millis;
        let timing =
            RequestTiming { queue: ms(1), compute_input: ms(2), compute_infer: ms(3), compute_output: ms(4) };
        statistics.record_execution(3, &timing);
        statistics.record_success(1, ms(10), &timing);
        statistics.record_success(2, ms(11), &timing);
        statistics.record_execution(1, &timing);
        statistics.record_failure(FailureReason::Backend, ms(5));
        let report = statistics.report();
        assert_eq!((report.inference_count, report.execution_count), (3, 2));
        assert_eq!(report.success, DurationCount { count: 2, nanoseconds: 21_000_000 });
        assert_eq!(report.fail, DurationCount { count: 1, nanoseconds: 5_000_000 });
        assert_eq!(report.queue, DurationCount { count: 2, nanoseconds: 2_000_000 });
        assert_eq!(report.compute_infer, DurationCount { count: 2, nanoseconds: 6_000_000 });
        assert_eq!(report.cache_hit, DurationCount::default());
        assert!(report.last_inference_ms > 0);
        let sizes: Vec<_> = report.batches.iter().map(|b| (b.batch_size, b.compute_output.count)).collect();
        assert_eq!(sizes, [(1, 1), (3, 1)]);
        assert_eq!(report.batches[1].compute_output.nanoseconds, 4_000_000);
    }

    #[test]
    fn failures_count_by_reason_and_pending_while_the_guard_lives() {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            let statistics = ModelStatistics::new(&key());
            statistics.record_failure(FailureReason::Canceled, Duration::from_millis(1));
            let guard = statistics.pending();
            let text = recorder.handle().render();
            assert_line(&text, "nv_inference_pending_request_count{model=\"resnet\",version=\"2\"} 1");
            drop(guard);
        });
        let text = recorder.handle().render();
        assert_line(&text, "nv_inference_pending_request_count{model=\"resnet\",version=\"2\"} 0");
        assert_line(
            &text,
            "nv_inference_request_failure{model=\"resnet\",version=\"2\",reason=\"CANCELED\"} 1",
        );
    }
}
