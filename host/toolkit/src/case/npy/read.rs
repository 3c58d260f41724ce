use bytes::{Bytes, BytesMut};
use nacre_domain::{DataType, element_count};

use super::{super::numbers::put_text, MAGIC};

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
