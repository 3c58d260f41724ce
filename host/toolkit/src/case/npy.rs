//! NumPy's `.npy`: one array with its type and shape. Versions 1 to 3 are read, 1.0 is written.

use bytes::{Bytes, BytesMut};
use nacre_domain::{DataType, Tensor, element_count};

use super::numbers::put_text;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Data type, shape and elements of a file.
#[derive(Debug, PartialEq)]
pub struct Array {
    /// Type of the elements; strings are BYTES.
    pub data_type: DataType,
    /// Dimensions.
    pub shape: Vec<i64>,
    /// As a tensor has them: row-major, little-endian.
    pub data: Bytes,
}

/// Reads an array.
///
/// # Errors
/// What the file is or has that cannot be a tensor.
pub fn read(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no .npy file: it does not begin with \\x93NUMPY")?;
    let cut_off = || "it is cut off in its header".to_owned();
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut_off)?;
    let (length, rest) = match version {
        [1, _] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        [2 | 3, _] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return Err(format!("its format version is {version:?}; expected 1, 2 or 3")),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut_off)?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let descr = descr(header)?;
    let fortran =
        value(header, "fortran_order").ok_or("its header has no fortran_order")?.starts_with("True");
    let shape = shape(header)?;
    let count = element_count(&shape).map_err(|error| error.message().to_owned())?;
    let size = descr.size;
    let wanted = count.checked_mul(size).ok_or("it has more elements than can exist")?;
    let data = data.get(..wanted).ok_or_else(|| {
        format!("it is cut off: {count} elements of {size} bytes are {wanted}, but {} are there", data.len())
    })?;
    let mut elements = data.to_vec();
    if descr.big_endian && descr.unit > 1 {
        elements.chunks_exact_mut(descr.unit).for_each(<[u8]>::reverse);
    }
    if fortran && shape.len() > 1 {
        elements = row_major(&elements, &shape, size);
    }
    let data = match descr.text {
        None => elements.into(),
        Some(text) => strings(&elements, size, text)?,
    };
    Ok(Array { data_type: descr.data_type, shape, data })
}

/// The type string of NumPy, such as `<f4`.
struct Descr {
    data_type: DataType,
    /// Bytes of an element.
    size: usize,
    /// Bytes whose order the byte order is about.
    unit: usize,
    big_endian: bool,
    text: Option<Text>,
}

#[derive(Clone, Copy)]
enum Text {
    /// `S`: bytes, filled up with zeros.
    Bytes,
    /// `U`: code points of four bytes.
    CodePoints,
}

fn descr(header: &str) -> Result<Descr, String> {
    let text = value(header, "descr").ok_or("its header has no descr")?;
    let unknown = || {
        let shown: String = text.chars().take(24).collect();
        format!(
            "its type {shown} cannot be a tensor's; convert it, for example with array.astype('float32') (no \
             structured types, objects, complex numbers or dates)"
        )
    };
    let inner =
        text.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next()).ok_or_else(unknown)?;
    let (order, kind) = match inner.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), kind)) => (order, kind),
        _ => ("|", inner),
    };
    let big_endian = order == ">";
    let plain = |data_type: DataType| {
        let size = data_type.size().unwrap_or(1);
        Ok(Descr { data_type, size, unit: size, big_endian, text: None })
    };
    match kind {
        "b1" => plain(DataType::Bool),
        "u1" => plain(DataType::Uint8),
        "u2" => plain(DataType::Uint16),
        "u4" => plain(DataType::Uint32),
        "u8" => plain(DataType::Uint64),
        "i1" => plain(DataType::Int8),
        "i2" => plain(DataType::Int16),
        "i4" => plain(DataType::Int32),
        "i8" => plain(DataType::Int64),
        "f2" => plain(DataType::Fp16),
        "f4" => plain(DataType::Fp32),
        "f8" => plain(DataType::Fp64),
        _ => {
            let (text, unit) = match kind.as_bytes().first() {
                Some(b'S') => (Text::Bytes, 1),
                Some(b'U') => (Text::CodePoints, 4),
                _ => return Err(unknown()),
            };
            let length: usize = kind.get(1..).and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
            let size = length.checked_mul(unit).ok_or_else(unknown)?;
            Ok(Descr { data_type: DataType::Bytes, size, unit, big_endian, text: Some(text) })
        }
    }
}

/// What follows `'key':` in the header, which is a Python dictionary.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = [format!("'{key}':"), format!("\"{key}\":")];
    let found = quoted.iter().find_map(|quoted| header.find(quoted).map(|at| at + quoted.len()))?;
    header.get(found..).map(str::trim_start)
}

fn shape(header: &str) -> Result<Vec<i64>, String> {
    let inner = value(header, "shape")
        .and_then(|text| text.strip_prefix('('))
        .and_then(|text| text.split_once(')'))
        .ok_or("its header has no shape")?;
    inner
        .0
        .split(',')
        .map(str::trim)
        .filter(|dim| !dim.is_empty())
        // Python 2 wrote 3L.
        .map(|dim| {
            dim.trim_end_matches('L').parse().map_err(|_| format!("its shape has a dimension '{dim}'"))
        })
        .collect()
}

