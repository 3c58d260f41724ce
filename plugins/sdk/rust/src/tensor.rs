//! Typed access to a tensor's bytes.

use std::borrow::Cow;

use bytemuck::Pod;

use crate::{DataType, Error, Tensor, TensorSpec};

mod sealed {
    pub trait Sealed {}
}

/// A number that tensors hold: `u8` to `u64`, `i8` to `i64`, `f32`, `f64`. (Booleans are read as `u8`; FP16 and BF16 as
/// `u16`, their bits.)
pub trait Element: Pod + sealed::Sealed {
    /// The data type that a new tensor of these has.
    const DATA_TYPE: DataType;

    /// Whether a tensor of that type can be looked at as these.
    fn reads(data_type: DataType) -> bool {
        data_type == Self::DATA_TYPE
    }
}

macro_rules! element {
    ($($number:ty = $data_type:ident $(| $also:ident)*),+ $(,)?) => {$(
        impl sealed::Sealed for $number {}
        impl Element for $number {
            const DATA_TYPE: DataType = DataType::$data_type;
            fn reads(data_type: DataType) -> bool {
                matches!(data_type, DataType::$data_type $(| DataType::$also)*)
            }
        }
    )+};
}

element! {
    u8 = Uint8 | Boolean,
    u16 = Uint16 | Fp16 | Bf16,
    u32 = Uint32,
    u64 = Uint64,
    i8 = Int8,
    i16 = Int16,
    i32 = Int32,
    i64 = Int64,
    f32 = Fp32,
    f64 = Fp64,
}

impl Tensor {
    /// The values, row-major. Borrowed, unless the bytes happen to lie where such numbers cannot.
    ///
    /// # Errors
    /// `invalid-argument` if the tensor has another data type.
    pub fn values<T: Element>(&self) -> Result<Cow<'_, [T]>, Error> {
        if !T::reads(self.data_type) {
            return Err(Error::invalid_argument(format!(
                "tensor '{}' is {}: expected {}",
                self.name,
                self.data_type.name(),
                T::DATA_TYPE.name()
            )));
        }
        if !self.data.len().is_multiple_of(size_of::<T>()) {
            return Err(Error::invalid_argument(format!(
                "tensor '{}' has {} bytes, which is no multiple of the {} bytes of a {}",
                self.name,
                self.data.len(),
                size_of::<T>(),
                self.data_type.name()
            )));
        }
        Ok(numbers(&self.data))
    }

    /// The elements of a BYTES tensor, in order, without copying them.
    ///
    /// # Errors
    /// `invalid-argument` if the tensor has another data type, or if its lengths lead beyond its end.
    pub fn elements(&self) -> Result<Elements<'_>, Error> {
        if self.data_type != DataType::Bytes {
            return Err(Error::invalid_argument(format!(
                "tensor '{}' is {}: expected BYTES",
                self.name,
                self.data_type.name()
            )));
        }
        let mut rest = &self.data[..];
        while !rest.is_empty() {
            (_, rest) = split_element(rest).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "tensor '{}' ends within an element, {} bytes before its end",
                    self.name,
                    rest.len()
                ))
            })?;
        }
        Ok(Elements { rest: &self.data })
    }

    /// The only element of a BYTES tensor of shape [1].
    ///
    /// # Errors
    /// `invalid-argument` if there is none or more than one.
    pub fn element(&self) -> Result<&[u8], Error> {
        let mut elements = self.elements()?;
        match (elements.next(), elements.count()) {
            (Some(element), 0) => Ok(element),
            (None, _) => {
                Err(Error::invalid_argument(format!("tensor '{}' is empty: expected one element", self.name)))
            }
            (Some(_), more) => Err(Error::invalid_argument(format!(
                "tensor '{}' has {} elements: expected one",
                self.name,
                more + 1
            ))),
        }
    }

    /// The elements of a BYTES tensor as text, in order, without copying them.
    ///
    /// # Errors
    /// `invalid-argument` if the tensor has another data type, or an element that is not UTF-8, naming which.
    pub fn strings(&self) -> Result<Vec<&str>, Error> {
        let text = |(index, element)| {
            str::from_utf8(element).map_err(|error| {
                Error::invalid_argument(format!(
                    "element {index} of tensor '{}' is not UTF-8 text: byte {} starts no character",
                    self.name,
                    error.valid_up_to()
                ))
            })
        };
        self.elements()?.enumerate().map(text).collect()
    }

    /// The same tensor under another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same tensor with a batch dimension of 1 in front.
    pub fn batch_of_one(mut self) -> Self {
        self.shape.insert(0, 1);
        self
    }

    /// A new tensor, its values written in place by `fill`. They start as zeros; there are as many as `shape` says.
    ///
    /// # Errors
    /// What `fill` returns.
    pub fn build<T: Element>(
        name: &str,
        shape: &[i64],
        fill: impl FnOnce(&mut [T]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut data = vec![0; element_count(name, shape)? * size_of::<T>()];
        match bytemuck::try_cast_slice_mut(&mut data) {
            Ok(values) => fill(values)?,
            // Bytes may lie anywhere; in practice the allocator puts them where any number can be.
            Err(_) => {
                let mut values = vec![T::zeroed(); data.len() / size_of::<T>()];
                fill(&mut values)?;
                data.copy_from_slice(bytemuck::cast_slice(&values));
            }
        }
        Ok(Self { name: name.to_owned(), data_type: T::DATA_TYPE, shape: shape.to_vec(), data })
    }

    /// A tensor with a copy of these values.
    ///
    /// # Errors
    /// `internal` if `shape` does not have that many.
    pub fn from_values<T: Element>(name: &str, shape: &[i64], values: &[T]) -> Result<Self, Error> {
        Self::build(name, shape, |target| {
            if target.len() != values.len() {
                return Err(wrong_count(name, shape, target.len(), values.len()));
            }
            target.copy_from_slice(values);
            Ok(())
        })
    }

    /// A BYTES tensor of these elements: strings, files.
    ///
    /// # Errors
    /// `internal` if `shape` does not have that many, or if one of them is 4 GiB or longer.
    pub fn from_elements<E: AsRef<[u8]>>(name: &str, shape: &[i64], elements: &[E]) -> Result<Self, Error> {
        let count = element_count(name, shape)?;
        if count != elements.len() {
            return Err(wrong_count(name, shape, count, elements.len()));
        }
        let mut data = Vec::with_capacity(elements.iter().map(|element| element.as_ref().len() + 4).sum());
        for element in elements.iter().map(AsRef::as_ref) {
            let length = u32::try_from(element.len())
                .map_err(|_| Error::internal(format!("an element of tensor '{name}' is 4 GiB or longer")))?;
            data.extend_from_slice(&length.to_le_bytes());
            data.extend_from_slice(element);
        }
        Ok(Self { name: name.to_owned(), data_type: DataType::Bytes, shape: shape.to_vec(), data })
    }
}

