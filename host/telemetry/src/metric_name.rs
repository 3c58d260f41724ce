use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use nacre_domain::ModelKey;

/// Every metric that the server exports. `nv_*` carry the names, units and labels that Triton's dashboards expect;
/// `nacre_*` are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricName {
    RequestSuccess,
    RequestFailure,
    InferenceCount,
    ExecutionCount,
    RequestDuration,
    QueueDuration,
    ComputeInputDuration,
    ComputeInferDuration,
    ComputeOutputDuration,
    PendingRequests,
    ModelLoadDuration,
    FirstResponse,
    RequestSeconds,
    QueueSeconds,
    ComputeSeconds,
    CpuUtilization,
    CpuMemoryTotal,
    CpuMemoryUsed,
    PluginCalls,
    PluginFailures,
    PluginInstantiate,
    PluginMemoryPeak,
    PluginLoad,
}

/// Upper bounds in seconds of our own histograms: a plugin takes tens of microseconds, a large model seconds.
const SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0,
];

/// Upper bounds in seconds for what takes microseconds, and milliseconds when memory is short.
const INSTANTIATE_SECONDS: &[f64] =
    &[0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.1];

/// Triton's default bounds, in milliseconds.
const FIRST_RESPONSE_MILLISECONDS: &[f64] = &[100.0, 500.0, 2000.0, 5000.0];

