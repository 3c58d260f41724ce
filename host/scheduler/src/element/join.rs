use bytes::BytesMut;
use nacre_domain::{Error, Result, ShapeDisplay, Tensor};

/// Puts the outputs of a request's elements together, with the batch dimension in front, by one copy; those of a single
/// element go out as they are.
///
/// # Errors
/// Internal if the elements gave unlike outputs, names, data types or shapes; it names the elements.
pub(super) fn join(mut elements: Vec<Vec<Tensor>>) -> Result<Vec<Tensor>> {
    let rows = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    if elements.len() == 1 {
        let mut outputs = elements.pop().unwrap_or_default();
        outputs.iter_mut().for_each(|output| output.shape.insert(0, 1));
        return Ok(outputs);
    }
    let Some((first, others)) = elements.split_first() else { return Ok(Vec::new()) };
    for (i, element) in (1..).zip(others) {
        if let Some(extra) = element.iter().find(|output| find(first, &output.name).is_none()) {
            return Err(missing(&extra.name, i, 0));
        }
    }
    let join_one = |output: &Tensor| {
        let mut data = BytesMut::with_capacity(output.data.len().saturating_mul(elements.len()));
        data.extend_from_slice(&output.data);
        for (i, element) in (1..).zip(others) {
            let other = find(element, &output.name).ok_or_else(|| missing(&output.name, 0, i))?;
            if (other.data_type, &other.shape) != (output.data_type, &output.shape) {
                return Err(unlike(output, i, other));
            }
            data.extend_from_slice(&other.data);
        }
        let mut shape = Vec::with_capacity(output.shape.len() + 1);
        shape.push(rows);
        shape.extend_from_slice(&output.shape);
        Ok(Tensor { name: output.name.clone(), data_type: output.data_type, shape, data: data.freeze() })
    };
    first.iter().map(join_one).collect()
}

fn find<'a>(outputs: &'a [Tensor], name: &str) -> Option<&'a Tensor> {
    outputs.iter().find(|output| output.name == name)
}

fn missing(name: &str, has: usize, lacks: usize) -> Error {
    Error::internal(format!(
        "element {has} of the batch has output '{name}', element {lacks} has not: every element has to give the same \
         outputs"
    ))
}

fn unlike(first: &Tensor, i: usize, other: &Tensor) -> Error {
    Error::internal(format!(
        "output '{}' is {} {} for element 0 of the batch but {} {} for element {i}: elements of one request are joined \
         into one tensor, so each has to give the same data type and shape",
        first.name,
        first.data_type,
        ShapeDisplay(&first.shape),
        other.data_type,
        ShapeDisplay(&other.shape)
    ))
}
