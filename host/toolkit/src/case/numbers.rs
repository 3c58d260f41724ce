//! Elements of tensors: from JSON to bytes, and from bytes to text.

use bytes::{BufMut, Bytes, BytesMut};
use half::{bf16, f16};
use nacre_domain::{DataType, Tensor, bytes_elements};
use serde_json::Value;

/// The bytes of data that is flat or nested, row-major.
///
/// # Errors
/// The first element that is not of the type.
pub(super) fn encode(data: &Value, data_type: DataType) -> Result<Bytes, String> {
    let mut bytes = BytesMut::new();
    put_all(data, data_type, &mut bytes)?;
    Ok(bytes.freeze())
}

fn put_all(data: &Value, data_type: DataType, bytes: &mut BytesMut) -> Result<(), String> {
    match data {
        Value::Array(elements) => elements.iter().try_for_each(|element| put_all(element, data_type, bytes)),
        element => put(element, data_type, bytes).ok_or_else(|| {
            format!("{element} is no element of {data_type}; expected {}", expected(data_type))
        }),
    }
}

fn expected(data_type: DataType) -> String {
    match data_type {
        DataType::Bool => "true or false".to_owned(),
        DataType::Bytes => "a string".to_owned(),
        DataType::Fp16 | DataType::Bf16 | DataType::Fp32 | DataType::Fp64 => {
            "a number, \"NaN\", \"Infinity\" or \"-Infinity\"".to_owned()
        }
        _ => "a whole number in its range".to_owned(),
    }
}

fn put(element: &Value, data_type: DataType, bytes: &mut BytesMut) -> Option<()> {
    match data_type {
        DataType::Bool => bytes.put_u8(match element {
            Value::Bool(value) => u8::from(*value),
            _ => u8::try_from(element.as_u64()?).ok().filter(|&value| value < 2)?,
        }),
        DataType::Uint8 => bytes.put_u8(element.as_u64()?.try_into().ok()?),
        DataType::Uint16 => bytes.put_u16_le(element.as_u64()?.try_into().ok()?),
        DataType::Uint32 => bytes.put_u32_le(element.as_u64()?.try_into().ok()?),
        DataType::Uint64 => bytes.put_u64_le(element.as_u64()?),
        DataType::Int8 => bytes.put_i8(element.as_i64()?.try_into().ok()?),
        DataType::Int16 => bytes.put_i16_le(element.as_i64()?.try_into().ok()?),
        DataType::Int32 => bytes.put_i32_le(element.as_i64()?.try_into().ok()?),
        DataType::Int64 => bytes.put_i64_le(element.as_i64()?),
        DataType::Fp16 => bytes.put_u16_le(f16::from_f64(float(element)?).to_bits()),
        DataType::Bf16 => bytes.put_u16_le(bf16::from_f64(float(element)?).to_bits()),
        DataType::Fp32 => bytes.put_f32_le(float(element)? as f32),
        DataType::Fp64 => bytes.put_f64_le(float(element)?),
        DataType::Bytes => put_text(element.as_str()?.as_bytes(), bytes)?,
    }
    Some(())
}

fn float(element: &Value) -> Option<f64> {
    match element {
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => element.as_f64(),
    }
}

/// One BYTES element with its length in front; `None` if it is longer than the length can say.
pub(super) fn put_text(text: &[u8], bytes: &mut BytesMut) -> Option<()> {
    bytes.put_u32_le(text.len().try_into().ok()?);
    bytes.put_slice(text);
    Some(())
}

/// The shape of nested arrays; a single element has none.
///
/// # Errors
/// If arrays beside one another differ in length.
pub(super) fn shape(data: &Value) -> Result<Vec<i64>, String> {
    let Value::Array(elements) = data else { return Ok(Vec::new()) };
    let mut inner: Option<Vec<i64>> = None;
    for element in elements {
        let shape = shape(element)?;
        match &inner {
            Some(first) if *first != shape => {
                return Err("arrays beside one another differ in length; write a `shape`".to_owned());
            }
            _ => inner = Some(shape),
        }
    }
    let mut all = vec![i64::try_from(elements.len()).unwrap_or(i64::MAX)];
    all.extend(inner.unwrap_or_default());
    Ok(all)
}

/// An element as it is compared and shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// BOOL.
    Bool(bool),
    /// Any whole number.
    Int(i128),
    /// Any float; FP16, BF16 and FP32 are shown with as few digits as tell them apart.
    Float(f64, DataType),
    /// BYTES.
    Text(Bytes),
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            // Digits, not zeros.
            Self::Float(value, _)
                if *value != 0.0 && !(1e-5..1e15).contains(&value.abs()) && value.is_finite() =>
            {
                match self.narrow() {
                    Some(narrow) => write!(f, "{narrow:e}"),
                    None => write!(f, "{value:e}"),
                }
            }
            Self::Float(value, DataType::Fp64) => write!(f, "{value}"),
            Self::Float(value, DataType::Fp16) => write!(f, "{}", f16::from_f64(*value)),
            Self::Float(value, DataType::Bf16) => write!(f, "{}", bf16::from_f64(*value)),
            Self::Float(value, _) => write!(f, "{}", *value as f32),
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => write!(f, "{text:?}"),
                Err(_) => write!(f, "<{} bytes>", bytes.len()),
            },
        }
    }
}

impl Element {
    /// A float of a type narrower than FP64, whose shortest digits are fewer.
    fn narrow(&self) -> Option<f32> {
        match self {
            Self::Float(value, data_type) if *data_type != DataType::Fp64 => Some(*value as f32),
            _ => None,
        }
    }

