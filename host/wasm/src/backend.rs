use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use nacre_backend::{Backend, ElementModel, Executor, LoadedModel, ModelSource};
use nacre_config::{InstanceGroup, InstanceKind, ModelConfig};
use nacre_domain::{Error, Result};
use nacre_telemetry::{LoadPhase, PluginMetrics};
use tokio::sync::Semaphore;
use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};

use crate::{
    REUSE_PARAMETER, WasmOptions, bindings,
    cache::{ImageCache, Origin},
    compile::{self, Compiler},
    cpu::CpuShare,
    engine,
    failure::PluginName,
    files::PluginFiles,
    guest::Guest,
    incremental::CompiledFunctions,
    interface,
    limits::Limits,
    load::{self, Built},
    log::PluginLog,
    metrics::OwnMetrics,
    models,
    plugin::Plugin,
    report::{LoadReport, Start},
    reuse::Idle,
    settings::Settings,
    shared::{self, Images, Shared, Slots},
    state::HostState,
    ticker::Ticker,
    wasi,
};

/// The backend `wasm`: loads plugins. One for the process, since it holds the engine and the pool of instances.
pub struct WasmBackend {
    options: WasmOptions,
    shared: Arc<Shared>,
    linker: Linker<HostState>,
    description: String,
}

impl WasmBackend {
    /// Starts the engine that all plugins of this process share, its pool and its clock.
    ///
    /// # Errors
    /// Internal: the processor is not supported, or no thread can be started.
    pub fn new(options: WasmOptions) -> Result<WasmBackend> {
        let functions = Arc::<CompiledFunctions>::default();
        let (engine, description) = engine::start(&options, &functions)?;
        let compiler = Compiler::start(functions)?;
        let ticker = Ticker::start(&engine)
            .map_err(|e| Error::internal(format!("cannot start the thread that interrupts plugins: {e}")))?;
        let mut linker = Linker::new(&engine);
        wasi::link_working(&mut linker)
            .and_then(|()| {
                bindings::Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut HostState| state)
            })
            .map_err(|e| Error::internal(format!("cannot link the plugin interface: {e:#}")))?;
        let images = options.cache.as_deref().and_then(|folder| images(&engine, folder, options.cache_mb));
        let shared = Shared {
            compiler,
            slots: Slots::new(options.max_instances),
            idle: Arc::new(Semaphore::new(shared::idle_instances(options.max_instances) as usize)),
            images,
            engine,
            _ticker: ticker,
        };
        Ok(WasmBackend { options, shared: Arc::new(shared), linker, description })
    }

    /// For the start-up log: what was chosen for this machine.
    pub fn description(&self) -> String {
        format!("nacre:plugin@{}, {}", interface::HOST_VERSION, self.description)
    }

    /// Loads one version as [`Backend::load`] does, and says what it found and what it took.
    ///
    /// # Errors
    /// As there.
    pub fn load_with_report(&self, source: &ModelSource) -> Result<(LoadedModel, LoadReport)> {
        warn_of_no_effect(source);
        let (plugin, report) = self.load_plugin(source)?;
        let count = u32::try_from(plugin.concurrency()).ok();
        let group = InstanceGroup { kind: InstanceKind::Cpu, count, gpus: Vec::new() };
        let loaded = LoadedModel {
            config: Arc::new(plugin.config.with_instance_groups(vec![group])?),
            calls: plugin.guest.granted.to_vec(),
            executor: Executor::PerElement(Arc::new(plugin)),
        };
        Ok((loaded, report))
    }

    fn load_plugin(&self, source: &ModelSource) -> Result<(Plugin, LoadReport)> {
        let started = Instant::now();
        let guest = self.guest(source).map_err(|e| e.context(PluginName(source.key.clone())))?;
        let file = component_file(source).map_err(|e| e.context(&guest.name))?;
        let bytes = compile::read(file, self.options.max_component_mb.saturating_mul(1 << 20))
            .map_err(|e| e.context(&guest.name))?;
        let Built { component, signature, mut report } =
            load::load(&guest, &self.linker, &bytes, &file.display().to_string())?;
        let unlisted_outputs = signature.unlisted_outputs(&source.config);
        // Also the comparison: what config.pbtxt and the plugin both name must agree.
        let config = Arc::new(source.config.with_tensors(signature.inputs, signature.outputs)?);
        let reuse = Idle::limit(&source.config.parameters, self.options.max_reuse)
            .map_err(|e| e.context(&guest.name))?;
        let plugin = Plugin {
            idle: Idle::new(reuse, &self.shared.idle),
            concurrency: concurrency(&config, &self.options),
            guest,
            component,
            configured: matches!(report.start, Start::Snapshot { .. }),
            config,
            unlisted_outputs,
        };
        report.total = started.elapsed();
        record(&plugin.guest.metrics, &report);
        tell(source, &report);
        if reuse > 0 {
            let (model, version) = (source.key.name.as_str(), source.key.version);
            tracing::info!(
                model,
                version,
                idle_instances = reuse,
                "the plugin's instances are used for several requests ({REUSE_PARAMETER}): what one leaves in memory, \
                 another may see"
            );
        }
        Ok((plugin, report))
    }

    fn guest(&self, source: &ModelSource) -> Result<Guest> {
        let config = &source.config;
        let limits = Limits::read(&config.parameters, &self.options)?;
        Ok(Guest {
            shared: Arc::clone(&self.shared),
            name: PluginName(source.key.clone()),
            limits,
            settings: Settings::new(&source.key, config),
            granted: models::granted(&config.parameters)?.into(),
            log: Arc::new(PluginLog::new(source.key.clone(), limits.log_lines)),
            metrics: PluginMetrics::new(&source.key),
            own_metrics: Arc::new(OwnMetrics::new(&source.key, &limits)),
            cpu: limits.cpu_percent.map(CpuShare::new),
            files: Arc::new(PluginFiles::new(
                source.directory.clone(),
                source.version_directory.clone(),
                limits.memory() as u64,
            )),
        })
    }
}

