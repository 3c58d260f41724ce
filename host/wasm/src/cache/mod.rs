//! Compiled images on disk, so that a server starts without compiling, configuring or snapshotting anything again.
//!
//! An image is machine code that runs unchecked, so the folder belongs to the server's user alone, and an entry is used
//! only if it carries a keyed digest made with the folder's key. Its name is the digest of all that went into it: the
//! component, what the plugin was configured with, the compiler's settings, the processor's features, the version of this
//! server. It also names the files that the plugin read in `configure`, and is used only while they are as they were.
//! What else `configure` saw (the time, random numbers) is as old as the entry.
//!
//! Servers may share the folder: an entry appears whole, by renaming, and is never changed afterwards. A server that was
//! killed leaves a temporary file at worst. An entry that is damaged or of somebody else is compiled again, with a
//! warning. Nothing is flushed to the disk: what a power failure cuts off is such a damaged entry.

mod entry;
mod folder;
mod key;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use wasmtime::{Engine, component::Component};

pub use self::folder::default_cache_folder;
pub(crate) use self::key::{Key, Origin};
use self::{entry::Header, folder::Usage};
use crate::{
    files::{PluginFiles, SeenFile},
    report::LoadReport,
};

/// The folder of compiled images.
pub(crate) struct ImageCache {
    folder: PathBuf,
    secret: [u8; 32],
    most_bytes: u64,
    usage: Mutex<Usage>,
}

impl ImageCache {
    /// Opens the folder, which is made if it is missing.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open(folder: &Path, most_bytes: u64) -> Result<ImageCache, String> {
        folder::prepare(folder)?;
        Ok(ImageCache {
            secret: folder::secret(folder)?,
            folder: folder.to_owned(),
            most_bytes,
            usage: Mutex::default(),
        })
    }

    /// The image of that key, if there is one that may be used. A warning says why one may not.
    pub(crate) fn get(
        &self,
        key: &Key,
        engine: &Engine,
        files: &PluginFiles,
    ) -> Option<(Component, LoadReport)> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        match self.usable(key, &mut file, engine, files) {
            Ok(found) => {
                // The least recently used entry goes first.
                let _ = file.set_modified(SystemTime::now());
                found
            }
            Err(problem) => {
                let path = path.display();
                tracing::warn!("the compiled plugin {path} is not used, and made anew: {problem}");
                None
            }
        }
    }

    fn usable(
        &self,
        key: &Key,
        file: &mut File,
        engine: &Engine,
        files: &PluginFiles,
    ) -> Result<Option<(Component, LoadReport)>, String> {
        let header = entry::verify(file, &self.secret)?;
        if header.key != key.name() {
            return Err("it is another entry's content".into());
        }
        if !header.files.iter().all(|seen| files.still(seen)) {
            return Ok(None);
        }
        // SAFETY: only this server's user writes to the folder, and the keyed digest says that an entry's bytes are what
        // a server with the folder's key wrote there, which is what `Component::serialize` gave it.
        let component = unsafe { entry::component(engine, file) }?;
        Ok(Some((component, LoadReport { from_cache: true, ..header.report })))
    }

    /// Keeps an image for the next start. A warning says why it cannot be kept.
    pub(crate) fn put(&self, key: &Key, component: &Component, report: &LoadReport, files: Vec<SeenFile>) {
        let header = Header { key: key.name().to_owned(), files, report: report.clone() };
        if let Err(problem) = self.try_put(key, component, &header) {
            let folder = self.folder.display();
            tracing::warn!("a compiled plugin cannot be kept in {folder}: {problem}");
        }
    }

    fn try_put(&self, key: &Key, component: &Component, header: &Header) -> Result<(), String> {
        let image = component.serialize().map_err(|e| format!("{e:#}"))?;
        let size = entry::size(&image, header)?;
        if size > self.most_bytes {
            return Ok(());
        }
        // One at a time, so that entries written at once do not go beyond the limit together.
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.make_room(&self.folder, size, self.most_bytes);
        entry::write(&self.folder, &self.path(key), &image, header, &self.secret)
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.{}", key.name(), entry::EXTENSION))
    }
}
