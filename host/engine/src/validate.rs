//! What a request has to be before it reaches a queue.

use nacre_config::{ModelConfig, ModelInput};
use nacre_domain::{Error, InferenceRequest, Result, ShapeDisplay, Tensor};

use crate::snapshot::list_names;

/// Checks a request against the configuration of its model: inputs given, known and of the right type, shape and byte
/// size, one batch size for all of them, outputs known.
///
/// Gives the number of rows: the batch size, 1 for a model without batch dimension.
///
/// # Errors
/// Invalid argument, naming model and input.
pub(crate) fn validate(config: &ModelConfig, request: &InferenceRequest) -> Result<u64> {
    let fail = |text: String| Error::invalid_argument(format!("model '{}'{text}", config.name));
    let mut rows: Option<(&str, i64)> = None;
    for (position, tensor) in request.inputs.iter().enumerate() {
        let name = &tensor.name;
        let Some(input) = config.input(name) else {
            let known = list_names(config.inputs.iter().map(|input| &input.spec.name));
            return Err(fail(format!(" has no input '{name}'; its inputs are {known}")));
        };
        if request.inputs.iter().take(position).any(|other| other.name == *name) {
            return Err(fail(format!(": input '{name}' is given twice")));
        }
        if tensor.data_type != input.spec.data_type {
            return Err(fail(format!(
                ", input '{name}': data type is {}, but the model expects {}",
                tensor.data_type, input.spec.data_type
            )));
        }
        let batch =
            check_shape(config, input, tensor).map_err(|text| fail(format!(", input '{name}': {text}")))?;
        if let Some(batch) = batch {
            match rows {
                Some((other, size)) if size != batch => {
                    return Err(fail(format!(
                        ": inputs of one request need the same batch size, but '{other}' has {size} and '{name}' has \
                         {batch}"
                    )));
                }
                _ => rows = Some((name, batch)),
            }
        }
        tensor.validate().map_err(|error| error.context(format!("model '{}'", config.name)))?;
    }
    check_missing(config, request).map_err(&fail)?;
    if let Some(output) = request.outputs.iter().find(|output| config.output(&output.name).is_none()) {
        let known = list_names(config.outputs.iter().map(|output| &output.spec.name));
        return Err(fail(format!(" has no output '{}'; its outputs are {known}", output.name)));
    }
    Ok(rows.and_then(|(_, batch)| u64::try_from(batch).ok()).unwrap_or(1))
}

fn check_missing(config: &ModelConfig, request: &InferenceRequest) -> Result<(), String> {
    let required = config.inputs.iter().filter(|input| !input.spec.optional).count();
    let missing: Vec<&str> = config
        .inputs
        .iter()
        .filter(|input| !input.spec.optional)
        .map(|input| input.spec.name.as_str())
        .filter(|name| !request.inputs.iter().any(|tensor| tensor.name == *name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let at_least = if required < config.inputs.len() { "at least " } else { "" };
    let plural = if required == 1 { "" } else { "s" };
    Err(format!(
        ": expected {at_least}{required} input{plural} but got {}; missing: {}",
        request.inputs.len(),
        list_names(missing.iter())
    ))
}

/// Gives the batch size, `None` without a batch dimension.
fn check_shape(config: &ModelConfig, input: &ModelInput, tensor: &Tensor) -> Result<Option<i64>, String> {
    let dims = &input.spec.dims;
    let shape = &tensor.shape;
    let (batch, rest) = match (config.is_batched(), shape.split_first()) {
        (true, Some((&batch, rest))) => (Some(batch), rest),
        (true, None) => (None, shape.as_slice()),
        (false, _) => (None, shape.as_slice()),
    };
    if config.is_batched() && batch.is_none() || !fits(dims, rest) {
        let mut expected = dims.clone();
        if config.is_batched() {
            expected.insert(0, -1);
        }
        return Err(format!(
            "unexpected shape, expected {}, got {}{}",
            ShapeDisplay(&expected),
            ShapeDisplay(shape),
            batch_note(config, dims, shape)
        ));
    }
    if let Some(batch) = batch {
        if batch < 1 {
            return Err(format!(
                "the batch size (first dimension) is at least 1, got shape {}",
                ShapeDisplay(shape)
            ));
        }
        if batch > i64::from(config.max_batch_size) {
            return Err(format!(
                "batch size {batch} is above the model's max_batch_size {} (shape {})",
                config.max_batch_size,
                ShapeDisplay(shape)
            ));
        }
    }
    Ok(batch)
}

/// The likely mistake, if it is about the batch dimension.
fn batch_note(config: &ModelConfig, dims: &[i64], shape: &[i64]) -> String {
    let mut with_batch = vec![1];
    with_batch.extend_from_slice(shape);
    match shape.split_first() {
        _ if config.is_batched() && fits(dims, shape) => format!(
            "; the batch dimension is missing: the model has max_batch_size {}, so one element is sent as {}",
            config.max_batch_size,
            ShapeDisplay(&with_batch)
        ),
        Some((1, element)) if !config.is_batched() && fits(dims, element) => format!(
            "; the model has no batch dimension (max_batch_size is 0), so send {}",
            ShapeDisplay(element)
        ),
        Some((batch, element)) if !config.is_batched() && fits(dims, element) => format!(
            "; the model has no batch dimension (max_batch_size is 0), so send each of the {batch} elements as a \
             request of its own with shape {}",
            ShapeDisplay(element)
        ),
        _ if config.is_batched() => "; the first dimension is that of the batch".to_owned(),
        _ => String::new(),
    }
}

/// Whether a shape is one that the dims allow; -1 allows any.
pub(crate) fn fits(dims: &[i64], shape: &[i64]) -> bool {
    dims.len() == shape.len() && dims.iter().zip(shape).all(|(&dim, &size)| dim == -1 || dim == size)
}
