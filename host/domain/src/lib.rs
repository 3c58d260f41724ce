//! The nouns that every layer shares: tensors, requests, responses, deadlines, errors.
//!
//! Nothing here does I/O, knows a runtime or a protocol. Tensor bytes are [`bytes::Bytes`] from the socket to the
//! model and back: cloning and slicing a tensor never copies them.

mod data_type;
mod deadline;
mod error;
mod request;
mod shape;
mod tensor;

pub use data_type::DataType;
pub use deadline::Deadline;
pub use error::{Error, ErrorCode, Result};
pub use request::{InferenceRequest, InferenceResponse, ModelKey, Parameters, RequestedOutput, Value};
pub use shape::{ShapeDisplay, element_count};
pub use tensor::{Tensor, TensorSpec, bytes_elements, concat_bytes_elements};
