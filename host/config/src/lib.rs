//! config.pbtxt, parsed in two stages: text → the raw protobuf message → the validated [`ModelConfig`]. Only the
//! latter travels.

mod model;

pub use model::{
    DynamicBatching, EnsembleStep, InstanceGroup, InstanceKind, ModelConfig, ModelInput, ModelOutput,
    VersionPolicy,
};
