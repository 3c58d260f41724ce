//! Sees that a project's sources have changed.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::{failure::Failure, project::Project};

/// How long sources have to be left alone before they are built: editors write in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// Changes of a project's sources.
pub(crate) struct Changes<'a> {
    watcher: RecommendedWatcher,
    events: Receiver<notify::Result<notify::Event>>,
    project: &'a Project,
    root: PathBuf,
    with_cases: bool,
    watched: BTreeSet<PathBuf>,
}

impl<'a> Changes<'a> {
    /// From now on; with the cases' folder or without.
    ///
    /// # Errors
    /// System: nothing can be watched.
    pub(crate) fn watch(project: &'a Project, with_cases: bool) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel();
        let watcher = notify::recommended_watcher(sender)
            .map_err(|error| Failure::system(format!("cannot watch for changes: {error}")))?;
        // Events have absolute paths.
        let root = fs::canonicalize(&project.folder)
            .map_err(|error| Failure::usage(format!("cannot find {}: {error}", project.folder.display())))?;
        let mut changes = Self { watcher, events, project, root, with_cases, watched: BTreeSet::new() };
        changes.watch_folder(changes.root.clone(), RecursiveMode::NonRecursive)?;
        changes.watch_folders()?;
        Ok(changes)
    }

    /// Folders of sources, but not those that building fills, which may be huge.
    fn watch_folders(&mut self) -> Result<(), Failure> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten().map(|entry| entry.path());
        let folders: Vec<_> = entries.filter(|path| path.is_dir() && self.is_watched(path)).collect();
        folders.into_iter().try_for_each(|folder| self.watch_folder(folder, RecursiveMode::Recursive))
    }

    fn watch_folder(&mut self, folder: PathBuf, mode: RecursiveMode) -> Result<(), Failure> {
        if self.watched.insert(folder.clone()) {
            self.watcher.watch(&folder, mode).map_err(|error| {
                Failure::system(format!("cannot watch {}: {error}", folder.display()))
                    .fix("on Linux, fs.inotify.max_user_watches may be too low")
            })?;
        }
        Ok(())
    }

    fn is_watched(&self, path: &Path) -> bool {
        let Ok(relative) = path.strip_prefix(&self.root) else { return false };
        let hidden = relative.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
        !hidden && (self.project.is_source(relative) || (self.with_cases && relative.starts_with("tests")))
    }

    /// Waits for a change, and then until nothing changes for a moment.
    ///
    /// # Errors
    /// System: the watch has ended.
    pub(crate) fn wait(&mut self) -> Result<(), Failure> {
        let gone =
            |error: mpsc::RecvError| Failure::system(format!("the watch for changes has ended: {error}"));
        loop {
            let event = self.events.recv().map_err(gone)?;
            if self.concerns(&event) {
                break;
            }
        }
        while self.events.recv_timeout(QUIET).is_ok() {}
        self.watch_folders()
    }

    fn concerns(&self, event: &notify::Result<notify::Event>) -> bool {
        match event {
            // An overflow, say: something may have changed.
            Err(_) => true,
            Ok(event) => {
                !matches!(event.kind, EventKind::Access(_))
                    && event.paths.iter().any(|path| self.is_watched(path))
            }
        }
    }
}
