//! Runs plugins as a server does: the same backend, limits and checks, with answers from a file for the models that they
//! call.

use std::{future::Future, sync::Arc};

use nacre_backend::{ElementModel, ElementRequest, Execution, Executor, LoadedModel, ModelCalls};
use nacre_config::ModelConfig;
use nacre_domain::{Deadline, Error, Result, ShapeDisplay};
use nacre_wasm::{Inspection, LoadReport, PluginLimits, WasmBackend, WasmOptions};
use tokio::runtime::Runtime;

use crate::{
    case::Case,
    console::{Console, size},
    failure::Failure,
    mocks::MockedModels,
    target::Target,
};

/// The engine, and threads as the server has them for plugins.
pub struct Sandbox {
    options: WasmOptions,
    backend: WasmBackend,
    runtime: Runtime,
}

/// A plugin that answers.
pub struct Loaded {
    /// Its configuration, completed with what it says itself.
    pub config: Arc<ModelConfig>,
    /// What the load found and took.
    pub report: LoadReport,
    /// Models that it may call.
    pub calls: Vec<String>,
    model: Arc<dyn ElementModel>,
}

impl Sandbox {
    /// Starts the engine, with the limits and the cache of compiled plugins that a server has if nothing is said of them.
    ///
    /// # Errors
    /// System: this machine cannot run WebAssembly.
    pub fn start() -> Result<Self, Failure> {
        Self::with(WasmOptions { cache: nacre_wasm::default_cache_folder(), ..WasmOptions::default() })
    }

    /// The same with other options.
    ///
    /// # Errors
    /// As there.
    pub fn with(options: WasmOptions) -> Result<Self, Failure> {
        let backend = WasmBackend::new(options.clone()).map_err(|error| Failure::system(error.message()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_time()
            .thread_name("plugin")
            .build()
            .map_err(|error| Failure::system(format!("cannot start the threads of plugins: {error}")))?;
        Ok(Self { options, backend, runtime })
    }

    /// What the file of a plugin says.
    ///
    /// # Errors
    /// It is not there, or no component.
    pub fn inspect(&self, target: &Target) -> Result<Inspection> {
        nacre_wasm::inspect(&target.component, &self.options)
    }

    /// The limits that a configuration sets.
    ///
    /// # Errors
    /// A value that is no number, or above what a server allows.
    pub fn limits(&self, config: &ModelConfig) -> Result<PluginLimits> {
        nacre_wasm::limits(&config.parameters, &self.options)
    }

    /// Loads a plugin as a server would, and says that it takes a while where it may.
    ///
    /// # Errors
    /// The server's reason not to serve it.
    pub fn load_telling(&self, target: &Target, config: ModelConfig, console: &Console) -> Result<Loaded> {
        const LARGE: u64 = 1_000_000;
        let bytes = std::fs::metadata(&target.component).map(|file| file.len()).unwrap_or_default();
        if bytes > LARGE {
            console.step(&format!("loading a component of {}", size(bytes)));
        }
        self.load(target, config)
    }

    /// Loads a plugin as a server would.
    ///
    /// # Errors
    /// The server's reason not to serve it.
    pub fn load(&self, target: &Target, config: ModelConfig) -> Result<Loaded> {
        let (loaded, report) = self.backend.load_with_report(&target.source(config))?;
        let LoadedModel { config, executor, calls } = loaded;
        match executor {
            Executor::PerElement(model) => Ok(Loaded { config, report, calls, model }),
            Executor::Batched(_) => Err(Error::internal("a plugin takes one element at a time")),
        }
    }

    /// Answers one request.
    ///
    /// # Errors
    /// As a client would get it.
    pub fn process(&self, loaded: &Loaded, request: ElementRequest) -> Result<Execution> {
        self.block_on(loaded.answer(request))
    }

    /// Runs a future on the plugin threads and waits for it.
    pub fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    /// Runs futures at once on the plugin threads and waits for all of them.
    ///
    /// # Errors
    /// System: one of them panicked.
    pub fn run_all<F>(&self, futures: impl Iterator<Item = F>) -> Result<Vec<F::Output>, Failure>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let running: Vec<_> = futures.map(|future| self.runtime.spawn(future)).collect();
        let ended = |task: tokio::task::JoinHandle<F::Output>| {
            self.runtime
                .block_on(task)
                .map_err(|error| Failure::system(format!("a call did not end: {error}")))
        };
        running.into_iter().map(ended).collect()
    }
}

impl Loaded {
    /// Whether the plugin would get to see a request at all; whose makers can be told before it is asked.
    ///
    /// # Errors
    /// Usage: as a client would be told.
    pub fn accepts(&self, request: &ElementRequest) -> Result<(), Failure> {
        check(&self.config, request).map_err(|error| {
            Failure::usage(error.message())
                .fix("`--input NAME=VALUE` gives one input, `--case FILE` all of them")
        })
    }

