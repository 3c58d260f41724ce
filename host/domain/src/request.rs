use std::{collections::BTreeMap, fmt};

use crate::{Deadline, Tensor};

/// A model and one of its versions, as they are served.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelKey {
    /// Name of the model: the name of its folder in the repository.
    pub name: String,
    /// Version, a positive integer: the name of the folder inside the model's.
    pub version: u64,
}

impl fmt::Display for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

/// Value of a request or response parameter (KServe v2 "parameters").
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    String(String),
}

/// Parameters by name.
pub type Parameters = BTreeMap<String, Value>;

/// An output that the client asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedOutput {
    /// Name of the output.
    pub name: String,
    /// Parameters beside it, such as `classification`.
    pub parameters: Parameters,
}

/// One inference request, whatever protocol it came by.
#[derive(Clone, Debug)]
pub struct InferenceRequest {
    /// Model asked for.
    pub model: String,
    /// Version asked for; without one, the highest that is ready.
    pub version: Option<u64>,
    /// Chosen by the client and given back to it; may be empty.
    pub id: String,
    /// Free parameters; they reach plugins.
    pub parameters: Parameters,
    /// Input tensors, with the batch dimension where the model has one.
    pub inputs: Vec<Tensor>,
    /// Outputs asked for; empty means all.
    pub outputs: Vec<RequestedOutput>,
    /// When the client stops waiting.
    pub deadline: Deadline,
}

/// The answer to an [`InferenceRequest`].
#[derive(Clone, Debug)]
pub struct InferenceResponse {
    /// Model and version that answered.
    pub model: ModelKey,
    /// The request's id.
    pub id: String,
    /// Parameters of the response.
    pub parameters: Parameters,
    /// Output tensors: those asked for, in the order of the request; else all, in the order of the configuration.
    pub outputs: Vec<Tensor>,
}