impl TensorSpec {
    /// A tensor that is always there. -1 is a dimension that varies.
    pub fn new(name: &str, data_type: DataType, dims: &[i64]) -> Self {
        Self { name: name.to_owned(), data_type, dims: dims.to_vec(), optional: false }
    }

    /// The same, as an input that a request may leave out.
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The size of a dimension, if there is such a dimension and it does not vary.
    pub fn size(&self, dimension: usize) -> Option<usize> {
        self.dims.get(dimension).and_then(|&dim| usize::try_from(dim).ok())
    }
}

impl DataType {
    /// The name in the KServe v2 protocol, such as `FP32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOL",
            Self::Uint8 => "UINT8",
            Self::Uint16 => "UINT16",
            Self::Uint32 => "UINT32",
            Self::Uint64 => "UINT64",
            Self::Int8 => "INT8",
            Self::Int16 => "INT16",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Fp16 => "FP16",
            Self::Bf16 => "BF16",
            Self::Fp32 => "FP32",
            Self::Fp64 => "FP64",
            Self::Bytes => "BYTES",
        }
    }
}

/// Elements of a BYTES tensor; see [`Tensor::elements`].
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (element, rest) = split_element(self.rest)?;
        self.rest = rest;
        Some(element)
    }
}

/// Bytes as numbers, of which they are a whole number.
fn numbers<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

fn split_element(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

pub(crate) fn element_count(name: &str, shape: &[i64]) -> Result<usize, Error> {
    let product = shape.iter().try_fold(1_usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?));
    // Eight bytes is the widest element; beyond that the size of the tensor could not be counted.
    product.filter(|count| count.checked_mul(8).is_some()).ok_or_else(|| {
        Error::internal(format!("tensor '{name}' cannot have the shape {shape:?}: negative, or too large"))
    })
}

