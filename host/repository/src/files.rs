//! The files of a model's folder: told apart by what the file system says of them, and, where that has changed, by what
//! is in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Folders inside one another that are looked into. A link that leads back up ends here too.
const DEPTH: usize = 8;

/// What the file system says of a file. Equal stamps mean equal content: a write changes the time of the last change even
/// where `cp -p` or a clock that goes backwards hides it from the time of modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn new(metadata: &fs::Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Files by their path inside the model's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<PathBuf, Stamp>);

impl Files {
    /// Finds the files in a folder and those below it, and adds the folders in which their changes show to `folders`. Links
    /// are followed; names that begin with a dot or end with `~` are passed over: version control, the temporary files of
    /// rsync and the backups of editors are no part of a model.
    ///
    /// Blocking.
    ///
    /// # Errors
    /// Where what could not be read, and why.
    pub fn find(directory: &Path, folders: &mut BTreeSet<PathBuf>) -> Result<Files, (PathBuf, io::Error)> {
        let mut files = Files::default();
        files.walk(directory, Path::new(""), DEPTH, folders)?;
        Ok(files)
    }

    fn walk(
        &mut self,
        directory: &Path,
        inside: &Path,
        depth: usize,
        folders: &mut BTreeSet<PathBuf>,
    ) -> Result<(), (PathBuf, io::Error)> {
        let folder = directory.join(inside);
        let at = |error| (folder.clone(), error);
        folders.insert(folder.clone());
        for entry in fs::read_dir(&folder).map_err(at)? {
            let entry = entry.map_err(at)?;
            let name = entry.file_name();
            let bytes = name.as_encoded_bytes();
            if bytes.starts_with(b".") || bytes.ends_with(b"~") {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                folders.extend(folders_on_the_way(&entry.path()));
            }
            let path = inside.join(&name);
            match fs::metadata(entry.path()) {
                Ok(metadata) if metadata.is_dir() => {
                    if depth > 0 {
                        self.walk(directory, &path, depth - 1, folders)?;
                    }
                }
                Ok(metadata) => {
                    self.0.insert(path, Stamp::new(&metadata));
                }
                // Gone since the folder was read, or a link into nowhere: whoever needs the file says so.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err((entry.path(), error)),
            }
        }
        Ok(())
    }

    /// Those that a choice accepts.
    #[must_use]
    pub fn filter(&self, accept: impl Fn(&Path) -> bool) -> Files {
        Files(
            self.0
                .iter()
                .filter(|(path, _)| accept(path))
                .map(|(path, &stamp)| (path.clone(), stamp))
                .collect(),
        )
    }

    /// Reads the files and digests each. Of one whose stamp `known` has, the digest is taken from there.
    ///
    /// Blocking, for as long as it takes to read what is new.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn contents(
        &self,
        directory: &Path,
        known: Option<&Contents>,
    ) -> Result<Contents, (PathBuf, io::Error)> {
        let digest = |(path, stamp): (&PathBuf, &Stamp)| {
            let same = |known: &&Contents| known.files.0.get(path) == Some(stamp);
            let digest = match known.filter(same).and_then(|known| known.digests.get(path)) {
                Some(&digest) => digest,
                None => {
                    let file = directory.join(path);
                    let mut hasher = blake3::Hasher::new();
                    let read =
                        fs::File::open(&file).and_then(|opened| hasher.update_reader(opened).map(drop));
                    read.map_err(|error| (file, error))?;
                    hasher.finalize()
                }
            };
            Ok((path.clone(), digest))
        };
        let digests = self.0.iter().map(digest).collect::<Result<_, _>>()?;
        Ok(Contents { files: self.clone(), digests })
    }
}

/// Files with digests of what was in them.
#[derive(Clone, Debug)]
pub struct Contents {
    files: Files,
    digests: BTreeMap<PathBuf, blake3::Hash>,
}

impl Contents {
    /// The files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Whether the same names hold the same bytes, whatever the stamps say.
    pub fn same(&self, other: &Contents) -> bool {
        self.digests == other.digests
    }
}

