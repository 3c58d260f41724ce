//! The lifecycle: the single writer of what is served. It scans, loads off the reactor, links and publishes snapshots.

mod known;
mod link;
mod load;
mod order;
mod prepare;

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use arc_swap::ArcSwap;
use futures::stream::{self, StreamExt};
use nacre_backend::Backend;
use nacre_domain::{Error, ModelKey, Result};
use nacre_repository::ModelEntry as Found;
use nacre_scheduler::{InFlight, PluginThreads};
use nacre_telemetry::ModelStatistics;
use tokio::{runtime::Handle, sync::Mutex, task};

pub(crate) use self::known::{Known, KnownEnsemble, LoadedVersion};
use self::{
    link::link,
    load::{LoadJob, load},
    prepare::{Prepared, prepare},
};
use crate::{
    EngineOptions,
    snapshot::{ModelEntry, Snapshot, VersionEntry, list_names},
};

/// Loads and publishes. One change at a time; readers of the snapshot never wait for it.
pub(crate) struct Lifecycle {
    options: EngineOptions,
    backends: Arc<Vec<Arc<dyn Backend>>>,
    threads: Arc<PluginThreads>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    /// Loads under way, wanted or not, and queues that have been started and not yet stopped.
    queues: InFlight,
    /// What is known of each model; whoever holds it is the writer.
    known: Mutex<BTreeMap<String, Known>>,
}

impl Lifecycle {
    pub(crate) fn new(
        options: EngineOptions,
        backends: Vec<Arc<dyn Backend>>,
        threads: PluginThreads,
        snapshot: Arc<ArcSwap<Snapshot>>,
    ) -> Lifecycle {
        Lifecycle {
            options,
            backends: Arc::new(backends),
            threads: Arc::new(threads),
            snapshot,
            queues: InFlight::default(),
            known: Mutex::default(),
        }
    }

    /// Loads everything that the repositories hold and publishes it as one snapshot.
    ///
    /// # Errors
    /// A repository cannot be read; what is served stays as it is.
    pub(crate) async fn load_all(&self) -> Result<()> {
        let mut known = self.known.lock().await;
        let found = self.scan().await?;
        let names = found.iter().map(|entry| (entry.name.clone(), ModelEntry::Loading));
        self.snapshot.store(Arc::new(Snapshot::new(names.collect())));
        *known = self.load_models(found).await;
        self.publish(&known);
        Ok(())
    }

    /// Loads one model anew from its folder and publishes it with all that depend on it; every other model stays as it
    /// is. Requests that are under way finish on what they began with. If not one of its versions loads and it was served
    /// before, that stays.
    ///
    /// # Errors
    /// Not found if no repository has such a folder; unavailable, with the reasons, if none of its versions is served
    /// afterwards or the old ones had to stay.
    pub(crate) async fn load_model(&self, name: &str) -> Result<()> {
        let mut known = self.known.lock().await;
        let found = self.scan().await?.into_iter().find(|entry| entry.name == name);
        let found = found.ok_or_else(|| {
            Error::not_found(format!(
                "no repository has a folder of model '{name}'; those served are {}",
                list_names(known.keys())
            ))
        })?;
        let mut next = known.clone();
        next.extend(self.load_models(vec![found]).await);
        let linked = link(&next);
        if let Err(error) = linked.find(name, None) {
            if self.snapshot.load().find(name, None).is_ok() {
                tracing::warn!(model = name, "the version served before stays");
                return Err(error);
            }
            *known = next;
            self.publish(&known);
            return Err(error);
        }
        *known = next;
        self.publish(&known);
        Ok(())
    }

    /// Publishes an empty snapshot and waits until every load has ended and every instance has stopped.
    pub(crate) async fn unload_all(&self) {
        let mut known = self.known.lock().await;
        known.clear();
        self.snapshot.store(Arc::new(Snapshot::default()));
        self.queues.idle().await;
    }