/// Fortran's order (the first dimension runs fastest) to C's.
fn row_major(data: &[u8], shape: &[i64], size: usize) -> Vec<u8> {
    let dims: Vec<usize> = shape.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect();
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0_usize; dims.len()];
    for _ in 0..data.len().checked_div(size).unwrap_or(0) {
        let (mut at, mut stride) = (0, 1);
        for (i, dim) in index.iter().zip(&dims) {
            at += i * stride;
            stride *= dim;
        }
        out.extend_from_slice(data.get(at * size..(at + 1) * size).unwrap_or_default());
        for (i, &dim) in index.iter_mut().zip(&dims).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
    }
    out
}

fn strings(data: &[u8], size: usize, text: Text) -> Result<Bytes, String> {
    let mut bytes = BytesMut::new();
    let too_long = || "a string is too long".to_owned();
    for element in data.chunks_exact(size.max(1)) {
        match text {
            Text::Bytes => {
                let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                put_text(element.get(..end).unwrap_or_default(), &mut bytes).ok_or_else(too_long)?;
            }
            Text::CodePoints => {
                let (points, _) = element.as_chunks();
                let points: Vec<_> = points.iter().map(|&point| u32::from_le_bytes(point)).collect();
                let end = points.iter().rposition(|&point| point != 0).map_or(0, |last| last + 1);
                let string: Option<String> =
                    points.iter().take(end).map(|&point| char::from_u32(point)).collect();
                let string = string.ok_or("a string has a code point that does not exist")?;
                put_text(string.as_bytes(), &mut bytes).ok_or_else(too_long)?;
            }
        }
    }
    Ok(bytes.freeze())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for data_type in DataType::ALL.into_iter().filter(|t| *t != DataType::Bf16) {
            let data = match data_type.size() {
                Some(size) => Bytes::from(vec![1; size * 6]),
                None => {
                    Bytes::from_static(b"\x01\0\0\0a\0\0\0\0\x03\0\0\0b\0c\x01\0\0\0a\0\0\0\0\x03\0\0\0b\0c")
                }
            };
            let tensor = Tensor { name: "t".into(), data_type, shape: vec![2, 3], data: data.clone() };
            let bytes = write(&tensor).unwrap();
            let start = bytes.len() - if data_type == DataType::Bytes { 18 } else { data.len() };
            assert_eq!((start % 64, bytes[start - 1]), (0, b'\n'), "NumPy asks for alignment");
            assert_eq!(read(&bytes).unwrap(), Array { data_type, shape: vec![2, 3], data });
        }
    }

    #[test]
    fn a_header_as_numpy_writes_it() {
        let tensor = Tensor {
            name: "t".into(),
            data_type: DataType::Fp32,
            shape: vec![2],
            data: Bytes::from_static(&[0, 0, 128, 63, 0, 0, 0, 64]),
        };
        let bytes = write(&tensor).unwrap();
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(bytes[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   "));
    }

    #[test]
    fn orders_are_brought_to_ours() {
        let header = "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n";
        // [[1, 2, 3], [4, 5, 6]] column by column, big endian.
        let array = read(&file(header, &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6])).unwrap();
        assert_eq!(array.data.as_ref(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    }

    #[test]
    fn strings_are_bytes() {
        let points: Vec<u8> =
            [0xfc_u32, 0x62, 0x63, 0].iter().flat_map(|point| point.to_le_bytes()).collect();
        let array =
            read(&file("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }", &points)).unwrap();
        assert_eq!(array.data_type, DataType::Bytes);
        assert_eq!(array.data.as_ref(), b"\x03\0\0\0\xc3\xbcb\x01\0\0\0c");
    }

    #[test]
    fn scalars_and_empty_arrays() {
        let scalar = read(&file("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", &[7])).unwrap();
        assert_eq!((scalar.shape, scalar.data.as_ref()), (vec![], &[7_u8][..]));
        let empty = read(&file("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }", &[])).unwrap();
        assert_eq!((empty.shape, empty.data.len()), (vec![0, 4], 0));
    }

    #[test]
    fn says_why_a_file_cannot_be_read() {
        let float = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        for (bytes, expected) in [
            (b"PK\x03\x04".to_vec(), "no .npy file"),
            (file(float, &[0; 7]), "it is cut off: 2 elements of 4 bytes are 8, but 7 are there"),
            (file("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", &[0; 16]), "its type '<c8'"),
            (
                file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", &[]),
                "astype('float32')",
            ),
            (file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", &[]), "negative"),
            (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "cut off in its header"),
            (b"\x93NUMPY\x09\x00\xff\xff".to_vec(), "format version is [9, 0]"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
