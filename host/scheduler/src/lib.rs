//! Turns requests into executions.

mod model_queue;
mod plugin_threads;

pub use model_queue::{Completion, ModelQueue};
pub use plugin_threads::PluginThreads;
