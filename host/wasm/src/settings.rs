use nacre_config::ModelConfig;
use nacre_domain::{ModelKey, TensorSpec};

use crate::{
    bindings::{step, types},
    tensors,
};

/// Where the plugin finds itself.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) model: String,
    pub(crate) version: String,
    pub(crate) max_batch_size: u32,
    pub(crate) inputs: Vec<TensorSpec>,
    pub(crate) outputs: Vec<TensorSpec>,
    pub(crate) parameters: Vec<(String, String)>,
}

/// [`Settings`] as lists that the guest's can borrow from.
pub(crate) struct BorrowedSettings<'a> {
    inputs: Vec<types::TensorSpecParam<'a>>,
    outputs: Vec<types::TensorSpecParam<'a>>,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Settings {
    pub(crate) fn new(key: &ModelKey, config: &ModelConfig) -> Settings {
        // What the plugin sees is what is behind a `reshape`.
        let seen = |spec: &TensorSpec, reshape: &Option<Vec<i64>>| match reshape {
            Some(dims) => TensorSpec { dims: dims.clone(), ..spec.clone() },
            None => spec.clone(),
        };
        Settings {
            model: key.name.clone(),
            version: key.version.to_string(),
            max_batch_size: config.max_batch_size,
            inputs: config.inputs.iter().map(|input| seen(&input.spec, &input.reshape)).collect(),
            outputs: config.outputs.iter().map(|output| seen(&output.spec, &output.reshape)).collect(),
            parameters: config.parameters.clone().into_iter().collect(),
        }
    }

    pub(crate) fn borrowed(&self) -> BorrowedSettings<'_> {
        BorrowedSettings {
            inputs: self.inputs.iter().map(tensors::spec_to_guest).collect(),
            outputs: self.outputs.iter().map(tensors::spec_to_guest).collect(),
            parameters: self.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        }
    }

    pub(crate) fn to_guest<'a>(&'a self, borrowed: &'a BorrowedSettings<'a>) -> step::Settings<'a> {
        step::Settings {
            model: &self.model,
            version: &self.version,
            max_batch_size: self.max_batch_size,
            inputs: &borrowed.inputs,
            outputs: &borrowed.outputs,
            parameters: &borrowed.parameters,
        }
    }
}