fn component_file(source: &ModelSource) -> Result<&Path> {
    source
        .file
        .as_deref()
        .ok_or_else(|| Error::not_found(format!("no component in {}", source.version_directory.display())))
}

/// The cache in that folder, if it may be used.
fn images(engine: &Engine, folder: &Path, most_mb: u64) -> Option<Images> {
    match ImageCache::open(folder, most_mb.saturating_mul(1 << 20)) {
        Ok(cache) => Some(Images { cache, origin: Origin::new(engine) }),
        Err(problem) => {
            let folder = folder.display();
            tracing::warn!("compiled plugins are not kept in {folder}, starts take longer: {problem}");
            None
        }
    }
}

fn record(metrics: &PluginMetrics, report: &LoadReport) {
    if report.from_cache {
        return;
    }
    metrics.record_load(LoadPhase::Compile, report.compile);
    metrics.record_load(LoadPhase::Configure, report.describe + report.configure);
    metrics.record_load(LoadPhase::Snapshot, report.snapshot);
}

/// Says in the log what a load took, and where a plugin is slower than it could be.
fn tell(source: &ModelSource, report: &LoadReport) {
    let (model, version) = (source.key.name.as_str(), source.key.version);
    if let Start::Configure { reason } = &report.start {
        tracing::warn!(
            model,
            version,
            configure_ms = milliseconds(report.configure),
            "the plugin is configured again for every request, since its memory cannot be snapshotted: {reason}"
        );
    }
    tracing::debug!(
        model,
        version,
        compile_ms = milliseconds(report.compile),
        describe_ms = milliseconds(report.describe),
        configure_ms = milliseconds(report.configure),
        snapshot_ms = milliseconds(report.snapshot),
        image_bytes = report.image_bytes,
        from_cache = report.from_cache,
        total_ms = milliseconds(report.total),
        "plugin loaded"
    );
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e4).round() / 10.0
}

impl Backend for WasmBackend {
    fn names(&self) -> &'static [&'static str] {
        &["wasm"]
    }

    fn default_filename(&self) -> Option<&'static str> {
        Some("plugin.wasm")
    }

    fn reads_model_folder(&self) -> bool {
        // `files` of the interface reads what lies beside the plugin.
        true
    }

    fn load(&self, source: &ModelSource) -> Result<LoadedModel> {
        self.load_with_report(source).map(|(loaded, _)| loaded)
    }
}

/// The counts of the instance groups together; one each for the plugin threads if there are none.
fn concurrency(config: &ModelConfig, options: &WasmOptions) -> usize {
    let count: u64 = config.instance_groups.iter().filter_map(|group| group.count).map(u64::from).sum();
    if count == 0 { options.concurrency } else { usize::try_from(count).unwrap_or(usize::MAX) }
}

fn warn_of_no_effect(source: &ModelSource) {
    let (model, version) = (source.key.name.as_str(), source.key.version);
    for parameter in Limits::unknown(&source.config.parameters) {
        tracing::warn!(model, version, parameter, "the parameter means nothing to the wasm backend");
    }
    if source.config.instance_groups.iter().any(|group| group.kind == InstanceKind::Gpu) {
        tracing::warn!(model, version, "instance_group kind KIND_GPU has no effect: plugins run on the CPU");
    }
}
