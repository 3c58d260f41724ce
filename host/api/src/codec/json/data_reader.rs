use bytes::Bytes;
use nacre_domain::{DataType, Error, Result, ShapeDisplay, element_count};

use super::{Number, Reader};

/// Reads the `data` of a tensor, flat or nested in any way, into the bytes of its type.
///
/// As in Triton the nesting is not compared with the shape: the elements in the order of the text are the tensor, row
/// by row. Memory is bounded by the text: at most four times its length.
///
/// # Errors
/// Invalid argument if it is no array, has more or fewer elements than the shape, or an element that the type cannot
/// hold, named by its index; FP16 and BF16 have no JSON form.
pub fn read_data(reader: &mut Reader<'_>, data_type: DataType, shape: &[i64]) -> Result<Bytes> {
    let mut data = Elements::new(data_type, shape, reader.remaining())?;
    match data_type {
        DataType::Bool => data.read(reader, |reader, at| match reader.boolean() {
            Some(flag) => Ok([u8::from(flag)]),
            None => Err(at.refuse(reader, "true or false")),
        })?,
        DataType::Uint8 => data.read(reader, integer(u8::to_le_bytes))?,
        DataType::Uint16 => data.read(reader, integer(u16::to_le_bytes))?,
        DataType::Uint32 => data.read(reader, integer(u32::to_le_bytes))?,
        DataType::Uint64 => data.read(reader, integer(u64::to_le_bytes))?,
        DataType::Int8 => data.read(reader, integer(i8::to_le_bytes))?,
        DataType::Int16 => data.read(reader, integer(i16::to_le_bytes))?,
        DataType::Int32 => data.read(reader, integer(i32::to_le_bytes))?,
        DataType::Int64 => data.read(reader, integer(i64::to_le_bytes))?,
        DataType::Fp32 => data.read(reader, |reader, at| {
            let value = match reader.number() {
                Some(number) => finite(number, at, Number::as_f32, f32::is_finite)?,
                None => reader.non_finite().ok_or_else(|| at.refuse(reader, "a number"))? as f32,
            };
            Ok(value.to_le_bytes())
        })?,
        DataType::Fp64 => data.read(reader, |reader, at| {
            let value = match reader.number() {
                Some(number) => finite(number, at, Number::as_f64, f64::is_finite)?,
                None => reader.non_finite().ok_or_else(|| at.refuse(reader, "a number"))?,
            };
            Ok(value.to_le_bytes())
        })?,
        DataType::Bytes => data.read_strings(reader)?,
        DataType::Fp16 | DataType::Bf16 => {
            return Err(Error::invalid_argument(format!(
                "{data_type} has no JSON form; send its data as bytes behind the JSON, with the parameter \
                 'binary_data_size'"
            )));
        }
    }
    Ok(Bytes::from(data.bytes))
}

/// Which element a message is about.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
    data_type: DataType,
}

impl Place {
    #[cold]
    fn refuse(self, reader: &mut Reader<'_>, expected: &str) -> Error {
        self.refuse_text(&reader.excerpt(), expected)
    }

    #[cold]
    fn refuse_text(self, found: &str, expected: &str) -> Error {
        let Place { index, data_type } = self;
        Error::invalid_argument(format!(
            "element {index} of its data is {found}, but {data_type} takes {expected}"
        ))
    }
}

/// Reads an integer that the type holds.
fn integer<T, const N: usize>(
    to_bytes: impl Fn(T) -> [u8; N],
) -> impl FnMut(&mut Reader<'_>, Place) -> Result<[u8; N]>
where
    T: TryFrom<i128>,
{
    move |reader, at| {
        let Some(number) = reader.number() else { return Err(at.refuse(reader, "whole numbers")) };
        let value = number.as_integer().and_then(|value| T::try_from(value).ok());
        value.map(&to_bytes).ok_or_else(|| at.refuse_text(number.text, range(at.data_type)))
    }
}

/// A number that does not become infinite by being too large.
fn finite<'a, T: Copy>(
    number: Number<'a>,
    at: Place,
    convert: impl Fn(&Number<'a>) -> T,
    is_finite: impl Fn(T) -> bool,
) -> Result<T> {
    let value = convert(&number);
    if is_finite(value) { Ok(value) } else { Err(at.refuse_text(number.text, range(at.data_type))) }
}

const fn range(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Uint8 => "whole numbers from 0 to 255",
        DataType::Uint16 => "whole numbers from 0 to 65535",
        DataType::Uint32 => "whole numbers from 0 to 4294967295",
        DataType::Uint64 => "whole numbers from 0 to 18446744073709551615",
        DataType::Int8 => "whole numbers from -128 to 127",
        DataType::Int16 => "whole numbers from -32768 to 32767",
        DataType::Int32 => "whole numbers from -2147483648 to 2147483647",
        DataType::Int64 => "whole numbers from -9223372036854775808 to 9223372036854775807",
        DataType::Fp32 => "numbers from -3.4028235e38 to 3.4028235e38",
        DataType::Fp64 => "numbers from -1.7976931348623157e308 to 1.7976931348623157e308",
        _ => "other values",
    }
}

