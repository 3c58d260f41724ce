use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use nacre_domain::{Parameters, ShapeDisplay, Tensor, Value};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{
    case::{self, Case, TensorSource, elements, npy, shorten},
    cli::{RequestArgs, RunArgs},
    console::{BOLD, Console, DIM, Report, duration, paint},
    failure::Failure,
    metrics::Metrics,
    sandbox::Sandbox,
    target::Target,
};

/// What a plugin answered.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// Name of the plugin.
    pub name: String,
    /// How long it took to answer, in a fresh instance.
    pub milliseconds: f64,
    /// Tensors of the answer, in the order of the configuration.
    pub outputs: Vec<OutputTensor>,
    /// Parameters of the answer.
    #[serde(serialize_with = "parameters")]
    pub parameters: Parameters,
    /// What the plugin measured itself, by name and labels.
    pub metrics: BTreeMap<String, f64>,
    /// Files that the outputs were written to.
    pub saved: Vec<PathBuf>,
    #[serde(skip)]
    shown: usize,
}

/// A tensor of an answer. As JSON it is one of KServe v2, its data flat.
#[derive(Debug)]
pub struct OutputTensor(pub Tensor);

impl Serialize for OutputTensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data: Vec<_> = elements(&self.0).map(|element| element.to_json()).collect();
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("datatype", self.0.data_type.name())?;
        map.serialize_entry("shape", &self.0.shape)?;
        map.serialize_entry("data", &data)?;
        map.end()
    }
}

fn parameters<S: Serializer>(parameters: &Parameters, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parameters.iter().map(|(name, value)| (name, value_to_json(value))))
}

fn value_to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Double(value) => (*value).into(),
        Value::String(value) => value.clone().into(),
    }
}

/// Answers one request.
///
/// # Errors
/// Usage: the plugin or a file of the request is not there. Plugin: it is refused, or answers with an error.
pub fn run(args: &RunArgs, console: &Console) -> Result<RunReport, Failure> {
    let target = Target::open(&args.target, console)?;
    let case = request(&args.request)?.unwrap_or_default();
    let (mut config, _) = target.config()?;
    config.parameters.extend(case.config_parameters.clone());
    let metrics = Metrics::start();
    let sandbox = Sandbox::start()?;
    let loaded = sandbox.load_telling(&target, config, console)?;
    let request = loaded.request(&case)?;
    loaded.accepts(&request)?;
    let started = Instant::now();
    let execution = sandbox.process(&loaded, request)?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let saved = match &args.save {
        Some(folder) => save(folder, &execution.outputs)?,
        None => Vec::new(),
    };
    Ok(RunReport {
        name: target.name,
        milliseconds,
        outputs: execution.outputs.into_iter().map(OutputTensor).collect(),
        parameters: execution.parameters,
        metrics: metrics.of_plugin(),
        saved,
        shown: args.elements,
    })
}

/// The request that the arguments describe; `None` if they say nothing of one.
pub(super) fn request(args: &RequestArgs) -> Result<Option<Case>, Failure> {
    let mut case = match &args.case {
        Some(file) => case::read(file)?.into_iter().next(),
        None => None,
    };
    for (name, value) in &args.inputs {
        let case = case.get_or_insert_default();
        case.inputs.retain(|input| input.name != *name);
        case.inputs.push(input(name, value, &case.folder)?);
    }
    for (name, value) in &args.parameters {
        let value = match serde_json::from_str(value) {
            Ok(serde_json::Value::Bool(value)) => Value::Bool(value),
            Ok(serde_json::Value::Number(number)) => match number.as_i64() {
                Some(value) => Value::Int(value),
                None => Value::Double(number.as_f64().unwrap_or_default()),
            },
            Ok(serde_json::Value::String(text)) => Value::String(text),
            _ => Value::String(value.clone()),
        };
        case.get_or_insert_default().parameters.insert(name.clone(), value);
    }
    if !args.outputs.is_empty() {
        case.get_or_insert_default().requested_outputs.clone_from(&args.outputs);
    }
    Ok(case)
}

/// An input of the command line. Paths are relative to the current folder, not to a case's.
fn input(name: &str, value: &str, case_folder: &Path) -> Result<TensorSource, Failure> {
    let source = TensorSource { name: name.to_owned(), ..TensorSource::default() };
    let Some(file) = value.strip_prefix('@') else {
        if Path::new(value).is_file() {
            let help = format!("input '{name}': '{value}' is a file; `--input {name}=@{value}` reads it");
            return Err(Failure::usage(help));
        }
        // What is no JSON is a text.
        let data = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value));
        return Ok(TensorSource { data: Some(data), ..source });
    };
    let cannot = |error: &dyn std::fmt::Display| Failure::usage(format!("input '{name}': {file}: {error}"));
    let path = fs::canonicalize(file).map_err(|error| cannot(&error))?;
    // An absolute path stays itself when it is joined to the case's folder.
    let path = case_folder.join(path).to_string_lossy().into_owned();
    let extension = Path::new(file).extension().unwrap_or_default().to_ascii_lowercase();
    Ok(match extension.to_str() {
        Some("jpg" | "jpeg" | "png" | "webp") => TensorSource { image: Some(path), ..source },
        Some("json") => {
            let text = fs::read_to_string(file).map_err(|error| cannot(&error))?;
            match serde_json::from_str(&text).map_err(|error| cannot(&error))? {
                serde_json::Value::Object(mut tensor) => {
                    tensor.insert("name".to_owned(), name.into());
                    serde_json::from_value(tensor.into()).map_err(|error| cannot(&error))?
                }
                data => TensorSource { data: Some(data), ..source },
            }
        }
        _ => TensorSource { file: Some(path), ..source },
    })
}

fn save(folder: &Path, outputs: &[Tensor]) -> Result<Vec<PathBuf>, Failure> {
    let cannot = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::system(format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let mut saved = Vec::new();
    for tensor in outputs {
        // Names are the plugin's; a path is not to lead out of the folder.
        let name = tensor.name.replace(['/', '\\'], "_");
        let path = folder.join(format!("{name}.npy"));
        let bytes = npy::write(tensor).map_err(|error| cannot(&path, &error))?;
        fs::write(&path, bytes).map_err(|error| cannot(&path, &error))?;
        saved.push(path);
    }
    Ok(saved)
}

impl Report for RunReport {
    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        for OutputTensor(tensor) in &self.outputs {
            writeln!(
                out,
                "{}  {} {}  {}",
                paint(BOLD, &tensor.name),
                tensor.data_type,
                ShapeDisplay(&tensor.shape),
                shorten(tensor, self.shown)
            )?;
        }
        for (name, value) in &self.parameters {
            writeln!(out, "parameter {}  {}", paint(BOLD, name), value_to_json(value))?;
        }
        for (name, value) in &self.metrics {
            writeln!(out, "metric {}  {value}", paint(BOLD, name))?;
        }
        for path in &self.saved {
            writeln!(out, "written  {}", path.display())?;
        }
        writeln!(out, "{}", paint(DIM, format_args!("answered in {}", duration(self.milliseconds))))
    }
}