fn wrong_count(name: &str, shape: &[i64], expected: usize, got: usize) -> Error {
    Error::internal(format!("tensor '{name}' of shape {shape:?} takes {expected} elements, not {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_went_in() {
        let tensor = Tensor::from_values("x", &[2, 2], &[1.0_f32, -2.0, f32::MAX, 0.5]).unwrap();
        assert_eq!(tensor.data_type, DataType::Fp32);
        assert_eq!(tensor.data.len(), 16);
        assert_eq!(&tensor.values::<f32>().unwrap()[..], &[1.0, -2.0, f32::MAX, 0.5]);
    }

    #[test]
    fn bytes_that_lie_at_an_odd_address_are_read_too() {
        let mut bytes = [0; 25];
        let start = usize::from(bytes.as_ptr().addr().is_multiple_of(8));
        let odd = &mut bytes[start..start + 24];
        odd.copy_from_slice(bytemuck::cast_slice(&[1_i64, -2, 3]));
        assert_eq!(&numbers::<i64>(odd)[..], &[1, -2, 3]);
    }

    #[test]
    fn another_data_type_is_refused_by_name() {
        let tensor = Tensor::from_values("x", &[1], &[1_i64]).unwrap();
        assert_eq!(tensor.values::<f32>().unwrap_err().message(), "tensor 'x' is INT64: expected FP32");
        assert_eq!(tensor.elements().unwrap_err().message(), "tensor 'x' is INT64: expected BYTES");
    }

    #[test]
    fn a_shape_with_another_number_of_values_is_refused() {
        let error = Tensor::from_values("x", &[2, 3], &[1_u8; 5]).unwrap_err();
        assert_eq!(error.message(), "tensor 'x' of shape [2, 3] takes 6 elements, not 5");
        assert!(Tensor::from_values::<u8>("x", &[-1], &[]).is_err());
        assert!(Tensor::from_values::<u8>("x", &[i64::MAX, 4], &[]).is_err());
    }

    #[test]
    fn a_tensor_of_no_elements_is_a_tensor() {
        let tensor = Tensor::from_values::<f32>("x", &[0, 3], &[]).unwrap();
        assert!(tensor.values::<f32>().unwrap().is_empty());
        assert_eq!(Tensor::from_elements::<&str>("s", &[0], &[]).unwrap().elements().unwrap().count(), 0);
    }

    #[test]
    fn elements_come_back_as_they_went_in() {
        let tensor = Tensor::from_elements("s", &[3], &["tabby", "", "Egyptian cat"]).unwrap();
        let elements: Vec<_> = tensor.elements().unwrap().collect();
        assert_eq!(elements, [&b"tabby"[..], b"", b"Egyptian cat"]);
    }

    #[test]
    fn strings_are_text_or_an_error_that_names_the_element() {
        let tensor = Tensor::from_elements("s", &[2], &["é", ""]).unwrap();
        assert_eq!(tensor.strings().unwrap(), ["é", ""]);
        let tensor = Tensor::from_elements("s", &[2], &[&b"ok"[..], b"a\xff"]).unwrap();
        assert_eq!(
            tensor.strings().unwrap_err().message,
            "element 1 of tensor 's' is not UTF-8 text: byte 1 starts no character"
        );
    }

    #[test]
    fn an_element_that_leads_beyond_the_end_is_refused() {
        let mut tensor = Tensor::from_elements("s", &[2], &["one", "two"]).unwrap();
        tensor.data.truncate(tensor.data.len() - 1);
        assert!(tensor.elements().unwrap_err().message().contains("ends within an element"));
        tensor.data.truncate(9);
        assert!(tensor.elements().is_err());
    }

    #[test]
    fn the_only_element_is_exactly_one() {
        assert_eq!(Tensor::from_elements("s", &[1], &["one"]).unwrap().element().unwrap(), b"one");
        let two = Tensor::from_elements("s", &[2], &["one", "two"]).unwrap();
        assert_eq!(two.element().unwrap_err().message(), "tensor 's' has 2 elements: expected one");
        assert!(Tensor::from_elements::<&str>("s", &[0], &[]).unwrap().element().is_err());
    }
}
