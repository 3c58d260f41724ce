#![allow(dead_code, reason = "each test file uses its own part of this module")]

use std::{
    fs,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use nacre_backend::{
    Backend, BatchedModel, ElementModel, ElementRequest, Execution, Executor, Instance, LoadedModel,
    ModelSource, Placement,
};
use nacre_config::ModelConfig;
use nacre_domain::{
    DataType, Deadline, Error, InferenceRequest, Parameters, RequestedOutput, Result, Tensor, TensorSpec,
};
use nacre_engine::{Engine, EngineOptions, IndexEntry};
use tempfile::TempDir;

/// So long a test waits for what must come, before it fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model repository in a temporary folder.
pub struct Repository(TempDir);

impl Repository {
    pub fn new() -> Repository {
        Repository(TempDir::new().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, path: &str, text: &str) -> &Repository {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn model(&self, name: &str, config: &str) -> &Repository {
        self.file(&format!("{name}/config.pbtxt"), config)
    }

    /// A model of the test backend: inputs and outputs as `name TYPE dims`.
    pub fn step(&self, name: &str, max_batch: u32, inputs: &[&str], outputs: &[&str]) -> &Repository {
        self.behaving(name, "copy", max_batch, inputs, outputs)
    }

    pub fn behaving(
        &self,
        name: &str,
        behaviour: &str,
        max_batch: u32,
        inputs: &[&str],
        outputs: &[&str],
    ) -> &Repository {
        let extra = format!("parameters {{ key: \"behaviour\" value {{ string_value: \"{behaviour}\" }} }}");
        self.model(name, &config("backend: \"test\"", max_batch, inputs, outputs, &extra))
    }

    /// A model that calls others (their names with commas between them) and adds their answers.
    pub fn caller(&self, name: &str, calls: &str) -> &Repository {
        let extra = format!("parameters {{ key: \"calls\" value {{ string_value: \"{calls}\" }} }}");
        self.model(name, &config("backend: \"test\"", 0, &["x FP32 [1]"], &["y FP32 [1]"], &extra))
    }

    /// An ensemble; steps as `model | input=tensor … | output=tensor …`.
    pub fn ensemble(
        &self,
        name: &str,
        max_batch: u32,
        inputs: &[&str],
        outputs: &[&str],
        steps: &[&str],
    ) -> &Repository {
        let steps: String = steps.iter().map(|step| step_text(step)).collect();
        let extra = format!("ensemble_scheduling {{ {steps} }}");
        self.model(name, &config("platform: \"ensemble\"", max_batch, inputs, outputs, &extra))
    }

    pub async fn serve(&self) -> Served {
        self.serve_with(Switches::default()).await
    }

    pub async fn serve_with(&self, switches: Switches) -> Served {
        let switches = Arc::new(switches);
        let backend = |names, file| {
            Arc::new(TestBackend { names, file, switches: switches.clone() }) as Arc<dyn Backend>
        };
        let backends = vec![
            backend(&["test"], None),
            backend(&["pytorch", "pytorch_libtorch"], Some("model.pt")),
            backend(&["wasm"], Some("plugin.wasm")),
        ];
        let options = EngineOptions {
            repositories: vec![self.path().to_owned()],
            plugin_threads: 1,
            load_threads: 2,
            strict_readiness: false,
        };
        let engine = Engine::new(options, backends).unwrap();
        engine.load_all().await;
        Served { engine, switches }
    }
}

/// An engine with what the test can do to its models.
pub struct Served {
    pub engine: Arc<Engine>,
    pub switches: Arc<Switches>,
}

impl std::ops::Deref for Served {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Served {
    /// The reason for which a model, or its version, is unavailable.
    #[track_caller]
    pub fn reason(&self, name: &str) -> String {
        let entry: Vec<IndexEntry> =
            self.engine.index().into_iter().filter(|entry| entry.name == name).collect();
        assert_eq!(entry.len(), 1, "{entry:?}");
        entry[0].reason.clone()
    }
}

fn step_text(step: &str) -> String {
    let parts: Vec<&str> = step.split('|').map(str::trim).collect();
    let (model, version) = parts[0].split_once('/').unwrap_or((parts[0], "-1"));
    let maps = |kind: &str, text: &str| -> String {
        text.split_whitespace()
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap();
                format!("{kind} {{ key: \"{key}\" value: \"{value}\" }} ")
            })
            .collect()
    };
    format!(
        "step {{ model_name: \"{model}\" model_version: {version} {} {} }} ",
        maps("input_map", parts[1]),
        maps("output_map", parts[2])
    )
}

fn config(backend: &str, max_batch: u32, inputs: &[&str], outputs: &[&str], extra: &str) -> String {
    let tensors = |kind: &str, specs: &[&str]| -> String {
        specs
            .iter()
            .map(|spec| {
                let parts: Vec<&str> = spec.split_whitespace().collect();
                let rest = parts[3..].join(" ");
                format!(
                    "{kind} {{ name: \"{}\" data_type: TYPE_{} dims: {} {rest} }}\n",
                    parts[0], parts[1], parts[2]
                )
            })
            .collect()
    };
    format!(
        "{backend}\nmax_batch_size: {max_batch}\n{}{}{extra}\n",
        tensors("input", inputs),
        tensors("output", outputs)
    )
}

pub fn fp32(name: &str, shape: &[i64], values: &[f32]) -> Tensor {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Tensor { name: name.into(), data_type: DataType::Fp32, shape: shape.into(), data: data.into() }
}

pub fn request(model: &str, inputs: Vec<Tensor>) -> InferenceRequest {
    InferenceRequest {
        model: model.into(),
        version: None,
        id: "id".into(),
        parameters: Parameters::new(),
        inputs,
        outputs: Vec::new(),
        deadline: Deadline::NONE,
    }
}

pub fn want(names: &[&str]) -> Vec<RequestedOutput> {
    names.iter().map(|name| RequestedOutput { name: (*name).into(), parameters: Parameters::new() }).collect()
}

/// A place where executions wait, and where the test sees how many do.
#[derive(Default)]
pub struct Barrier {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Barrier {
    /// Waits for [`Barrier::open`].
    fn pass(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        let (_state, timeout) = self.changed.wait_timeout_while(state, PATIENCE, |state| !state.1).unwrap();
        if timeout.timed_out() { Err(Error::internal("the barrier stayed closed")) } else { Ok(()) }
    }

    pub fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    /// Blocking: until so many wait at once.
    pub fn wait_for(&self, count: usize) {
        let state = self.state.lock().unwrap();
        let (_state, timeout) =
            self.changed.wait_timeout_while(state, PATIENCE, |state| state.0 < count).unwrap();
        assert!(!timeout.timed_out(), "fewer than {count} executions came");
    }

    /// How many came.
    pub fn arrived(&self) -> usize {
        self.state.lock().unwrap().0
    }
}

/// What tests do to models and see of them.
#[derive(Default)]
pub struct Switches {
    pub barrier: Barrier,
    /// Models that loaded, in order.
    pub loads: Mutex<Vec<String>>,
    /// Executions that began, by model name in order.
    pub executed: Mutex<Vec<String>>,
    /// Instances alive.
    pub instances: Arc<()>,
}

/// Backend of models that behave as their parameter `behaviour` says.
struct TestBackend {
    names: &'static [&'static str],
    file: Option<&'static str>,
    switches: Arc<Switches>,
}

impl Backend for TestBackend {
    fn names(&self) -> &'static [&'static str] {
        self.names
    }

    fn default_filename(&self) -> Option<&'static str> {
        self.file
    }

    fn load(&self, source: &ModelSource) -> Result<LoadedModel> {
        let behaviour = source.config.parameters.get("behaviour").cloned().unwrap_or_else(|| "copy".into());
        match behaviour.as_str() {
            "broken" => return Err(Error::invalid_argument("the file is broken")),
            "panicking" => panic!("the loader fell over"),
            _ => {}
        }
        // What a file says is added to what the model gives: a mark of the generation.
        let text = source.file.as_ref().map(|file| fs::read_to_string(file).unwrap()).unwrap_or_default();
        let added = if text.is_empty() {
            0.0
        } else {
            text.parse().map_err(|_| Error::invalid_argument(format!("the file is broken: '{text}'")))?
        };
        let mut config = source.config.clone();
        if config.inputs.is_empty() && self.file.is_some() {
            let spec = |name: &str| TensorSpec {
                name: name.into(),
                data_type: DataType::Fp32,
                dims: vec![-1],
                optional: false,
            };
            config = Arc::new(config.with_tensors(vec![spec("x")], vec![spec("y")])?);
        }
        if let Some(calls) = config.parameters.get("calls") {
            let calls: Vec<String> = calls.split(',').map(str::to_owned).collect();
            let executor =
                Executor::PerElement(Arc::new(CallingModel { config: config.clone(), calls: calls.clone() }));
            return Ok(LoadedModel { config, executor, calls });
        }
        let made = AtomicUsize::new(0);
        self.switches.loads.lock().unwrap().push(source.key.name.clone());
        let model =
            TestModel { config: config.clone(), behaviour, added, switches: self.switches.clone(), made };
        Ok(LoadedModel { config, executor: Executor::Batched(Arc::new(model)), calls: Vec::new() })
    }
}

