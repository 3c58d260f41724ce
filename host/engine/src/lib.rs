//! What is served: the snapshot of models, the lifecycle that makes it, requests through it, ensembles.
//!
//! A request loads one snapshot and stays with the [servables](servable::Servable) it found there, ensemble steps
//! included; the lifecycle replaces the snapshot as a whole and changes none.

mod callees;
mod engine;
mod ensemble;
mod labels;
mod lifecycle;
mod options;
mod reload;
mod reshape;
mod servable;
mod snapshot;
mod validate;
mod view;

pub use engine::Engine;
pub use options::EngineOptions;
pub use reload::FollowOptions;
pub use view::{IndexEntry, ModelState, ModelView};
