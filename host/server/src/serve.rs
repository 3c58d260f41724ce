//! `nacre serve`: from the options to a drained server.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use nacre_api::ApiOptions;
use nacre_backend::{Backend, identity::IdentityBackend};
use nacre_engine::{Engine, EngineOptions, IndexEntry, ModelState};
use nacre_telemetry::MetricsHandle;
use nacre_torch::{TorchBackend, TorchOptions};
use nacre_wasm::WasmBackend;
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    endpoints::Endpoints,
    options::{GpuFallback, LogFormat, ServeOptions},
    report,
};

/// How often the histograms of the metrics are tidied; the exporter asks for seconds rather than minutes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// How long clients may take to read their last answers, once every request has been answered.
const CONNECTIONS_CLOSE: Duration = Duration::from_secs(3);

/// Serves until a signal, then drains.
pub fn run(options: ServeOptions) -> Result<()> {
    let format = match options.log_format {
        LogFormat::Text => nacre_telemetry::LogFormat::Text,
        LogFormat::Json => nacre_telemetry::LogFormat::Json,
    };
    nacre_telemetry::init_logging(format, options.log_verbose);
    let metrics = nacre_telemetry::install_metrics()?;
    let engine = Engine::new(
        EngineOptions {
            repositories: options.model_repository.clone(),
            plugin_threads: options.plugins.plugin_threads,
            load_threads: options.model_load_thread_count,
            strict_readiness: options.strict_readiness,
        },
        backends(&options)?,
    )?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("network")
        .build()
        .context("cannot start the network threads")?;
    if let Ended::CutOff = runtime.block_on(serve(options, engine, metrics))? {
        leave_at_once();
    }
    Ok(())
}

/// How serving ended.
enum Ended {
    /// Nothing runs any more.
    Drained,
    /// Requests or loads still run, and nobody waits for them.
    CutOff,
}

/// Ends the process while instances may still be at work: a regular exit would tear libtorch's state down under them.
fn leave_at_once() -> ! {
    // SAFETY: `_exit` has no preconditions; it ends the process without running anything more of it.
    unsafe { libc::_exit(0) }
}

/// The only place that names concrete backends.
fn backends(options: &ServeOptions) -> Result<Vec<Arc<dyn Backend>>> {
    let torch =
        TorchBackend::new(TorchOptions { gpu_fallback_cpu: options.gpu_fallback == GpuFallback::Cpu })?;
    tracing::info!(backend = "pytorch", "{}", torch.description());
    let wasm = WasmBackend::new(options.plugins.wasm())?;
    tracing::info!(backend = "wasm", "{}", wasm.description());
    Ok(vec![Arc::new(torch), Arc::new(wasm), Arc::new(IdentityBackend)])
}

async fn serve(options: ServeOptions, engine: Arc<Engine>, metrics: MetricsHandle) -> Result<Ended> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let endpoints = Endpoints::bind(&options.endpoints).await?;
    let addresses = endpoints.addresses();
    let stopping = CancellationToken::new();
    // Listening before the models are there: live at once, ready when they are.
    let mut servers = start(endpoints, &options, &engine, &metrics, &stopping);

    let stopped_early = tokio::select! {
        () = engine.load_all() => false,
        _ = interrupt.recv() => true,
        _ = terminate.recv() => true,
    };
    if !stopped_early {
        let models = engine.index();
        if let Err(error) = write_report(&models, &addresses) {
            // The models serve all the same.
            tracing::warn!(%error, "cannot write the table of models to the standard output");
        }
        let failed = models.iter().filter(|model| model.state == ModelState::Unavailable).count();
        if options.exit_on_error && failed > 0 {
            engine.shutdown().await;
            bail!("{failed} models failed to load and --exit-on-error is set");
        }
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    tracing::info!(timeout_secs = options.exit_timeout_secs, "shutting down: finishing what is running");
    engine.begin_shutdown();
    stopping.cancel();
    let drain = async {
        engine.drain().await;
        // Every request is answered; what remains are answers on their way and connections that say nothing.
        let closing = async { while servers.join_next().await.is_some() {} };
        if tokio::time::timeout(CONNECTIONS_CLOSE, closing).await.is_err() {
            tracing::info!("closing connections that their clients keep open");
        }
        engine.shutdown().await;
    };
    let ended = tokio::select! {
        drained = tokio::time::timeout(Duration::from_secs(options.exit_timeout_secs), drain) => {
            if drained.is_ok() {
                Ended::Drained
            } else {
                tracing::warn!("requests or loads were still running after the exit timeout and are cut off");
                Ended::CutOff
            }
        }
        _ = async { tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} } } => {
            tracing::warn!("second signal: what is running is cut off");
            Ended::CutOff
        }
    };
    tracing::info!("stopped");
    Ok(ended)
}

fn write_report(models: &[IndexEntry], addresses: &[(&str, SocketAddr)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    report::write_models(&mut out, models, report::colours())?;
    for (name, address) in addresses {
        writeln!(out, "{name:<8} {address}")?;
    }
    out.flush()
}

fn start(
    endpoints: Endpoints,
    options: &ServeOptions,
    engine: &Arc<Engine>,
    metrics: &MetricsHandle,
    stopping: &CancellationToken,
) -> JoinSet<()> {
    let api = ApiOptions { max_http_body: options.endpoints.http_max_input_size, ..ApiOptions::default() };
    let mut servers = JoinSet::new();
    if let Some(listener) = endpoints.http {
        let router = nacre_api::http_router(Arc::clone(engine), api.clone());
        let stopped = stopping.clone().cancelled_owned();
        servers.spawn(nacre_api::serve_http(listener, router, stopped));
    }
    if let Some(listener) = endpoints.grpc {
        let (engine, stopped) = (Arc::clone(engine), stopping.clone().cancelled_owned());
        servers.spawn(nacre_api::serve_grpc(listener, engine, api, stopped));
    }
    if let Some(listener) = endpoints.metrics {
        let (metrics, stopped) = (metrics.clone(), stopping.clone().cancelled_owned());
        servers.spawn(nacre_api::serve_metrics(listener, metrics, stopped));
    }
    let (metrics, stopped) = (metrics.clone(), stopping.clone());
    tokio::spawn(async move {
        let mut upkeep = tokio::time::interval(METRICS_UPKEEP);
        while stopped.run_until_cancelled(upkeep.tick()).await.is_some() {
            metrics.run_upkeep();
        }
    });
    servers
}
