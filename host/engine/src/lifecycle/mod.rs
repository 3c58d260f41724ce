//! The lifecycle: the single writer of what is served. It scans, loads off the reactor and publishes snapshots.

mod load;
mod prepare;

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use arc_swap::ArcSwap;
use futures::stream::{self, StreamExt};
use nacre_backend::Backend;
use nacre_config::ModelConfig;
use nacre_domain::{ModelKey, Result};
use nacre_scheduler::{InFlight, PluginThreads};
use nacre_telemetry::ModelStatistics;
use tokio::{runtime::Handle, sync::Mutex, task};

use self::{
    load::{LoadJob, load},
    prepare::{Prepared, prepare},
};
use crate::{
    EngineOptions,
    ensemble::{self, Checked},
    labels::Labels,
    servable::{Runner, Servable},
    snapshot::{ModelEntry, Snapshot, VersionEntry},
};

/// Loads and publishes. One change at a time; readers of the snapshot never wait for it.
pub(crate) struct Lifecycle {
    options: EngineOptions,
    backends: Arc<Vec<Arc<dyn Backend>>>,
    threads: Arc<PluginThreads>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    /// Loads under way, wanted or not, and queues that have been started and not yet stopped.
    queues: InFlight,
    writer: Mutex<()>,
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
            writer: Mutex::new(()),
        }
    }

    /// Loads everything that the repositories hold and publishes it as one snapshot.
    ///
    /// # Errors
    /// A repository cannot be read; what is served stays as it is.
    pub(crate) async fn load_all(&self) -> Result<()> {
        let _writer = self.writer.lock().await;
        let repositories = self.options.repositories.clone();
        let found =
            off_reactor(move || nacre_repository::scan(&repositories)).await.unwrap_or_else(|panic| {
                Err(nacre_domain::Error::internal(format!("the scan of the repositories panicked: {panic}")))
            })?;
        let names = found.iter().map(|entry| (entry.name.clone(), ModelEntry::Loading));
        self.snapshot.store(Arc::new(Snapshot::new(names.collect())));

        let mut models = BTreeMap::new();
        let mut jobs = Vec::new();
        let mut ensembles = BTreeMap::new();
        for entry in found {
            let name = entry.name.clone();
            let backends = self.backends.clone();
            let prepared = off_reactor(move || prepare(&entry, &backends))
                .await
                .unwrap_or_else(|panic| Err(format!("reading its configuration panicked: {panic}")));
            match prepared {
                Ok(Prepared { config, versions, missing, backend, labels }) => {
                    let entries: BTreeMap<_, _> = missing
                        .into_iter()
                        .map(|(version, reason)| (version, unavailable(&name, version, reason)))
                        .collect();
                    models.insert(name.clone(), ModelEntry::Versions(entries));
                    match backend {
                        Some(backend) => {
                            jobs.extend(
                                versions
                                    .into_iter()
                                    .map(|source| LoadJob { source, backend: backend.clone() }),
                            );
                        }
                        None => {
                            let versions = versions.into_iter().map(|source| source.key.version).collect();
                            ensembles.insert(name, Ensemble { config, versions, labels });
                        }
                    }
                }
                Err(reason) => {
                    tracing::error!(model = name, reason, "model is unavailable");
                    models.insert(name, ModelEntry::Broken(reason));
                }
            }
        }
        for (key, entry) in self.load_models(jobs).await {
            insert(&mut models, key, entry);
        }
        self.snapshot.store(Arc::new(load_ensembles(models, ensembles)));
        Ok(())
    }

    /// Publishes an empty snapshot and waits until every load has ended and every instance has stopped.
    pub(crate) async fn unload_all(&self) {
        let _writer = self.writer.lock().await;
        self.snapshot.store(Arc::new(Snapshot::default()));
        self.queues.idle().await;
    }

    /// Loads versions, several at once.
    async fn load_models(&self, jobs: Vec<LoadJob>) -> Vec<(ModelKey, VersionEntry)> {
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
            let entry = match loaded {
                Ok(servable) => ready(servable, start),
                Err(reason) => unavailable(&key.name, key.version, reason),
            };
            (key, entry)
        });
        let at_once = self.options.load_threads.max(1);
        stream::iter(loads).buffer_unordered(at_once).collect().await
    }
}

/// An ensemble whose steps are not resolved yet.
struct Ensemble {
    config: Arc<ModelConfig>,
    versions: Vec<u64>,
    labels: Labels,
}

/// Adds the ensembles, each after those that it uses.
fn load_ensembles(models: BTreeMap<String, ModelEntry>, ensembles: BTreeMap<String, Ensemble>) -> Snapshot {
    let mut snapshot = Snapshot::new(models);
    let steps = ensembles.iter().map(|(name, ensemble)| {
        (name.clone(), ensemble.config.ensemble_steps.iter().map(|step| step.model.clone()).collect())
    });
    let (order, cyclic) = ensemble::in_order(&steps.collect());
    let order = order.into_iter().map(|name| (name, None));
    // The cyclic ones first: whoever uses one of them is told why it is unavailable.
    for (name, cycle) in cyclic.into_iter().map(|(name, reason)| (name, Some(reason))).chain(order) {
        let Some(Ensemble { config, versions, labels }) = ensembles.get(&name) else { continue };
        for &version in versions {
            let key = ModelKey { name: name.clone(), version };
            let start = Instant::now();
            let checked = cycle.clone().map_or_else(|| ensemble::check(config, &snapshot), Err);
            let entry = match checked {
                Ok(Checked { plan, warnings }) => {
                    for warning in warnings {
                        tracing::warn!(model = name, warning, "ensemble has an idle tensor");
                    }
                    let servable = Servable {
                        statistics: ModelStatistics::new(&key),
                        key: key.clone(),
                        config: config.clone(),
                        labels: plan.labels_of_steps().chain(labels.clone()).collect(),
                        runner: Runner::Ensemble(plan),
                    };
                    ready(servable, start)
                }
                Err(reason) => unavailable(&name, version, reason),
            };
            insert(snapshot.models_mut(), key, entry);
        }
    }
    snapshot
}

fn ready(servable: Servable, start: Instant) -> VersionEntry {
    let (key, took) = (&servable.key, start.elapsed());
    nacre_telemetry::record_model_load(key, took);
    tracing::info!(model = key.name, version = key.version, seconds = took.as_secs_f64(), "model is ready");
    VersionEntry::Ready(Arc::new(servable))
}

fn unavailable(model: &str, version: u64, reason: String) -> VersionEntry {
    tracing::error!(model, version, reason, "model is unavailable");
    VersionEntry::Unavailable(reason)
}

fn insert(models: &mut BTreeMap<String, ModelEntry>, key: ModelKey, entry: VersionEntry) {
    match models.entry(key.name).or_insert_with(|| ModelEntry::Versions(BTreeMap::new())) {
        ModelEntry::Versions(versions) => {
            versions.insert(key.version, entry);
        }
        other => *other = ModelEntry::Versions(BTreeMap::from([(key.version, entry)])),
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
