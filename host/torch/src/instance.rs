use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use nacre_backend::{Execution, Instance};
use nacre_config::ModelOutput;
use nacre_domain::{DataType, Error, ErrorCode, Result, ShapeDisplay, Tensor};

use crate::{
    binding::OutputBinding,
    buffers::Buffers,
    data_type::{from_scalar_type, to_scalar_type},
    model::Shared,
    module::ValueKind,
    session::{Input, Output, RunOptions, Session, gather_pinned},
    shapes,
};

/// One instance of a TorchScript model.
pub(crate) struct TorchInstance {
    shared: Arc<Shared>,
    session: Session,
    on_gpu: bool,
    buffers: Buffers,
}

impl TorchInstance {
    pub(crate) fn new(shared: Arc<Shared>, session: Session, on_gpu: bool) -> TorchInstance {
        let buffers = Buffers::new(shared.config.inputs.len().saturating_add(1));
        TorchInstance { shared, session, on_gpu, buffers }
    }
}

impl Instance for TorchInstance {
    fn gather(&mut self, parts: &[Bytes]) -> Result<Bytes> {
        if self.on_gpu {
            let context = || format!("model '{}': pinned memory for a batch", self.shared.key.name);
            return gather_pinned(parts).map_err(|error| error.into_error(ErrorCode::Internal, context()));
        }
        Ok(self.buffers.gather(parts.iter()))
    }

    fn execute(&mut self, inputs: Vec<Tensor>) -> Result<Execution> {
        let shared = self.shared.clone();
        let begun = Instant::now();
        let rows = shared.config.is_batched().then(|| batch_rows(&inputs)).transpose()?;
        let mut values: Vec<Input> = Vec::new();
        values.resize_with(shared.binding.slots, || Input::Default);
        for tensor in inputs {
            let (slot, value) = shared.input(tensor, &mut self.buffers)?;
            *values.get_mut(slot).ok_or_else(|| shared.failure("an input without a place"))? = value;
        }
        shared.check_complete(&values)?;
        let prepared = begun.elapsed();
        let options = RunOptions {
            container: shared.binding.container,
            inference_mode: shared.settings.inference_mode,
            optimized_execution: shared.settings.optimized_execution,
        };
        let result = self.session.run(&values, options).map_err(|error| {
            error.into_error(ErrorCode::Internal, format!("model '{}' failed", shared.key.name))
        })?;
        let returned = Instant::now();
        let outputs = shared
            .config
            .outputs
            .iter()
            .zip(&shared.binding.outputs)
            .map(|(config, binding)| shared.output(config, binding, &result.outputs, rows))
            .collect::<Result<Vec<_>>>()?;
        Ok(Execution {
            outputs,
            input_time: prepared + result.input_time,
            output_time: returned.elapsed() + result.output_time,
            ..Execution::default()
        })
    }
}

/// Rows of a batch: the first dimension of every input.
fn batch_rows(inputs: &[Tensor]) -> Result<i64> {
    inputs
        .first()
        .and_then(|tensor| tensor.shape.first().copied())
        .ok_or_else(|| Error::internal("a batch without a batch dimension"))
}

impl Shared {
    fn failure(&self, message: impl std::fmt::Display) -> Error {
        Error::internal(format!("model '{}': {message}", self.key.name))
    }

