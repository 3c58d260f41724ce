//! config.pbtxt, parsed in two stages: text → the raw protobuf message → the validated [`ModelConfig`]. Only the
//! latter travels.

mod diagnostic;
mod model;

use std::path::Path;

pub use diagnostic::Diagnostic;
pub use model::{
    DynamicBatching, EnsembleStep, InstanceGroup, InstanceKind, ModelConfig, ModelInput, ModelOutput,
    VersionPolicy,
};
use nacre_domain::{Error, TensorSpec};

/// A configuration that holds, and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The configuration.
    pub config: ModelConfig,
    /// One for each field that is legal but has no effect.
    pub warnings: Vec<Diagnostic>,
}

/// Parses and validates the text of a config.pbtxt.
///
/// `name` is the model's folder and `file` the path that diagnostics name; nothing is read from disk.
///
/// # Errors
/// Everything that is wrong with the text; if it is not a `ModelConfig` message, that alone.
pub fn parse(name: &str, file: &Path, text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    parse_with_backend(name, file, text, None)
}

/// [`parse`] with the backend to take where the text names none: Triton then looks at the files of the version folders.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_backend(
    _name: &str,
    file: &Path,
    _text: &str,
    _backend: Option<&str>,
) -> Result<Parsed, Vec<Diagnostic>> {
    Err(vec![Diagnostic::new(file, None, None, "not implemented yet")])
}

/// The configuration of a model that has no config.pbtxt, for the backend that the caller made out.
pub fn without_file(name: &str, backend: &str) -> ModelConfig {
    ModelConfig {
        name: name.to_owned(),
        backend: backend.to_owned(),
        platform: backend.to_owned(),
        max_batch_size: 0,
        inputs: Vec::new(),
        outputs: Vec::new(),
        version_policy: VersionPolicy::Latest(1),
        default_model_filename: None,
        instance_groups: Vec::new(),
        dynamic_batching: None,
        ensemble_steps: Vec::new(),
        parameters: Default::default(),
        message: prost_reflect::DynamicMessage::new(nacre_proto::model_config_descriptor()),
    }
}

/// The backend that loads a file of this name in the version folder: `model.pt` → `pytorch`, `plugin.wasm` → `wasm`.
pub fn backend_of_file(file_name: &str) -> Option<&'static str> {
    match file_name {
        "model.pt" => Some("pytorch"),
        "plugin.wasm" => Some("wasm"),
        _ => None,
    }
}

/// The labels of a label file: one a line, in the order of the indices.
///
/// # Errors
/// Not found or invalid argument, naming the file.
pub fn read_labels(_file: &Path) -> Result<Vec<String>, Error> {
    Err(Error::internal("not implemented yet"))
}

impl ModelConfig {
    /// Completes the inputs and outputs with what the model itself says of them; an empty list means that the model
    /// does not say.
    ///
    /// # Errors
    /// Invalid argument if the file names them and the model says otherwise: field, expected and got.
    pub fn with_tensors(
        &self,
        _inputs: Vec<TensorSpec>,
        _outputs: Vec<TensorSpec>,
    ) -> Result<ModelConfig, Error> {
        Err(Error::internal("not implemented yet"))
    }

    /// The message as Triton's `GET /v2/models/M/config` prints it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    /// The message as text protobuf, as a config.pbtxt would have it.
    pub fn text(&self) -> String {
        self.message.to_string()
    }
}