/// Folders in which a change of a path shows: the one in which each link on the way to it lies, and the one in which it
/// lies itself; for a folder, that folder.
///
/// Blocking.
pub(crate) fn folders_on_the_way(path: &Path) -> BTreeSet<PathBuf> {
    /// As the kernel does.
    const LINKS: usize = 40;
    let mut folders = BTreeSet::new();
    let mut left: Vec<_> =
        path.components().rev().map(|component| component.as_os_str().to_owned()).collect();
    let mut walked = PathBuf::new();
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            walked.pop();
            continue;
        }
        let next = walked.join(&name);
        match fs::read_link(&next) {
            Ok(target) if links < LINKS => {
                links += 1;
                folders.insert(walked.clone());
                if target.is_absolute() {
                    walked = PathBuf::new();
                }
                left.extend(target.components().rev().map(|component| component.as_os_str().to_owned()));
            }
            _ => walked = next,
        }
    }
    if !walked.is_dir() {
        walked.pop();
    }
    folders.insert(walked);
    folders
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("1")).unwrap();
        fs::write(folder.path().join("1/model.pt"), "weights").unwrap();
        fs::write(folder.path().join("config.pbtxt"), "").unwrap();
        folder
    }

    fn found(folder: &Path) -> Files {
        Files::find(folder, &mut BTreeSet::new()).unwrap()
    }

    #[test]
    fn every_way_to_change_a_file_changes_its_stamp() {
        let folder = folder();
        let path = folder.path().join("1/model.pt");
        let find = || found(folder.path());
        let first = find();
        assert_eq!(first, find());
        // New content of the same length, with the old time of modification.
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "WEIGHTS").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let second = find();
        assert_ne!(first, second);
        // Another file under its name.
        fs::write(folder.path().join("new"), "WEIGHTS").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert_ne!(second, find());
    }

    #[test]
    fn the_same_bytes_are_the_same_content() {
        let folder = folder();
        let path = folder.path().join("1/model.pt");
        let contents =
            |known: Option<&Contents>| found(folder.path()).contents(folder.path(), known).unwrap();
        let first = contents(None);
        fs::write(&path, "weights").unwrap();
        let second = contents(Some(&first));
        assert_ne!(first.files(), second.files());
        assert!(first.same(&second));
        fs::write(&path, "others!").unwrap();
        assert!(!first.same(&contents(Some(&second))));
        fs::rename(&path, folder.path().join("1/other.pt")).unwrap();
        assert!(!second.same(&contents(Some(&second))));
    }

    #[test]
    fn hidden_files_and_backups_are_no_part_of_a_model() {
        let folder = folder();
        let first = found(folder.path());
        for name in [".model.pt.Xy12", "config.pbtxt~", ".git"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        symlink("/nowhere/at/all", folder.path().join("dangling")).unwrap();
        symlink(folder.path(), folder.path().join("1/up")).unwrap();
        let inside = |path: &Path| !path.starts_with("1/up");
        assert_eq!(found(folder.path()).filter(inside), first);
    }

    #[test]
    fn each_link_on_the_way_is_a_place_where_a_change_shows() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["releases/5/model", "served", "elsewhere"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink("../releases/5", root.join("elsewhere/current")).unwrap();
        symlink(root.join("elsewhere/current/model"), root.join("served/model")).unwrap();
        let folders = folders_on_the_way(&root.join("served/model"));
        let expected = ["served", "elsewhere", "releases/5/model"].map(|name| root.join(name));
        assert_eq!(folders, BTreeSet::from(expected));
        fs::write(root.join("releases/5/labels.txt"), "").unwrap();
        symlink("../elsewhere/current/labels.txt", root.join("served/labels.txt")).unwrap();
        let expected = ["served", "elsewhere", "releases/5"].map(|name| root.join(name));
        assert_eq!(folders_on_the_way(&root.join("served/labels.txt")), BTreeSet::from(expected));
    }
}