    /// The place and the value of an input: a tensor over the request's own bytes, unless they are not aligned.
    fn input(&self, tensor: Tensor, buffers: &mut Buffers) -> Result<(usize, Input)> {
        let refuse = |problem: String| {
            Error::invalid_argument(format!("model '{}': input '{}': {problem}", self.key.name, tensor.name))
        };
        let (config, binding) = self
            .config
            .inputs
            .iter()
            .zip(&self.binding.inputs)
            .find(|(config, _)| config.spec.name == tensor.name)
            .ok_or_else(|| refuse("the model has none of that name".to_owned()))?;
        let expected = config.spec.data_type;
        if tensor.data_type != expected {
            return Err(refuse(format!("expected {expected}, got {}", tensor.data_type)));
        }
        // libtorch reads as many bytes as the shape says.
        tensor.validate().map_err(|error| error.context(format!("model '{}'", self.key.name)))?;
        let Some(scalar_type) = to_scalar_type(expected) else {
            return Ok((binding.slot, Input::Strings(tensor.data)));
        };
        if expected == DataType::Bool && tensor.data.iter().any(|&byte| byte > 1) {
            return Err(refuse("an element of BOOL is neither 0 nor 1".to_owned()));
        }
        let aligned = expected.size().is_none_or(|size| tensor.data.as_ptr().addr().is_multiple_of(size));
        let data = if aligned { tensor.data } else { buffers.gather(std::iter::once(&tensor.data)) };
        let input = Input::Tensor {
            scalar_type,
            shape: tensor.shape,
            data,
            overwritten: binding.overwritten,
            key: binding.key.clone(),
        };
        Ok((binding.slot, input))
    }

    /// Checks that what must be there is: only an optional input may keep its default.
    fn check_complete(&self, values: &[Input]) -> Result<()> {
        for (config, binding) in self.config.inputs.iter().zip(&self.binding.inputs) {
            if !config.spec.optional && matches!(values.get(binding.slot), Some(Input::Default) | None) {
                return Err(Error::invalid_argument(format!(
                    "model '{}': input '{}' is missing",
                    self.key.name, config.spec.name
                )));
            }
        }
        Ok(())
    }

    /// An output as the configuration has it, over the model's own memory.
    fn output(
        &self,
        config: &ModelOutput,
        binding: &OutputBinding,
        given: &[Output],
        rows: Option<i64>,
    ) -> Result<Tensor> {
        let name = &config.spec.name;
        let fail = |problem: String| self.failure(format!("output '{name}': {problem}"));
        let output = match binding {
            OutputBinding::Index(index) => given.get(*index).ok_or_else(|| {
                fail(format!("it is number {index}, counted from 0, but the model gave only {}", given.len()))
            })?,
            OutputBinding::Key(key) => {
                given.iter().find(|output| output.key.as_deref() == Some(key)).ok_or_else(|| {
                    let keys: Vec<_> = given.iter().filter_map(|output| output.key.as_deref()).collect();
                    fail(format!("the model gave a dictionary with the keys [{}] only", keys.join(", ")))
                })?
            }
        };
        let expected = config.spec.data_type;
        let data_type = match output.kind {
            ValueKind::Tensor => from_scalar_type(output.scalar_type),
            ValueKind::Strings => Some(DataType::Bytes),
            _ => None,
        };
        if data_type != Some(expected) {
            let got = data_type.map_or_else(|| output.type_name.clone(), |data_type| data_type.to_string());
            return Err(fail(format!(
                "expected {expected}, the model gave {got}: correct data_type in config.pbtxt, or cast in the model"
            )));
        }
        // What the model gives, with the batch dimension; the engine makes of it what the client sees.
        let of_model: Vec<i64> = rows
            .into_iter()
            .chain(config.reshape.as_ref().unwrap_or(&config.spec.dims).iter().copied())
            .collect();
        let shape = match output.kind {
            ValueKind::Strings => shapes::fill(&of_model, output.count).ok_or_else(|| {
                fail(format!(
                    "expected strings of shape {}, the model gave {}",
                    ShapeDisplay(&of_model),
                    output.count
                ))
            })?,
            _ => output.shape.clone(),
        };
        if !shapes::matches(&of_model, &shape) {
            return Err(fail(format!(
                "expected shape {}, the model gave {}{}",
                ShapeDisplay(&of_model),
                ShapeDisplay(&shape),
                if rows.is_some() { " (the first dimension is the batch)" } else { "" }
            )));
        }
        Ok(Tensor { name: name.clone(), data_type: expected, shape, data: output.data.clone() })
    }
}
