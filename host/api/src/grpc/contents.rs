use bytes::Bytes;
use nacre_domain::{DataType, Error, Result, concat_bytes_elements};
use nacre_proto::inference::InferTensorContents;

/// The bytes of a tensor whose elements came in the typed fields of a message.
///
/// # Errors
/// Invalid argument if a field is filled that does not suit the type, or an element does not fit it (named by its
/// index); FP16 and BF16 have no field.
pub fn contents_bytes(data_type: DataType, contents: &InferTensorContents) -> Result<Bytes> {
    let expected = field(data_type)?;
    if let Some(other) = filled(contents).find(|&name| name != expected) {
        return Err(Error::invalid_argument(format!(
            "its elements are in '{other}', but those of {data_type} belong in '{expected}'"
        )));
    }
    let c = contents;
    match data_type {
        DataType::Bool => Ok(c.bool_contents.iter().map(|&flag| u8::from(flag)).collect()),
        DataType::Int8 => narrow(data_type, &c.int_contents, i8::to_le_bytes),
        DataType::Int16 => narrow(data_type, &c.int_contents, i16::to_le_bytes),
        DataType::Int32 => Ok(join(&c.int_contents, i32::to_le_bytes)),
        DataType::Int64 => Ok(join(&c.int64_contents, i64::to_le_bytes)),
        DataType::Uint8 => narrow(data_type, &c.uint_contents, u8::to_le_bytes),
        DataType::Uint16 => narrow(data_type, &c.uint_contents, u16::to_le_bytes),
        DataType::Uint32 => Ok(join(&c.uint_contents, u32::to_le_bytes)),
        DataType::Uint64 => Ok(join(&c.uint64_contents, u64::to_le_bytes)),
        DataType::Fp32 => Ok(join(&c.fp32_contents, f32::to_le_bytes)),
        DataType::Fp64 => Ok(join(&c.fp64_contents, f64::to_le_bytes)),
        DataType::Bytes | DataType::Fp16 | DataType::Bf16 => Ok(concat_bytes_elements(&c.bytes_contents)),
    }
}

/// The field for the elements of a type.
fn field(data_type: DataType) -> Result<&'static str> {
    Ok(match data_type {
        DataType::Bool => "bool_contents",
        DataType::Int8 | DataType::Int16 | DataType::Int32 => "int_contents",
        DataType::Int64 => "int64_contents",
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 => "uint_contents",
        DataType::Uint64 => "uint64_contents",
        DataType::Fp32 => "fp32_contents",
        DataType::Fp64 => "fp64_contents",
        DataType::Bytes => "bytes_contents",
        DataType::Fp16 | DataType::Bf16 => {
            return Err(Error::invalid_argument(format!(
                "{data_type} has no field in 'contents'; send its bytes in 'raw_input_contents'"
            )));
        }
    })
}

/// The fields that have elements.
fn filled(c: &InferTensorContents) -> impl Iterator<Item = &'static str> {
    [
        ("bool_contents", c.bool_contents.is_empty()),
        ("int_contents", c.int_contents.is_empty()),
        ("int64_contents", c.int64_contents.is_empty()),
        ("uint_contents", c.uint_contents.is_empty()),
        ("uint64_contents", c.uint64_contents.is_empty()),
        ("fp32_contents", c.fp32_contents.is_empty()),
        ("fp64_contents", c.fp64_contents.is_empty()),
        ("bytes_contents", c.bytes_contents.is_empty()),
    ]
    .into_iter()
    .filter_map(|(name, empty)| (!empty).then_some(name))
}

fn join<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Bytes {
    let mut data = vec![0; values.len() * N];
    for (chunk, &value) in data.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *chunk = to_bytes(value);
    }
    data.into()
}

fn narrow<W, T, const N: usize>(
    data_type: DataType,
    values: &[W],
    to_bytes: impl Fn(T) -> [u8; N],
) -> Result<Bytes>
where
    W: Copy + std::fmt::Display,
    T: TryFrom<W>,
{
    let mut data = Vec::with_capacity(values.len() * N);
    for (index, &value) in values.iter().enumerate() {
        let value = T::try_from(value).map_err(|_| {
            Error::invalid_argument(format!(
                "element {index} of its contents is {value}, which {data_type} cannot hold"
            ))
        })?;
        data.extend_from_slice(&to_bytes(value));
    }
    Ok(data.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_with_a_field_is_taken_from_it() {
        let c = |set: fn(&mut InferTensorContents)| {
            let mut contents = InferTensorContents::default();
            set(&mut contents);
            contents
        };
        let cases: [(DataType, InferTensorContents, &[u8]); 12] = [
            (DataType::Bool, c(|c| c.bool_contents = vec![true, false]), &[1, 0]),
            (DataType::Int8, c(|c| c.int_contents = vec![-1, 127]), &[255, 127]),
            (DataType::Int16, c(|c| c.int_contents = vec![-2]), &[254, 255]),
            (DataType::Int32, c(|c| c.int_contents = vec![-2]), &[254, 255, 255, 255]),
            (DataType::Int64, c(|c| c.int64_contents = vec![1]), &[1, 0, 0, 0, 0, 0, 0, 0]),
            (DataType::Uint8, c(|c| c.uint_contents = vec![255]), &[255]),
            (DataType::Uint16, c(|c| c.uint_contents = vec![65535]), &[255, 255]),
            (DataType::Uint32, c(|c| c.uint_contents = vec![1]), &[1, 0, 0, 0]),
            (DataType::Uint64, c(|c| c.uint64_contents = vec![u64::MAX]), &[255; 8]),
            (DataType::Fp32, c(|c| c.fp32_contents = vec![1.0]), &[0, 0, 128, 63]),
            (DataType::Fp64, c(|c| c.fp64_contents = vec![1.0]), &[0, 0, 0, 0, 0, 0, 240, 63]),
            (DataType::Bytes, c(|c| c.bytes_contents = vec![Bytes::from_static(b"ab")]), b"\x02\0\0\0ab"),
        ];
        for (data_type, contents, expected) in cases {
            assert_eq!(contents_bytes(data_type, &contents).unwrap(), expected, "{data_type}");
            assert!(contents_bytes(data_type, &InferTensorContents::default()).unwrap().is_empty());
        }
    }

    #[test]
    fn elements_in_the_wrong_field_or_out_of_range_are_refused() {
        let ints = InferTensorContents { int_contents: vec![1, 128], ..Default::default() };
        for (data_type, message) in [
            (DataType::Int8, "element 1 of its contents is 128, which INT8 cannot hold"),
            (
                DataType::Fp32,
                "its elements are in 'int_contents', but those of FP32 belong in 'fp32_contents'",
            ),
            (DataType::Fp16, "FP16 has no field in 'contents'; send its bytes in 'raw_input_contents'"),
        ] {
            assert_eq!(contents_bytes(data_type, &ints).unwrap_err().message(), message);
        }
    }
}
