//! Runs plugins: WebAssembly components of the world `nacre:plugin/plugin`. The only crate that knows wasmtime.
//!
//! The policy: one engine for the process; a component is compiled and linked once, when its model is loaded; every
//! element of every request runs in a fresh store and instance from a pool of slots, which is dropped afterwards,
//! whatever happened. So a plugin cannot keep state between requests, and a trap or a deadline loses one element's
//! request and nothing else. The price is an instantiation and a `configure` per element, tens of microseconds for a
//! small component.
//!
//! A plugin can reach clocks, random numbers, the log and the files of its own model folder; nothing else.

mod backend;
mod bindings;
mod cache;
mod compile;
mod cpu;
mod differences;
mod engine;
mod failure;
mod files;
mod guest;
mod incremental;
mod inspect;
mod interface;
mod limits;
mod load;
mod log;
mod metrics;
mod models;
mod options;
mod plugin;
mod report;
mod reuse;
mod settings;
mod shared;
mod signature;
mod snapshot;
mod state;
mod stdio;
mod tensors;
mod ticker;
mod wasi;

pub use backend::WasmBackend;
pub use cache::default_cache_folder;
pub use inspect::{Import, Inspection, PluginLimits, Producer, Provision, inspect, limits};
pub use limits::{
    CONFIGURE_TIMEOUT_PARAMETER, CPU_PARAMETER, HOST_CALLS_PARAMETER, LOG_LINES_PARAMETER, MEMORY_PARAMETER,
    METRIC_SERIES_PARAMETER, OUTPUT_PARAMETER, TIMEOUT_PARAMETER,
};
pub use models::MODELS_PARAMETER;
pub use options::WasmOptions;
pub use report::{DescribedTensor, LoadReport, Start};
pub use reuse::REUSE_PARAMETER;
