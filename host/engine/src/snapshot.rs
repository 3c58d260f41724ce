use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use nacre_domain::{Error, Result};

use crate::{IndexEntry, ModelState, servable::Servable};

/// Names listed in a message before it says how many more there are.
const LISTED: usize = 10;

/// Everything that is served at one moment. Never changed: the lifecycle publishes another one, and a request keeps
/// the one that it began with until it ends.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    models: BTreeMap<String, ModelEntry>,
}

/// A model of the repository.
#[derive(Debug)]
pub(crate) enum ModelEntry {
    /// It was found, and more is not known yet.
    Loading,
    /// The model as a whole cannot be served: its folder, its configuration or its backend is at fault.
    Broken(String),
    /// Its versions, each in its own state.
    Versions {
        /// By number; empty if the model was unloaded.
        versions: BTreeMap<u64, VersionEntry>,
        /// Why the files of now cannot be served as a whole; the versions are of those before.
        failure: Option<String>,
    },
}

/// A version of a model.
#[derive(Clone, Debug)]
pub(crate) struct VersionEntry {
    /// What serves.
    pub(crate) servable: Option<Arc<Servable>>,
    /// Why its files of now do not; what serves is then of those before.
    pub(crate) failure: Option<String>,
}

impl Snapshot {
    pub(crate) fn new(models: BTreeMap<String, ModelEntry>) -> Snapshot {
        Snapshot { models }
    }

    /// For the lifecycle, before it publishes.
    pub(crate) fn models_mut(&mut self) -> &mut BTreeMap<String, ModelEntry> {
        &mut self.models
    }

    /// The version asked for; without one, the highest that is ready.
    ///
    /// # Errors
    /// Not found or unavailable.
    pub(crate) fn find(&self, name: &str, version: Option<u64>) -> Result<&Arc<Servable>> {
        let versions = match self.model(name)? {
            ModelEntry::Loading => {
                return Err(Error::unavailable(format!("model '{name}' is still loading")));
            }
            ModelEntry::Broken(reason) => {
                return Err(Error::unavailable(format!("model '{name}' is unavailable: {reason}")));
            }
            ModelEntry::Versions { versions, .. } => versions,
        };
        if versions.is_empty() {
            return Err(Error::unavailable(format!("model '{name}' is unavailable: it was unloaded")));
        }
        if let Some(version) = version {
            return match versions.get(&version) {
                Some(VersionEntry { servable: Some(servable), .. }) => Ok(servable),
                Some(VersionEntry { failure, .. }) => Err(Error::unavailable(format!(
                    "model '{name}' version {version} is unavailable: {}",
                    failure.as_deref().unwrap_or_default()
                ))),
                None => Err(Error::not_found(format!(
                    "model '{name}' has no version {version}; it has {}",
                    list(versions.keys())
                ))),
            };
        }
        ready(versions).next_back().ok_or_else(|| {
            let reasons = versions.iter().filter_map(|(version, entry)| {
                entry.failure.as_ref().map(|reason| format!("version {version}: {reason}"))
            });
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            Error::unavailable(format!("model '{name}' is unavailable: {reasons}"))
        })
    }

    /// Ready versions of a model, ascending; none if it is unknown.
    pub(crate) fn ready_versions(&self, name: &str) -> impl DoubleEndedIterator<Item = &Arc<Servable>> {
        let versions = match self.models.get(name) {
            Some(ModelEntry::Versions { versions, .. }) => Some(versions),
            _ => None,
        };
        versions.into_iter().flat_map(ready)
    }

    /// That version, if it serves.
    pub(crate) fn servable(&self, name: &str, version: u64) -> Option<&Arc<Servable>> {
        match self.models.get(name)? {
            ModelEntry::Versions { versions, .. } => versions.get(&version)?.servable.as_ref(),
            ModelEntry::Loading | ModelEntry::Broken(_) => None,
        }
    }

    /// Every ready version, by name, then version.
    pub(crate) fn all_ready(&self) -> impl Iterator<Item = &Arc<Servable>> {
        self.models.keys().flat_map(|name| self.ready_versions(name))
    }

