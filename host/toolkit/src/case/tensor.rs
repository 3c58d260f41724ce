use std::{fs, path::Path};

use bytes::{Bytes, BytesMut};
use nacre_domain::{DataType, Tensor, TensorSpec, element_count};
use serde::Deserialize;
use serde_json::Value;

use super::{image, npy, numbers};
use crate::failure::Failure;

/// A tensor of a case; see the module.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorSource {
    /// Name of the input or output.
    pub name: String,
    /// As KServe names it: `FP32`.
    #[serde(default)]
    pub datatype: Option<String>,
    /// Dimensions.
    #[serde(default)]
    pub shape: Option<Vec<i64>>,
    /// Elements.
    #[serde(default)]
    pub data: Option<Value>,
    /// A file with them.
    #[serde(default)]
    pub file: Option<String>,
    /// A picture with them.
    #[serde(default)]
    pub image: Option<String>,
}

impl TensorSource {
    /// The tensor. `spec` is what the plugin or config.pbtxt says of it, and stands for what the case leaves out.
    ///
    /// # Errors
    /// Usage: which tensor cannot be had, and why.
    pub fn load(&self, folder: &Path, spec: Option<&TensorSpec>) -> Result<Tensor, Failure> {
        let named = |problem: String| Failure::usage(format!("tensor '{}': {problem}", self.name));
        let (data_type, shape, data) = self.elements(folder, spec).map_err(named)?;
        let tensor = Tensor { name: self.name.clone(), data_type, shape, data };
        tensor.validate().map_err(|error| Failure::usage(error.message()))?;
        Ok(tensor)
    }

    fn elements(
        &self,
        folder: &Path,
        spec: Option<&TensorSpec>,
    ) -> Result<(DataType, Vec<i64>, Bytes), String> {
        let own = self.data_type()?;
        let known = own.or(spec.map(|spec| spec.data_type));
        let data_type = || {
            known.ok_or_else(|| {
                "its data type is not known; write \"datatype\": \"FP32\", for example".to_owned()
            })
        };
        match (&self.data, &self.file, &self.image) {
            (Some(data), None, None) => {
                let data_type = data_type()?;
                let shape = match &self.shape {
                    Some(shape) => shape.clone(),
                    None => natural(numbers::shape(data)?, spec),
                };
                Ok((data_type, shape, numbers::encode(data, data_type)?))
            }
            (None, Some(file), None) if file.ends_with(".npy") => {
                let array =
                    npy::read(&read(folder, file)?).map_err(|problem| format!("{file}: {problem}"))?;
                let data_type = match known {
                    Some(DataType::Bf16) if array.data_type == DataType::Uint16 => DataType::Bf16,
                    _ if own.is_none_or(|own| own == array.data_type) => array.data_type,
                    _ => {
                        let expected = own.map(DataType::name).unwrap_or_default();
                        return Err(format!(
                            "{file} has elements of {}; expected {expected}",
                            array.data_type
                        ));
                    }
                };
                Ok((data_type, self.shape.clone().unwrap_or(array.shape), array.data))
            }
            (None, Some(file), None) => {
                let bytes = read(folder, file)?;
                match data_type()? {
                    DataType::Bytes => self.one_element(spec, &bytes),
                    data_type => {
                        let shape = match (&self.shape, data_type.size()) {
                            (Some(shape), _) => shape.clone(),
                            (None, Some(size)) => {
                                flat_or_fixed(spec, bytes.len().checked_div(size).unwrap_or_default())
                            }
                            (None, None) => Vec::new(),
                        };
                        Ok((data_type, shape, bytes.into()))
                    }
                }
            }
            (None, None, Some(file)) => {
                let bytes = read(folder, file)?;
                match known {
                    Some(DataType::Uint8) => {
                        let (shape, pixels) =
                            image::pixels(&bytes).map_err(|problem| format!("{file}: {problem}"))?;
                        Ok((DataType::Uint8, self.shape.clone().unwrap_or(shape), pixels.into()))
                    }
                    Some(DataType::Bytes) => self.one_element(spec, &bytes),
                    _ => Err(format!(
                        "an image is a tensor of UINT8 (its pixels) or BYTES (the file), but this one is {}",
                        known.map_or("not known; write \"datatype\": \"UINT8\"", DataType::name)
                    )),
                }
            }
            _ => Err("expected one of `data`, `file` and `image`".to_owned()),
        }
    }

    fn data_type(&self) -> Result<Option<DataType>, String> {
        let Some(name) = &self.datatype else { return Ok(None) };
        let known = || DataType::ALL.map(DataType::name).join(", ");
        DataType::from_name(name)
            .or_else(|| DataType::from_config_name(name))
            .map(Some)
            .ok_or_else(|| format!("'{name}' is no data type; expected one of {}", known()))
    }

    /// A whole file as a BYTES tensor of one element, with as many dimensions as are expected.
    fn one_element(
        &self,
        spec: Option<&TensorSpec>,
        file: &[u8],
    ) -> Result<(DataType, Vec<i64>, Bytes), String> {
        let mut bytes = BytesMut::new();
        numbers::put_text(file, &mut bytes).ok_or("the file is larger than 4 GiB")?;
        let shape = self.shape.clone().unwrap_or_else(|| vec![1; spec.map_or(1, |spec| spec.dims.len())]);
        Ok((DataType::Bytes, shape, bytes.freeze()))
    }
}

