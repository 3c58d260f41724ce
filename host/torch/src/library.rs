//! libtorch as a whole: found and made ready once in a process.

use std::{
    ffi::CStr,
    fmt,
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

use nacre_domain::{Error, Result};

use crate::{ffi, native_error::NativeError};

/// Which libtorch this is and what it found, for the start-up log; its `Display` is one line.
#[derive(Clone, Debug)]
pub struct TorchDescription {
    /// The library's file.
    pub library: PathBuf,
    /// Version, such as `2.11.0`.
    pub version: String,
    /// GPUs that it can use.
    pub gpus: u32,
    /// Threads of an operator where nothing else is said: the cores of this machine.
    pub threads: usize,
    /// Why GPU support was not looked for, if it was not.
    pub gpu_problem: Option<String>,
}

impl fmt::Display for TorchDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "libtorch {} from {}, ", self.version, self.library.display())?;
        match self.gpus {
            0 => f.write_str("no GPU")?,
            1 => f.write_str("1 GPU")?,
            gpus => write!(f, "{gpus} GPUs")?,
        }
        write!(f, ", {} CPU threads", self.threads)?;
        match &self.gpu_problem {
            Some(problem) => write!(f, " (GPU support not loaded: {problem})"),
            None => Ok(()),
        }
    }
}

/// Makes libtorch ready, once; later calls give the same answer.
///
/// # Errors
/// Unsupported if the libtorch that was found is not of the version this was compiled for.
pub(crate) fn start() -> Result<TorchDescription> {
    static STARTED: OnceLock<Result<TorchDescription>> = OnceLock::new();
    STARTED.get_or_init(start_once).clone()
}

fn start_once() -> Result<TorchDescription> {
    // Before anything asks for a device: libtorch remembers the answer. The library of that name is, in a torch with
    // GPU support, the one that brings it along; in the lean set-up it brings nothing.
    let gpu_problem = load_device_support().err();
    let (mut found, mut compiled) = ([0_u32; 3], [0_u32; 3]);
    // SAFETY: both functions write three numbers.
    unsafe {
        ffi::nacre_library_version(found.as_mut_ptr());
        ffi::nacre_compiled_version(compiled.as_mut_ptr());
    }
    let text = |[major, minor, patch]: [u32; 3]| format!("{major}.{minor}.{patch}");
    let library = library_path();
    if found.get(..2) != compiled.get(..2) {
        return Err(Error::unsupported(format!(
            "libtorch {} in {} is not the version that this program was built for, {}: install torch {}, or build \
             again with that one",
            text(found),
            library.display(),
            text(compiled),
            text(compiled)
        )));
    }
    // Measuring shapes in the first runs makes them several times slower than what it gains afterwards.
    tch::jit::set_profiling_mode(false);
    Ok(TorchDescription { library, version: text(found), gpus: gpu_count(), threads: cores(), gpu_problem })
}

/// Loads `libtorch.so` for good, with its symbols for all.
fn load_device_support() -> Result<(), String> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: the initialisers of libtorch have no demands; this is before its first use.
    let library = unsafe { Library::open(Some("libtorch.so"), RTLD_NOW | RTLD_GLOBAL) };
    match library {
        Ok(library) => {
            std::mem::forget(library);
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn library_path() -> PathBuf {
    // SAFETY: the text lives as long as the process.
    let path = unsafe {
        let path = ffi::nacre_library_path();
        (!path.is_null()).then(|| CStr::from_ptr(path))
    };
    let path = PathBuf::from(path.unwrap_or(c"libtorch_cpu.so").to_string_lossy().into_owned());
    path.canonicalize().unwrap_or(path)
}

/// GPUs that libtorch can use.
pub(crate) fn gpu_count() -> u32 {
    // SAFETY: no demands.
    unsafe { ffi::nacre_gpu_count() }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Sets the threads for work between operators, which all models share: the first that asks decides.
///
/// # Errors
/// A sentence if that is not what will be used.
pub(crate) fn set_interop_threads(threads: usize) -> Result<(), String> {
    static DECIDED: Mutex<Option<usize>> = Mutex::new(None);
    let mut decided = DECIDED.lock().unwrap_or_else(PoisonError::into_inner);
    match *decided {
        Some(earlier) if earlier == threads => Ok(()),
        Some(earlier) => {
            Err(format!("another model has set it to {earlier} before, and all models share it"))
        }
        None => {
            let count = i32::try_from(threads).unwrap_or(i32::MAX);
            // SAFETY: no demands; it says itself if it is too late.
            NativeError::check(unsafe { ffi::nacre_set_interop_threads(count) }).map_err(|e| e.summary())?;
            *decided = Some(threads);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_it_found_and_again() {
        let first = start().unwrap();
        assert!(first.version.starts_with("2."), "{first}");
        assert!(first.library.is_file(), "{first}");
        assert!(first.gpu_problem.is_none(), "{first}");
        assert_eq!(first.to_string(), start().unwrap().to_string());
    }

    #[test]
    fn the_first_model_decides_on_the_threads_between_operators() {
        start().unwrap();
        set_interop_threads(2).unwrap();
        set_interop_threads(2).unwrap();
        let error = set_interop_threads(3).unwrap_err();
        assert!(error.contains("set it to 2"), "{error}");
    }
}