    /// Why a model's files of now are not served, although there may be versions of before that are.
    pub(crate) fn failures(&self, name: &str) -> Vec<String> {
        let Some(ModelEntry::Versions { versions, failure }) = self.models.get(name) else {
            return Vec::new();
        };
        let of_version = |(version, entry): (&u64, &VersionEntry)| {
            entry.failure.as_ref().map(|reason| format!("version {version}: {reason}"))
        };
        versions.iter().filter_map(of_version).chain(failure.clone()).collect()
    }

    /// Says in the log what is other than in the snapshot before.
    pub(crate) fn report_changes(&self, previous: &Snapshot) {
        let (now, mut gone) = (self.index(), previous.index());
        let key = |entry: &IndexEntry| (entry.name.clone(), entry.version);
        let before: BTreeMap<_, _> = gone.iter().map(|entry| (key(entry), entry.clone())).collect();
        let there: BTreeSet<_> = now.iter().map(key).collect();
        gone.retain(|entry| !there.contains(&key(entry)));
        for entry in now {
            let model = entry.name.as_str();
            let version = entry.version.map(tracing::field::display);
            let before = before.get(&key(&entry));
            let other =
                before.is_none_or(|before| (before.state, &before.reason) != (entry.state, &entry.reason));
            let reason = entry.reason.as_str();
            match entry.state {
                ModelState::Ready if reason.is_empty() => {
                    let statistics = |snapshot: &Snapshot| {
                        Some(Arc::clone(&snapshot.servable(model, entry.version?)?.statistics))
                    };
                    let (now, before) = (statistics(self), statistics(previous));
                    let loaded_anew = now.zip(before).is_none_or(|(now, before)| !Arc::ptr_eq(&now, &before));
                    if other || loaded_anew {
                        tracing::info!(model, version, "model is ready");
                    }
                }
                ModelState::Ready if other => {
                    tracing::error!(
                        model,
                        version,
                        reason,
                        "model cannot be replaced: what was served before stays"
                    );
                }
                ModelState::Unavailable if other => {
                    tracing::error!(model, version, reason, "model is unavailable");
                }
                _ => {}
            }
        }
        for entry in gone {
            if let Some(version) = entry.version {
                tracing::info!(model = entry.name, version, "model is no longer served");
            }
        }
    }

    pub(crate) fn index(&self) -> Vec<IndexEntry> {
        let mut index = Vec::new();
        for (name, model) in &self.models {
            let mut push = |version, state, reason: &str| {
                index.push(IndexEntry { name: name.clone(), version, state, reason: reason.to_owned() });
            };
            match model {
                ModelEntry::Loading => push(None, ModelState::Loading, ""),
                ModelEntry::Broken(reason) => push(None, ModelState::Unavailable, reason),
                ModelEntry::Versions { versions, failure } => {
                    for (&version, entry) in versions {
                        let reason = entry.failure.as_deref().unwrap_or_default();
                        match &entry.servable {
                            Some(servable) => match servable.failure() {
                                None => push(Some(version), ModelState::Ready, reason),
                                Some(error) => push(Some(version), ModelState::Unavailable, error.message()),
                            },
                            None => push(Some(version), ModelState::Unavailable, reason),
                        }
                    }
                    if versions.is_empty() {
                        push(None, ModelState::Unavailable, "it was unloaded");
                    }
                    if let Some(reason) = failure {
                        push(None, ModelState::Unavailable, reason);
                    }
                }
            }
        }
        index
    }

    fn model(&self, name: &str) -> Result<&ModelEntry> {
        self.models.get(name).ok_or_else(|| {
            Error::not_found(if self.models.is_empty() {
                format!("unknown model '{name}'; this server has no models")
            } else {
                format!("unknown model '{name}'; this server has {}", list_names(self.models.keys()))
            })
        })
    }
}

fn ready(versions: &BTreeMap<u64, VersionEntry>) -> impl DoubleEndedIterator<Item = &Arc<Servable>> {
    versions.values().filter_map(|entry| entry.servable.as_ref())
}

/// `1, 2, 3`, cut off where it gets long.
pub(crate) fn list(items: impl ExactSizeIterator<Item: std::fmt::Display>) -> String {
    let more = items.len().saturating_sub(LISTED);
    let mut text = items.take(LISTED).map(|item| item.to_string()).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// `'a', 'b'`, cut off where it gets long.
pub(crate) fn list_names(names: impl ExactSizeIterator<Item: std::fmt::Display>) -> String {
    list(names.map(|name| format!("'{name}'")))
}
