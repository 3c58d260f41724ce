//! Models and requests for the tests of the scheduler.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use nacre_backend::{
    Backend, BatchedModel, ElementModel, ElementRequest, Execution, Executor, Instance, LoadedModel,
    ModelSource, Placement, identity::IdentityBackend,
};
use nacre_config::{DynamicBatching, InstanceGroup, InstanceKind, ModelConfig, ModelInput, ModelOutput};
use nacre_domain::{
    DataType, Deadline, Error, InferenceRequest, ModelKey, Parameters, Result, Tensor, TensorSpec,
};
use nacre_scheduler::{Completion, ModelQueue, PluginThreads};
use nacre_telemetry::{ModelStatistics, StatisticsReport};

pub fn key() -> ModelKey {
    ModelKey { name: "echo".into(), version: 1 }
}

/// `INPUT0` → `OUTPUT0`.
pub fn config(max_batch_size: u32, data_type: DataType) -> ModelConfig {
    let spec = |name: &str| TensorSpec { name: name.into(), data_type, dims: vec![-1], optional: false };
    let mut config = nacre_config::without_file("echo", "identity");
    config.max_batch_size = max_batch_size;
    config.inputs = vec![ModelInput { spec: spec("INPUT0"), reshape: None, allow_ragged_batch: false }];
    config.outputs = vec![ModelOutput { spec: spec("OUTPUT0"), reshape: None, label_filename: None }];
    config
}

pub fn batching(preferred_batch_sizes: &[u32], max_queue_delay: Duration) -> DynamicBatching {
    DynamicBatching {
        preferred_batch_sizes: preferred_batch_sizes.into(),
        max_queue_delay,
        max_queue_size: None,
    }
}

pub fn instances(count: u32) -> Vec<InstanceGroup> {
    vec![InstanceGroup { kind: InstanceKind::Cpu, count: Some(count), gpus: vec![] }]
}

/// A queue and what is needed to look at it.
pub struct Served {
    pub queue: Arc<ModelQueue>,
    pub statistics: Arc<ModelStatistics>,
    _threads: PluginThreads,
}

impl Served {
    pub fn start(config: ModelConfig, executor: Executor) -> Result<Served> {
        let statistics = ModelStatistics::new(&key());
        let threads = PluginThreads::new(4).unwrap();
        let model = LoadedModel { config: Arc::new(config), executor, calls: Vec::new() };
        let queue = ModelQueue::start(key(), &model, Arc::clone(&statistics), &threads)?;
        Ok(Served { queue: Arc::new(queue), statistics, _threads: threads })
    }

    pub fn batched(config: ModelConfig, model: impl BatchedModel + 'static) -> Served {
        Served::start(config, Executor::Batched(Arc::new(model))).unwrap()
    }

    pub fn elements(config: ModelConfig, model: impl ElementModel + 'static) -> Served {
        Served::start(config, Executor::PerElement(Arc::new(model))).unwrap()
    }

    pub fn identity(config: ModelConfig) -> Served {
        let source = ModelSource {
            config: Arc::new(config.clone()),
            key: key(),
            directory: PathBuf::new(),
            version_directory: PathBuf::new(),
            file: None,
        };
        Served::start(config, IdentityBackend.load(&source).unwrap().executor).unwrap()
    }

    /// Submits from a task of its own.
    pub fn spawn(&self, request: InferenceRequest) -> tokio::task::JoinHandle<Result<Completion>> {
        let queue = Arc::clone(&self.queue);
        tokio::spawn(async move { queue.submit(request).await })
    }

    pub fn report(&self) -> StatisticsReport {
        self.statistics.report()
    }

    /// Executions by batch size.
    pub fn batch_sizes(&self) -> Vec<(u64, u64)> {
        self.report().batches.iter().map(|b| (b.batch_size, b.compute_infer.count)).collect()
    }

    pub async fn stop(&self) {
        let queue = Arc::clone(&self.queue);
        tokio::task::spawn_blocking(move || queue.stop()).await.unwrap();
    }
}

pub fn tensor(name: &str, data_type: DataType, shape: &[i64], data: impl Into<Bytes>) -> Tensor {
    Tensor { name: name.into(), data_type, shape: shape.into(), data: data.into() }
}

pub fn request(inputs: Vec<Tensor>) -> InferenceRequest {
    InferenceRequest {
        model: "echo".into(),
        version: None,
        id: String::new(),
        parameters: Parameters::new(),
        inputs,
        outputs: vec![],
        deadline: Deadline::NONE,
    }
}

