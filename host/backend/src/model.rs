use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use nacre_config::ModelConfig;
use nacre_domain::{Deadline, InferenceRequest, InferenceResponse, ModelKey, Parameters, Result, Tensor};

/// Loads models of one kind. One value lives for the whole process and is shared by every load.
pub trait Backend: Send + Sync {
    /// The names in `backend` or `platform` that it answers to, the one to report first.
    fn names(&self) -> &'static [&'static str];

    /// File that it loads from the version folder unless `default_model_filename` says otherwise; `None` if it needs
    /// none, and then a model without a version folder is version 1.
    fn default_filename(&self) -> Option<&'static str>;

    /// Whether a model may depend on the files beside its version folders (but for config.pbtxt), so that it is loaded anew
    /// when one of them changes. Labels do not count: they are the engine's.
    fn reads_model_folder(&self) -> bool {
        false
    }

    /// Loads one version. Called off the reactor, several at once; may block and may take minutes.
    ///
    /// # Errors
    /// What is wrong with the file or the configuration. The model is then unavailable with that sentence as its
    /// reason; nothing else suffers.
    fn load(&self, source: &ModelSource) -> Result<LoadedModel>;
}

/// A version of a model as the repository holds it.
#[derive(Clone, Debug)]
pub struct ModelSource {
    /// Its validated configuration; inputs and outputs may still be missing.
    pub config: Arc<ModelConfig>,
    /// Name and version.
    pub key: ModelKey,
    /// The model's folder: config.pbtxt, labels and the version folders lie in it.
    pub directory: PathBuf,
    /// The version's folder; it may be missing for a backend that needs no file.
    pub version_directory: PathBuf,
    /// The file to load, inside the version's folder; `None` for a backend that needs none.
    pub file: Option<PathBuf>,
}

/// A loaded version, ready for instances.
pub struct LoadedModel {
    /// The configuration, completed with what the model itself says.
    pub config: Arc<ModelConfig>,
    /// How it runs.
    pub executor: Executor,
    /// Names of the models that it may call while it runs; they are loaded before it serves, and it is served only while
    /// they are.
    pub calls: Vec<String>,
}

/// Answers what a model asks of others while it runs: of those in [`LoadedModel::calls`], as they were when its own
/// request began.
pub trait ModelCalls: Send + Sync {
    /// Validates and answers one request as if a client had sent it; dropping the future cancels it.
    ///
    /// # Errors
    /// Not found for a model or version that is not there; else as a client would get it.
    fn infer<'a>(
        &'a self,
        request: InferenceRequest,
    ) -> Pin<Box<dyn Future<Output = Result<InferenceResponse>> + Send + 'a>>;

    /// How many calls can follow one inside another from here, at least 1: a model that only calls models which call no
    /// other has 1. Models with fewer never wait for those with more, which keeps them from waiting for each other.
    fn levels(&self) -> usize;
}

/// The two ways in which models run.
#[derive(Clone)]
pub enum Executor {
    /// Whole batches on instances that each have a thread of their own.
    Batched(Arc<dyn BatchedModel>),
    /// Single elements, several at once on the plugin threads.
    PerElement(Arc<dyn ElementModel>),
}

/// A model that takes batches. Shared by its instances; holds what they have in common, such as weights.
pub trait BatchedModel: Send + Sync {
    /// Where instances are to run, one entry each; never empty.
    fn placements(&self) -> Vec<Placement>;

    /// Makes one instance. Called on the instance's own thread, which never runs anything else.
    ///
    /// # Errors
    /// Why the instance cannot be; the model is then unavailable.
    fn instantiate(&self, placement: &Placement) -> Result<Box<dyn Instance>>;

    /// The model is being stopped: executions that can be cut short end with an error now. Called once from any
    /// thread, while instances may be executing; nothing is executed afterwards.
    fn interrupt(&self) {}
}

/// Place of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// For thread names and logs: `cpu-0`, `gpu-1-0`.
    pub name: String,
    /// GPU index; `None` is the CPU.
    pub gpu: Option<u32>,
}

/// One instance of a [`BatchedModel`]: made, used and dropped on one thread, one call at a time.
pub trait Instance {
    /// Puts the parts behind one another into a buffer that [`Instance::execute`] reads best (pinned memory for a
    /// GPU). This is the one copy that a batch costs; a batch of a single request goes in without it.
    ///
    /// # Errors
    /// No memory.
    fn gather(&mut self, parts: &[Bytes]) -> Result<Bytes> {
        let mut buffer = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
        for part in parts {
            buffer.extend_from_slice(part);
        }
        Ok(buffer.freeze())
    }

    /// Runs one batch: inputs in the order of the request, with the batch dimension where the model has one, shapes
    /// and sizes already checked against the configuration; data need not be aligned. Where the configuration has a
    /// `reshape`, it is applied already, and outputs are to have the dims of theirs: clients' dims stay above.
    ///
    /// Outputs are all of the model's, in the order of its configuration, with names as configured.
    ///
    /// # Errors
    /// What failed; every request of the batch gets it. The instance must be usable afterwards. A panic is caught by
    /// the caller, which then drops the instance and makes a new one.
    fn execute(&mut self, inputs: Vec<Tensor>) -> Result<Execution>;
}

/// What a batch, or an element, gave and what moving its bytes took; the rest of the call's time is inference.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Outputs; an element model gives those that were asked for, in the order of the configuration.
    pub outputs: Vec<Tensor>,
    /// Parameters of the response; where elements of one request differ, the last one's hold.
    pub parameters: Parameters,
    /// Time spent bringing inputs to where they are computed.
    pub input_time: Duration,
    /// Time spent bringing outputs back.
    pub output_time: Duration,
}

/// A model that takes one element of a batch at a time (a plugin); with `max_batch_size` 0, one request.
pub trait ElementModel: Send + Sync {
    /// How many may run at once.
    fn concurrency(&self) -> usize;

    /// Runs one element. Polled on the plugin threads, a tokio runtime with its time driver enabled; yields to other
    /// plugins from time to time, and dropping the future interrupts it.
    ///
    /// # Errors
    /// The plugin's own error, a trap (internal) or a deadline.
    fn process<'a>(
        &'a self,
        request: ElementRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Execution>> + Send + 'a>>;
}

/// One element of a request, without the batch dimension.
#[derive(Clone)]
pub struct ElementRequest {
    /// Id of the request, for the log.
    pub id: String,
    /// Parameters of the request.
    pub parameters: Parameters,
    /// Input tensors.
    pub inputs: Vec<Tensor>,
    /// Names of the outputs that are wanted; empty means all.
    pub outputs: Vec<String>,
    /// When it is to be interrupted.
    pub deadline: Deadline,
    /// Whom it may call; `None` if [`LoadedModel::calls`] is empty.
    pub models: Option<Arc<dyn ModelCalls>>,
}