    async fn scan(&self) -> Result<Vec<Found>> {
        let repositories = self.options.repositories.clone();
        off_reactor(move || nacre_repository::scan(&repositories)).await.unwrap_or_else(|panic| {
            Err(Error::internal(format!("the scan of the repositories panicked: {panic}")))
        })
    }

    fn publish(&self, known: &BTreeMap<String, Known>) {
        let snapshot = link(known);
        for (name, model) in snapshot.models() {
            match model {
                ModelEntry::Loading => {}
                ModelEntry::Broken(reason) => tracing::error!(model = name, reason, "model is unavailable"),
                ModelEntry::Versions(versions) => {
                    for (version, entry) in versions {
                        match entry {
                            VersionEntry::Ready(_) => tracing::info!(model = name, version, "model is ready"),
                            VersionEntry::Unavailable(reason) => {
                                tracing::error!(model = name, version, reason, "model is unavailable");
                            }
                        }
                    }
                }
            }
        }
        self.snapshot.store(Arc::new(snapshot));
    }

    /// Reads the configurations and loads the versions of these models, several at once.
    async fn load_models(&self, found: Vec<Found>) -> BTreeMap<String, Known> {
        let mut known = BTreeMap::new();
        let mut jobs = Vec::new();
        for entry in found {
            let name = entry.name.clone();
            let backends = self.backends.clone();
            let prepared = off_reactor(move || prepare(&entry, &backends))
                .await
                .unwrap_or_else(|panic| Err(format!("reading its configuration panicked: {panic}")));
            let model = match prepared {
                Err(reason) => Known::Broken(reason),
                Ok(Prepared { versions, missing, backend: Some(backend), .. }) => {
                    let job = |source| LoadJob { source, backend: backend.clone() };
                    jobs.extend(versions.into_iter().map(job));
                    Known::Loaded(
                        missing.into_iter().map(|(version, reason)| (version, Err(reason))).collect(),
                    )
                }
                Ok(Prepared { config, versions, missing, backend: None, labels }) => {
                    let missing = missing.into_iter().map(|(version, reason)| (version, Err(reason)));
                    let there = versions
                        .into_iter()
                        .map(|source| (source.key.version, Ok(ModelStatistics::new(&source.key))));
                    let versions = missing.chain(there).collect();
                    Known::Ensemble(Arc::new(KnownEnsemble { config, labels, versions }))
                }
            };
            known.insert(name, model);
        }
        for (key, loaded) in self.run_jobs(jobs).await {
            if let Some(Known::Loaded(versions)) = known.get_mut(&key.name) {
                versions.insert(key.version, loaded.map(Arc::new));
            }
        }
        known
    }

    async fn run_jobs(&self, jobs: Vec<LoadJob>) -> Vec<(ModelKey, Result<LoadedVersion, String>)> {
        let loads = jobs.into_iter().map(|job| async move {
            let key = job.source.key.clone();
            tracing::info!(
                model = key.name,
                version = key.version,
                backend = job.source.config.backend,
                "loading model"
            );
            let start = Instant::now();
            let (threads, queues, runtime) = (self.threads.clone(), self.queues.clone(), Handle::current());
            // A load cannot be interrupted: whoever gives it up and unloads waits for its end all the same.
            let loading = queues.enter();
            let loaded = off_reactor(move || {
                let _loading = loading;
                load(job, &threads, &queues, runtime)
            })
            .await;
            let loaded = match loaded {
                Ok(loaded) => loaded.map_err(|error| error.to_string()),
                Err(panic) => Err(format!("loading it panicked: {panic}")),
            };
            if loaded.is_ok() {
                let took = start.elapsed();
                nacre_telemetry::record_model_load(&key, took);
                let (name, version) = (key.name.as_str(), key.version);
                tracing::info!(model = name, version, seconds = took.as_secs_f64(), "model has loaded");
            }
            (key, loaded)
        });
        let at_once = self.options.load_threads.max(1);
        stream::iter(loads).buffer_unordered(at_once).collect().await
    }
}

/// Runs blocking work; a panic is its message.
async fn off_reactor<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(payload) => panic_message(payload.as_ref()),
        Err(error) => error.to_string(),
    })
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
