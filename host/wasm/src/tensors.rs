//! Tensors and parameters on their way into a guest and out of it.

use bytes::Bytes;
use nacre_backend::ElementRequest;
use nacre_config::{ModelConfig, ModelOutput};
use nacre_domain::{
    DataType, Error, InferenceResponse, Parameters, Result, ShapeDisplay, Tensor, TensorSpec, Value,
};

use crate::bindings::types;

pub(crate) fn to_guest(tensor: &Tensor) -> types::TensorParam<'_> {
    types::TensorParam {
        name: &tensor.name,
        data_type: data_type_to_guest(tensor.data_type),
        shape: &tensor.shape,
        data: &tensor.data,
    }
}

pub(crate) fn value_to_guest(value: &Value) -> types::ValueParam<'_> {
    match value {
        Value::Bool(value) => types::ValueParam::Truth(*value),
        Value::Int(value) => types::ValueParam::Integer(*value),
        Value::Double(value) => types::ValueParam::Number(*value),
        Value::String(value) => types::ValueParam::Text(value),
    }
}

pub(crate) fn parameters_from_guest(parameters: Vec<(String, types::ValueResult)>) -> Parameters {
    let value = |value| match value {
        types::ValueResult::Truth(value) => Value::Bool(value),
        types::ValueResult::Integer(value) => Value::Int(value),
        types::ValueResult::Number(value) => Value::Double(value),
        types::ValueResult::Text(value) => Value::String(value),
    };
    parameters.into_iter().map(|(name, v)| (name, value(v))).collect()
}

/// Checks what a guest gave: known names, each once, with the type, a shape and the size that the configuration
/// promises. Gives those that are wanted (all, if the list is empty), in the order of the configuration; `unlisted`
/// ones are dropped. A request that left an optional input out and wants no outputs by name may lack some: what is made
/// of that input has nothing to be made of.
///
/// # Errors
/// Internal, naming the output, what was expected and what was got. Nothing about a guest's answer is the client's
/// fault.
pub(crate) fn outputs_from_guest(
    config: &ModelConfig,
    unlisted: &[String],
    request: &ElementRequest,
    given: Vec<types::TensorResult>,
) -> Result<Vec<Tensor>> {
    let mut found: Vec<Option<Tensor>> = config.outputs.iter().map(|_| None).collect();
    for tensor in given {
        let slot = config.outputs.iter().zip(&mut found).find(|(output, _)| output.spec.name == tensor.name);
        let Some((output, slot)) = slot else {
            if unlisted.contains(&tensor.name) {
                continue;
            }
            return Err(Error::internal(format!(
                "it gave an output '{}', expected only {}",
                tensor.name,
                names(config.outputs.iter().map(|o| o.spec.name.as_str()))
            )));
        };
        if slot.is_some() {
            return Err(Error::internal(format!("it gave output '{}' twice", tensor.name)));
        }
        *slot = Some(output_from_guest(output, tensor)?);
    }
    let wanted = &request.outputs;
    let complete = config.inputs.iter().all(|input| {
        !input.spec.optional || request.inputs.iter().any(|tensor| tensor.name == input.spec.name)
    });
    let mut outputs = Vec::with_capacity(found.len());
    for (output, tensor) in config.outputs.iter().zip(found) {
        if !wanted.is_empty() && !wanted.contains(&output.spec.name) {
            continue;
        }
        match tensor {
            Some(tensor) => outputs.push(tensor),
            None if wanted.is_empty() && !complete => {}
            None => return Err(Error::internal(format!("it gave no output '{}'", output.spec.name))),
        }
    }
    Ok(outputs)
}

fn output_from_guest(output: &ModelOutput, tensor: types::TensorResult) -> Result<Tensor> {
    let spec = &output.spec;
    let dims = output.reshape.as_ref().unwrap_or(&spec.dims);
    let data_type = data_type_from_guest(tensor.data_type);
    if data_type != spec.data_type {
        return Err(Error::internal(format!(
            "its output '{}': expected {}, got {data_type}",
            spec.name, spec.data_type
        )));
    }
    let fits = dims.len() == tensor.shape.len()
        && dims.iter().zip(&tensor.shape).all(|(&dim, &got)| dim == got || (dim == -1 && got >= 0));
    if !fits {
        return Err(Error::internal(format!(
            "its output '{}': expected shape {}, got {}",
            spec.name,
            ShapeDisplay(dims),
            ShapeDisplay(&tensor.shape)
        )));
    }
    let tensor = Tensor { name: tensor.name, data_type, shape: tensor.shape, data: Bytes::from(tensor.data) };
    tensor.validate().map_err(|e| Error::internal(format!("its output: {}", e.message())))?;
    Ok(tensor)
}

/// The answer of another model as the guest that called it gets it.
pub(crate) fn response_to_guest(response: InferenceResponse) -> types::Response {
    let value = |value| match value {
        Value::Bool(value) => types::ValueResult::Truth(value),
        Value::Int(value) => types::ValueResult::Integer(value),
        Value::Double(value) => types::ValueResult::Number(value),
        Value::String(value) => types::ValueResult::Text(value),
    };
    let tensor = |tensor: Tensor| types::TensorResult {
        name: tensor.name,
        data_type: data_type_to_guest(tensor.data_type),
        shape: tensor.shape,
        data: tensor.data.into(),
    };
    types::Response {
        outputs: response.outputs.into_iter().map(tensor).collect(),
        parameters: response.parameters.into_iter().map(|(name, v)| (name, value(v))).collect(),
    }
}

/// `'a', 'b'` or `none`.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("'{name}'")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

pub(crate) fn data_type_from_guest(data_type: types::DataType) -> DataType {
    match data_type {
        types::DataType::Boolean => DataType::Bool,
        types::DataType::Uint8 => DataType::Uint8,
        types::DataType::Uint16 => DataType::Uint16,
        types::DataType::Uint32 => DataType::Uint32,
        types::DataType::Uint64 => DataType::Uint64,
        types::DataType::Int8 => DataType::Int8,
        types::DataType::Int16 => DataType::Int16,
        types::DataType::Int32 => DataType::Int32,
        types::DataType::Int64 => DataType::Int64,
        types::DataType::Fp16 => DataType::Fp16,
        types::DataType::Bf16 => DataType::Bf16,
        types::DataType::Fp32 => DataType::Fp32,
        types::DataType::Fp64 => DataType::Fp64,
        types::DataType::Bytes => DataType::Bytes,
    }
}

pub(crate) fn spec_to_guest(spec: &TensorSpec) -> types::TensorSpecParam<'_> {
    types::TensorSpecParam {
        name: &spec.name,
        data_type: data_type_to_guest(spec.data_type),
        dims: &spec.dims,
        optional: spec.optional,
    }
}

fn data_type_to_guest(data_type: DataType) -> types::DataType {
    match data_type {
        DataType::Bool => types::DataType::Boolean,
        DataType::Uint8 => types::DataType::Uint8,
        DataType::Uint16 => types::DataType::Uint16,
        DataType::Uint32 => types::DataType::Uint32,
        DataType::Uint64 => types::DataType::Uint64,
        DataType::Int8 => types::DataType::Int8,
        DataType::Int16 => types::DataType::Int16,
        DataType::Int32 => types::DataType::Int32,
        DataType::Int64 => types::DataType::Int64,
        DataType::Fp16 => types::DataType::Fp16,
        DataType::Bf16 => types::DataType::Bf16,
        DataType::Fp32 => types::DataType::Fp32,
        DataType::Fp64 => types::DataType::Fp64,
        DataType::Bytes => types::DataType::Bytes,
    }
}