struct TestModel {
    config: Arc<ModelConfig>,
    behaviour: String,
    added: f32,
    switches: Arc<Switches>,
    made: AtomicUsize,
}

impl BatchedModel for TestModel {
    fn placements(&self) -> Vec<Placement> {
        vec![Placement { name: "cpu-0".into(), gpu: None }]
    }

    fn instantiate(&self, _placement: &Placement) -> Result<Box<dyn Instance>> {
        if self.made.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(Error::internal("there is only one instance"));
        }
        Ok(Box::new(TestInstance {
            config: self.config.clone(),
            behaviour: self.behaviour.clone(),
            added: self.added,
            switches: self.switches.clone(),
            _alive: self.switches.instances.clone(),
        }))
    }
}

/// Asks other models for what its input becomes, and gives the sum of their answers.
struct CallingModel {
    config: Arc<ModelConfig>,
    calls: Vec<String>,
}

impl ElementModel for CallingModel {
    fn concurrency(&self) -> usize {
        1
    }

    fn process<'a>(
        &'a self,
        request: ElementRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Execution>> + Send + 'a>> {
        Box::pin(async move {
            let models = request.models.unwrap();
            let mut answers = Vec::new();
            for name in &self.calls {
                let call = InferenceRequest {
                    model: name.clone(),
                    version: None,
                    id: request.id.clone(),
                    parameters: Parameters::new(),
                    inputs: request.inputs.clone(),
                    outputs: Vec::new(),
                    deadline: request.deadline,
                };
                answers.extend(models.infer(call).await?.outputs);
            }
            let output = &self.config.outputs[0].spec;
            let tensor = Tensor {
                name: output.name.clone(),
                data_type: output.data_type,
                shape: request.inputs[0].shape.clone(),
                data: sum(&answers),
            };
            Ok(Execution { outputs: vec![tensor], ..Execution::default() })
        })
    }
}

