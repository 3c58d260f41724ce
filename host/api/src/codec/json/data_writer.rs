use std::str;

use nacre_domain::{DataType, Error, Result, Tensor, bytes_elements};

/// Appends the elements of a tensor as one flat array, as Triton does.
///
/// Floats have the fewest digits that read back as the same value of their own type; those that are not finite become
/// `NaN`, `Infinity` and `-Infinity`, as Triton writes them.
///
/// # Errors
/// Invalid argument for FP16, BF16 and bytes that are not UTF-8: the client has to ask for binary data.
pub fn write_data(out: &mut Vec<u8>, tensor: &Tensor) -> Result<()> {
    let data = &tensor.data;
    match tensor.data_type {
        DataType::Bool => {
            let words = data.iter().map(|&byte| if byte == 0 { "false" } else { "true" });
            join(out, 6, words, |out, word| out.extend_from_slice(word.as_bytes()));
        }
        DataType::Uint8 => integers(out, data, u8::from_le_bytes),
        DataType::Uint16 => integers(out, data, u16::from_le_bytes),
        DataType::Uint32 => integers(out, data, u32::from_le_bytes),
        DataType::Uint64 => integers(out, data, u64::from_le_bytes),
        DataType::Int8 => integers(out, data, i8::from_le_bytes),
        DataType::Int16 => integers(out, data, i16::from_le_bytes),
        DataType::Int32 => integers(out, data, i32::from_le_bytes),
        DataType::Int64 => integers(out, data, i64::from_le_bytes),
        DataType::Fp32 => floats(out, data, f32::from_le_bytes, f64::from),
        DataType::Fp64 => floats(out, data, f64::from_le_bytes, |value| value),
        DataType::Bytes => strings(out, tensor)?,
        DataType::Fp16 | DataType::Bf16 => {
            return Err(Error::invalid_argument(format!(
                "output '{}' is {}, which has no JSON form; ask for it with the parameter 'binary_data': true",
                tensor.name, tensor.data_type
            )));
        }
    }
    Ok(())
}

fn join<T>(
    out: &mut Vec<u8>,
    usual_length: usize,
    values: impl ExactSizeIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.reserve(values.len().saturating_mul(usual_length) + 2);
    out.push(b'[');
    for (i, value) in values.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}

fn elements<T, const N: usize>(
    data: &[u8],
    from_bytes: impl Fn([u8; N]) -> T,
) -> impl ExactSizeIterator<Item = T> {
    let (chunks, _) = data.as_chunks::<N>();
    chunks.iter().map(move |chunk| from_bytes(*chunk))
}

fn integers<T: itoa::Integer, const N: usize>(
    out: &mut Vec<u8>,
    data: &[u8],
    from_bytes: impl Fn([u8; N]) -> T,
) {
    let mut buffer = itoa::Buffer::new();
    join(out, N + 2, elements(data, from_bytes), |out, value| {
        out.extend_from_slice(buffer.format(value).as_bytes());
    });
}

fn floats<T: zmij::Float + Copy, const N: usize>(
    out: &mut Vec<u8>,
    data: &[u8],
    from_bytes: impl Fn([u8; N]) -> T,
    widen: impl Fn(T) -> f64,
) {
    let mut buffer = zmij::Buffer::new();
    join(out, N * 5 / 2, elements(data, from_bytes), |out, value| {
        let text = match widen(value) {
            wide if wide.is_nan() => "NaN",
            f64::INFINITY => "Infinity",
            f64::NEG_INFINITY => "-Infinity",
            _ => buffer.format_finite(value),
        };
        out.extend_from_slice(text.as_bytes());
    });
}

fn strings(out: &mut Vec<u8>, tensor: &Tensor) -> Result<()> {
    out.reserve(tensor.data.len());
    out.push(b'[');
    for (i, element) in bytes_elements(&tensor.data).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let element = element.map_err(|e| Error::internal(format!("output '{}': {e}", tensor.name)))?;
        let text = str::from_utf8(&element).map_err(|_| {
            Error::invalid_argument(format!(
                "element {i} of output '{}' is not UTF-8, so it has no JSON form; ask for it with the parameter \
                 'binary_data': true",
                tensor.name
            ))
        })?;
        serde_json::to_writer(&mut *out, text).map_err(|e| Error::internal(format!("writing JSON: {e}")))?;
    }
    out.push(b']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nacre_domain::concat_bytes_elements;

    use super::*;

    fn written(data_type: DataType, data: impl Into<Bytes>) -> Result<String> {
        let tensor = Tensor { name: "y".into(), data_type, shape: vec![], data: data.into() };
        let mut out = Vec::new();
        write_data(&mut out, &tensor)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn numbers_are_written_shortest() {
        assert_eq!(
            written(DataType::Fp32, floats(&[0.1, 1.0, -0.0, 1e30, 1e-9])).unwrap(),
            "[0.1,1.0,-0.0,1e+30,1e-9]"
        );
        assert_eq!(written(DataType::Fp64, 0.1_f64.to_le_bytes().to_vec()).unwrap(), "[0.1]");
        assert_eq!(
            written(DataType::Uint64, u64::MAX.to_le_bytes().to_vec()).unwrap(),
            "[18446744073709551615]"
        );
        assert_eq!(written(DataType::Int8, vec![0x80, 0x7f]).unwrap(), "[-128,127]");
        assert_eq!(written(DataType::Bool, vec![0, 1, 2]).unwrap(), "[false,true,true]");
        assert_eq!(written(DataType::Fp32, Bytes::new()).unwrap(), "[]");
    }

    #[test]
    fn numbers_that_are_not_finite_are_written_as_triton_does() {
        let data = floats(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(written(DataType::Fp32, data).unwrap(), "[NaN,Infinity,-Infinity]");
    }

    #[test]
    fn strings_are_escaped_and_have_to_be_utf8() {
        let data = concat_bytes_elements(&["a\"b\n", "é"]);
        assert_eq!(written(DataType::Bytes, data).unwrap(), r#"["a\"b\n","é"]"#);
        let error =
            written(DataType::Bytes, concat_bytes_elements(&[b"ok".as_slice(), b"\xff"])).unwrap_err();
        assert!(error.message().contains("element 1 of output 'y' is not UTF-8"), "{error}");
        let error = written(DataType::Bf16, vec![0, 0]).unwrap_err();
        assert!(error.message().contains("'binary_data': true"), "{error}");
    }
}
