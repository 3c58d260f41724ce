use bytes::{Bytes, BytesMut};

use crate::{DataType, Error, Result, ShapeDisplay, element_count};

/// A named tensor: row-major, little-endian bytes as on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name of the input or output.
    pub name: String,
    /// Element type.
    pub data_type: DataType,
    /// Dimensions; none may be negative.
    pub shape: Vec<i64>,
    /// The elements. Shared, never copied; need not be aligned.
    pub data: Bytes,
}

impl Tensor {
    /// Checks that the bytes are what data type and shape call for.
    ///
    /// # Errors
    /// Invalid argument, with the expected and the actual size.
    pub fn validate(&self) -> Result<()> {
        let count = element_count(&self.shape).map_err(|e| e.context(format!("tensor '{}'", self.name)))?;
        match self.data_type.size() {
            Some(size) => {
                let expected = count.checked_mul(size);
                if expected != Some(self.data.len()) {
                    let expected = expected.map_or("more than can exist".to_owned(), |n| n.to_string());
                    return Err(Error::invalid_argument(format!(
                        "tensor '{}': byte size mismatch: shape {} of {} takes {expected} bytes, got {}",
                        self.name,
                        ShapeDisplay(&self.shape),
                        self.data_type,
                        self.data.len()
                    )));
                }
            }
            None => {
                let mut found = 0_usize;
                for element in bytes_elements(&self.data) {
                    element.map_err(|e| e.context(format!("tensor '{}'", self.name)))?;
                    found = found.saturating_add(1);
                }
                if found != count {
                    return Err(Error::invalid_argument(format!(
                        "tensor '{}': shape {} has {count} BYTES elements, got {found}",
                        self.name,
                        ShapeDisplay(&self.shape)
                    )));
                }
            }
        }
        Ok(())
    }

    /// Cuts the first dimension into parts of the given numbers of rows, sharing the bytes.
    ///
    /// # Errors
    /// Internal if the parts do not add up to the first dimension or the bytes do not fit the shape: what a model
    /// gave back is then not what it was asked for.
    pub fn split_rows(&self, rows: &[usize]) -> Result<Vec<Tensor>> {
        let total = rows.iter().try_fold(0_usize, |sum, &r| sum.checked_add(r));
        let batch = self.shape.first().copied().and_then(|dim| usize::try_from(dim).ok());
        if batch.is_none() || batch != total {
            return Err(Error::internal(format!(
                "output '{}' has shape {}, expected {} in the first (batch) dimension",
                self.name,
                ShapeDisplay(&self.shape),
                total.unwrap_or_default()
            )));
        }
        let mut rest = self.data.clone();
        let row_shape = self.shape.get(1..).unwrap_or_default();
        let row_elements = element_count(row_shape)?;
        let mut parts = Vec::with_capacity(rows.len());
        for &count in rows {
            let size = match self.data_type.size() {
                Some(size) => count.checked_mul(row_elements).and_then(|n| n.checked_mul(size)),
                None => bytes_prefix(&rest, count.saturating_mul(row_elements)),
            };
            let data = size.filter(|&n| n <= rest.len()).map(|n| rest.split_to(n)).ok_or_else(|| {
                Error::internal(format!(
                    "output '{}' of shape {} has too few bytes ({})",
                    self.name,
                    ShapeDisplay(&self.shape),
                    self.data.len()
                ))
            })?;
            let mut shape = Vec::with_capacity(self.shape.len());
            shape.push(i64::try_from(count).unwrap_or(i64::MAX));
            shape.extend_from_slice(row_shape);
            parts.push(Tensor { name: self.name.clone(), data_type: self.data_type, shape, data });
        }
        Ok(parts)
    }
}

/// What a model says of one of its inputs or outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// Name.
    pub name: String,
    /// Element type.
    pub data_type: DataType,
    /// Dimensions without the batch dimension; -1 is one that varies.
    pub dims: Vec<i64>,
    /// An input that may be left out.
    pub optional: bool,
}

