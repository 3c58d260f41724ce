//! What `files.read` may see: the model's folder.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{ErrorKind, Read},
    path::{Component, Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use nacre_domain::{Error, Result};
use serde::{Deserialize, Serialize};

/// The folders of one model version.
#[derive(Debug)]
pub(crate) struct PluginFiles {
    version_directory: PathBuf,
    directory: PathBuf,
    max_bytes: u64,
    seen: Mutex<Seen>,
}

/// What a plugin was answered for a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenFile {
    path: String,
    /// Digest of the content, or the error.
    answer: String,
}

/// What a plugin has read so far.
#[derive(Debug, Default)]
enum Seen {
    #[default]
    NotNoted,
    Noted(BTreeMap<String, String>),
    TooMany,
}

/// Paths that are noted.
const MOST_NOTED: usize = 1000;

impl PluginFiles {
    pub(crate) fn new(directory: PathBuf, version_directory: PathBuf, max_bytes: u64) -> PluginFiles {
        PluginFiles { version_directory, directory, max_bytes, seen: Mutex::default() }
    }

    /// From now on, notes what is read.
    pub(crate) fn note(&self) {
        *self.seen() = Seen::Noted(BTreeMap::new());
    }

    /// What was read since; `None` if that was too much to note. Nothing is noted any more.
    pub(crate) fn noted(&self) -> Option<Vec<SeenFile>> {
        match std::mem::take(&mut *self.seen()) {
            Seen::NotNoted => Some(Vec::new()),
            Seen::Noted(seen) => {
                Some(seen.into_iter().map(|(path, answer)| SeenFile { path, answer }).collect())
            }
            Seen::TooMany => None,
        }
    }

