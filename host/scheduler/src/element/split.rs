use std::sync::Arc;

use nacre_backend::{ElementRequest, ModelCalls};
use nacre_domain::{InferenceRequest, Result, Tensor};

/// The request's elements: one for each row, without the batch dimension, sharing the request's bytes; the whole
/// request where there is no batch dimension (`rows` is `None`).
///
/// # Errors
/// Internal if an input has other rows than that, which the engine has refused before.
pub(super) fn split(
    request: InferenceRequest,
    rows: Option<usize>,
    models: Option<&Arc<dyn ModelCalls>>,
) -> Result<Vec<ElementRequest>> {
    let outputs: Vec<String> = request.outputs.into_iter().map(|output| output.name).collect();
    let element = |inputs: Vec<Tensor>| ElementRequest {
        id: request.id.clone(),
        parameters: request.parameters.clone(),
        inputs,
        outputs: outputs.clone(),
        deadline: request.deadline,
        models: models.cloned(),
    };
    let Some(rows) = rows else { return Ok(vec![element(request.inputs)]) };
    let mut elements: Vec<Vec<Tensor>> =
        std::iter::repeat_with(|| Vec::with_capacity(request.inputs.len())).take(rows).collect();
    for input in request.inputs {
        for (inputs, mut row) in elements.iter_mut().zip(input.split_rows(&vec![1; rows])?) {
            row.shape.remove(0);
            inputs.push(row);
        }
    }
    Ok(elements.into_iter().map(element).collect())
}
