//! The lifecycle: the single writer of what is served. It scans, loads off the reactor, links and publishes snapshots.

mod known;
mod link;
mod load;
mod order;
mod prepare;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use arc_swap::ArcSwap;
use futures::stream::{self, StreamExt};
use nacre_backend::Backend;
use nacre_domain::{Error, ModelKey, Result};
use nacre_repository::{ModelEntry as Found, Scan};
use nacre_scheduler::{InFlight, PluginThreads};
use nacre_telemetry::ModelStatistics;
use tokio::{
    runtime::Handle,
    sync::{Mutex, Notify},
    task,
};

pub(crate) use self::known::{Known, KnownEnsemble, LoadedVersion};
use self::{
    known::{KnownVersion, Model},
    link::link,
    load::{LoadJob, load, part_of},
    prepare::{Prepared, prepare},
};
use crate::{
    EngineOptions,
    labels::read_labels,
    snapshot::{ModelEntry, Snapshot, list_names},
};

/// Loads and publishes; readers of the snapshot never wait for it.
pub(crate) struct Lifecycle {
    options: EngineOptions,
    backends: Arc<Vec<Arc<dyn Backend>>>,
    threads: Arc<PluginThreads>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    /// Loads under way, wanted or not, and queues that have been started and not yet stopped.
    queues: InFlight,
    /// Whoever holds it is the writer. Not held while models load: a small one does not wait for a large one.
    state: Mutex<State>,
    /// Told at each publication.
    published: Notify,
}

#[derive(Default)]
struct State {
    /// What is known of each model.
    known: BTreeMap<String, Known>,
    /// The newest change of each model that is under way: what an older one loads is dropped.
    under_way: BTreeMap<String, UnderWay>,
    /// Number of the last change.
    last: u64,
}

/// What the repositories hold anew, as far as somebody asked for it.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Folders that are new or have changed.
    pub(crate) found: Vec<Found>,
    /// Names of models whose folders are gone.
    pub(crate) gone: Vec<String>,
    /// Of those found the names of those whose files may still be arriving: if one does not load, that is no error yet.
    pub(crate) incomplete: BTreeSet<String>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.gone.is_empty()
    }
}

