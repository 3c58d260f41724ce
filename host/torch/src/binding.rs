//! Which input of the configuration is which argument of `forward`, and where among the results an output is.

use std::ffi::CString;

use nacre_config::ModelConfig;
use nacre_domain::{DataType, Error, Result, TensorSpec};

use crate::{
    data_type::to_scalar_type,
    module::{Argument, Schema, ValueKind},
    session::Container,
};

/// The two sides brought together; in the order of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub container: Container,
    /// Number of values that a run takes.
    pub slots: usize,
    pub inputs: Vec<InputBinding>,
    pub outputs: Vec<OutputBinding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputBinding {
    /// Which of the values it is.
    pub slot: usize,
    /// The model writes into it.
    pub overwritten: bool,
    /// Its key where the values go into a dictionary.
    pub key: Option<CString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutputBinding {
    /// Position in the tuple or list; 0 for a single result.
    Index(usize),
    /// Key in the dictionary.
    Key(String),
}

impl Binding {
    /// Binds by argument name, else by `NAME__INDEX`, else by the order in the configuration.
    ///
    /// # Errors
    /// Invalid argument if a name, a data type or a number of inputs or outputs does not fit the schema.
    pub(crate) fn new(config: &ModelConfig, schema: &Schema) -> Result<Binding> {
        let inputs: Vec<&TensorSpec> = config.inputs.iter().map(|input| &input.spec).collect();
        let outputs: Vec<&TensorSpec> = config.outputs.iter().map(|output| &output.spec).collect();
        for (role, spec) in inputs.iter().map(|s| ("input", s)).chain(outputs.iter().map(|s| ("output", s))) {
            if spec.data_type != DataType::Bytes && to_scalar_type(spec.data_type).is_none() {
                return Err(Error::invalid_argument(format!(
                    "{role} '{}': TorchScript has no {} tensors; use {} and let the model cast",
                    spec.name,
                    spec.data_type.config_name(),
                    signed(spec.data_type).config_name()
                )));
            }
        }
        let (container, slots, inputs) = bind_inputs(&inputs, schema)?;
        Ok(Binding { container, slots, inputs, outputs: bind_outputs(&outputs, schema)? })
    }
}

/// The signed data type that holds most of an unsigned one.
fn signed(data_type: DataType) -> DataType {
    match data_type {
        DataType::Uint16 => DataType::Int32,
        _ => DataType::Int64,
    }
}

fn bind_inputs(specs: &[&TensorSpec], schema: &Schema) -> Result<(Container, usize, Vec<InputBinding>)> {
    if let [first, rest @ ..] = schema.arguments.as_slice()
        && rest.iter().all(|argument| argument.has_default)
    {
        match first.kind {
            ValueKind::TensorDict => {
                let bindings = specs.iter().enumerate().map(|(slot, spec)| {
                    let key = CString::new(spec.name.as_str()).ok();
                    element_binding(spec, first, slot).map(|binding| InputBinding { key, ..binding })
                });
                return Ok((Container::Dict, specs.len(), bindings.collect::<Result<_>>()?));
            }
            ValueKind::TensorList => {
                let slots = positions("input", specs, &[], Some(specs.len()), schema)?;
                let bindings = specs.iter().zip(slots).map(|(spec, slot)| element_binding(spec, first, slot));
                return Ok((Container::List, specs.len(), bindings.collect::<Result<_>>()?));
            }
            _ => {}
        }
    }
    let names: Vec<&str> = schema.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let slots = positions("input", specs, &names, Some(names.len()), schema)?;
    let mut bindings = Vec::with_capacity(specs.len());
    for (spec, &slot) in specs.iter().zip(&slots) {
        let argument =
            schema.arguments.get(slot).ok_or_else(|| Error::internal("an argument out of range"))?;
        check_kind("input", spec, argument.kind, &argument.type_name)?;
        if spec.optional && !argument.has_default {
            return Err(Error::invalid_argument(format!(
                "input '{}' is optional, but the model's argument '{}' has no default: {schema}",
                spec.name, argument.name
            )));
        }
        bindings.push(InputBinding { slot, overwritten: argument.overwritten, key: None });
    }
    for (slot, argument) in schema.arguments.iter().enumerate() {
        if !argument.has_default && !slots.contains(&slot) {
            return Err(Error::invalid_argument(format!(
                "no input for the model's argument '{}: {}': {schema}",
                argument.name, argument.type_name
            )));
        }
    }
    Ok((Container::Arguments, schema.arguments.len(), bindings))
}

/// An input that goes into a dictionary or list of tensors.
fn element_binding(spec: &TensorSpec, argument: &Argument, slot: usize) -> Result<InputBinding> {
    check_kind("input", spec, ValueKind::Tensor, &argument.type_name)?;
    Ok(InputBinding { slot, overwritten: argument.overwritten, key: None })
}

fn bind_outputs(specs: &[&TensorSpec], schema: &Schema) -> Result<Vec<OutputBinding>> {
    if schema.outputs.is_none() && schema.result_type.starts_with("Dict[") {
        return Ok(specs.iter().map(|spec| OutputBinding::Key(spec.name.clone())).collect());
    }
    let indices = positions("output", specs, &[], schema.outputs.as_ref().map(Vec::len), schema)?;
    for (spec, &index) in specs.iter().zip(&indices) {
        if let Some(&kind) = schema.outputs.as_ref().and_then(|outputs| outputs.get(index)) {
            check_kind("output", spec, kind, &schema.result_type)?;
        }
    }
    Ok(indices.into_iter().map(OutputBinding::Index).collect())
}

/// The position of each tensor: by name, else by the index at the end of its name; if that tells nothing of any of them,
/// by order.
fn positions(
    role: &str,
    specs: &[&TensorSpec],
    names: &[&str],
    count: Option<usize>,
    schema: &Schema,
) -> Result<Vec<usize>> {
    let mut found: Vec<Option<usize>> = specs
        .iter()
        .map(|spec| names.iter().position(|&name| name == spec.name).or_else(|| index_suffix(&spec.name)))
        .collect();
    if found.iter().all(Option::is_none) {
        found = (0..specs.len()).map(Some).collect();
    }
    let mut taken: Vec<usize> = Vec::with_capacity(specs.len());
    for (spec, position) in specs.iter().zip(found) {
        let Some(position) = position else {
            let way = if names.is_empty() { "" } else { "is no argument of the model and " };
            return Err(Error::invalid_argument(format!(
                "{role} '{}' {way}does not end in __<index>, though others are named so: {schema}",
                spec.name
            )));
        };
        if let Some(count) = count.filter(|&count| position >= count) {
            return Err(Error::invalid_argument(format!(
                "{role} '{}' would be number {position}, counted from 0, but the model has only {count}: {schema}",
                spec.name
            )));
        }
        if let Some(other) = taken.iter().position(|&other| other == position).and_then(|at| specs.get(at)) {
            return Err(Error::invalid_argument(format!(
                "{role}s '{}' and '{}' are both number {position}, counted from 0: {schema}",
                other.name, spec.name
            )));
        }
        taken.push(position);
    }
    Ok(taken)
}

/// The index of a name such as `input__0`.
fn index_suffix(name: &str) -> Option<usize> {
    name.rsplit_once("__")?.1.parse().ok()
}

fn check_kind(role: &str, spec: &TensorSpec, kind: ValueKind, type_name: &str) -> Result<()> {
    let problem = match (kind, spec.data_type) {
        (ValueKind::Strings, DataType::Bytes) => return Ok(()),
        (ValueKind::Tensor, data_type) if data_type != DataType::Bytes => return Ok(()),
        (ValueKind::Strings, _) => "the model has a list of strings there: use TYPE_STRING",
        (ValueKind::Tensor, _) => "the model has a Tensor there, and TYPE_STRING needs List[str]",
        _ => {
            "only Tensor and List[str], or one Dict[str, Tensor] or List[Tensor] in place of them all, can be served"
        }
    };
    Err(Error::invalid_argument(format!(
        "{role} '{}' is {}, but in the model it belongs to {type_name}: {problem}",
        spec.name,
        spec.data_type.config_name()
    )))
}