impl MetricName {
    pub(crate) const ALL: [MetricName; 23] = [
        MetricName::RequestSuccess,
        MetricName::RequestFailure,
        MetricName::InferenceCount,
        MetricName::ExecutionCount,
        MetricName::RequestDuration,
        MetricName::QueueDuration,
        MetricName::ComputeInputDuration,
        MetricName::ComputeInferDuration,
        MetricName::ComputeOutputDuration,
        MetricName::PendingRequests,
        MetricName::ModelLoadDuration,
        MetricName::FirstResponse,
        MetricName::RequestSeconds,
        MetricName::QueueSeconds,
        MetricName::ComputeSeconds,
        MetricName::CpuUtilization,
        MetricName::CpuMemoryTotal,
        MetricName::CpuMemoryUsed,
        MetricName::PluginCalls,
        MetricName::PluginFailures,
        MetricName::PluginInstantiate,
        MetricName::PluginMemoryPeak,
        MetricName::PluginLoad,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            MetricName::RequestSuccess => "nv_inference_request_success",
            MetricName::RequestFailure => "nv_inference_request_failure",
            MetricName::InferenceCount => "nv_inference_count",
            MetricName::ExecutionCount => "nv_inference_exec_count",
            MetricName::RequestDuration => "nv_inference_request_duration_us",
            MetricName::QueueDuration => "nv_inference_queue_duration_us",
            MetricName::ComputeInputDuration => "nv_inference_compute_input_duration_us",
            MetricName::ComputeInferDuration => "nv_inference_compute_infer_duration_us",
            MetricName::ComputeOutputDuration => "nv_inference_compute_output_duration_us",
            MetricName::PendingRequests => "nv_inference_pending_request_count",
            MetricName::ModelLoadDuration => "nv_model_load_duration_secs",
            MetricName::FirstResponse => "nv_inference_first_response_histogram_ms",
            MetricName::RequestSeconds => "nacre_request_duration_seconds",
            MetricName::QueueSeconds => "nacre_queue_duration_seconds",
            MetricName::ComputeSeconds => "nacre_compute_duration_seconds",
            MetricName::CpuUtilization => "nv_cpu_utilization",
            MetricName::CpuMemoryTotal => "nv_cpu_memory_total_bytes",
            MetricName::CpuMemoryUsed => "nv_cpu_memory_used_bytes",
            MetricName::PluginCalls => "nacre_plugin_calls_total",
            MetricName::PluginFailures => "nacre_plugin_failures_total",
            MetricName::PluginInstantiate => "nacre_plugin_instantiate_duration_seconds",
            MetricName::PluginMemoryPeak => "nacre_plugin_memory_peak_bytes",
            MetricName::PluginLoad => "nacre_plugin_load_duration_seconds",
        }
    }

    pub(crate) const fn help(self) -> &'static str {
        match self {
            MetricName::RequestSuccess => "Requests answered with a result, whatever their batch size",
            MetricName::RequestFailure => {
                "Requests answered with an error, by reason: REJECTED (queue full or timed out in it), CANCELED (the \
                 client gave up), BACKEND (the model failed), OTHER"
            }
            MetricName::InferenceCount => "Rows inferred: a request of batch size n counts n",
            MetricName::ExecutionCount => {
                "Executions of the model; below nv_inference_count where batches were formed"
            }
            MetricName::RequestDuration => {
                "Time of successful requests from arrival to answer, in microseconds"
            }
            MetricName::QueueDuration => {
                "Time that successful requests waited for execution, in microseconds"
            }
            MetricName::ComputeInputDuration => {
                "Time in which inputs were gathered and moved, in microseconds"
            }
            MetricName::ComputeInferDuration => "Time in which the model ran, in microseconds",
            MetricName::ComputeOutputDuration => {
                "Time in which outputs were moved and cut up, in microseconds"
            }
            MetricName::PendingRequests => "Requests waiting for execution now",
            MetricName::ModelLoadDuration => "Time that the last load of the model took, in seconds",
            MetricName::FirstResponse => "Time from arrival to the first response, in milliseconds",
            MetricName::RequestSeconds => "Time of a successful request from arrival to answer, in seconds",
            MetricName::QueueSeconds => "Time that a successful request waited for execution, in seconds",
            MetricName::ComputeSeconds => {
                "Time that the execution behind a successful request took, in seconds"
            }
            MetricName::CpuUtilization => {
                "Share of all the machine's CPU time in use since the scrape before, 0 to 1"
            }
            MetricName::CpuMemoryTotal => "Memory of the machine, in bytes",
            MetricName::CpuMemoryUsed => {
                "Memory of the machine that is not available to new programs, in bytes"
            }
            MetricName::PluginCalls => {
                "Calls of a plugin's function process, one for each element of a batch"
            }
            MetricName::PluginFailures => {
                "Calls of a plugin that failed, by kind: error (its own), answer (not what was promised), deadline, \
                 memory, table, output, host_calls, handles (limits), exit, unreachable, out_of_bounds, stack_overflow, \
                 trap (any other), other; describe and configure included"
            }
            MetricName::PluginInstantiate => {
                "Time until a call's instance of the plugin was there, in seconds"
            }
            MetricName::PluginMemoryPeak => "Most memory that one instance of the plugin has had, in bytes",
            MetricName::PluginLoad => {
                "Time that parts of the plugin's last load took, by phase: compile, configure, snapshot; in seconds"
            }
        }
    }

    /// Upper bounds of a histogram's buckets; `None` for other kinds.
    pub(crate) const fn buckets(self) -> Option<&'static [f64]> {
        match self {
            MetricName::FirstResponse => Some(FIRST_RESPONSE_MILLISECONDS),
            MetricName::RequestSeconds | MetricName::QueueSeconds | MetricName::ComputeSeconds => {
                Some(SECONDS)
            }
            MetricName::PluginInstantiate => Some(INSTANTIATE_SECONDS),
            _ => None,
        }
    }

    const fn is_gauge(self) -> bool {
        matches!(
            self,
            MetricName::PendingRequests
                | MetricName::ModelLoadDuration
                | MetricName::CpuUtilization
                | MetricName::CpuMemoryTotal
                | MetricName::CpuMemoryUsed
                | MetricName::PluginMemoryPeak
                | MetricName::PluginLoad
        )
    }

    /// Hands the help text to the recorder in use.
    pub(crate) fn describe(self) {
        if self.buckets().is_some() {
            metrics::describe_histogram!(self.as_str(), self.help());
        } else if self.is_gauge() {
            metrics::describe_gauge!(self.as_str(), self.help());
        } else {
            metrics::describe_counter!(self.as_str(), self.help());
        }
    }

    /// The counter of a model's version.
    pub(crate) fn counter(self, key: &ModelKey) -> Counter {
        counter!(self.as_str(), "model" => key.name.clone(), "version" => key.version.to_string())
    }

    /// The gauge of a model's version.
    pub(crate) fn gauge(self, key: &ModelKey) -> Gauge {
        gauge!(self.as_str(), "model" => key.name.clone(), "version" => key.version.to_string())
    }

    /// The histogram of a model's version.
    pub(crate) fn histogram(self, key: &ModelKey) -> Histogram {
        histogram!(self.as_str(), "model" => key.name.clone(), "version" => key.version.to_string())
    }
}
