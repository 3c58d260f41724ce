//! When a change of a model's folder is complete: a decision about what was seen and when, without files and clocks of its
//! own.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nacre_repository::{Change, ModelEntry, Scan};

use crate::lifecycle::Changes;

/// How long is waited, and for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// A folder that has not changed for so long is complete.
    pub(crate) quiet: Duration,
    /// Longest that a writer who has not closed its file is waited for after its last write, and longest that what does
    /// not load is taken to be incomplete.
    pub(crate) incomplete: Duration,
}

/// What has changed and is not served yet.
pub(crate) struct Settling {
    patience: Patience,
    /// By name: the folder as it was when it was last given to the lifecycle.
    given: BTreeMap<String, ModelEntry>,
    /// What was given soon after it had changed, and until when it may be incomplete.
    fresh: BTreeMap<String, Instant>,
    waiting: BTreeMap<String, Waiting>,
    /// Files that somebody is writing.
    written: BTreeSet<PathBuf>,
    /// A file was completed since the last scan.
    completed: BTreeSet<PathBuf>,
}

/// A folder that is other than when it was last given to the lifecycle.
struct Waiting {
    /// As it was last seen; `None` if it is gone.
    entry: Option<ModelEntry>,
    /// When it was last seen to change.
    changed: Instant,
    /// When to give it.
    due: Instant,
}

impl Settling {
    pub(crate) fn new(patience: Patience, given: BTreeMap<String, ModelEntry>) -> Settling {
        Settling {
            patience,
            given,
            fresh: BTreeMap::new(),
            waiting: BTreeMap::new(),
            written: BTreeSet::new(),
            completed: BTreeSet::new(),
        }
    }

    /// Takes note of an event.
    pub(crate) fn notice(&mut self, change: Change) {
        match change {
            Change::Writing(path) => {
                self.completed.remove(&path);
                self.written.insert(path);
            }
            Change::Complete(path) => {
                self.written.remove(&path);
                self.completed.insert(path);
            }
            Change::Other(_) => {}
            // Who has closed a file may not have been seen.
            Change::Lost => self.written.clear(),
        }
    }

    /// Compares what is there with what was given.
    pub(crate) fn observe(&mut self, now: Instant, scan: &Scan) {
        let completed = std::mem::take(&mut self.completed);
        self.waiting.retain(|name, waiting| {
            let tried_again = waiting.entry.as_ref() == self.given.get(name);
            tried_again || scan.models.get(name) != self.given.get(name)
        });
        let names: BTreeSet<&String> = scan.models.keys().chain(self.given.keys()).collect();
        for name in names {
            let entry = scan.models.get(name);
            if entry == self.given.get(name) {
                continue;
            }
            let changed = match self.waiting.get(name) {
                Some(waiting) if waiting.entry.as_ref() == entry => waiting.changed,
                _ => now,
            };
            let inside = |paths: &BTreeSet<PathBuf>| {
                entry.is_some_and(|entry| paths.iter().any(|path| is_inside(path, &entry.directory)))
            };
            let due = if inside(&self.written) {
                changed + self.patience.incomplete
            } else if inside(&completed) {
                now
            } else {
                // What was due earlier stays due.
                let due = changed + self.patience.quiet;
                match self.waiting.get(name) {
                    Some(waiting) if waiting.changed == changed => waiting.due.min(due),
                    _ => due,
                }
            };
            self.waiting.insert(name.clone(), Waiting { entry: entry.cloned(), changed, due });
        }
    }

    /// When something is due next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }

    /// Takes what is due.
    pub(crate) fn take(&mut self, now: Instant) -> Changes {
        let mut changes = Changes::default();
        self.fresh.retain(|_, until| *until > now);
        let due = self.waiting.extract_if(.., |_, waiting| waiting.due <= now).collect::<Vec<_>>();
        for (name, Waiting { entry, changed, .. }) in due {
            let Some(entry) = entry else {
                self.given.remove(&name);
                changes.gone.push(name);
                continue;
            };
            let complete = changed + self.patience.incomplete;
            if complete > now {
                self.fresh.insert(name.clone(), complete);
                changes.incomplete.insert(name.clone());
            }
            self.given.insert(name, entry.clone());
            changes.found.push(entry);
        }
        changes
    }

    /// What was given did not load. If it may have been incomplete, it becomes due again when it cannot be any more; gives
    /// how long that is.
    pub(crate) fn failed(&mut self, now: Instant, name: &str) -> Option<Duration> {
        let complete = self.fresh.remove(name)?;
        let entry = self.given.get(name)?.clone();
        let changed = complete.checked_sub(self.patience.incomplete).unwrap_or(now);
        let again = Waiting { entry: Some(entry), changed, due: complete };
        // A newer change that waits already is tried instead.
        self.waiting.entry(name.to_owned()).or_insert(again);
        Some(complete.saturating_duration_since(now))
    }
}

/// Events name files through the folder that is watched, which may be behind a link.
fn is_inside(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory) || directory.canonicalize().is_ok_and(|real| path.starts_with(real))
}
