use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use arc_swap::ArcSwap;
use nacre_backend::Backend;
use nacre_domain::{Error, InferenceRequest, InferenceResponse, ModelKey, Result};
use nacre_scheduler::{InFlight, PluginThreads};
use nacre_telemetry::StatisticsReport;
use tokio::sync::Notify;

use crate::{
    EngineOptions, FollowOptions, IndexEntry, ModelState, ModelView, lifecycle::Lifecycle, reload,
    servable::Servable, snapshot::Snapshot,
};

/// What is served and how: the one value that both protocols talk to.
pub struct Engine {
    snapshot: Arc<ArcSwap<Snapshot>>,
    lifecycle: Lifecycle,
    strict_readiness: bool,
    /// Requests under way.
    requests: InFlight,
    rescan: Notify,
    loaded: AtomicBool,
    shutting_down: AtomicBool,
}

impl Engine {
    /// An engine that serves nothing yet.
    ///
    /// # Errors
    /// Invalid argument for a repository that is missing or is no folder; internal if threads cannot be started.
    pub fn new(mut options: EngineOptions, backends: Vec<Arc<dyn Backend>>) -> Result<Arc<Engine>> {
        nacre_repository::check_repositories(&options.repositories)?;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for threads in [&mut options.plugin_threads, &mut options.load_threads] {
            if *threads == 0 {
                *threads = cores;
            }
        }
        let threads = PluginThreads::new(options.plugin_threads).map_err(|error| {
            Error::internal(format!("cannot start {} plugin threads: {error}", options.plugin_threads))
                .with_source(error)
        })?;
        let snapshot = Arc::new(ArcSwap::from_pointee(Snapshot::default()));
        Ok(Arc::new(Engine {
            strict_readiness: options.strict_readiness,
            lifecycle: Lifecycle::new(options, backends, threads, snapshot.clone()),
            snapshot,
            requests: InFlight::default(),
            rescan: Notify::new(),
            loaded: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
        }))
    }

    /// Loads every model of the repositories and serves what loaded, then is ready. A model that fails is unavailable,
    /// with its reason in the log and in [`Engine::index`]. If a repository has gone since [`Engine::new`], the log says
    /// so and the engine does not become ready.
    pub async fn load_all(&self) {
        match self.lifecycle.load_all().await {
            Ok(()) => self.loaded.store(true, Ordering::SeqCst),
            Err(error) => tracing::error!(%error, "cannot load the model repository"),
        }
    }

    /// Loads one model anew from its folder, and publishes it with what depends on it; requests that are under way finish
    /// on what they began with.
    ///
    /// # Errors
    /// Not found if there is no such folder; unavailable, with the reason, if it does not load: what was served before
    /// then stays.
    pub async fn load_model(&self, name: &str) -> Result<()> {
        if self.shutting_down.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the server is shutting down"));
        }
        self.lifecycle.load_model(name).await
    }

    /// Stops serving a model, and with it what needs it, until it is loaded again or its files change. Requests that are
    /// under way finish.
    ///
    /// # Errors
    /// Not found if there is no such model.
    pub async fn unload_model(&self, name: &str) -> Result<()> {
        self.lifecycle.unload_model(name).await
    }

    /// Follows the repositories, after [`Engine::load_all`], until the future is dropped: what changes in them goes live.
    pub async fn follow(&self, options: &FollowOptions) {
        reload::follow(&self.lifecycle, options, &self.rescan).await;
    }

    /// Asks [`Engine::follow`] to look at everything now.
    pub fn rescan(&self) {
        self.rescan.notify_one();
    }

    /// Answers one request: validates it, runs it and records it in the statistics of its model, all within the
    /// snapshot of the moment at which it came. Dropping the future cancels it.
    ///
    /// # Errors
    /// Not found, unavailable, invalid argument or deadline exceeded as the request deserves it, or what the model
    /// failed with.
    pub async fn infer(&self, request: InferenceRequest) -> Result<InferenceResponse> {
        // Counted before the look at the flag, so that `drain` after `begin_shutdown` misses no one.
        let _running = self.requests.enter();
        if self.shutting_down.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the server is shutting down"));
        }
        let servable = self.find(&request.model, request.version)?;
        servable.infer(request).await.map(|(response, _)| response)
    }

    /// Whether the process works at all.
    pub fn is_live(&self) -> bool {
        true
    }

    /// Whether requests are welcome: after [`Engine::load_all`], before [`Engine::begin_shutdown`], and, where readiness
    /// is strict, while every version is ready.
    pub fn is_ready(&self) -> bool {
        let loaded = self.loaded.load(Ordering::SeqCst) && !self.shutting_down.load(Ordering::SeqCst);
        loaded
            && (!self.strict_readiness || self.index().iter().all(|entry| entry.state == ModelState::Ready))
    }

    /// Not ready from now on; new requests are unavailable, those that run go on.
    pub fn begin_shutdown(&self) {
        self.shutting_down.store(true, Ordering::SeqCst);
    }

    /// Waits until no request is running.
    pub async fn drain(&self) {
        self.requests.idle().await;
    }

    /// Stops every model, after [`Engine::drain`]; returns when their instances are gone.
    pub async fn shutdown(&self) {
        self.begin_shutdown();
        self.lifecycle.unload_all().await;
    }

    /// Whether that version (without one: the highest that loaded) of the model serves requests. Not so if it loaded, but
    /// has lost its last instance since.
    pub fn model_is_ready(&self, name: &str, version: Option<u64>) -> bool {
        self.find(name, version).is_ok_and(|servable| servable.failure().is_none())
    }

    /// A ready version of a model; without a version, the highest that is ready.
    ///
    /// # Errors
    /// Not found if there is no such model or version; unavailable, with the reason, if it did not load.
    pub fn model(&self, name: &str, version: Option<u64>) -> Result<ModelView> {
        let snapshot = self.snapshot.load();
        let servable = snapshot.find(name, version)?;
        Ok(ModelView {
            key: servable.key.clone(),
            versions: snapshot.ready_versions(name).map(|servable| servable.key.version).collect(),
            config: servable.config.clone(),
            labels: servable.labels.clone(),
        })
    }

    /// Every model and version that the repositories hold, by name, then version.
    pub fn index(&self) -> Vec<IndexEntry> {
        self.snapshot.load().index()
    }

    /// Statistics of the ready versions: of one model, of one version, or of all.
    ///
    /// # Errors
    /// As [`Engine::model`].
    pub fn statistics(
        &self,
        name: Option<&str>,
        version: Option<u64>,
    ) -> Result<Vec<(ModelKey, StatisticsReport)>> {
        let snapshot = self.snapshot.load();
        let report = |servable: &Arc<Servable>| (servable.key.clone(), servable.statistics.report());
        match (name, version) {
            (None, _) => Ok(snapshot.all_ready().map(report).collect()),
            (Some(name), Some(_)) => Ok(vec![report(snapshot.find(name, version)?)]),
            (Some(name), None) => {
                snapshot.find(name, None)?;
                Ok(snapshot.ready_versions(name).map(report).collect())
            }
        }
    }

    fn find(&self, name: &str, version: Option<u64>) -> Result<Arc<Servable>> {
        self.snapshot.load().find(name, version).cloned()
    }
}
