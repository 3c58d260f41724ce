//! Options of `serve` about plugins: what all of them share, and how much one model's config.pbtxt may ask for.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use nacre_wasm::WasmOptions;

/// Value of `--plugin-cache` that keeps no compiled plugins.
const NO_CACHE: &str = "off";

/// Plugins.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Plugins")]
pub struct PluginOptions {
    /// Threads that run plugins; 0 is the number of cores.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub plugin_threads: usize,

    /// Folder that keeps compiled plugins, so that the next start need not compile them; several servers may share it.
    /// `off` keeps none. [default: nacre/plugins in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR")]
    pub plugin_cache: Option<PathBuf>,

    /// Most that this folder holds; what was used least recently goes first.
    #[arg(long, value_name = "MIB", default_value_t = WasmOptions::default().cache_mb)]
    pub plugin_cache_mb: u64,

    /// Plugin instances that exist at once, over all models; further calls wait.
    #[arg(long, value_name = "N", default_value_t = WasmOptions::default().max_instances, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub plugin_max_instances: u32,

    /// Largest component that is loaded.
    #[arg(long, value_name = "MIB", default_value_t = WasmOptions::default().max_component_mb)]
    pub plugin_max_component_mb: u64,

    /// Most memory that a model may ask for with NACRE_MEMORY_MB.
    #[arg(long, value_name = "MIB", default_value_t = WasmOptions::default().max_memory_mb, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub plugin_max_memory_mb: u32,

    /// Longest call that a model may ask for with NACRE_TIMEOUT_MS or NACRE_CONFIGURE_TIMEOUT_MS.
    #[arg(long, value_name = "SECONDS", default_value_t = WasmOptions::default().max_timeout.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    pub plugin_max_timeout_secs: u64,

    /// Largest answer that a model may ask for with NACRE_OUTPUT_MB.
    #[arg(long, value_name = "MIB", default_value_t = WasmOptions::default().max_output_mb, value_parser = clap::value_parser!(u32).range(1..))]
    pub plugin_max_output_mb: u32,

    /// Most log lines in a second that a model may ask for with NACRE_LOG_LINES.
    #[arg(long, value_name = "N", default_value_t = WasmOptions::default().max_log_lines)]
    pub plugin_max_log_lines: u32,

    /// Most calls into the server for one request that a model may ask for with NACRE_HOST_CALLS.
    #[arg(long, value_name = "N", default_value_t = WasmOptions::default().max_host_calls)]
    pub plugin_max_host_calls: u64,

    /// Largest share of one core that a model may ask for with NACRE_CPU_PERCENT, and the share of those that do not ask;
    /// 200 is two cores. [default: no limit]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..))]
    pub plugin_max_cpu_percent: Option<u32>,

    /// Most idle instances that a model may keep for reuse with NACRE_REUSE; 0 forbids reuse.
    #[arg(long, value_name = "N", default_value_t = WasmOptions::default().max_reuse)]
    pub plugin_max_reuse: u32,

    /// Most series of metrics of its own that a model may ask for with NACRE_METRIC_SERIES.
    #[arg(long, value_name = "N", default_value_t = WasmOptions::default().max_metric_series)]
    pub plugin_max_metric_series: u32,
}

impl PluginOptions {
    /// What the wasm backend is started with.
    pub fn wasm(&self) -> WasmOptions {
        let defaults = WasmOptions::default();
        WasmOptions {
            concurrency: if self.plugin_threads > 0 { self.plugin_threads } else { defaults.concurrency },
            max_instances: self.plugin_max_instances,
            max_memory_mb: self.plugin_max_memory_mb,
            max_timeout: Duration::from_secs(self.plugin_max_timeout_secs),
            max_reuse: self.plugin_max_reuse,
            cache: match &self.plugin_cache {
                None => nacre_wasm::default_cache_folder(),
                Some(folder) if folder.as_os_str() == NO_CACHE => None,
                Some(folder) => Some(folder.clone()),
            },
            cache_mb: self.plugin_cache_mb,
            max_component_mb: self.plugin_max_component_mb,
            max_output_mb: self.plugin_max_output_mb,
            max_log_lines: self.plugin_max_log_lines,
            max_host_calls: self.plugin_max_host_calls,
            max_cpu_percent: self.plugin_max_cpu_percent,
            max_metric_series: self.plugin_max_metric_series,
        }
    }
}
