use std::{collections::BTreeMap, sync::Arc};

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
    /// Its versions, each in its own state; never empty.
    Versions(BTreeMap<u64, VersionEntry>),
}

/// A version of a model.
#[derive(Clone, Debug)]
pub(crate) enum VersionEntry {
    /// Serves.
    Ready(Arc<Servable>),
    /// Does not, and why.
    Unavailable(String),
}

impl Snapshot {
    pub(crate) fn new(models: BTreeMap<String, ModelEntry>) -> Snapshot {
        Snapshot { models }
    }

    /// Every model by name.
    pub(crate) fn models(&self) -> &BTreeMap<String, ModelEntry> {
        &self.models
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
            ModelEntry::Versions(versions) => versions,
        };
        if let Some(version) = version {
            return match versions.get(&version) {
                Some(VersionEntry::Ready(servable)) => Ok(servable),
                Some(VersionEntry::Unavailable(reason)) => Err(Error::unavailable(format!(
                    "model '{name}' version {version} is unavailable: {reason}"
                ))),
                None => Err(Error::not_found(format!(
                    "model '{name}' has no version {version}; it has {}",
                    list(versions.keys())
                ))),
            };
        }
        ready(versions).next_back().ok_or_else(|| {
            let reasons = versions.iter().filter_map(|(version, entry)| match entry {
                VersionEntry::Unavailable(reason) => Some(format!("version {version}: {reason}")),
                VersionEntry::Ready(_) => None,
            });
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            Error::unavailable(format!("model '{name}' is unavailable: {reasons}"))
        })
    }

    /// Ready versions of a model, ascending; none if it is unknown.
    pub(crate) fn ready_versions(&self, name: &str) -> impl DoubleEndedIterator<Item = &Arc<Servable>> {
        let versions = match self.models.get(name) {
            Some(ModelEntry::Versions(versions)) => Some(versions),
            _ => None,
        };
        versions.into_iter().flat_map(ready)
    }

    /// Every ready version, by name, then version.
    pub(crate) fn all_ready(&self) -> impl Iterator<Item = &Arc<Servable>> {
        self.models.keys().flat_map(|name| self.ready_versions(name))
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
                ModelEntry::Versions(versions) => {
                    for (&version, entry) in versions {
                        match entry {
                            VersionEntry::Ready(servable) => match servable.failure() {
                                None => push(Some(version), ModelState::Ready, ""),
                                Some(error) => push(Some(version), ModelState::Unavailable, error.message()),
                            },
                            VersionEntry::Unavailable(reason) => {
                                push(Some(version), ModelState::Unavailable, reason);
                            }
                        }
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
    versions.values().filter_map(|entry| match entry {
        VersionEntry::Ready(servable) => Some(servable),
        VersionEntry::Unavailable(_) => None,
    })
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