/// The bytes read so far and how many elements there have to be.
struct Elements<'s> {
    bytes: Vec<u8>,
    data_type: DataType,
    shape: &'s [i64],
    expected: usize,
    found: usize,
}

impl<'s> Elements<'s> {
    fn new(data_type: DataType, shape: &'s [i64], text: usize) -> Result<Elements<'s>> {
        let expected = element_count(shape)?;
        // An element takes two bytes of text ("1,"), so a shape that promises more than the text can hold reserves
        // nothing for it.
        let reserve = expected.min(text / 2 + 1).saturating_mul(data_type.size().unwrap_or(4));
        Ok(Elements { bytes: Vec::with_capacity(reserve), data_type, shape, expected, found: 0 })
    }

    #[inline]
    fn read<const N: usize>(
        &mut self,
        reader: &mut Reader<'_>,
        mut element: impl FnMut(&mut Reader<'_>, Place) -> Result<[u8; N]>,
    ) -> Result<()> {
        flatten(reader, |reader| {
            let place = self.next()?;
            self.bytes.extend_from_slice(&element(reader, place)?);
            Ok(())
        })?;
        self.end()
    }

    fn read_strings(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        flatten(reader, |reader| {
            let place = self.next()?;
            if reader.peek() != Some(b'"') {
                return Err(place.refuse(reader, "strings"));
            }
            let text = reader.string()?;
            let length = u32::try_from(text.len())
                .map_err(|_| place.refuse_text("a string of 4 GiB or more", "shorter ones"))?;
            self.bytes.extend_from_slice(&length.to_le_bytes());
            self.bytes.extend_from_slice(text.as_bytes());
            Ok(())
        })?;
        self.end()
    }

    #[inline]
    fn next(&mut self) -> Result<Place> {
        if self.found == self.expected {
            return Err(self.wrong_count("more"));
        }
        let place = Place { index: self.found, data_type: self.data_type };
        self.found += 1;
        Ok(place)
    }

    fn end(&self) -> Result<()> {
        if self.found == self.expected { Ok(()) } else { Err(self.wrong_count(&self.found.to_string())) }
    }

    #[cold]
    fn wrong_count(&self, found: &str) -> Error {
        Error::invalid_argument(format!(
            "shape {} has {} elements, but its data has {found}",
            ShapeDisplay(self.shape),
            self.expected
        ))
    }
}

/// Calls `element` before each element of an array, however deep it lies.
#[inline]
fn flatten(reader: &mut Reader<'_>, mut element: impl FnMut(&mut Reader<'_>) -> Result<()>) -> Result<()> {
    if reader.peek() != Some(b'[') {
        let found = reader.excerpt();
        return Err(Error::invalid_argument(format!("its data has to be an array, got {found}")));
    }
    let mut depth = 0_usize;
    loop {
        if reader.peek() == Some(b'[') {
            reader.open(b'[', "an array")?;
            depth += 1;
            if !reader.take(b']') {
                continue;
            }
            reader.close();
            depth -= 1;
        } else {
            element(reader)?;
        }
        while depth > 0 && !reader.take(b',') {
            if !reader.take(b']') {
                return Err(reader.syntax("',' or ']' in the data of a tensor"));
            }
            reader.close();
            depth -= 1;
        }
        if depth == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data_type: DataType, shape: &[i64], text: &str) -> Result<Bytes> {
        let mut reader = Reader::new(text.as_bytes())?;
        let data = read_data(&mut reader, data_type, shape)?;
        reader.end()?;
        Ok(data)
    }

    fn message(data_type: DataType, shape: &[i64], text: &str) -> String {
        read(data_type, shape, text).unwrap_err().message().to_owned()
    }

    #[test]
    fn flat_and_nested_data_are_the_same_tensor() {
        for text in ["[1,2,3,4]", "[[1,2],[3,4]]", " [ [ [1] , [ 2 ] ] , [ ] , 3, [4] ] "] {
            assert_eq!(read(DataType::Int16, &[2, 2], text).unwrap(), [1, 0, 2, 0, 3, 0, 4, 0].as_slice());
        }
    }

    #[test]
    fn every_type_with_a_json_form_is_read_exactly() {
        let big = "[18446744073709551615,9007199254740993]";
        let bytes: Vec<u8> = [u64::MAX, 9007199254740993].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(read(DataType::Uint64, &[2], big).unwrap(), bytes);
        assert_eq!(
            read(DataType::Int64, &[1], "[-9223372036854775808]").unwrap(),
            i64::MIN.to_le_bytes().as_slice()
        );
        assert_eq!(read(DataType::Bool, &[2], "[true,false]").unwrap(), [1, 0].as_slice());
        assert_eq!(read(DataType::Int8, &[2], "[-128,127]").unwrap(), [0x80, 0x7f].as_slice());
        assert_eq!(read(DataType::Fp32, &[1], "[0.1]").unwrap(), 0.1_f32.to_le_bytes().as_slice());
        assert_eq!(read(DataType::Fp64, &[1], "[0.1]").unwrap(), 0.1_f64.to_le_bytes().as_slice());
        assert_eq!(
            read(DataType::Bytes, &[2], r#"["né",""]"#).unwrap(),
            b"\x03\0\0\0n\xc3\xa9\0\0\0\0".as_slice()
        );
    }

    #[test]
    fn numbers_that_are_not_finite_are_taken_as_python_writes_them() {
        let data = read(DataType::Fp32, &[4], "[NaN,Infinity,-Infinity,-Inf]").unwrap();
        let values: Vec<f32> =
            data.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect();
        assert!(values[0].is_nan());
        assert_eq!(values[1..], [f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    }

    #[test]
    fn tensors_without_elements_take_empty_arrays() {
        assert!(read(DataType::Fp32, &[0, 3], "[]").unwrap().is_empty());
        assert!(read(DataType::Bytes, &[2, 0], "[[],[]]").unwrap().is_empty());
    }

    #[test]
    fn a_wrong_element_is_named_by_its_index() {
        for (data_type, text, expected) in [
            (
                DataType::Uint8,
                "[1,256]",
                "element 1 of its data is 256, but UINT8 takes whole numbers from 0 to 255",
            ),
            (DataType::Uint8, "[-1,0]", "element 0 of its data is -1, but UINT8 takes"),
            (
                DataType::Int32,
                "[1.0,2]",
                "element 0 of its data is 1.0, but INT32 takes whole numbers from -2147483648",
            ),
            (
                DataType::Int64,
                "[0,9223372036854775808]",
                "element 1 of its data is 9223372036854775808, but INT64",
            ),
            (DataType::Fp32, "[0,1e39]", "element 1 of its data is 1e39, but FP32 takes numbers from"),
            (DataType::Fp64, "[0,-1e999]", "element 1 of its data is -1e999, but FP64 takes"),
            (DataType::Fp32, "[0,\"1\"]", "element 1 of its data is \"1\", but FP32 takes a number"),
            (DataType::Fp32, "[null,0]", "element 0 of its data is null, but FP32 takes a number"),
            (DataType::Bool, "[true,1]", "element 1 of its data is 1, but BOOL takes true or false"),
            (DataType::Bytes, "[\"a\",2]", "element 1 of its data is 2, but BYTES takes strings"),
        ] {
            let found = message(data_type, &[2], text);
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn a_wrong_number_of_elements_is_refused() {
        assert_eq!(
            message(DataType::Int8, &[2, 2], "[1,2,3]"),
            "shape [2,2] has 4 elements, but its data has 3"
        );
        assert_eq!(
            message(DataType::Int8, &[2], "[1,2,3]"),
            "shape [2] has 2 elements, but its data has more"
        );
        assert!(message(DataType::Int8, &[-1], "[1]").contains("negative"));
        // Promised, but not reserved.
        assert!(message(DataType::Fp64, &[1 << 60], "[1]").contains("but its data has 1"));
    }

    #[test]
    fn data_that_is_no_array_or_breaks_off_is_refused() {
        assert!(message(DataType::Int8, &[1], "1").contains("has to be an array, got 1"));
        assert!(message(DataType::Int8, &[2], "[1,").contains("element 1 of its data is nothing"));
        assert!(message(DataType::Int8, &[1], "[1}").contains("expected ',' or ']'"));
        assert!(message(DataType::Fp16, &[1], "[1]").contains("FP16 has no JSON form"));
        assert!(message(DataType::Int8, &[1], &"[".repeat(200)).contains("deeper than the 100 levels"));
    }
}