    /// The element as JSON; what JSON has no number for, as the strings that [`encode`] reads; bytes that are no UTF-8 as
    /// `{"base16": …}`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Bool(value) => Value::from(*value),
            Self::Int(value) => match i64::try_from(*value) {
                Ok(value) => Value::from(value),
                Err(_) => Value::from(u64::try_from(*value).unwrap_or(u64::MAX)),
            },
            Self::Float(value, _) if value.is_nan() => Value::from("NaN"),
            Self::Float(value, _) if value.is_infinite() => {
                Value::from(if *value > 0.0 { "Infinity" } else { "-Infinity" })
            }
            Self::Float(..) => {
                // By way of the shortest digits, so that 0.1 of FP32 is 0.1.
                self.to_string().parse::<f64>().map_or(Value::Null, Value::from)
            }
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Value::from(text),
                Err(_) => {
                    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    serde_json::json!({ "base16": digits })
                }
            },
        }
    }
}

/// The elements of a tensor that has been validated; of what is cut off, those before.
pub fn elements(tensor: &Tensor) -> Box<dyn Iterator<Item = Element> + '_> {
    macro_rules! fixed {
        ($ty:ty, $element:expr) => {{
            let (chunks, _) = tensor.data.as_chunks();
            Box::new(chunks.iter().map(move |&bytes| $element(<$ty>::from_le_bytes(bytes))))
        }};
    }
    let data_type = tensor.data_type;
    let float = move |value: f64| Element::Float(value, data_type);
    match tensor.data_type {
        DataType::Bool => Box::new(tensor.data.iter().map(|&byte| Element::Bool(byte != 0))),
        DataType::Uint8 => fixed!(u8, |n| Element::Int(i128::from(n))),
        DataType::Uint16 => fixed!(u16, |n| Element::Int(i128::from(n))),
        DataType::Uint32 => fixed!(u32, |n| Element::Int(i128::from(n))),
        DataType::Uint64 => fixed!(u64, |n| Element::Int(i128::from(n))),
        DataType::Int8 => fixed!(i8, |n| Element::Int(i128::from(n))),
        DataType::Int16 => fixed!(i16, |n| Element::Int(i128::from(n))),
        DataType::Int32 => fixed!(i32, |n| Element::Int(i128::from(n))),
        DataType::Int64 => fixed!(i64, |n| Element::Int(i128::from(n))),
        DataType::Fp16 => fixed!(f16, |n: f16| float(n.to_f64())),
        DataType::Bf16 => fixed!(bf16, |n: bf16| float(n.to_f64())),
        DataType::Fp32 => fixed!(f32, |n| float(f64::from(n))),
        DataType::Fp64 => fixed!(f64, float),
        DataType::Bytes => Box::new(bytes_elements(&tensor.data).map_while(Result::ok).map(Element::Text)),
    }
}

/// The first `most` elements as a line: `[1, 2, 3, … 497 more]`.
pub fn shorten(tensor: &Tensor, most: usize) -> String {
    let mut all = elements(tensor);
    let shown: Vec<_> = all.by_ref().take(most).map(|element| element.to_string()).collect();
    let more = all.count();
    match (shown.is_empty(), more) {
        (_, 0) => format!("[{}]", shown.join(", ")),
        (_, more) => format!("[{}, … {more} more]", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tensor(data_type: DataType, data: &Value) -> Tensor {
        let shape = shape(data).unwrap();
        Tensor { name: "t".into(), data_type, shape, data: encode(data, data_type).unwrap() }
    }

    #[test]
    fn every_type_goes_in_and_comes_out() {
        for data_type in DataType::ALL {
            let data = match data_type {
                DataType::Bool => json!([true, false]),
                DataType::Bytes => json!(["a", "ü", ""]),
                DataType::Uint64 => json!([u64::MAX, 0]),
                DataType::Int64 => json!([i64::MIN, i64::MAX]),
                DataType::Fp16 | DataType::Bf16 | DataType::Fp32 | DataType::Fp64 => {
                    json!([0.1, -2.0, "NaN", "-Infinity"])
                }
                _ => json!([1, 2, 127]),
            };
            let tensor = tensor(data_type, &data);
            tensor.validate().unwrap();
            let back: Vec<_> = elements(&tensor).map(|element| element.to_json()).collect();
            if matches!(data_type, DataType::Fp16 | DataType::Bf16) {
                assert_eq!(back[1..], data.as_array().unwrap()[1..]);
            } else {
                assert_eq!(json!(back), data, "{data_type}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_the_type_is_named() {
        for (data_type, data, expected) in [
            (
                DataType::Uint8,
                json!([1, 256]),
                "256 is no element of UINT8; expected a whole number in its range",
            ),
            (DataType::Int32, json!([[1.5]]), "1.5 is no element of INT32"),
            (DataType::Fp32, json!(["x"]), "\"x\" is no element of FP32; expected a number, \"NaN\""),
            (DataType::Bytes, json!([1]), "1 is no element of BYTES; expected a string"),
            (DataType::Bool, json!([2]), "2 is no element of BOOL; expected true or false"),
        ] {
            let error = encode(&data, data_type).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn nesting_is_a_shape() {
        assert_eq!(shape(&json!([[1, 2, 3], [4, 5, 6]])).unwrap(), [2, 3]);
        assert_eq!(shape(&json!(1)).unwrap(), Vec::<i64>::new());
        assert_eq!(shape(&json!([])).unwrap(), [0]);
        assert!(shape(&json!([[1], [2, 3]])).is_err());
    }

    #[test]
    fn long_tensors_are_shown_by_their_start() {
        let tensor = tensor(DataType::Fp32, &json!([0.1, 2, 3]));
        assert_eq!(shorten(&tensor, 3), "[0.1, 2, 3]");
        assert_eq!(shorten(&tensor, 1), "[0.1, … 2 more]");
    }
}
