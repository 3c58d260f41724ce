//! What a backend is: the contract between those who run models (`torch`, `wasm`, [`identity`]) and those who
//! schedule them.

pub mod identity;
mod model;

pub use model::{
    Backend, BatchedModel, ElementModel, ElementRequest, Execution, Executor, Instance, LoadedModel,
    ModelCalls, ModelSource, Placement,
};
