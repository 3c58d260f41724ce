use std::{num::NonZeroUsize, path::PathBuf, thread::available_parallelism, time::Duration};

/// What the server allows all plugins together, and each of them at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmOptions {
    /// Elements of one model that run at once, unless its `instance_group` has a count: the number of plugin threads.
    pub concurrency: usize,
    /// Most plugin instances that exist at once, over all models; further calls wait for one to end.
    pub max_instances: u32,
    /// Most memory that a model's parameter `NACRE_MEMORY_MB` may ask for, in MiB; at most 4096.
    pub max_memory_mb: u32,
    /// Longest call that a model's parameter `NACRE_TIMEOUT_MS` may ask for.
    pub max_timeout: Duration,
    /// Most idle instances that a model's parameter `NACRE_REUSE` may ask for.
    pub max_reuse: u32,
    /// Folder for compiled plugins, so that later starts need not compile them; made if it is missing. `None` keeps none.
    pub cache: Option<PathBuf>,
    /// Most that this folder may hold, in MiB; what was used least recently goes first.
    pub cache_mb: u64,
    /// Largest component, in MiB.
    pub max_component_mb: u64,
    /// Largest answer that a model's parameter `NACRE_OUTPUT_MB` may ask for, in MiB.
    pub max_output_mb: u32,
    /// Most log lines in a second that a model's parameter `NACRE_LOG_LINES` may ask for.
    pub max_log_lines: u32,
    /// Most calls into the host that a model's parameter `NACRE_HOST_CALLS` may ask for.
    pub max_host_calls: u64,
    /// Largest share of one core, in percent, that a model's parameter `NACRE_CPU_PERCENT` may ask for, and the share of
    /// those that do not ask; `None`: as much as there is.
    pub max_cpu_percent: Option<u32>,
    /// Most series of its own metrics that a model's parameter `NACRE_METRIC_SERIES` may ask for.
    pub max_metric_series: u32,
}

impl Default for WasmOptions {
    fn default() -> WasmOptions {
        WasmOptions {
            concurrency: available_parallelism().map_or(1, NonZeroUsize::get),
            max_instances: 256,
            max_memory_mb: 4096,
            max_timeout: Duration::from_secs(600),
            max_reuse: 64,
            cache: None,
            cache_mb: 4096,
            max_component_mb: 256,
            max_output_mb: 1024,
            max_log_lines: 10_000,
            max_host_calls: 1_000_000_000,
            max_cpu_percent: None,
            max_metric_series: 1000,
        }
    }
}