/// The elements of a BYTES tensor, each without its length.
///
/// Yields one error and ends where a length runs past the end.
pub fn bytes_elements(data: &Bytes) -> impl Iterator<Item = Result<Bytes>> {
    let mut rest = data.clone();
    let total = data.len();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = total - rest.len();
        let Some(length) = rest.first_chunk::<4>().map(|n| u32::from_le_bytes(*n) as usize) else {
            let left = rest.len();
            rest.clear();
            return Some(Err(Error::invalid_argument(format!(
                "BYTES data ends inside the 4-byte length of an element: at byte {at} only {left} are left"
            ))));
        };
        let body = rest.slice(4..);
        if length > body.len() {
            rest.clear();
            return Some(Err(Error::invalid_argument(format!(
                "BYTES element at byte {at} says it has {length} bytes, but only {} follow",
                body.len()
            ))));
        }
        rest = body.slice(length..);
        Some(Ok(body.slice(..length)))
    })
}

/// The BYTES representation of the elements.
pub fn concat_bytes_elements<T: AsRef<[u8]>>(elements: &[T]) -> Bytes {
    let size = elements.iter().map(|e| e.as_ref().len() + 4).sum();
    let mut data = BytesMut::with_capacity(size);
    for element in elements {
        let element = element.as_ref();
        data.extend_from_slice(&u32::try_from(element.len()).unwrap_or(u32::MAX).to_le_bytes());
        data.extend_from_slice(element);
    }
    data.freeze()
}

/// Size in bytes of the first `count` BYTES elements; `None` if there are fewer.
fn bytes_prefix(data: &[u8], count: usize) -> Option<usize> {
    let mut at = 0_usize;
    for _ in 0..count {
        let length = data.get(at..)?.first_chunk::<4>().map(|n| u32::from_le_bytes(*n) as usize)?;
        at = at.checked_add(4)?.checked_add(length).filter(|&end| end <= data.len())?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(data_type: DataType, shape: &[i64], data: Bytes) -> Tensor {
        Tensor { name: "x".into(), data_type, shape: shape.into(), data }
    }

    #[test]
    fn validates_fixed_sizes() {
        assert!(tensor(DataType::Fp32, &[2, 1], Bytes::from_static(&[0; 8])).validate().is_ok());
        let error = tensor(DataType::Fp32, &[2, 1], Bytes::from_static(&[0; 7])).validate().unwrap_err();
        assert!(error.message().contains("takes 8 bytes, got 7"), "{error}");
        assert!(tensor(DataType::Fp32, &[0, 5], Bytes::new()).validate().is_ok());
    }

    #[test]
    fn validates_bytes_elements() {
        let two = concat_bytes_elements(&[b"a\0b".as_slice(), b""]);
        assert!(tensor(DataType::Bytes, &[2], two.clone()).validate().is_ok());
        let error = tensor(DataType::Bytes, &[3], two.clone()).validate().unwrap_err();
        assert!(error.message().contains("has 3 BYTES elements, got 2"), "{error}");
        let error = tensor(DataType::Bytes, &[2], two.slice(..6)).validate().unwrap_err();
        assert!(error.message().contains("says it has 3 bytes, but only 2 follow"), "{error}");
        let error = tensor(DataType::Bytes, &[1], Bytes::from_static(b"ab")).validate().unwrap_err();
        assert!(error.message().contains("only 2 are left"), "{error}");
    }

    #[test]
    fn splits_rows_without_copying() {
        let data = Bytes::from(vec![1_u8, 2, 3, 4, 5, 6]);
        let whole = tensor(DataType::Uint8, &[3, 2], data.clone());
        let parts = whole.split_rows(&[1, 2]).unwrap();
        assert_eq!(parts[0].shape, [1, 2]);
        assert_eq!(parts[1].data, data.slice(2..));
        assert_eq!(parts[1].data.as_ptr(), data[2..].as_ptr());
        assert!(whole.split_rows(&[1, 1]).is_err());
    }

    #[test]
    fn splits_bytes_rows() {
        let data = concat_bytes_elements(&["one", "", "three", "4"]);
        let parts = tensor(DataType::Bytes, &[2, 2], data).split_rows(&[1, 1]).unwrap();
        assert_eq!(parts[1].data, concat_bytes_elements(&["three", "4"]));
    }
}
