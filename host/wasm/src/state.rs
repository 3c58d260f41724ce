use std::sync::Arc;

use nacre_domain::Error;
use nacre_telemetry::PluginMetrics;
use tracing::Level;
use wasmtime::{Store, UpdateDeadline, component::ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    bindings::{files, log, types},
    failure::{self, CallDeadline},
    files::PluginFiles,
    guest::Guest,
    limits::{self, HostCalls, Meter},
    log::{PluginLog, Source},
    metrics::OwnMetrics,
    models::Models,
    stdio::LineStream,
};

/// What the host keeps for one instance; dropped with its store when the call ends.
pub(crate) struct HostState {
    wasi: WasiCtx,
    table: ResourceTable,
    meter: Meter,
    host_calls: HostCalls,
    /// Handles of refusing interfaces that the guest holds.
    pub(crate) denied: usize,
    log: Arc<PluginLog>,
    metrics: Arc<PluginMetrics>,
    pub(crate) own_metrics: Arc<OwnMetrics>,
    streams: [LineStream; 2],
    pub(crate) request: Arc<str>,
    files: Arc<PluginFiles>,
    pub(crate) models: Models,
    pub(crate) deadline: CallDeadline,
}

/// A store for one call, with every limit set.
pub(crate) fn store(
    guest: &Guest,
    request: &str,
    deadline: CallDeadline,
    models: Models,
) -> Store<HostState> {
    let limits = &guest.limits;
    let request: Arc<str> = request.into();
    let streams =
        [Source::Stdout, Source::Stderr].map(|source| LineStream::new(&guest.log, &request, source));
    let [stdout, stderr] = streams.clone();
    let wasi = WasiCtx::builder().stdout(stdout).stderr(stderr).max_random_size(limits::RANDOM_BYTES).build();
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits::HANDLES);
    let state = HostState {
        wasi,
        table,
        meter: Meter::new(limits),
        host_calls: HostCalls::new(limits),
        denied: 0,
        log: Arc::clone(&guest.log),
        metrics: Arc::clone(&guest.metrics),
        own_metrics: Arc::clone(&guest.own_metrics),
        streams,
        request,
        files: Arc::clone(&guest.files),
        models,
        deadline,
    };
    let mut store = Store::new(&guest.shared.engine, state);
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(limits.output().saturating_add(limits::CALL_OVERHEAD));
    store.set_max_component_handles(limits::HANDLES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        store.data().host_calls.check()?;
        // Yielding at each tick lets plugins share a thread and lets a dropped call end.
        let passed = store.data().deadline.has_passed();
        Ok(if passed { UpdateDeadline::Interrupt } else { UpdateDeadline::Yield(1) })
    });
    store
}

impl HostState {
    /// To be called first in every function of ours.
    pub(crate) fn count_call(&mut self) -> wasmtime::Result<()> {
        self.host_calls.count();
        self.host_calls.check()
    }

    /// Makes it the state of a call: its name in the log, its deadline, whom it may call, its own count of calls.
    pub(crate) fn begin(&mut self, guest: &Guest, request: &str, deadline: CallDeadline, models: Models) {
        if *self.request != *request {
            self.request = request.into();
            self.streams.iter().for_each(|stream| stream.begin(&self.request));
        }
        self.deadline = deadline;
        self.models = models;
        self.host_calls = HostCalls::new(&guest.limits);
    }

    /// Why a snapshot taken now would not work: the guest holds handles, which its memory may remember and a new instance
    /// has not.
    pub(crate) fn handles_held(&self) -> Option<String> {
        (!self.table.is_empty() || self.denied > 0).then(|| {
            "it holds streams or timers that it opened in configure, such as standard output".to_owned()
        })
    }

    /// For what the host itself does with the instance.
    pub(crate) fn lift_limits(&mut self) {
        self.metrics.record_memory(self.meter.memory());
        self.meter = Meter::unlimited();
    }
}

impl Drop for HostState {
    fn drop(&mut self) {
        self.metrics.record_memory(self.meter.memory());
    }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        // Once for each call of WASI. It cannot fail here: the next tick ends the guest.
        self.host_calls.count();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl types::Host for HostState {}

impl log::Host for HostState {
    fn write(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        self.count_call()?;
        let level = match level {
            log::Level::Trace => Level::TRACE,
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.log.write(&self.request, Source::Log, level, &message, &fields);
        Ok(())
    }
}

impl files::Host for HostState {
    async fn read(&mut self, path: String) -> wasmtime::Result<Result<Vec<u8>, types::Error>> {
        self.count_call()?;
        let files = Arc::clone(&self.files);
        // A disk that hangs must hold up this call alone, and not beyond its deadline.
        let content = tokio::task::spawn_blocking(move || files.read(&path)).await;
        let content = content.unwrap_or_else(|_| Err(Error::unavailable("the server is shutting down")));
        Ok(content.map_err(failure::error_to_guest))
    }
}
