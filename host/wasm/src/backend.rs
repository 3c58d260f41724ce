use std::sync::Arc;

use nacre_backend::{Backend, ElementModel, Executor, LoadedModel, ModelSource};
use nacre_config::{InstanceGroup, InstanceKind, ModelConfig};
use nacre_domain::{Error, Result};
use tokio::sync::Semaphore;
use wasmtime::component::{HasSelf, Linker};

use crate::{
    WasmOptions,
    bindings::{self, PluginPre},
    compile, engine,
    failure::PluginName,
    files::PluginFiles,
    interface,
    limits::Limits,
    log::PluginLog,
    models,
    plugin::{Plugin, Prepared, Settings, Shared},
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
        let (engine, description) = engine::start(&options)?;
        let ticker = Ticker::start(&engine)
            .map_err(|e| Error::internal(format!("cannot start the thread that interrupts plugins: {e}")))?;
        let mut linker = Linker::new(&engine);
        wasi::link_working(&mut linker)
            .and_then(|()| {
                bindings::Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut HostState| state)
            })
            .map_err(|e| Error::internal(format!("cannot link the plugin interface: {e:#}")))?;
        let slots = Semaphore::new(usize::try_from(options.max_instances).unwrap_or(usize::MAX));
        Ok(WasmBackend {
            options,
            shared: Arc::new(Shared { engine, slots, _ticker: ticker }),
            linker,
            description,
        })
    }

    /// For the start-up log: what was chosen for this machine.
    pub fn description(&self) -> String {
        format!("nacre:plugin@{}, {}", interface::HOST_VERSION, self.description)
    }

    fn prepare(&self, source: &ModelSource) -> Result<Prepared> {
        let config = &source.config;
        let limits = Limits::read(&config.parameters, &self.options)?;
        let file = source.file.as_deref().ok_or_else(|| {
            Error::not_found(format!("no component in {}", source.version_directory.display()))
        })?;
        let component = compile::component(&self.shared.engine, file)?;
        interface::check(&component)?;
        let mut linker = self.linker.clone();
        let not_linked = |e: wasmtime::Error| {
            let version = interface::built_for(&component).unwrap_or_default();
            Error::invalid_argument(format!(
                "it does not fit the interface (built for nacre:plugin@{version}, this server has nacre:plugin@{}): {e:#}",
                interface::HOST_VERSION
            ))
        };
        let unknown = wasi::link_refusing(&mut linker, &component).map_err(not_linked)?;
        if !unknown.is_empty() {
            return Err(Error::invalid_argument(format!(
                "it imports {}, which this server does not have: expected only nacre:plugin@{} and WASI 0.2",
                unknown.join(", "),
                interface::HOST_VERSION
            )));
        }
        let component = linker.instantiate_pre(&component).and_then(PluginPre::new).map_err(not_linked)?;
        Ok(Prepared {
            shared: Arc::clone(&self.shared),
            name: PluginName(source.key.clone()),
            limits,
            settings: Settings::new(&source.key, config),
            granted: models::granted(&config.parameters)?.into(),
            log: Arc::new(PluginLog::new(source.key.clone())),
            files: Arc::new(PluginFiles::new(
                source.directory.clone(),
                source.version_directory.clone(),
                limits.memory() as u64,
            )),
            component,
        })
    }

    fn load_plugin(&self, source: &ModelSource) -> Result<Plugin> {
        let prepared = self.prepare(source).map_err(|e| e.context(PluginName(source.key.clone())))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|e| Error::internal(format!("cannot run the plugin: {e}")))?;
        let signature = runtime.block_on(prepared.probe())?;
        let unlisted_outputs = signature.unlisted_outputs(&source.config);
        // Also the comparison: what config.pbtxt and the plugin both name must agree.
        let config = Arc::new(source.config.with_tensors(signature.inputs, signature.outputs)?);
        Ok(Plugin { prepared, concurrency: concurrency(&config, &self.options), config, unlisted_outputs })
    }
}

impl Backend for WasmBackend {
    fn names(&self) -> &'static [&'static str] {
        &["wasm"]
    }

    fn default_filename(&self) -> Option<&'static str> {
        Some("plugin.wasm")
    }

    fn load(&self, source: &ModelSource) -> Result<LoadedModel> {
        warn_of_no_effect(source);
        let plugin = self.load_plugin(source)?;
        let count = u32::try_from(plugin.concurrency()).ok();
        let group = InstanceGroup { kind: InstanceKind::Cpu, count, gpus: Vec::new() };
        Ok(LoadedModel {
            config: Arc::new(plugin.config.with_instance_groups(vec![group])?),
            calls: plugin.prepared.granted.to_vec(),
            executor: Executor::PerElement(Arc::new(plugin)),
        })
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
