//! config.pbtxt, parsed in two stages: text → the raw protobuf message → the validated [`ModelConfig`]. Only the
//! latter travels.
//!
//! Whatever Triton takes for a configuration parses. What it refuses as invalid is refused too, all faults at once,
//! each with its field and line; fields that are legal but have no effect here are warned about by name. The
//! exceptions: what concerns features that do not exist here (sequence batching, batch inputs, priorities, metrics'
//! options) is not validated, since it is warned about as a whole.

mod backends;
mod complete;
mod diagnostic;
mod effects;
mod labels;
mod model;
mod parse;
mod print;
#[cfg(test)]
mod properties;
mod tensors;
mod text;
mod validate;
mod validate_tensors;

pub use backends::backend_of_file;
pub use diagnostic::Diagnostic;
pub use labels::read_labels;
pub use model::{
    DynamicBatching, EnsembleStep, InstanceGroup, InstanceKind, ModelConfig, ModelInput, ModelOutput,
    VersionPolicy,
};
pub(crate) use parse::to_dynamic;
pub use parse::{Parsed, parse, parse_with_backend, without_file};
