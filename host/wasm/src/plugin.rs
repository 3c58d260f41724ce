use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use nacre_backend::{ElementModel, ElementRequest, Execution, ModelCalls};
use nacre_config::ModelConfig;
use nacre_domain::{Deadline, Error, ModelKey, Result, TensorSpec};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout_at,
};
use wasmtime::{Engine, Store};

use crate::{
    bindings::{self, PluginPre, step, types},
    failure::{self, CallDeadline, PluginName},
    files::PluginFiles,
    limits::Limits,
    log::PluginLog,
    models::Models,
    signature::Signature,
    state::{self, HostState},
    tensors,
    ticker::Ticker,
};

/// What all plugins of a process share. The epoch ticks as long as one of them lives.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    /// As many as the pool has slots: a call waits here rather than fail there.
    pub(crate) slots: Semaphore,
    pub(crate) _ticker: Ticker,
}

/// A compiled plugin with everything that a call needs. Never changed after the load; shared by the calls.
pub(crate) struct Prepared {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: PluginName,
    pub(crate) limits: Limits,
    pub(crate) settings: Settings,
    pub(crate) log: Arc<PluginLog>,
    pub(crate) files: Arc<PluginFiles>,
    /// Names of the models that it may call.
    pub(crate) granted: Arc<[String]>,
    /// The component, linked: what an instance is made from.
    pub(crate) component: PluginPre<HostState>,
}

/// Where the plugin finds itself.
pub(crate) struct Settings {
    pub(crate) model: String,
    pub(crate) version: String,
    pub(crate) max_batch_size: u32,
    pub(crate) inputs: Vec<TensorSpec>,
    pub(crate) outputs: Vec<TensorSpec>,
    pub(crate) parameters: Vec<(String, String)>,
}

/// [`Settings`] as lists that the guest's can borrow from.
struct BorrowedSettings<'a> {
    inputs: Vec<types::TensorSpecParam<'a>>,
    outputs: Vec<types::TensorSpecParam<'a>>,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Settings {
    pub(crate) fn new(key: &ModelKey, config: &ModelConfig) -> Settings {
        // What the plugin sees is what is behind a `reshape`.
        let seen = |spec: &TensorSpec, reshape: &Option<Vec<i64>>| match reshape {
            Some(dims) => TensorSpec { dims: dims.clone(), ..spec.clone() },
            None => spec.clone(),
        };
        Settings {
            model: key.name.clone(),
            version: key.version.to_string(),
            max_batch_size: config.max_batch_size,
            inputs: config.inputs.iter().map(|input| seen(&input.spec, &input.reshape)).collect(),
            outputs: config.outputs.iter().map(|output| seen(&output.spec, &output.reshape)).collect(),
            parameters: config.parameters.clone().into_iter().collect(),
        }
    }

    fn borrowed(&self) -> BorrowedSettings<'_> {
        BorrowedSettings {
            inputs: self.inputs.iter().map(tensors::spec_to_guest).collect(),
            outputs: self.outputs.iter().map(tensors::spec_to_guest).collect(),
            parameters: self.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        }
    }

    fn to_guest<'a>(&'a self, borrowed: &'a BorrowedSettings<'a>) -> step::Settings<'a> {
        step::Settings {
            model: &self.model,
            version: &self.version,
            max_batch_size: self.max_batch_size,
            inputs: &borrowed.inputs,
            outputs: &borrowed.outputs,
            parameters: &borrowed.parameters,
        }
    }
}

impl Prepared {
    /// Runs `describe` and `configure` once, under the limits of a request.
    ///
    /// # Errors
    /// What the plugin says, or how it failed.
    pub(crate) async fn probe(&self) -> Result<Signature> {
        let _slot = self.slot(Deadline::NONE).await?;
        let deadline = CallDeadline::new(Deadline::NONE, self.limits.timeout);
        let description = self.in_time(deadline, async {
            let mut store = self.store("", deadline, None);
            let plugin = self.instantiate(&mut store, "", deadline).await?;
            let settings = self.settings.borrowed();
            let description = plugin
                .nacre_plugin_step()
                .call_describe(&mut store, self.settings.to_guest(&settings))
                .await
                .map_err(|e| self.call_error(&e, "", deadline).context("describe"))?
                .map_err(|e| self.guest_error("describe", e))?;
            self.configure(&mut store, &plugin, "", deadline).await?;
            Ok(description)
        });
        Signature::new(description.await?).map_err(|e| e.context(&self.name))
    }

    /// The whole answer of one call, unchecked.
    async fn process(&self, request: &ElementRequest) -> Result<Answer> {
        let _slot = self.slot(request.deadline).await?;
        let deadline = CallDeadline::new(request.deadline, self.limits.timeout);
        let answer = self.in_time(deadline, self.call(request, deadline)).await;
        self.log.report_dropped();
        answer
    }