/// The shape of data without one: that of its nesting, unless it is flat, or a single element, where more dimensions are
/// expected.
fn natural(nested: Vec<i64>, spec: Option<&TensorSpec>) -> Vec<i64> {
    match (nested.as_slice(), spec) {
        ([], Some(spec)) => vec![1; spec.dims.len()],
        ([count], Some(spec)) if spec.dims.len() != 1 => {
            flat_or_fixed(Some(spec), usize::try_from(*count).unwrap_or_default())
        }
        _ => nested,
    }
}

/// The expected dims if they are fixed or only one varies; else flat.
fn flat_or_fixed(spec: Option<&TensorSpec>, count: usize) -> Vec<i64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let Some(spec) = spec else { return vec![count] };
    let fixed: Vec<i64> = spec.dims.iter().copied().filter(|&dim| dim != -1).collect();
    if fixed.len() == spec.dims.len() {
        return spec.dims.clone();
    }
    let known = element_count(&fixed).ok().and_then(|n| i64::try_from(n).ok()).unwrap_or_default();
    match (spec.dims.len() - fixed.len(), count.checked_div(known)) {
        (1, Some(rest)) => spec.dims.iter().map(|&dim| if dim == -1 { rest } else { dim }).collect(),
        _ => vec![count],
    }
}

fn read(folder: &Path, file: &str) -> Result<Vec<u8>, String> {
    let path = folder.join(file);
    fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, spec: Option<(DataType, &[i64])>) -> Result<Tensor, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("raw.bin"), [1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let array = Tensor {
            name: String::new(),
            data_type: DataType::Uint16,
            shape: vec![2],
            data: Bytes::from_static(&[1, 0, 2, 0]),
        };
        fs::write(folder.path().join("x.npy"), npy::write(&array).unwrap()).unwrap();
        let spec = spec.map(|(data_type, dims)| TensorSpec {
            name: "x".into(),
            data_type,
            dims: dims.to_vec(),
            optional: false,
        });
        let source: TensorSource = serde_json::from_str(text).unwrap();
        source.load(folder.path(), spec.as_ref()).map_err(|failure| failure.message)
    }

    #[test]
    fn the_plugin_says_what_the_case_leaves_out() {
        let tensor = load(r#"{"name": "x", "data": [[1, 2]]}"#, Some((DataType::Fp32, &[-1, 2]))).unwrap();
        assert_eq!((tensor.data_type, tensor.shape, tensor.data.len()), (DataType::Fp32, vec![1, 2], 8));
        let shape = |data: &str, dims: &[i64]| {
            let text = format!("{{\"name\": \"x\", \"data\": {data}}}");
            load(&text, Some((DataType::Fp32, dims))).unwrap().shape
        };
        assert_eq!(shape("5", &[-1]), [1]);
        assert_eq!(shape("[1, 2, 3, 4]", &[-1, 2]), [2, 2]);
        assert_eq!(shape("[1, 2]", &[-1]), [2]);
        let raw = r#"{"name": "x", "file": "raw.bin"}"#;
        assert_eq!(load(raw, Some((DataType::Int16, &[2, -1]))).unwrap().shape, [2, 2]);
        assert_eq!(load(raw, Some((DataType::Int16, &[-1, -1]))).unwrap().shape, [4]);
        let element = load(raw, Some((DataType::Bytes, &[1, -1]))).unwrap();
        assert_eq!((element.shape, element.data.len()), (vec![1, 1], 12));
    }

    #[test]
    fn npy_files_bring_type_and_shape() {
        let file = r#"{"name": "x", "file": "x.npy"}"#;
        assert_eq!(load(file, None).unwrap().data_type, DataType::Uint16);
        assert_eq!(load(file, Some((DataType::Bf16, &[-1]))).unwrap().data_type, DataType::Bf16);
        let error = load(r#"{"name": "x", "file": "x.npy", "datatype": "FP32"}"#, None).unwrap_err();
        assert_eq!(error, "tensor 'x': x.npy has elements of UINT16; expected FP32");
    }

    #[test]
    fn says_what_is_missing_or_wrong() {
        for (text, expected) in [
            (r#"{"name": "x"}"#, "tensor 'x': expected one of `data`, `file` and `image`"),
            (r#"{"name": "x", "data": [1]}"#, "its data type is not known"),
            (
                r#"{"name": "x", "data": [1], "datatype": "float"}"#,
                "'float' is no data type; expected one of BOOL",
            ),
            (r#"{"name": "x", "data": [1], "shape": [2], "datatype": "FP32"}"#, "takes 8 bytes, got 4"),
            (r#"{"name": "x", "file": "none.npy"}"#, "none.npy: No such file"),
            (r#"{"name": "x", "image": "raw.bin", "datatype": "FP32"}"#, "but this one is FP32"),
        ] {
            let error = load(text, None).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
