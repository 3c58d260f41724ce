use bytes::{Bytes, BytesMut};
use nacre_domain::{DataType, Tensor};

use super::MAGIC;

/// Writes a tensor: BF16 as uint16, BYTES as `|S`, whose elements lose zero bytes at their end.
///
/// # Errors
/// If the tensor is not what its type and shape say.
pub fn write(tensor: &Tensor) -> Result<Vec<u8>, String> {
    tensor.validate().map_err(|error| error.message().to_owned())?;
    let (descr, data) = match tensor.data_type {
        DataType::Bool => ("|b1".to_owned(), tensor.data.clone()),
        DataType::Uint8 => ("|u1".to_owned(), tensor.data.clone()),
        DataType::Uint16 | DataType::Bf16 => ("<u2".to_owned(), tensor.data.clone()),
        DataType::Uint32 => ("<u4".to_owned(), tensor.data.clone()),
        DataType::Uint64 => ("<u8".to_owned(), tensor.data.clone()),
        DataType::Int8 => ("|i1".to_owned(), tensor.data.clone()),
        DataType::Int16 => ("<i2".to_owned(), tensor.data.clone()),
        DataType::Int32 => ("<i4".to_owned(), tensor.data.clone()),
        DataType::Int64 => ("<i8".to_owned(), tensor.data.clone()),
        DataType::Fp16 => ("<f2".to_owned(), tensor.data.clone()),
        DataType::Fp32 => ("<f4".to_owned(), tensor.data.clone()),
        DataType::Fp64 => ("<f8".to_owned(), tensor.data.clone()),
        DataType::Bytes => {
            let elements: Vec<Bytes> =
                nacre_domain::bytes_elements(&tensor.data).map_while(Result::ok).collect();
            let width = elements.iter().map(Bytes::len).max().unwrap_or(0).max(1);
            let mut data = BytesMut::with_capacity(width * elements.len());
            for element in &elements {
                data.extend_from_slice(element);
                data.resize(data.len() + width - element.len(), 0);
            }
            (format!("|S{width}"), data.freeze())
        }
    };
    let dims: Vec<_> = tensor.shape.iter().map(i64::to_string).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", dims.join(", "));
    // What precedes the data is a multiple of 64 bytes and ends in a new line.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| "its shape has too many dimensions")?;
    let mut out = Vec::with_capacity(MAGIC.len() + 4 + header.len() + data.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(&data);
    Ok(out)
}
