//! From a component's file to what requests start from.

use std::time::{Duration, Instant};

use nacre_domain::{Error, Result};
use wasmtime::component::{Component, Linker};

use crate::{
    bindings::PluginPre,
    cache::Key,
    compile::caught,
    guest::{Configured, Guest},
    interface,
    report::{DescribedTensor, LoadReport, Start},
    signature::Signature,
    snapshot::{self, Instrumented, Snapshot},
    state::HostState,
    wasi,
};

/// What a load gave.
pub(crate) struct Built {
    pub(crate) component: PluginPre<HostState>,
    pub(crate) signature: Signature,
    pub(crate) report: LoadReport,
}

/// Takes a component's image from the cache. If it is not there, compiles the component, configures an instance of it, and
/// compiles the snapshot of that, which takes tens of milliseconds for
/// a small component, ten seconds for one with CPython in it.
///
/// # Errors
/// The component cannot be compiled or linked (without the plugin's name); or what it says itself, or how it failed
/// (with its name).
pub(crate) fn load(guest: &Guest, linker: &Linker<HostState>, bytes: &[u8], shown: &str) -> Result<Built> {
    let Some(images) = &guest.shared.images else { return build(guest, linker, bytes, shown) };
    let key = Key::new(&images.origin, bytes, &guest.settings, &guest.limits);
    if let Some((component, report)) = images.cache.get(&key, &guest.shared.engine, &guest.files)
        && let Some(signature) = Signature::of(&report)
    {
        let component = link(linker, &component).map_err(|e| e.context(&guest.name))?;
        return Ok(Built { component, signature, report });
    }
    guest.files.note();
    let built = build(guest, linker, bytes, shown);
    let noted = guest.files.noted();
    if let (Ok(built), Some(files)) = (&built, noted) {
        images.cache.put(&key, built.component.instance_pre().component(), &built.report, files);
    }
    built
}

fn build(guest: &Guest, linker: &Linker<HostState>, bytes: &[u8], shown: &str) -> Result<Built> {
    let started = Instant::now();
    let compiler = &guest.shared.compiler;
    let _kept = compiler.keep_functions();
    let named = |e: Error| e.context(&guest.name);
    let compile = |bytes: &[u8]| compiler.component(&guest.shared.engine, bytes, shown);

    let instrumented = compiler.run(|| snapshot::instrument(bytes)).and_then(|result| result);
    let compiled = instrumented.and_then(|i| match compile(&i.bytes) {
        Ok(component) => Ok((component, i)),
        Err(error) => Err(error.message().to_owned()),
    });
    let (component, instrumented) = match compiled {
        Ok((component, instrumented)) => (component, Ok(instrumented)),
        // A component that is wrong in itself gets its error from here.
        Err(reason) => (compile(bytes).map_err(named)?, Err(reason)),
    };
    interface::check(&component).map_err(|e| named(interface::explained(e, bytes)))?;
    let plain = link(linker, &component).map_err(|e| {
        let built_for = interface::built_for(&component).unwrap_or_default();
        named(interface::misfit(e, bytes, &built_for))
    })?;
    let compile_time = started.elapsed();

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|e| Error::internal(format!("cannot run the plugin: {e}")))?;
    let mut configured = runtime.block_on(guest.configured(&plain))?;

    let snapshotting = Instant::now();
    let snapshotted = instrumented.and_then(|instrumented| {
        let snapshot = take(guest, &runtime, &instrumented, &mut configured)?;
        let component = compile(&snapshot.component).map_err(|e| e.message().to_owned())?;
        let linked = link(linker, &component).map_err(|e| e.message().to_owned())?;
        runtime.block_on(guest.try_out(&linked))?;
        Ok((linked, snapshot.memory_bytes))
    });
    let (component, start) = match snapshotted {
        Ok((component, memory_bytes)) => (component, Start::Snapshot { memory_bytes }),
        Err(reason) => (plain, Start::Configure { reason }),
    };
    let report = LoadReport {
        summary: configured.summary,
        interface: interface::built_for(component.instance_pre().component()).unwrap_or_default(),
        inputs: configured.signature.inputs.iter().map(DescribedTensor::new).collect(),
        outputs: configured.signature.outputs.iter().map(DescribedTensor::new).collect(),
        component_bytes: bytes.len() as u64,
        image_bytes: image_bytes(component.instance_pre().component()),
        compile: compile_time,
        describe: configured.describe,
        configure: configured.configure,
        snapshot: snapshotting.elapsed(),
        start,
        from_cache: false,
        total: Duration::ZERO,
    };
    Ok(Built { component, signature: configured.signature, report })
}

fn take(
    guest: &Guest,
    runtime: &tokio::runtime::Runtime,
    instrumented: &Instrumented<'_>,
    configured: &mut Configured,
) -> Result<Snapshot, String> {
    let taking =
        || runtime.block_on(snapshot::take(instrumented, &mut configured.store, configured.instance));
    guest.shared.compiler.run(|| caught(taking)).and_then(|result| result).and_then(|result| result)
}

/// Links a component, if it imports nothing that is not there.
///
/// # Errors
/// Invalid argument: what does not fit.
pub(crate) fn link(linker: &Linker<HostState>, component: &Component) -> Result<PluginPre<HostState>> {
    let mut linker = linker.clone();
    let not_linked = |e: wasmtime::Error| {
        let version = interface::built_for(component).unwrap_or_default();
        Error::invalid_argument(format!(
            "it does not fit the interface (built for nacre:plugin@{version}, this server has nacre:plugin@{}): {e:#}",
            interface::HOST_VERSION
        ))
    };
    let unknown = wasi::link_refusing(&mut linker, component).map_err(not_linked)?;
    if !unknown.is_empty() {
        return Err(interface::refused_imports(&unknown));
    }
    linker.instantiate_pre(component).and_then(PluginPre::new).map_err(not_linked)
}

pub(crate) fn image_bytes(component: &Component) -> u64 {
    let range = component.image_range();
    (range.end as usize).saturating_sub(range.start as usize) as u64
}
