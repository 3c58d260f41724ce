//! What is served: the snapshot of models, the lifecycle that makes it, requests through it, ensembles.

mod engine;
mod options;
mod view;

pub use engine::Engine;
pub use options::EngineOptions;
pub use view::{IndexEntry, ModelState, ModelView};
