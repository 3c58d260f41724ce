use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use nacre_backend::{ElementModel, ElementRequest, Execution};
use nacre_config::ModelConfig;
use nacre_domain::Result;
use nacre_telemetry::PluginFailure;

use crate::{
    bindings::{PluginPre, types},
    failure::{self, CallDeadline},
    guest::Guest,
    models::Models,
    reuse::{Idle, Instance},
    state::HostState,
    tensors,
};

/// A served plugin. Never changed after the load; shared by the calls.
pub(crate) struct Plugin {
    pub(crate) guest: Guest,
    /// What an instance is made from.
    pub(crate) component: PluginPre<HostState>,
    /// Whether instances start as `configure` left them.
    pub(crate) configured: bool,
    pub(crate) idle: Idle,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) concurrency: usize,
    /// Outputs that it may give besides those of the configuration.
    pub(crate) unlisted_outputs: Vec<String>,
}

/// What a guest answered, and the time until its instance was ready to be asked.
struct Answer {
    response: types::Response,
    ready_after: Duration,
}

impl Plugin {
    async fn answer(&self, request: &ElementRequest) -> Result<Execution> {
        let level = request.models.as_ref().map_or(0, |models| models.levels());
        let _slot = self.guest.shared.slots.acquire(level, request.deadline, &self.guest.name).await?;
        let answer = self.call(request).await;
        self.guest.log.report_dropped();
        let Answer { response, ready_after } = answer?;
        let checking = Instant::now();
        let outputs =
            tensors::outputs_from_guest(&self.config, &self.unlisted_outputs, request, response.outputs)
                .map_err(|e| {
                    self.guest.metrics.record_failure(PluginFailure::Answer);
                    failure::shortened(e).context(&self.guest.name)
                })?;
        Ok(Execution {
            outputs,
            parameters: tensors::parameters_from_guest(response.parameters),
            input_time: ready_after,
            output_time: checking.elapsed(),
        })
    }

    async fn call(&self, request: &ElementRequest) -> Result<Answer> {
        let guest = &self.guest;
        guest.metrics.record_call();
        let started = Instant::now();
        let mut instance = match self.idle.take() {
            Some(instance) => instance,
            None => self.fresh(request).await?,
        };
        let ready_after = started.elapsed();

        let deadline = CallDeadline::process(request.deadline, &guest.limits);
        let models = Models::new(&guest.granted, request.models.clone(), deadline);
        instance.store.data_mut().begin(guest, &request.id, deadline, models);
        let parameters: Vec<_> = request
            .parameters
            .iter()
            .map(|(name, value)| (name.as_str(), tensors::value_to_guest(value)))
            .collect();
        let inputs: Vec<_> = request.inputs.iter().map(tensors::to_guest).collect();
        let outputs: Vec<_> = request.outputs.iter().map(String::as_str).collect();
        let asked = types::RequestParam {
            id: &request.id,
            parameters: &parameters,
            inputs: &inputs,
            requested_outputs: &outputs,
        };
        let call = async {
            let answer = instance.plugin.nacre_plugin_step().call_process(&mut instance.store, asked).await;
            answer.map_err(|e| guest.call_error(&e, &request.id, deadline))
        };
        let response = guest.in_time(deadline, call).await?;
        let response = response.map_err(|e| {
            guest.metrics.record_failure(PluginFailure::Error);
            failure::guest_error(e).context(&guest.name)
        })?;
        self.idle.put(instance);
        Ok(Answer { response, ready_after })
    }
}

impl Plugin {
    /// A new instance, configured.
    async fn fresh(&self, request: &ElementRequest) -> Result<Instance> {
        let guest = &self.guest;
        let started = Instant::now();
        let deadline = CallDeadline::configure(request.deadline, &guest.limits);
        let mut store = guest.store(&request.id, deadline, None);
        let plugin = self
            .component
            .instantiate_async(&mut store)
            .await
            .map_err(|e| guest.call_error(&e, &request.id, deadline))?;
        guest.metrics.record_instantiate(started.elapsed());
        if !self.configured {
            guest.in_time(deadline, guest.configure(&mut store, &plugin, &request.id, deadline)).await?;
        }
        Ok(Instance::new(store, plugin))
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
