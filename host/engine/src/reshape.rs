//! `reshape` of inputs and outputs: the client sees the dims, the backend works with the reshape.

use nacre_config::ModelConfig;
use nacre_domain::{Error, Result, ShapeDisplay, Tensor, element_count};

/// Gives inputs the shapes that the backend works with. Their bytes are the same.
///
/// # Errors
/// Invalid argument if the shape cannot be made into the other.
pub(crate) fn reshape_inputs(config: &ModelConfig, inputs: &mut [Tensor]) -> Result<()> {
    for tensor in inputs {
        if let Some(input) = config.input(&tensor.name)
            && let Some(reshape) = &input.reshape
        {
            tensor.shape = reshaped(config.is_batched(), &input.spec.dims, reshape, &tensor.shape)
                .ok_or_else(|| {
                    Error::invalid_argument(format!(
                        "model '{}', input '{}': shape {} cannot be reshaped to {}",
                        config.name,
                        tensor.name,
                        ShapeDisplay(&tensor.shape),
                        ShapeDisplay(reshape)
                    ))
                })?;
        }
    }
    Ok(())
}

/// Gives outputs the shapes that the client sees.
///
/// # Errors
/// Internal: the model gave a shape that is not as configured.
pub(crate) fn reshape_outputs(config: &ModelConfig, outputs: &mut [Tensor]) -> Result<()> {
    for tensor in outputs {
        if let Some(output) = config.output(&tensor.name)
            && let Some(reshape) = &output.reshape
        {
            tensor.shape = reshaped(config.is_batched(), reshape, &output.spec.dims, &tensor.shape)
                .ok_or_else(|| {
                    Error::internal(format!(
                        "model '{}', output '{}': shape {} cannot be reshaped to {}",
                        config.name,
                        tensor.name,
                        ShapeDisplay(&tensor.shape),
                        ShapeDisplay(&output.spec.dims)
                    ))
                })?;
        }
    }
    Ok(())
}

/// The shape with `to` in the place of `from`; the sizes of variable dims carry over in their order, and a single one
/// that is left takes what remains.
fn reshaped(batched: bool, from: &[i64], to: &[i64], shape: &[i64]) -> Option<Vec<i64>> {
    let (batch, rest) = shape.split_at_checked(usize::from(batched))?;
    if from.len() != rest.len() {
        return None;
    }
    let mut variable = from.iter().zip(rest).filter(|(dim, _)| **dim == -1).map(|(_, size)| *size);
    let mut dims: Vec<i64> =
        to.iter().map(|&dim| if dim == -1 { variable.next().unwrap_or(-1) } else { dim }).collect();
    let count = element_count(rest).ok()?;
    if let Some(open) = dims.iter().position(|&dim| dim == -1) {
        let known: usize =
            element_count(&dims.iter().copied().filter(|&dim| dim != -1).collect::<Vec<_>>()).ok()?;
        *dims.get_mut(open)? = i64::try_from(count.checked_div(known)?).ok()?;
    }
    (element_count(&dims).ok()? == count).then(|| [batch, &dims].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_fixed_dims_behind_the_batch() {
        assert_eq!(reshaped(true, &[1], &[], &[5, 1]), Some(vec![5]));
        assert_eq!(reshaped(true, &[], &[1], &[5]), Some(vec![5, 1]));
        assert_eq!(reshaped(false, &[2, 6], &[3, 4], &[2, 6]), Some(vec![3, 4]));
    }

    #[test]
    fn carries_variable_dims_over() {
        assert_eq!(reshaped(true, &[-1, 3, -1], &[-1, -1, 3], &[2, 7, 3, 9]), Some(vec![2, 7, 9, 3]));
        assert_eq!(reshaped(false, &[4], &[2, -1], &[4]), Some(vec![2, 2]));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(reshaped(false, &[5], &[2, -1], &[5]), None);
        assert_eq!(reshaped(true, &[4], &[2, 2], &[]), None);
        assert_eq!(reshaped(false, &[4], &[2, 2], &[4, 1]), None);
    }
}
