use std::{num::NonZeroUsize, thread::available_parallelism, time::Duration};

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
    /// Largest component, in MiB.
    pub max_component_mb: u64,
    /// Largest answer that a model's parameter `NACRE_OUTPUT_MB` may ask for, in MiB.
    pub max_output_mb: u32,
}

impl Default for WasmOptions {
    fn default() -> WasmOptions {
        WasmOptions {
            concurrency: available_parallelism().map_or(1, NonZeroUsize::get),
            max_instances: 256,
            max_memory_mb: 4096,
            max_timeout: Duration::from_secs(600),
            max_component_mb: 256,
            max_output_mb: 1024,
        }
    }
}