    async fn call(&self, request: &ElementRequest, deadline: CallDeadline) -> Result<Answer> {
        let started = Instant::now();
        let mut store = self.store(&request.id, deadline, request.models.clone());
        let plugin = self.instantiate(&mut store, &request.id, deadline).await?;
        self.configure(&mut store, &plugin, &request.id, deadline).await?;
        let ready_after = started.elapsed();

        let parameters: Vec<_> = request
            .parameters
            .iter()
            .map(|(name, value)| (name.as_str(), tensors::value_to_guest(value)))
            .collect();
        let inputs: Vec<_> = request.inputs.iter().map(tensors::to_guest).collect();
        let outputs: Vec<_> = request.outputs.iter().map(String::as_str).collect();
        let answer = plugin
            .nacre_plugin_step()
            .call_process(
                &mut store,
                types::RequestParam {
                    id: &request.id,
                    parameters: &parameters,
                    inputs: &inputs,
                    requested_outputs: &outputs,
                },
            )
            .await
            .map_err(|e| self.call_error(&e, &request.id, deadline))?;

        let response = answer.map_err(|e| failure::guest_error(e).context(&self.name))?;
        Ok(Answer { response, ready_after })
    }

    /// Waits for room among the instances of the process.
    async fn slot(&self, deadline: Deadline) -> Result<SemaphorePermit<'_>> {
        let slot = self.shared.slots.acquire();
        let slot = match deadline.moment() {
            None => slot.await,
            Some(moment) => timeout_at(moment.into(), slot).await.map_err(|_| {
                Error::deadline_exceeded(format!(
                    "the request's deadline passed while it waited for a free instance of {}",
                    self.name
                ))
            })?,
        };
        slot.map_err(|_| Error::unavailable("the server is shutting down"))
    }

    fn store(
        &self,
        request: &str,
        deadline: CallDeadline,
        models: Option<Arc<dyn ModelCalls>>,
    ) -> Store<HostState> {
        let models = Models::new(&self.granted, models, deadline);
        state::store(&self.shared.engine, &self.limits, &self.log, &self.files, request, deadline, models)
    }

    async fn instantiate(
        &self,
        store: &mut Store<HostState>,
        request: &str,
        deadline: CallDeadline,
    ) -> Result<bindings::Plugin> {
        self.component.instantiate_async(store).await.map_err(|e| self.call_error(&e, request, deadline))
    }

    async fn configure(
        &self,
        store: &mut Store<HostState>,
        plugin: &bindings::Plugin,
        request: &str,
        deadline: CallDeadline,
    ) -> Result<()> {
        let settings = self.settings.borrowed();
        plugin
            .nacre_plugin_step()
            .call_configure(store, self.settings.to_guest(&settings))
            .await
            .map_err(|e| self.call_error(&e, request, deadline).context("configure"))?
            .map_err(|e| self.guest_error("configure", e))
    }

    fn guest_error(&self, function: &str, error: types::Error) -> Error {
        failure::guest_error(error).context(format!("{}: {function} failed", self.name))
    }

    /// Epochs interrupt a guest that computes; this ends one that waits (for a clock, for a disk).
    async fn in_time<T>(&self, deadline: CallDeadline, call: impl Future<Output = Result<T>>) -> Result<T> {
        match timeout_at(deadline.moment().into(), call).await {
            Ok(result) => result,
            Err(_) => Err(deadline.error(&self.name, &self.limits)),
        }
    }

    fn call_error(&self, error: &wasmtime::Error, request: &str, deadline: CallDeadline) -> Error {
        failure::call_error(error, &self.name, &self.limits, request, deadline)
    }
}

/// What a guest answered, and the time until its instance was ready to be asked.
struct Answer {
    response: types::Response,
    ready_after: Duration,
}

/// A served plugin.
pub(crate) struct Plugin {
    pub(crate) prepared: Prepared,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) concurrency: usize,
    /// Outputs that it may give besides those of the configuration.
    pub(crate) unlisted_outputs: Vec<String>,
}

impl Plugin {
    async fn answer(&self, request: &ElementRequest) -> Result<Execution> {
        let Answer { response, ready_after } = self.prepared.process(request).await?;
        let checking = Instant::now();
        let outputs = tensors::outputs_from_guest(
            &self.config,
            &self.unlisted_outputs,
            &request.outputs,
            response.outputs,
        )
        .map_err(|e| e.context(&self.prepared.name))?;
        Ok(Execution {
            outputs,
            parameters: tensors::parameters_from_guest(response.parameters),
            input_time: ready_after,
            output_time: checking.elapsed(),
        })
    }
}

impl ElementModel for Plugin {
    fn concurrency(&self) -> usize {
        self.concurrency
    }

    fn process<'a>(
        &'a self,
        request: ElementRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Execution>> + Send + 'a>> {
        Box::pin(async move { self.answer(&request).await })
    }
}
