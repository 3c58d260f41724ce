use nacre_domain::{DataType, Error, Result, ShapeDisplay, TensorSpec};
use nacre_proto::inference as proto;

use crate::{InstanceGroup, InstanceKind, ModelConfig, ModelInput, ModelOutput, to_dynamic};

impl ModelConfig {
    /// Completes the inputs and outputs with what the model itself says of them. An empty list means that the model
    /// does not say; what the file says then stays.
    ///
    /// Where the file names tensors they keep their order, and each has to be one of the model's, of its data type
    /// and with its dims, which agree where one of the two is -1; the one that is fixed is taken. Every input that
    /// the model needs has to be there; outputs may be left out, and then are not served.
    ///
    /// # Errors
    /// Invalid argument with every difference: the field, what the model says and what the file says.
    pub fn with_tensors(&self, inputs: Vec<TensorSpec>, outputs: Vec<TensorSpec>) -> Result<ModelConfig> {
        let mut config = self.clone();
        let mut faults = Vec::new();
        if config.inputs.is_empty() {
            config.inputs = inputs
                .into_iter()
                .map(|spec| ModelInput { spec, reshape: None, allow_ragged_batch: false })
                .collect();
        } else if !inputs.is_empty() {
            for (index, input) in config.inputs.iter_mut().enumerate() {
                let path = format!("input[{index}]");
                merge(&path, &mut input.spec, input.reshape.as_deref(), &inputs, &mut faults);
            }
            for needed in inputs.iter().filter(|spec| !spec.optional) {
                if self.input(&needed.name).is_none() {
                    faults
                        .push(format!("input: the model needs an input '{}', which is missing", needed.name));
                }
            }
        }
        if config.outputs.is_empty() {
            config.outputs = outputs
                .into_iter()
                .map(|spec| ModelOutput { spec, reshape: None, label_filename: None })
                .collect();
        } else if !outputs.is_empty() {
            for (index, output) in config.outputs.iter_mut().enumerate() {
                let path = format!("output[{index}]");
                merge(&path, &mut output.spec, output.reshape.as_deref(), &outputs, &mut faults);
            }
        }
        if !faults.is_empty() {
            return Err(Error::invalid_argument(format!(
                "the configuration of model '{}' is not what the model says: {}",
                self.name,
                faults.join("; ")
            )));
        }
        config.write_tensors()?;
        Ok(config)
    }

    /// Replaces the instance groups by those that the backend really made, which the configuration calls then report.
    ///
    /// # Errors
    /// Internal if the message does not hold.
    pub fn with_instance_groups(&self, groups: Vec<InstanceGroup>) -> Result<ModelConfig> {
        let mut message = self.typed_message()?;
        let first = message.instance_group.first().map(|group| group.name.clone()).unwrap_or_default();
        message.instance_group.resize_with(groups.len(), Default::default);
        for (index, (to, from)) in message.instance_group.iter_mut().zip(&groups).enumerate() {
            if to.name.is_empty() {
                to.name = if index == 0 { first.clone() } else { format!("{}_{index}", self.name) };
            }
            let kind = match from.kind {
                InstanceKind::Auto => proto::model_instance_group::Kind::Auto,
                InstanceKind::Gpu => proto::model_instance_group::Kind::Gpu,
                InstanceKind::Cpu => proto::model_instance_group::Kind::Cpu,
                InstanceKind::Model => proto::model_instance_group::Kind::Model,
            };
            to.kind = kind.into();
            to.count = from.count.map_or(1, |count| i32::try_from(count).unwrap_or(i32::MAX));
            to.gpus = from.gpus.iter().map(|&gpu| i32::try_from(gpu).unwrap_or(i32::MAX)).collect();
        }
        Ok(ModelConfig { instance_groups: groups, message: to_dynamic(&message)?, ..self.clone() })
    }

    /// Brings the inputs and outputs of the message into line with those of the configuration.
    fn write_tensors(&mut self) -> Result<()> {
        let mut message = self.typed_message()?;
        message.input = self
            .inputs
            .iter()
            .map(|ModelInput { spec, .. }| {
                let known = message.input.iter().find(|input| input.name == spec.name).cloned();
                proto::ModelInput {
                    name: spec.name.clone(),
                    data_type: number(spec.data_type),
                    dims: spec.dims.clone(),
                    optional: spec.optional,
                    ..known.unwrap_or_default()
                }
            })
            .collect();
        message.output = self
            .outputs
            .iter()
            .map(|ModelOutput { spec, .. }| {
                let known = message.output.iter().find(|output| output.name == spec.name).cloned();
                proto::ModelOutput {
                    name: spec.name.clone(),
                    data_type: number(spec.data_type),
                    dims: spec.dims.clone(),
                    ..known.unwrap_or_default()
                }
            })
            .collect();
        self.message = to_dynamic(&message)?;
        Ok(())
    }

    fn typed_message(&self) -> Result<proto::ModelConfig> {
        self.message.transcode_to().map_err(|error| {
            Error::internal(format!("the configuration of model '{}' does not hold", self.name))
                .with_source(error)
        })
    }
}

fn number(data_type: DataType) -> i32 {
    proto::DataType::from_str_name(data_type.config_name()).unwrap_or_default().into()
}

/// Compares a tensor of the file with the model's of the same name and takes over dims that the file leaves open.
fn merge(
    path: &str,
    tensor: &mut TensorSpec,
    reshape: Option<&[i64]>,
    model: &[TensorSpec],
    faults: &mut Vec<String>,
) {
    let Some(own) = model.iter().find(|own| own.name == tensor.name) else {
        let names: Vec<String> = model.iter().map(|own| format!("'{}'", own.name)).collect();
        faults.push(format!("{path}.name: expected one of {}, got '{}'", names.join(", "), tensor.name));
        return;
    };
    let name = &tensor.name;
    if own.data_type != tensor.data_type {
        let (expected, got) = (own.data_type.config_name(), tensor.data_type.config_name());
        faults.push(format!("{path}.data_type of '{name}': expected {expected}, got {got}"));
    }
    let (field, dims) = match reshape {
        Some(shape) => ("reshape.shape", shape),
        None => ("dims", tensor.dims.as_slice()),
    };
    let agree = |(&a, &b): (&i64, &i64)| a == b || a == -1 || b == -1;
    if own.dims.len() != dims.len() || !own.dims.iter().zip(dims).all(agree) {
        let (expected, got) = (ShapeDisplay(&own.dims), ShapeDisplay(dims));
        faults.push(format!("{path}.{field} of '{name}': expected {expected}, got {got}"));
    } else if reshape.is_none() {
        for (dim, &own) in tensor.dims.iter_mut().zip(&own.dims) {
            *dim = (*dim).max(own);
        }
    }
    if tensor.optional && !own.optional {
        faults.push(format!(
            "{path}.optional of '{name}': expected false, got true: the model needs this input"
        ));
    }
}
