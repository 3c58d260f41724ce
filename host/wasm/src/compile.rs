use std::{
    fs::File,
    io::Read,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Arc,
};

use nacre_domain::{Error, Result};
use wasmtime::{Engine, component::Component};

use crate::incremental::{CompiledFunctions, Keeping};

/// Compiles on threads of its own, one for each core, whose priority is low: a load disturbs running requests little.
pub(crate) struct Compiler {
    threads: rayon::ThreadPool,
    functions: Arc<CompiledFunctions>,
}

/// How much less important compilation is than requests, from 0 to 19: when both want all cores, it gets 10 % of them.
const NICENESS: i32 = 10;

impl Compiler {
    /// `functions` is what the engine was told to keep compiled functions in.
    ///
    /// # Errors
    /// Internal: a thread cannot be started.
    pub(crate) fn start(functions: Arc<CompiledFunctions>) -> Result<Compiler> {
        let threads = rayon::ThreadPoolBuilder::new()
            .thread_name(|i| format!("plugin-compile-{i}"))
            .start_handler(|_| lower_priority())
            .build()
            .map_err(|e| Error::internal(format!("cannot start the threads that compile plugins: {e}")))?;
        Ok(Compiler { threads, functions })
    }

    /// Compiled functions are kept for the next compilation while the guard lives.
    pub(crate) fn keep_functions(&self) -> Keeping {
        self.functions.keep()
    }

    /// Runs it on the compiler's threads.
    ///
    /// # Errors
    /// What it panicked with.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        caught(|| self.threads.install(work))
    }

    /// Takes tens of milliseconds for a small component, seconds for one with an interpreter in it.
    ///
    /// # Errors
    /// Invalid argument: it is damaged, or not of this server's WebAssembly; `shown` is what the message calls it.
    pub(crate) fn component(&self, engine: &Engine, bytes: &[u8], shown: &str) -> Result<Component> {
        let compiled = self.run(|| Component::new(engine, bytes)).map_err(|panic| {
            Error::internal(format!("{shown} cannot be compiled: the compiler failed ({panic})"))
        })?;
        compiled.map_err(|e| {
            let cause = e.root_cause().to_string();
            let hint = if ["unexpected end", "out of bounds (bound"].iter().any(|text| cause.contains(text)) {
                "it is cut off; copy it again"
            } else {
                "it is damaged, or uses features of WebAssembly that this server does not have"
            };
            Error::invalid_argument(format!("{shown} cannot be compiled: {hint} ({cause})"))
        })
    }
}

/// Catches a panic: what it says.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned()
    })
}

fn lower_priority() {
    // SAFETY: a system call that touches no memory; 0 is the calling thread. It may fail without harm.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// Reads a component.
///
/// # Errors
/// Not found: the file cannot be read. Invalid argument: it has more than `most` bytes, or is not a component; with what
/// it is instead.
pub(crate) fn read(file: &Path, most: u64) -> Result<Vec<u8>> {
    let shown = file.display();
    let unreadable = |e: std::io::Error| Error::not_found(format!("cannot read {shown}: {e}")).with_source(e);
    let mut opened = File::open(file).map_err(unreadable)?;
    let size = opened.metadata().map_err(unreadable)?.len();
    let mut bytes = Vec::new();
    if size <= most {
        bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
        opened.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    let size = size.max(bytes.len() as u64);
    if size > most {
        return Err(Error::invalid_argument(format!(
            "{shown} has {} MiB, more than the {} MiB that this server allows a component \
             (--plugin-max-component-mb); built without debug information it may be much smaller",
            size.div_ceil(1 << 20),
            most >> 20
        )));
    }
    match not_a_component(&bytes) {
        None => Ok(bytes),
        Some(problem) => {
            Err(Error::invalid_argument(format!("{shown} is not a WebAssembly component: {problem}")))
        }
    }
}

/// Why the bytes cannot be a component, from their first eight.
fn not_a_component(bytes: &[u8]) -> Option<String> {
    match bytes {
        [] => Some("the file is empty".into()),
        [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => None,
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Some(
            "it is a core module; make a component of it with `wasm-tools component new`, or build it for the target \
             wasm32-wasip2"
                .into(),
        ),
        [0, b'a', b's', b'm'] | [0, b'a', b's', b'm', ..] if bytes.len() < 8 => {
            Some("it is cut off after its first bytes; copy it again".into())
        }
        [0, b'a', b's', b'm', version @ ..] => Some(format!(
            "it has the binary version {:02x?}, which is too old or too new",
            version.get(..4).unwrap_or_default()
        )),
        _ if bytes.starts_with(b"version https://git-lfs") => {
            Some("it is a pointer of Git LFS; fetch the file itself with `git lfs pull`".into())
        }
        _ if std::str::from_utf8(bytes.get(..bytes.len().min(256)).unwrap_or_default())
            .is_ok_and(|text| !text.contains('\0')) =>
        {
            Some("it is a text file".into())
        }
        _ => Some("its first bytes are not those of WebAssembly".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_a_file_is_instead() {
        for (bytes, expected) in [
            (b"".as_slice(), "is empty"),
            (b"\0asm\x01\0\0\0", "core module; make a component of it with `wasm-tools component new`"),
            (b"\0asm\x0d", "cut off"),
            (b"\0asm\x0a\0\x01\0", "binary version"),
            (b"(component)", "a text file"),
            (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
            (b"\x7fELF\0\0\0", "not those of WebAssembly"),
        ] {
            let problem = not_a_component(bytes).unwrap();
            assert!(problem.contains(expected), "{problem}");
        }
        assert_eq!(not_a_component(b"\0asm\x0d\0\x01\0"), None);
    }
}
