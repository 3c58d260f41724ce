use nacre_config::ModelConfig;
use nacre_domain::{DataType, Error, Result, TensorSpec};

use crate::module::{Schema, ValueKind};

/// The configuration with the inputs and outputs that the file leaves out, as far as the model's schema tells.
///
/// # Errors
/// Invalid argument, with the lines to add, where it does not: TorchScript keeps names of arguments, but neither data
/// types nor dims of tensors.
pub(crate) fn complete(config: &ModelConfig, schema: &Schema) -> Result<ModelConfig> {
    let strings = |name: String, optional: bool| TensorSpec {
        name,
        data_type: DataType::Bytes,
        dims: vec![if config.is_batched() { 1 } else { -1 }],
        optional,
    };
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    let mut lines = Vec::new();
    if config.inputs.is_empty() {
        for argument in &schema.arguments {
            match argument.kind {
                ValueKind::Strings => inputs.push(strings(argument.name.clone(), argument.has_default)),
                _ if argument.has_default => {}
                _ => lines.push(example("input", &argument.name)),
            }
        }
    }
    if config.outputs.is_empty() {
        match &schema.outputs {
            Some(kinds) => {
                for (index, kind) in kinds.iter().enumerate() {
                    let name = format!("output__{index}");
                    match kind {
                        ValueKind::Strings => outputs.push(strings(name, false)),
                        _ => lines.push(example("output", &name)),
                    }
                }
            }
            None => lines.push(example("output", "output__0")),
        }
    }
    if !lines.is_empty() {
        return Err(Error::invalid_argument(format!(
            "config.pbtxt does not name {}, and the model says only {schema}, without data types and dims: add lines \
             such as {}",
            match (config.inputs.is_empty(), config.outputs.is_empty()) {
                (true, true) => "inputs and outputs",
                (true, false) => "inputs",
                _ => "outputs",
            },
            lines.join(" ")
        )));
    }
    config.with_tensors(inputs, outputs)
}

fn example(role: &str, name: &str) -> String {
    format!("`{role} {{ name: \"{name}\" data_type: TYPE_FP32 dims: [ -1 ] }}`")
}
