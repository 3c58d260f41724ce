//! What all instances of one plugin have in common, whichever component they are made from.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use nacre_backend::ModelCalls;
use nacre_domain::{Deadline, Error, Result};
use nacre_telemetry::{PluginFailure, PluginMetrics};
use tokio::time::timeout_at;
use wasmtime::{Store, component::Instance};

use crate::{
    bindings::{self, PluginPre, types},
    cpu::CpuShare,
    failure::{self, CallDeadline, PluginName},
    files::PluginFiles,
    limits::Limits,
    log::PluginLog,
    metrics::OwnMetrics,
    models::Models,
    settings::Settings,
    shared::Shared,
    signature::Signature,
    state::{self, HostState},
};

/// One model version's plugin apart from its code: who it is, what it may do, what it sees.
pub(crate) struct Guest {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: PluginName,
    pub(crate) limits: Limits,
    pub(crate) settings: Settings,
    pub(crate) log: Arc<PluginLog>,
    pub(crate) metrics: Arc<PluginMetrics>,
    pub(crate) own_metrics: Arc<OwnMetrics>,
    /// `None` where the plugin may use what it gets.
    pub(crate) cpu: Option<CpuShare>,
    pub(crate) files: Arc<PluginFiles>,
    /// Names of the models that it may call.
    pub(crate) granted: Arc<[String]>,
}

/// An instance after `describe` and `configure`.
pub(crate) struct Configured {
    pub(crate) store: Store<HostState>,
    pub(crate) instance: Instance,
    pub(crate) summary: String,
    pub(crate) signature: Signature,
    pub(crate) describe: Duration,
    pub(crate) configure: Duration,
}

impl Guest {
    /// Makes an instance and calls `describe` and `configure`, as is done once at a load.
    ///
    /// # Errors
    /// What the plugin says, or how it failed.
    pub(crate) async fn configured(&self, component: &PluginPre<HostState>) -> Result<Configured> {
        let _slot = self.shared.slots.acquire(0, Deadline::NONE, &self.name).await?;
        let deadline = CallDeadline::configure(Deadline::NONE, &self.limits);
        self.in_time(deadline, async {
            let started = Instant::now();
            let mut store = self.store("", deadline, None);
            let instance = component
                .instance_pre()
                .instantiate_async(&mut store)
                .await
                .map_err(|e| self.call_error(&e, "", deadline))?;
            let plugin = bindings::Plugin::new(&mut store, &instance)
                .map_err(|e| self.call_error(&e, "", deadline))?;
            let settings = self.settings.borrowed();
            let description = plugin
                .nacre_plugin_step()
                .call_describe(&mut store, self.settings.to_guest(&settings))
                .await
                .map_err(|e| self.call_error(&e, "", deadline).context("describe"))?
                .map_err(|e| self.guest_error("describe", e))?;
            let described = Instant::now();
            self.configure(&mut store, &plugin, "", deadline).await?;
            Ok(Configured {
                store,
                instance,
                summary: description.summary.clone(),
                signature: Signature::new(description).map_err(|e| e.context(&self.name))?,
                describe: described - started,
                configure: described.elapsed(),
            })
        })
        .await
    }

    /// Makes an instance and drops it.
    ///
    /// # Errors
    /// Why there can be none.
    pub(crate) async fn try_out(&self, component: &PluginPre<HostState>) -> Result<(), String> {
        let slot = self.shared.slots.acquire(0, Deadline::NONE, &self.name).await;
        let _slot = slot.map_err(|e| e.message().to_owned())?;
        let deadline = CallDeadline::configure(Deadline::NONE, &self.limits);
        let mut store = self.store("", deadline, None);
        let made = component.instantiate_async(&mut store).await;
        made.map(|_| ()).map_err(|e| format!("the snapshot cannot be instantiated ({})", e.root_cause()))
    }

    pub(crate) fn store(
        &self,
        request: &str,
        deadline: CallDeadline,
        models: Option<Arc<dyn ModelCalls>>,
    ) -> Store<HostState> {
        let models = Models::new(&self.granted, models, deadline);
        state::store(self, request, deadline, models)
    }

    pub(crate) async fn configure(
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

    /// Epochs interrupt a guest that computes; this ends one that waits (for a clock, for a disk).
    pub(crate) async fn in_time<T>(
        &self,
        deadline: CallDeadline,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let in_time = match &self.cpu {
            None => timeout_at(deadline.moment().into(), call).await,
            Some(share) => timeout_at(deadline.moment().into(), share.hold(call)).await,
        };
        in_time.unwrap_or_else(|_| {
            self.metrics.record_failure(PluginFailure::Deadline);
            Err(deadline.error(&self.name, &self.limits))
        })
    }

    pub(crate) fn call_error(&self, error: &wasmtime::Error, request: &str, deadline: CallDeadline) -> Error {
        let (kind, error) = failure::call_error(error, &self.name, &self.limits, request, deadline);
        self.metrics.record_failure(kind);
        error
    }

    fn guest_error(&self, function: &str, error: types::Error) -> Error {
        self.metrics.record_failure(PluginFailure::Error);
        failure::guest_error(error).context(format!("{}: {function} failed", self.name))
    }
}