struct TestInstance {
    config: Arc<ModelConfig>,
    behaviour: String,
    added: f32,
    switches: Arc<Switches>,
    _alive: Arc<()>,
}

impl Instance for TestInstance {
    fn execute(&mut self, inputs: Vec<Tensor>) -> Result<Execution> {
        self.switches.executed.lock().unwrap().push(self.config.name.clone());
        match self.behaviour.as_str() {
            "waiting" => self.switches.barrier.pass()?,
            "dying" => panic!("the instance fell over"),
            "failing" => return Err(Error::internal("the model failed")),
            _ => {}
        }
        let outputs = self.config.outputs.iter().enumerate().map(|(place, output)| {
            // The input in the same place; the last one where there are fewer inputs.
            let input = &inputs[place.min(inputs.len() - 1)];
            let mut tensor = Tensor { name: output.spec.name.clone(), ..input.clone() };
            match self.behaviour.as_str() {
                // The sum of all inputs: what a step that joins two others gives.
                "adding" => tensor.data = sum(&inputs),
                "doubling" => tensor.data = sum(&[input.clone(), input.clone()]),
                "reporting shapes" => {
                    tensor.data = input.shape.iter().flat_map(|&dim| (dim as f32).to_le_bytes()).collect();
                    tensor.shape = vec![input.shape.len() as i64];
                }
                _ if self.added != 0.0 => {
                    tensor.data =
                        values(input).iter().flat_map(|value| (value + self.added).to_le_bytes()).collect();
                }
                _ => {}
            }
            tensor
        });
        Ok(Execution { outputs: outputs.collect(), ..Execution::default() })
    }
}

fn sum(tensors: &[Tensor]) -> Bytes {
    let columns: Vec<Vec<f32>> = tensors.iter().map(values).collect();
    (0..columns[0].len())
        .flat_map(|row| columns.iter().map(|column| column[row]).sum::<f32>().to_le_bytes())
        .collect()
}

pub fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.data.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}
