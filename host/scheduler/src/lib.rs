//! From requests to executions: a bounded queue for each served version, batches formed from it for models that take
//! batches, elements cut from it for those that take one at a time, and results handed back request by request.

mod batched;
mod element;
mod in_flight;
mod model_queue;
mod panic;
mod plugin_threads;

pub use in_flight::{InFlight, InFlightGuard};
pub use model_queue::{Completion, ModelQueue};
pub use plugin_threads::PluginThreads;
