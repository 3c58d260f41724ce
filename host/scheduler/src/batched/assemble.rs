//! The inputs of a batch from those of its requests, and the outputs of its requests from those of the batch.

use bytes::Bytes;
use nacre_backend::Instance;
use nacre_domain::{DataType, Result, Tensor};

/// What the inputs of two requests have to have in common to share a batch: which inputs they are, in which order, and
/// their data types and dims beyond the batch dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kind(Vec<(String, DataType, Vec<i64>)>);

impl Kind {
    pub(crate) fn of(inputs: &[Tensor]) -> Kind {
        let of_one = |tensor: &Tensor| {
            (tensor.name.clone(), tensor.data_type, tensor.shape.get(1..).unwrap_or_default().to_vec())
        };
        Kind(inputs.iter().map(of_one).collect())
    }
}

/// Puts the requests' inputs behind one another, each tensor by one copy; a single request's go in as they are.
/// BYTES elements carry their lengths, so theirs are put together like any others.
///
/// All requests are of one [`Kind`].
pub(crate) fn gather(instance: &mut dyn Instance, mut requests: Vec<Vec<Tensor>>) -> Result<Vec<Tensor>> {
    if requests.len() == 1 {
        return Ok(requests.pop().unwrap_or_default());
    }
    let Some((first, others)) = requests.split_first() else { return Ok(Vec::new()) };
    let mut batch = Vec::with_capacity(first.len());
    for (i, tensor) in first.iter().enumerate() {
        let mut parts: Vec<Bytes> = Vec::with_capacity(others.len() + 1);
        let mut rows = 0_i64;
        for part in std::iter::once(tensor).chain(others.iter().filter_map(|inputs| inputs.get(i))) {
            rows = rows.saturating_add(part.shape.first().copied().unwrap_or_default());
            parts.push(part.data.clone());
        }
        let mut shape = tensor.shape.clone();
        if let Some(batch_dim) = shape.first_mut() {
            *batch_dim = rows;
        }
        let data = instance.gather(&parts)?;
        batch.push(Tensor { name: tensor.name.clone(), data_type: tensor.data_type, shape, data });
    }
    Ok(batch)
}

/// Cuts the batch's outputs up by the requests' numbers of rows, sharing the bytes.
///
/// # Errors
/// Internal if an output's first dimension is not the sum of the rows.
pub(crate) fn split(outputs: &[Tensor], rows: &[usize]) -> Result<Vec<Vec<Tensor>>> {
    let mut by_request: Vec<Vec<Tensor>> =
        std::iter::repeat_with(|| Vec::with_capacity(outputs.len())).take(rows.len()).collect();
    for output in outputs {
        for (request, part) in by_request.iter_mut().zip(output.split_rows(rows)?) {
            request.push(part);
        }
    }
    Ok(by_request)
}
