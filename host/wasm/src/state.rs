use std::sync::Arc;

use nacre_domain::Error;
use tracing::Level;
use wasmtime::{Store, UpdateDeadline, component::ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    bindings::{files, log, types},
    failure::{self, CallDeadline},
    files::PluginFiles,
    limits::{self, Limits, Meter},
    log::{PluginLog, Source},
    models::Models,
    stdio::LineStream,
};

/// What the host keeps for one instance; dropped with its store when the call ends.
pub(crate) struct HostState {
    wasi: WasiCtx,
    table: ResourceTable,
    meter: Meter,
    log: Arc<PluginLog>,
    pub(crate) request: Arc<str>,
    files: Arc<PluginFiles>,
    pub(crate) models: Models,
    pub(crate) deadline: CallDeadline,
}

/// A store for one call, with every limit set.
pub(crate) fn store(
    engine: &wasmtime::Engine,
    limits: &Limits,
    log: &Arc<PluginLog>,
    files: &Arc<PluginFiles>,
    request: &str,
    deadline: CallDeadline,
    models: Models,
) -> Store<HostState> {
    let request: Arc<str> = request.into();
    let wasi = WasiCtx::builder()
        .stdout(LineStream::new(log, &request, Source::Stdout))
        .stderr(LineStream::new(log, &request, Source::Stderr))
        .max_random_size(limits::RANDOM_BYTES)
        .build();
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits::HANDLES);
    let state = HostState {
        wasi,
        table,
        meter: Meter::new(limits),
        log: Arc::clone(log),
        request,
        files: Arc::clone(files),
        models,
        deadline,
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(limits.output().saturating_add(limits::CALL_OVERHEAD));
    store.set_max_component_handles(limits::HANDLES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        // Yielding at each tick lets plugins share a thread and lets a dropped call end.
        let passed = store.data().deadline.has_passed();
        Ok(if passed { UpdateDeadline::Interrupt } else { UpdateDeadline::Yield(1) })
    });
    store
}

impl HostState {
    /// Why a snapshot taken now would not work: the guest holds handles, which its memory may remember and a new instance
    /// has not.
    pub(crate) fn handles_held(&self) -> Option<String> {
        (!self.table.is_empty()).then(|| {
            "it holds streams or timers that it opened in configure, such as standard output".to_owned()
        })
    }

    /// For what the host itself does with the instance.
    pub(crate) fn lift_limits(&mut self) {
        self.meter = Meter::unlimited();
    }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl types::Host for HostState {}

impl log::Host for HostState {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Trace => Level::TRACE,
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.log.write(&self.request, Source::Log, level, &message, &fields);
    }
}

impl files::Host for HostState {
    async fn read(&mut self, path: String) -> Result<Vec<u8>, types::Error> {
        let files = Arc::clone(&self.files);
        // A disk that hangs must hold up this call alone, and not beyond its deadline.
        tokio::task::spawn_blocking(move || files.read(&path))
            .await
            .unwrap_or_else(|_| Err(Error::unavailable("the server is shutting down")))
            .map_err(failure::error_to_guest)
    }
}
