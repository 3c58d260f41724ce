//! Events of the file system: that something may have changed, never what. Where there are none, it says so.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nacre_domain::{Error, Result};
use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind, RenameMode},
};

/// Something that happened in a folder that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file is being written.
    Writing(PathBuf),
    /// Whoever wrote a file has closed it, or it has got its name, or has lost it.
    Complete(PathBuf),
    /// Anything else: a folder is new, a time or a permission is another.
    Other(PathBuf),
    /// Events were lost: everything may have changed.
    Lost,
}

/// What came of [`Watch::follow`].
#[derive(Debug, Default)]
pub struct Followed {
    /// A folder is followed that was not before: what happened in it until now was not seen, so scan again.
    pub new: bool,
    /// Why some folder cannot be followed, and what can be done: it has to be polled.
    pub problem: Option<String>,
}

/// Follows folders, not what is below them.
pub struct Watch {
    watcher: RecommendedWatcher,
    /// With device and inode: a folder may be replaced by another of its name.
    followed: BTreeMap<PathBuf, (u64, u64)>,
}

impl Watch {
    /// Calls `notice` at each change, from a thread of its own.
    ///
    /// # Errors
    /// Unavailable if the system gives no events: too many users of them, or none at all.
    pub fn start(notice: impl Fn(Change) + Send + 'static) -> Result<Watch> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) => changes(&event).into_iter().for_each(&notice),
            Err(error) => {
                tracing::debug!(%error, "the file watcher failed");
                notice(Change::Lost);
            }
        });
        let watcher = watcher.map_err(|error| {
            Error::unavailable(format!(
                "the system gives no file events ({error}); `sysctl fs.inotify.max_user_instances` shows how many may \
                 ask for them"
            ))
        })?;
        Ok(Watch { watcher, followed: BTreeMap::new() })
    }

    /// Follows these folders and no others. Blocking.
    pub fn follow(&mut self, folders: &BTreeSet<PathBuf>) -> Followed {
        let mut result = Followed::default();
        let gone: Vec<_> = self.followed.keys().filter(|path| !folders.contains(*path)).cloned().collect();
        for path in gone {
            self.followed.remove(&path);
            // A folder that is gone is not followed any more; there is nothing to be done about it.
            let _ = self.watcher.unwatch(&path);
        }
        for path in folders {
            // Gone since the scan: the next one will not have it.
            let Ok(metadata) = fs::metadata(path) else { continue };
            let identity = (metadata.dev(), metadata.ino());
            if self.followed.get(path) == Some(&identity) {
                continue;
            }
            match self.watcher.watch(path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.followed.insert(path.clone(), identity);
                    result.new = true;
                }
                Err(error) => result.problem = Some(problem(path, &error)),
            }
        }
        result.problem = result.problem.or_else(|| without_events(folders));
        result
    }
}

fn problem(path: &Path, error: &notify::Error) -> String {
    match error.kind {
        ErrorKind::MaxFilesWatch => format!(
            "{} cannot be watched: the system's limit of watched folders is reached (raise it with `sysctl \
             fs.inotify.max_user_watches=…`)",
            path.display()
        ),
        _ => format!("{} cannot be watched ({error})", path.display()),
    }
}

fn changes(event: &Event) -> Vec<Change> {
    if event.need_rescan() {
        return vec![Change::Lost];
    }
    let change = match event.kind {
        // That somebody reads is no change; the scan itself does.
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Change::Complete,
        EventKind::Access(_) => return Vec::new(),
        EventKind::Modify(ModifyKind::Data(_)) => Change::Writing,
        // One event for each half of a rename, and one more for both.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => return Vec::new(),
        EventKind::Modify(ModifyKind::Name(_)) | EventKind::Remove(_) => Change::Complete,
        _ => Change::Other,
    };
    event.paths.iter().cloned().map(change).collect()
}

/// Names a folder on a file system that gives no events of what other machines, or its own server, write to it.
fn without_events(folders: &BTreeSet<PathBuf>) -> Option<String> {
    let mut devices = BTreeSet::new();
    folders.iter().find_map(|path| {
        let device = fs::metadata(path).ok()?.dev();
        if !devices.insert(device) {
            return None;
        }
        let kind = name_of_remote(i64::from(rustix::fs::statfs(path).ok()?.f_type))?;
        Some(format!("{} is on {kind}, which gives no events of changes by others", path.display()))
    })
}

/// The kernel's numbers of the file systems whose content others write.
fn name_of_remote(number: i64) -> Option<&'static str> {
    Some(match number {
        0x6969 => "NFS",
        0x6573_5546 => "FUSE",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x5346_414F => "AFS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Changes until the expected one is there.
    fn wait_for(receiver: &mpsc::Receiver<Change>, expected: &Change) {
        let patience = std::time::Duration::from_secs(30);
        while receiver.recv_timeout(patience).unwrap() != *expected {}
    }

    #[test]
    fn a_file_that_is_written_is_complete_when_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, receiver) = mpsc::channel();
        let mut watch = Watch::start(move |change| sender.send(change).unwrap()).unwrap();
        let folders = BTreeSet::from([folder.path().to_owned()]);
        assert!(watch.follow(&folders).new);
        assert!(!watch.follow(&folders).new);

        let path = folder.path().join("model.pt");
        let mut file = fs::File::create(&path).unwrap();
        std::io::Write::write_all(&mut file, b"weights").unwrap();
        wait_for(&receiver, &Change::Writing(path.clone()));
        drop(file);
        wait_for(&receiver, &Change::Complete(path.clone()));
        let renamed = folder.path().join("renamed.pt");
        fs::rename(&path, &renamed).unwrap();
        wait_for(&receiver, &Change::Complete(renamed.clone()));
        // Reading is no change: the next thing that is seen is the removal.
        fs::read(&renamed).unwrap();
        fs::read_dir(folder.path()).unwrap().for_each(drop);
        fs::remove_file(&renamed).unwrap();
        assert_eq!(
            receiver.recv_timeout(std::time::Duration::from_secs(30)).unwrap(),
            Change::Complete(renamed)
        );
    }

    #[test]
    fn a_folder_replaced_by_another_of_its_name_is_followed_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("1");
        fs::create_dir(&folder).unwrap();
        let (sender, receiver) = mpsc::channel();
        let mut watch = Watch::start(move |change| sender.send(change).unwrap()).unwrap();
        let folders = BTreeSet::from([folder.clone()]);
        watch.follow(&folders);
        fs::rename(&folder, root.path().join("old")).unwrap();
        fs::create_dir(&folder).unwrap();
        assert!(watch.follow(&folders).new);
        fs::write(folder.join("model.pt"), "").unwrap();
        wait_for(&receiver, &Change::Complete(folder.join("model.pt")));
    }

    #[test]
    fn a_folder_that_cannot_be_followed_is_named() {
        let root = tempfile::tempdir().unwrap();
        let mut watch = Watch::start(|_| ()).unwrap();
        let followed = watch.follow(&BTreeSet::from([root.path().join("gone")]));
        assert!(!followed.new && followed.problem.is_none(), "{followed:?}");
        assert_eq!(name_of_remote(0x6969), Some("NFS"));
        assert_eq!(name_of_remote(0xEF53), None, "ext4 gives events");
    }
}
