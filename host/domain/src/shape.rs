use std::fmt;

use crate::{Error, Result};

/// Elements of a shape. A scalar (no dims) has one element, a shape with a zero has none.
///
/// # Errors
/// Invalid argument if a dim is negative or the product does not fit.
pub fn element_count(shape: &[i64]) -> Result<usize> {
    if shape.iter().any(|&dim| dim < 0) {
        return Err(Error::invalid_argument(format!(
            "shape {} has a negative dimension",
            ShapeDisplay(shape)
        )));
    }
    // A zero anywhere makes the tensor empty, whatever the other dims multiply to.
    if shape.contains(&0) {
        return Ok(0);
    }
    shape.iter().try_fold(1_usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?)).ok_or_else(
        || Error::invalid_argument(format!("shape {} has more elements than can exist", ShapeDisplay(shape))),
    )
}

/// Writes a shape as the protocol does: `[1,3,-1]`.
pub struct ShapeDisplay<'a>(pub &'a [i64]);

impl fmt::Display for ShapeDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_elements() {
        assert_eq!(element_count(&[]).unwrap(), 1);
        assert_eq!(element_count(&[2, 3]).unwrap(), 6);
        assert_eq!(element_count(&[i64::MAX, i64::MAX, 0]).unwrap(), 0);
    }

    #[test]
    fn refuses_negative_and_overflowing_shapes() {
        assert!(element_count(&[-1]).is_err());
        assert!(element_count(&[0, -1]).is_err());
        let error = element_count(&[i64::MAX, i64::MAX]).unwrap_err();
        assert!(error.message().contains("[9223372036854775807,9223372036854775807]"), "{error}");
    }
}
