use std::{
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

use super::entry::EXTENSION;

const SECRET: &str = "key";
const TEMPORARY: &str = "tmp";
/// A temporary file of this age belongs to a server that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);
/// Entries written between two looks at what the folder holds; another server may write to it as well.
const WRITES_BETWEEN_SCANS: u32 = 64;

/// `nacre/plugins` in the user's folder for caches: `$XDG_CACHE_HOME`, or `~/.cache`. `None` without a home.
pub fn default_cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("nacre/plugins"))
}

/// Makes the folder, or checks that nobody else may write to it.
pub(super) fn prepare(folder: &Path) -> Result<(), String> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| e.to_string())?;
    let metadata = fs::metadata(folder).map_err(|e| e.to_string())?;
    // SAFETY: a system call without arguments that cannot fail.
    let user = unsafe { libc::geteuid() };
    if metadata.uid() != user {
        return Err(format!("it belongs to user {}, expected {user}, who runs this server", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        let mode = metadata.mode() & 0o777;
        return Err(format!("others may write to it (mode {mode:o}): expected mode 700, set it with chmod"));
    }
    Ok(())
}

/// The key by which entries are recognised; made once for the folder, whole or not at all.
pub(super) fn secret(folder: &Path) -> Result<[u8; 32], String> {
    let path = folder.join(SECRET);
    let shown = |e: io::Error| format!("{}: {e}", path.display());
    for _ in 0..2 {
        match read_secret(&path) {
            Ok(Some(secret)) => return Ok(secret),
            // Cut off by a power failure: entries made with it are lost.
            Ok(None) => fs::remove_file(&path).map_err(shown)?,
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(shown(e)),
        }
        let mut new = [0; 32];
        File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut new)).map_err(shown)?;
        let temporary = write_temporary(folder, &[&new]).map_err(shown)?;
        // Unlike renaming, a link does not replace the key of a server that was faster.
        let linked = fs::hard_link(&temporary, &path);
        let _ = fs::remove_file(&temporary);
        match linked {
            Ok(()) => return Ok(new),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(shown(e)),
        }
    }
    Err(format!("{}: cannot be made", path.display()))
}

fn read_secret(path: &Path) -> io::Result<Option<[u8; 32]>> {
    let file = File::open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(io::Error::other(
            "others may read it: expected mode 600; remove it, and a new one is made",
        ));
    }
    let mut bytes = Vec::new();
    file.take(33).read_to_end(&mut bytes)?;
    Ok(bytes.try_into().ok())
}

/// A new file for the server's user alone, with these bytes.
pub(super) fn write_temporary(folder: &Path, parts: &[&[u8]]) -> io::Result<PathBuf> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    // Servers in several containers may have one process id.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let (process, count) = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    let path = folder.join(format!("{process}-{now}-{count}.{TEMPORARY}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    if let Err(e) = written {
        let _ = fs::remove_file(&path);
        return Err(e);
    }
    Ok(path)
}

/// What the folder holds, as far as is known.
#[derive(Default)]
pub(super) struct Usage {
    bytes: u64,
    writes_until_scan: u32,
}

impl Usage {
    /// Removes the least recently used entries until there is room for one of `size` bytes.
    pub(super) fn make_room(&mut self, folder: &Path, size: u64, most: u64) {
        let full = self.bytes.saturating_add(size) > most;
        if full || self.writes_until_scan == 0 {
            self.scan(folder, most.saturating_sub(size));
            self.writes_until_scan = WRITES_BETWEEN_SCANS;
        }
        self.writes_until_scan -= 1;
        self.bytes = self.bytes.saturating_add(size);
    }

    fn scan(&mut self, folder: &Path, most: u64) {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, Ok(metadata)) = (file.path(), file.metadata()) else { continue };
            let used = metadata.modified().unwrap_or(now);
            let abandoned = now.duration_since(used).is_ok_and(|age| age > ABANDONED_AFTER);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(EXTENSION) => entries.push((used, metadata.len(), path)),
                Some(TEMPORARY) if abandoned => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
        self.bytes = entries.iter().map(|(_, size, _)| size).sum();
        entries.sort();
        for (_, size, path) in entries {
            if self.bytes <= most {
                break;
            }
            // Where it is in use, it stays mapped. Another server may have removed it already.
            let _ = fs::remove_file(path);
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}