/// A change of a model that is under way.
struct UnderWay {
    number: u64,
    /// Its folder; `None` if it is gone.
    entry: Option<Found>,
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
            state: Mutex::default(),
            published: Notify::new(),
        }
    }

    /// Loads everything that the repositories hold and publishes it as one snapshot.
    ///
    /// # Errors
    /// A repository cannot be read; what is served stays as it is.
    pub(crate) async fn load_all(&self) -> Result<()> {
        let found = self.scan().await?.models;
        let names = found.keys().map(|name| (name.clone(), ModelEntry::Loading));
        self.snapshot.store(Arc::new(Snapshot::new(names.collect())));
        self.apply(Changes { found: found.into_values().collect(), ..Changes::default() }).await;
        Ok(())
    }

    /// Looks at one model's folder, loads what has changed of it and publishes that with all that depend on it; every other
    /// model stays as it is. Requests that are under way finish on what they began with. What does not load stays as it was.
    ///
    /// # Errors
    /// Not found if no repository has such a folder; unavailable, with the reasons, if something of it cannot be served.
    pub(crate) async fn load_model(&self, name: &str) -> Result<()> {
        let found = self.scan().await?.models.remove(name);
        let Some(found) = found else {
            let state = self.state.lock().await;
            return Err(Error::not_found(format!(
                "no repository has a folder of model '{name}'; those served are {}",
                list_names(state.known.keys())
            )));
        };
        self.apply(Changes { found: vec![found], ..Changes::default() }).await;
        let snapshot = self.snapshot.load();
        snapshot.find(name, None)?;
        match snapshot.failures(name).as_slice() {
            [] => Ok(()),
            reasons => Err(Error::unavailable(format!(
                "model '{name}' does not load: {}; what was served before stays",
                reasons.join("; ")
            ))),
        }
    }

    /// Publishes an empty snapshot and waits until every load has ended and every instance has stopped.
    pub(crate) async fn unload_all(&self) {
        let mut state = self.state.lock().await;
        state.known.clear();
        // Nothing that still loads is wanted.
        state.under_way.clear();
        self.snapshot.store(Arc::new(Snapshot::default()));
        self.queues.idle().await;
    }

    /// What the repositories hold now.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(crate) async fn scan(&self) -> Result<Scan> {
        let repositories = self.options.repositories.clone();
        off_reactor(move || nacre_repository::scan(&repositories)).await.unwrap_or_else(|panic| {
            Err(Error::internal(format!("the scan of the repositories panicked: {panic}")))
        })
    }

    /// Stops serving a model, until the interface or a change of its files asks for it again. Requests that are under way
    /// finish.
    ///
    /// # Errors
    /// Not found if there is no such model.
    pub(crate) async fn unload_model(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock().await;
        let State { known, under_way, .. } = &mut *state;
        let names = list_names(known.keys());
        let Some(model) = known.get_mut(name) else {
            return Err(Error::not_found(format!("unknown model '{name}'; this server has {names}")));
        };
        (model.model, model.failure) = (Model::Nothing, None);
        under_way.remove(name);
        self.publish(known);
        Ok(())
    }

    /// Folders of the models as they were when they were last looked at.
    pub(crate) async fn entries(&self) -> BTreeMap<String, Found> {
        let state = self.state.lock().await;
        state.known.iter().map(|(name, known)| (name.clone(), known.entry.clone())).collect()
    }

    /// Loads what has changed and publishes all of it at once. What a newer change overtakes meanwhile is dropped; what is
    /// under way already is waited for.
    ///
    /// Gives, by name, why models do not load whose files may still be arriving; of these everything stays as it was.
    pub(crate) async fn apply(&self, changes: Changes) -> BTreeMap<String, String> {
        let Changes { mut found, gone, incomplete } = changes;
        let mut state = self.state.lock().await;
        let same = |entry: &Found| {
            state.under_way.get(&entry.name).is_some_and(|change| change.entry.as_ref() == Some(entry))
        };
        let joined: Vec<String> = found.extract_if(.., |entry| same(entry)).map(|entry| entry.name).collect();
        state.last += 1;
        let number = state.last;
        let mut old = BTreeMap::new();
        for (name, entry) in found
            .iter()
            .map(|entry| (&entry.name, Some(entry.clone())))
            .chain(gone.iter().map(|name| (name, None)))
        {
            old.extend(state.known.get(name).map(|known| (name.clone(), known.clone())));
            state.under_way.insert(name.clone(), UnderWay { number, entry });
        }
        drop(state);

        let mut loaded = self.load_models(found, &old).await;
        let mut state = self.state.lock().await;
        let State { known, under_way, .. } = &mut *state;
        let mut failed = BTreeMap::new();
        let newest: BTreeSet<String> =
            under_way.extract_if(.., |_, change| change.number == number).map(|(name, _)| name).collect();
        loaded.retain(|name, _| newest.contains(name));
        for name in &incomplete {
            let Some(reason) = loaded.get(name).and_then(Known::any_failure) else { continue };
            failed.insert(name.clone(), reason);
            loaded.remove(name);
        }
        for name in gone.iter().filter(|name| newest.contains(*name)) {
            known.remove(name);
        }
        known.extend(loaded);
        self.publish(known);
        drop(state);
        for name in joined {
            self.end_of(&name).await;
        }
        failed
    }

    /// Waits until no change of a model is under way.
    async fn end_of(&self, name: &str) {
        loop {
            let published = self.published.notified();
            if !self.state.lock().await.under_way.contains_key(name) {
                return;
            }
            published.await;
        }
    }

    fn publish(&self, known: &BTreeMap<String, Known>) {
        let previous = self.snapshot.load();
        let snapshot = link(known, &previous);
        snapshot.report_changes(&previous);
        self.snapshot.store(Arc::new(snapshot));
        self.published.notify_waiters();
    }

    /// Reads the configurations and loads those versions of these models that have changed, several at once.
    async fn load_models(&self, found: Vec<Found>, old: &BTreeMap<String, Known>) -> BTreeMap<String, Known> {
        let mut known = BTreeMap::new();
        let mut jobs = Vec::new();
        for entry in found {
            let before = old.get(&entry.name).cloned();
            let backends = self.backends.clone();
            let name = entry.name.clone();
            let planned = off_reactor({
                let (entry, before) = (entry.clone(), before.clone());
                move || plan(&entry, before.as_ref(), &backends)
            });
            let planned = planned.await.unwrap_or_else(|panic| Err(format!("reading it panicked: {panic}")));
            let (model, failure) = match planned {
                Ok((model, more)) => {
                    jobs.extend(more);
                    (model, None)
                }
                Err(reason) => (before.map_or(Model::Nothing, |before| before.model), Some(reason)),
            };
            known.insert(name, Known { entry, model, failure });
        }
        for (key, loaded) in self.run_jobs(jobs).await {
            let Some(Known { model: Model::Loaded(versions), .. }) = known.get_mut(&key.name) else {
                continue;
            };
            let version = versions.entry(key.version).or_default();
            match loaded {
                Ok(loaded) => *version = KnownVersion { loaded: Some(Arc::new(loaded)), failure: None },
                Err(reason) => version.failure = Some(reason),
            }
        }
        for (name, model) in &mut known {
            keep_until_replaced(model, old.get(name));
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

/// What a model's folder makes of it: what stays, and the versions to load. Blocking.
///
/// # Errors
/// Why the model as a whole cannot be served.
fn plan(
    entry: &Found,
    before: Option<&Known>,
    backends: &[Arc<dyn Backend>],
) -> Result<(Model, Vec<LoadJob>), String> {
    let Prepared { config, versions, missing, backend, labels } = prepare(entry, backends)?;
    let Some(backend) = backend else {
        let statistics = |key: &ModelKey| match before.map(|known| &known.model) {
            Some(Model::Ensemble(ensemble)) => ensemble.versions.get(&key.version)?.clone().ok(),
            _ => None,
        };
        let missing = missing.into_iter().map(|(version, reason)| (version, Err(reason)));
        let there = versions.into_iter().map(|source| {
            let statistics = statistics(&source.key).unwrap_or_else(|| ModelStatistics::new(&source.key));
            (source.key.version, Ok(statistics))
        });
        let versions = missing.chain(there).collect();
        return Ok((Model::Ensemble(Arc::new(KnownEnsemble { config, labels, versions })), Vec::new()));
    };
    let missing = missing
        .into_iter()
        .map(|(version, reason)| (version, KnownVersion { loaded: None, failure: Some(reason) }));
    let mut known: BTreeMap<u64, KnownVersion> = missing.collect();
    let mut jobs = Vec::new();
    for source in versions {
        let loaded = before.and_then(|known| known.loaded(source.key.version));
        let files = part_of(&entry.files, &source, backend.as_ref());
        let unchanged = loaded.and_then(|loaded| {
            let origin = loaded.origin.unchanged(&config, &entry.directory, &files)?;
            let labels = read_labels(&loaded.config, &entry.directory);
            Some(Arc::new(LoadedVersion { origin, labels, ..LoadedVersion::clone(loaded) }))
        });
        let version = source.key.version;
        if unchanged.is_none() {
            jobs.push(LoadJob { source, backend: backend.clone() });
        }
        let loaded = unchanged.or_else(|| loaded.cloned());
        known.insert(version, KnownVersion { loaded, failure: None });
    }
    Ok((Model::Loaded(known), jobs))
}

/// While a version that is to be served does not load, those that it was to replace stay, as long as their folders do.
fn keep_until_replaced(model: &mut Known, before: Option<&Known>) {
    let (Model::Loaded(versions), Some(Model::Loaded(old))) =
        (&mut model.model, before.map(|known| &known.model))
    else {
        return;
    };
    if versions.values().all(|version| version.loaded.is_some()) {
        return;
    }
    for (number, old) in old {
        if model.entry.versions.contains_key(number) && old.loaded.is_some() {
            versions
                .entry(*number)
                .or_insert_with(|| KnownVersion { loaded: old.loaded.clone(), failure: None });
        }
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