    /// Checks a request as a server does and answers it.
    ///
    /// # Errors
    /// As a client would get it.
    pub async fn answer(&self, request: ElementRequest) -> Result<Execution> {
        check(&self.config, &request)?;
        self.model.process(request).await
    }

    /// The request of a case.
    ///
    /// # Errors
    /// Usage: a tensor that cannot be had.
    pub fn request(&self, case: &Case) -> Result<ElementRequest, Failure> {
        let input = |source: &crate::case::TensorSource| {
            let name = source.name.as_str();
            let input =
                self.config.input(name).ok_or_else(|| Failure::usage(no_input(&self.config, name)))?;
            source.load(&case.folder, Some(&input.spec))
        };
        let models: Arc<dyn ModelCalls> = Arc::new(MockedModels::new(case)?);
        Ok(ElementRequest {
            id: case.id.clone().unwrap_or_else(|| case.name.clone()),
            parameters: case.parameters.clone(),
            inputs: case.inputs.iter().map(input).collect::<Result<_, _>>()?,
            outputs: case.requested_outputs.clone(),
            deadline: Deadline::NONE,
            models: (!self.calls.is_empty()).then_some(models),
        })
    }
}

fn no_input(config: &ModelConfig, name: &str) -> String {
    let known: Vec<_> = config.inputs.iter().map(|input| format!("'{}'", input.spec.name)).collect();
    format!("the plugin has no input '{name}'; its inputs are {}", known.join(", "))
}

/// What a server checks before a plugin gets a request.
fn check(config: &ModelConfig, request: &ElementRequest) -> Result<()> {
    let fail = |text: String| Error::invalid_argument(text);
    let names = |names: Vec<&String>| {
        let names: Vec<_> = names.into_iter().map(|name| format!("'{name}'")).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    for (index, tensor) in request.inputs.iter().enumerate() {
        let name = &tensor.name;
        let Some(input) = config.input(name) else {
            return Err(fail(no_input(config, name)));
        };
        if request.inputs.iter().take(index).any(|other| other.name == *name) {
            return Err(fail(format!("input '{name}' is given twice")));
        }
        if tensor.data_type != input.spec.data_type {
            return Err(fail(format!(
                "input '{name}': expected {}, got {}",
                input.spec.data_type, tensor.data_type
            )));
        }
        let (dims, shape) = (&input.spec.dims, &tensor.shape);
        let fits =
            dims.len() == shape.len() && dims.iter().zip(shape).all(|(dim, size)| *dim == -1 || dim == size);
        if !fits {
            return Err(fail(format!(
                "input '{name}': expected shape {}, got {}{}",
                ShapeDisplay(dims),
                ShapeDisplay(shape),
                if shape.len() == dims.len() + 1 {
                    "; a plugin gets one element, without a batch dimension"
                } else {
                    ""
                }
            )));
        }
        tensor.validate()?;
    }
    let missing: Vec<_> = config
        .inputs
        .iter()
        .filter(|input| !input.spec.optional)
        .map(|input| &input.spec.name)
        .filter(|name| !request.inputs.iter().any(|tensor| tensor.name == **name))
        .collect();
    if !missing.is_empty() {
        return Err(fail(format!("the request lacks inputs: {}", names(missing))));
    }
    match request.outputs.iter().find(|name| config.output(name).is_none()) {
        None => Ok(()),
        Some(unknown) => {
            let known = names(config.outputs.iter().map(|output| &output.spec.name).collect());
            Err(fail(format!("the plugin has no output '{unknown}'; its outputs are {known}")))
        }
    }
}
