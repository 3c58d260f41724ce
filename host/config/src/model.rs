use std::{collections::BTreeMap, time::Duration};

use nacre_domain::TensorSpec;

/// The validated configuration of one model: what the other layers read.
///
/// Made by the parser of this crate, completed once by the backend that loads the model
/// ([`ModelConfig::with_tensors`]), then shared and never changed.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// Name of the model, equal to its folder's.
    pub name: String,
    /// Who runs it: `pytorch`, `wasm`, `identity`, `ensemble`, or the name of a backend that is not here. Derived from
    /// `platform` where only that is given (`pytorch_libtorch` → `pytorch`).
    pub backend: String,
    /// `platform` as the metadata reports it: as written, else derived from the backend.
    pub platform: String,
    /// Most rows of a batch; 0 if tensors have no batch dimension.
    pub max_batch_size: u32,
    /// Inputs in order; empty if neither the file nor the backend names them.
    pub inputs: Vec<ModelInput>,
    /// Outputs in order.
    pub outputs: Vec<ModelOutput>,
    /// Which of the version folders are served.
    pub version_policy: VersionPolicy,
    /// Name of the file in the version folder: as written, else the backend's usual one; `None` for a backend that
    /// has none or is not known.
    pub default_model_filename: Option<String>,
    /// Instances by group; empty if the file says nothing and the backend has not said what it made
    /// ([`ModelConfig::with_instance_groups`]).
    pub instance_groups: Vec<InstanceGroup>,
    /// Dynamic batching; without it each request is its own batch.
    pub dynamic_batching: Option<DynamicBatching>,
    /// Steps of an ensemble; empty for every other backend.
    pub ensemble_steps: Vec<EnsembleStep>,
    /// `parameters`, key to string value.
    pub parameters: BTreeMap<String, String>,
    /// The whole `inference.ModelConfig` message, defaults completed as Triton completes them, for the protocol's
    /// configuration calls.
    pub message: prost_reflect::DynamicMessage,
}

/// An input of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInput {
    /// Name, type, dims and whether it may be left out.
    pub spec: TensorSpec,
    /// Dims that the backend gets instead of those that the client sends, if `reshape` is given.
    pub reshape: Option<Vec<i64>>,
    /// Requests of unlike shapes may share a batch; no effect yet.
    pub allow_ragged_batch: bool,
}

/// An output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOutput {
    /// Name, type and dims.
    pub spec: TensorSpec,
    /// Dims that the backend gives instead of those that the client sees, if `reshape` is given.
    pub reshape: Option<Vec<i64>>,
    /// File beside config.pbtxt with one label a line, for classification.
    pub label_filename: Option<String>,
}

/// Which versions are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The highest so many.
    Latest(u32),
    /// All.
    All,
    /// Just these.
    Specific(Vec<u64>),
}

/// One group of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceGroup {
    /// Where its instances run.
    pub kind: InstanceKind,
    /// Number of instances (for a GPU group: on each of its GPUs); `None` if unset, which a backend reads as its default.
    pub count: Option<u32>,
    /// GPUs by index; empty means all.
    pub gpus: Vec<u32>,
}

/// Where an instance runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceKind {
    /// GPU if there is one, else CPU.
    Auto,
    /// On a GPU.
    Gpu,
    /// On the CPU.
    Cpu,
    /// The model decides.
    Model,
}

/// Dynamic batching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicBatching {
    /// Sizes that are formed as soon as they can be, ascending; empty means only the largest.
    pub preferred_batch_sizes: Vec<u32>,
    /// How long a request may wait for others.
    pub max_queue_delay: Duration,
    /// Most requests that wait; `None` is the server's default bound.
    pub max_queue_size: Option<u32>,
}

/// One step of an ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnsembleStep {
    /// Model that runs.
    pub model: String,
    /// Its version; `None` is the highest ready one.
    pub version: Option<u64>,
    /// The model's input → the ensemble's tensor.
    pub input_map: BTreeMap<String, String>,
    /// The model's output → the ensemble's tensor.
    pub output_map: BTreeMap<String, String>,
}

impl ModelConfig {
    /// The input of that name.
    pub fn input(&self, name: &str) -> Option<&ModelInput> {
        self.inputs.iter().find(|input| input.spec.name == name)
    }

    /// The output of that name.
    pub fn output(&self, name: &str) -> Option<&ModelOutput> {
        self.outputs.iter().find(|output| output.spec.name == name)
    }

    /// Whether tensors carry a batch dimension.
    pub fn is_batched(&self) -> bool {
        self.max_batch_size > 0
    }
}