/// Rows of UINT8, each with the given values.
pub fn rows(values: &[&[u8]]) -> InferenceRequest {
    let width = i64::try_from(values[0].len()).unwrap();
    let shape = [i64::try_from(values.len()).unwrap(), width];
    request(vec![tensor("INPUT0", DataType::Uint8, &shape, values.concat())])
}

/// One row of one UINT8.
pub fn row(value: u8) -> InferenceRequest {
    rows(&[&[value]])
}

/// The bytes of the only output.
pub fn output(completion: &Completion) -> &[u8] {
    assert_eq!(completion.outputs.len(), 1);
    &completion.outputs[0].data
}

type Execute = dyn Fn(Vec<Tensor>) -> Result<Execution> + Send + Sync;

/// A batched model of one function, which all instances share.
#[derive(Clone)]
pub struct Function {
    pub execute: Arc<Execute>,
    pub instances: usize,
    /// How many instances were made.
    pub made: Arc<AtomicUsize>,
    /// Instances from this number on cannot be made.
    pub make_at_most: usize,
}

impl Function {
    pub fn new(execute: impl Fn(Vec<Tensor>) -> Result<Execution> + Send + Sync + 'static) -> Function {
        Function { execute: Arc::new(execute), instances: 1, made: Arc::default(), make_at_most: usize::MAX }
    }
}

impl BatchedModel for Function {
    fn placements(&self) -> Vec<Placement> {
        (0..self.instances).map(|i| Placement { name: format!("cpu-{i}"), gpu: None }).collect()
    }

    fn instantiate(&self, _placement: &Placement) -> Result<Box<dyn Instance>> {
        if self.made.fetch_add(1, Ordering::SeqCst) >= self.make_at_most {
            return Err(Error::internal("no more instances"));
        }
        Ok(Box::new(FunctionInstance(Arc::clone(&self.execute))))
    }
}

struct FunctionInstance(Arc<Execute>);

impl Instance for FunctionInstance {
    fn execute(&mut self, inputs: Vec<Tensor>) -> Result<Execution> {
        (self.0)(inputs)
    }
}

pub fn echo(inputs: Vec<Tensor>) -> Result<Execution> {
    let outputs =
        inputs.into_iter().map(|input| Tensor { name: input.name.replace("INPUT", "OUTPUT"), ..input });
    Ok(Execution { outputs: outputs.collect(), ..Execution::default() })
}

type Process =
    dyn Fn(ElementRequest) -> Pin<Box<dyn Future<Output = Result<Execution>> + Send>> + Send + Sync;

/// A per-element model of one function.
pub struct ElementFunction {
    process: Box<Process>,
    concurrency: usize,
}

impl ElementFunction {
    pub fn new<F>(
        concurrency: usize,
        process: impl Fn(ElementRequest) -> F + Send + Sync + 'static,
    ) -> ElementFunction
    where
        F: Future<Output = Result<Execution>> + Send + 'static,
    {
        ElementFunction { process: Box::new(move |request| Box::pin(process(request))), concurrency }
    }
}

impl ElementModel for ElementFunction {
    fn concurrency(&self) -> usize {
        self.concurrency
    }

    fn process<'a>(
        &'a self,
        request: ElementRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Execution>> + Send + 'a>> {
        (self.process)(request)
    }
}

/// A door that a model waits at: it reports each arrival and lets one through for each opening.
#[derive(Clone)]
pub struct Gate {
    arrived: tokio::sync::mpsc::UnboundedSender<()>,
    openings: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
}

/// The other side of a [`Gate`].
pub struct GateKeeper {
    arrivals: tokio::sync::mpsc::UnboundedReceiver<()>,
    open: std::sync::mpsc::Sender<()>,
}

pub fn gate() -> (Gate, GateKeeper) {
    let (arrived, arrivals) = tokio::sync::mpsc::unbounded_channel();
    let (open, openings) = std::sync::mpsc::channel();
    (Gate { arrived, openings: Arc::new(Mutex::new(openings)) }, GateKeeper { arrivals, open })
}

impl Gate {
    /// Blocks until it is opened, or its keeper is gone.
    pub fn pass(&self) {
        let _ = self.arrived.send(());
        let _ = self.openings.lock().unwrap().recv();
    }
}

impl GateKeeper {
    pub async fn arrival(&mut self) {
        self.arrivals.recv().await.unwrap();
    }

    pub fn open(&self) {
        self.open.send(()).unwrap();
    }
}

/// Polls until it holds; the test's own time limit is the bound.
pub async fn eventually(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}