    /// Whether the answer would be the same now.
    pub(crate) fn still(&self, seen: &SeenFile) -> bool {
        answer(&self.look_up(&seen.path)) == seen.answer
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole file. Blocks on the disk.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>> {
        let content = self.look_up(path);
        // The digest is not worth its time after the load.
        let noting = matches!(*self.seen(), Seen::Noted(_));
        if noting {
            let answer = answer(&content);
            self.seen().add(path, answer);
        }
        content
    }

    /// Symbolic links are followed as long as they end inside the version's or the model's folder: Kubernetes mounts
    /// a ConfigMap as links to `..data`, itself a link beside them.
    fn look_up(&self, path: &str) -> Result<Vec<u8>> {
        let relative = Path::new(path);
        let inside =
            relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if path.is_empty() || path.contains('\0') || !inside {
            return Err(Error::invalid_argument(format!(
                "file '{path}': expected a path inside the model's folder, relative and without '..'"
            )));
        }
        for base in [&self.version_directory, &self.directory] {
            match base.join(relative).canonicalize() {
                Ok(file) => return self.read_file(path, &file),
                // A file stands where the path wants a folder: not there either.
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(e) => return Err(Error::internal(format!("file '{path}': {e}"))),
            }
        }
        Err(Error::not_found(format!("file '{path}' is neither in the version's nor in the model's folder")))
    }

    fn read_file(&self, path: &str, file: &Path) -> Result<Vec<u8>> {
        let inside = [&self.version_directory, &self.directory]
            .iter()
            .any(|base| base.canonicalize().is_ok_and(|base| file.starts_with(base)));
        if !inside {
            return Err(Error::invalid_argument(format!(
                "file '{path}' is a link that leads out of the model's folder"
            )));
        }
        let io = |e: std::io::Error| Error::internal(format!("file '{path}': {e}"));
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Err(Error::invalid_argument(format!("'{path}' is not a file")));
        }
        if metadata.len() > self.max_bytes {
            return Err(self.too_large(path, metadata.len()));
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        let mut reader = File::open(file).map_err(io)?.take(self.max_bytes.saturating_add(1));
        let size = reader.read_to_end(&mut content).map_err(io)?;
        if size as u64 > self.max_bytes {
            return Err(self.too_large(path, size as u64));
        }
        Ok(content)
    }

    fn too_large(&self, path: &str, size: u64) -> Error {
        Error::invalid_argument(format!(
            "file '{path}' has {size} bytes, more than the plugin's memory limit of {} (parameter {} raises it)",
            self.max_bytes,
            crate::MEMORY_PARAMETER
        ))
    }
}

impl Seen {
    fn add(&mut self, path: &str, answer: String) {
        let Seen::Noted(noted) = self else { return };
        // A file that changed between two reads fits no later moment.
        let changed = noted.get(path).is_some_and(|before| *before != answer);
        noted.insert(path.to_owned(), answer);
        if changed || noted.len() > MOST_NOTED {
            *self = Seen::TooMany;
        }
    }
}

fn answer(content: &Result<Vec<u8>>) -> String {
    match content {
        Ok(content) => blake3::hash(content).to_hex().to_string(),
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use nacre_domain::ErrorCode;

    use super::*;

    fn folder() -> (tempfile::TempDir, PluginFiles) {
        let root = tempfile::tempdir().unwrap();
        let model = root.path().join("model");
        fs::create_dir_all(model.join("1/deep")).unwrap();
        fs::write(root.path().join("secret"), "secret").unwrap();
        fs::write(model.join("labels.txt"), "model").unwrap();
        let files = PluginFiles::new(model.clone(), model.join("1"), 10);
        (root, files)
    }

    #[test]
    fn the_version_folder_comes_before_the_models() {
        let (root, files) = folder();
        assert_eq!(files.read("labels.txt").unwrap(), b"model");
        fs::write(root.path().join("model/1/labels.txt"), "version").unwrap();
        assert_eq!(files.read("labels.txt").unwrap(), b"version");
        fs::write(root.path().join("model/1/deep/x"), "deep").unwrap();
        assert_eq!(files.read("./deep/x").unwrap(), b"deep");
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let (root, files) = folder();
        symlink(root.path().join("secret"), root.path().join("model/link")).unwrap();
        symlink(root.path(), root.path().join("model/1/up")).unwrap();
        let absolute = root.path().join("secret");
        for path in [
            "../secret",
            "/etc/passwd",
            "deep/../../../secret",
            "",
            "link",
            "up/secret",
            "..",
            "a\0b",
            absolute.to_str().unwrap(),
        ] {
            let error = files.read(path).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{path}: {error:?}");
        }
    }

    #[test]
    fn links_of_a_config_map_work() {
        let (root, files) = folder();
        let model = root.path().join("model");
        fs::create_dir(model.join("..2026_01")).unwrap();
        fs::write(model.join("..2026_01/vocab"), "words").unwrap();
        symlink("..2026_01", model.join("..data")).unwrap();
        symlink("..data/vocab", model.join("vocab")).unwrap();
        assert_eq!(files.read("vocab").unwrap(), b"words");
    }

    #[test]
    fn a_version_folder_that_is_a_link_may_be_read() {
        let (root, _) = folder();
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("x"), "there").unwrap();
        let model = root.path().join("model");
        symlink(&elsewhere, model.join("2")).unwrap();
        assert_eq!(PluginFiles::new(model.clone(), model.join("2"), 10).read("x").unwrap(), b"there");
    }

    #[test]
    fn says_what_is_missing_too_large_or_no_file() {
        let (root, files) = folder();
        assert_eq!(files.read("nothing").unwrap_err().code(), ErrorCode::NotFound);
        assert_eq!(files.read("labels.txt/x").unwrap_err().code(), ErrorCode::NotFound);
        assert_eq!(files.read("deep").unwrap_err().code(), ErrorCode::InvalidArgument);
        fs::write(root.path().join("model/big"), [0; 11]).unwrap();
        let error = files.read("big").unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        let message = error.message();
        assert!(message.contains("11 bytes, more than the plugin's memory limit of 10"), "{message}");
    }
}
