use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use nacre_domain::{ErrorCode, Parameters, Value};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{Code, TensorSource};
use crate::failure::Failure;

/// One case; see the module.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// For the report; never empty once read.
    #[serde(default)]
    pub name: String,
    /// Id of the request.
    #[serde(default)]
    pub id: Option<String>,
    /// In place of, or beside, those of config.pbtxt.
    #[serde(default)]
    pub config_parameters: BTreeMap<String, String>,
    /// Of the request.
    #[serde(default, deserialize_with = "parameters")]
    pub parameters: Parameters,
    /// Names of outputs; empty means all.
    #[serde(default)]
    pub requested_outputs: Vec<String>,
    /// Tensors of the request.
    #[serde(default)]
    pub inputs: Vec<TensorSource>,
    /// What models that are called answer.
    #[serde(default)]
    pub models: BTreeMap<String, ModelMock>,
    /// Tensors that the answer has to have.
    #[serde(default)]
    pub outputs: Vec<TensorSource>,
    /// Parameters that the answer has to have.
    #[serde(default, deserialize_with = "parameters")]
    pub output_parameters: Parameters,
    /// The request has to fail so.
    #[serde(default)]
    pub error: Option<ExpectedError>,
    /// Of floating-point outputs.
    #[serde(default)]
    pub tolerance: Tolerance,
    /// Folder of the file: where its paths start.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The file, for the report.
    #[serde(skip)]
    pub file: PathBuf,
}

/// How far a float may be off.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tolerance {
    /// By itself.
    pub absolute: f64,
    /// Times the expected value.
    pub relative: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { absolute: 1e-6, relative: 1e-5 }
    }
}

/// A failure that is right.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedError {
    /// Any, if it is not given.
    #[serde(default)]
    pub code: Option<Code>,
    /// A part of the message.
    #[serde(default)]
    pub contains: Option<String>,
}

/// What a called model answers.
#[derive(Debug, Clone)]
pub enum ModelMock {
    /// To every call.
    Always(Answer),
    /// To one call after another.
    InTurn(Vec<Answer>),
}

/// One answer of a called model: `outputs`, or `error`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Its tensors.
    #[serde(default)]
    pub outputs: Vec<TensorSource>,
    /// Parameters beside them.
    #[serde(default, deserialize_with = "parameters")]
    pub parameters: Parameters,
    /// It fails so instead.
    #[serde(default)]
    pub error: Option<ModelError>,
}

/// An error of a called model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelError {
    /// Internal, if it is not given.
    #[serde(default = "internal")]
    pub code: Code,
    /// Its text.
    #[serde(default)]
    pub message: String,
}

fn internal() -> Code {
    Code(ErrorCode::Internal)
}

impl<'de> Deserialize<'de> for ModelMock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not an untagged enum: its error would say only that nothing fits.
        let value = serde_json::Value::deserialize(deserializer)?;
        let several = value.is_array();
        if several {
            serde_json::from_value(value).map(Self::InTurn).map_err(D::Error::custom)
        } else {
            serde_json::from_value(value).map(Self::Always).map_err(D::Error::custom)
        }
    }
}

fn parameters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Parameters, D::Error> {
    let values = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
    let value = |(name, value): (String, serde_json::Value)| {
        let value = match &value {
            serde_json::Value::Bool(value) => Some(Value::Bool(*value)),
            serde_json::Value::String(text) => Some(Value::String(text.clone())),
            serde_json::Value::Number(number) => {
                number.as_i64().map(Value::Int).or_else(|| number.as_f64().map(Value::Double))
            }
            _ => None,
        }
        .ok_or_else(|| {
            D::Error::custom(format!("parameter '{name}': expected true, false, a number or a string"))
        })?;
        Ok((name, value))
    };
    values.into_iter().map(value).collect()
}

/// The cases of one file, in its order.
///
/// # Errors
/// Usage: the file cannot be read, or is not what the module says, with the line.
pub fn read(file: &Path) -> Result<Vec<Case>, Failure> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let mut cases =
        parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", file.display())).fix(FORMAT))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let several = cases.len() > 1;
    for (index, case) in cases.iter_mut().enumerate() {
        if case.name.is_empty() {
            case.name = if several { format!("{stem}[{index}]") } else { stem.to_string() };
        }
        file.parent().unwrap_or(Path::new("")).clone_into(&mut case.folder);
        file.clone_into(&mut case.file);
    }
    Ok(cases)
}

const FORMAT: &str = "a case is {\"inputs\": [{\"name\": …, \"data\": […]}], \"outputs\": […]} or an array of such; `nacre \
                      plugin test --help` shows one";

fn parse(text: &str) -> serde_json::Result<Vec<Case>> {
    if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::from_str(text).map(|case| vec![case])
    }
}

/// The cases of a folder's `.json` files, sorted by name; none if there is no such folder.
///
/// # Errors
/// As [`read`].
pub fn read_folder(folder: &Path) -> Result<Vec<Case>, Failure> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
    });
    let mut files =
        entries.map_err(|error| Failure::usage(format!("cannot read {}: {error}", folder.display())))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        cases.extend(read(&file)?);
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_one_case_or_several() {
        let one = parse(r#" {"inputs": [{"name": "x", "data": [1]}]}"#).unwrap();
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].tolerance, Tolerance { absolute: 1e-6, relative: 1e-5 });
        assert_eq!(parse(r#"[{"name": "a"}, {"name": "b"}]"#).unwrap().len(), 2);
    }

    #[test]
    fn models_answer_always_or_in_turn() {
        let text = r#"{"models": {
            "a": {"error": {"code": "unavailable", "message": "busy"}},
            "b": [{"outputs": []}, {"error": {"code": "NOT_FOUND"}}]
        }}"#;
        let case = parse(text).unwrap().remove(0);
        assert!(matches!(&case.models["a"], ModelMock::Always(Answer { error: Some(error), .. })
            if error.code.0 == ErrorCode::Unavailable && error.message == "busy"));
        assert!(matches!(&case.models["b"], ModelMock::InTurn(answers) if answers.len() == 2));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, expected) in [
            (r#"{"input": []}"#, "unknown field `input`, expected one of `name`"),
            (
                r#"{"error": {"code": "oops"}}"#,
                "'oops' is no code of an error; expected one of invalid-argument",
            ),
            (r#"{"parameters": {"a": [1]}}"#, "parameter 'a': expected true, false, a number or a string"),
            ("{\n\"inputs\": 3}", "line 2 column 11"),
            (r#"{"models": {"a": {"output": []}}}"#, "unknown field `output`, expected one of `outputs`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn cases_without_a_name_take_that_of_their_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b.json"), "[{}, {}]").unwrap();
        fs::write(folder.path().join("a.json"), "{}").unwrap();
        fs::write(folder.path().join("x.npy"), "").unwrap();
        let names: Vec<_> = read_folder(folder.path()).unwrap().into_iter().map(|case| case.name).collect();
        assert_eq!(names, ["a", "b[0]", "b[1]"]);
        assert!(read_folder(&folder.path().join("none")).unwrap().is_empty());
    }
}
