use std::{
    ffi::{CStr, CString, c_void},
    ptr,
    time::Duration,
};

use bytes::Bytes;

use crate::{
    ffi,
    module::{Module, ValueKind, array, text},
    native_error::NativeError,
};

/// A value for one argument of `forward`, or for one entry of the dictionary or list that it takes.
pub(crate) enum Input {
    /// The argument's default.
    Default,
    /// A tensor over the bytes, which fit the shape and are aligned.
    Tensor {
        /// Number of the data type.
        scalar_type: i32,
        shape: Vec<i64>,
        data: Bytes,
        /// The model writes into it.
        overwritten: bool,
        /// Name in a dictionary.
        key: Option<CString>,
    },
    /// The elements of BYTES data as a list.
    Strings(Bytes),
}

/// How the values reach `forward`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// One for each argument.
    Arguments,
    /// All in one dictionary.
    Dict,
    /// All in one list.
    List,
}

/// How a model is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOptions {
    pub container: Container,
    pub inference_mode: bool,
    pub optimized_execution: bool,
}

/// One value that `forward` gave.
pub(crate) struct Output {
    /// [`ValueKind::Tensor`], [`ValueKind::Strings`] or, for what is neither, [`ValueKind::Other`].
    pub kind: ValueKind,
    /// Number of the data type.
    pub scalar_type: i32,
    pub shape: Vec<i64>,
    /// The model's own memory, not a copy.
    pub data: Bytes,
    /// Number of strings.
    pub count: usize,
    /// Name in a dictionary.
    pub key: Option<String>,
    /// Type as libtorch calls it.
    pub type_name: String,
}

/// What a run gave.
pub(crate) struct RunResult {
    pub outputs: Vec<Output>,
    /// Time of the copies to a GPU.
    pub input_time: Duration,
    /// Time of the copies from it.
    pub output_time: Duration,
}

/// What one instance runs; stays on its thread.
pub(crate) struct Session(*mut ffi::NacreSession);

impl Session {
    /// With `share` it runs the module itself, else a copy of its own.
    pub(crate) fn new(module: &Module, share: bool) -> Result<Session, NativeError> {
        let mut session = ptr::null_mut();
        // SAFETY: the module lives through the call, and the session keeps what it needs of it.
        NativeError::check(unsafe { ffi::nacre_session_new(module.as_ptr(), share, &mut session) })?;
        Ok(Session(session))
    }

    /// Runs `forward`.
    pub(crate) fn run(&mut self, inputs: &[Input], options: RunOptions) -> Result<RunResult, NativeError> {
        let values: Vec<ffi::NacreValue> = inputs.iter().map(to_raw).collect();
        let run = ffi::NacreRun {
            container: match options.container {
                Container::Arguments => 0,
                Container::Dict => ffi::TENSOR_DICT,
                Container::List => ffi::TENSOR_LIST,
            },
            inference_mode: options.inference_mode,
            optimized_execution: options.optimized_execution,
            release,
        };
        let mut result = ptr::null_mut();
        // SAFETY: the session is ours alone; shapes, keys and strings live in `inputs` through the call, and the bytes of
        // tensors as long as their owner, which the shim gives back once.
        NativeError::check(unsafe {
            ffi::nacre_session_run(self.0, &run, values.as_ptr(), values.len(), &mut result)
        })?;
        // SAFETY: a result of the shim, freed once, after its last use; each output's memory is taken out of it first.
        unsafe {
            let mut count = 0;
            let first = ffi::nacre_result_outputs(result, &mut count);
            let outputs = array(first, count)
                .iter()
                .enumerate()
                .map(|(index, raw)| from_raw(raw, ffi::nacre_result_take(result, index)))
                .collect();
            let (mut input_ms, mut output_ms) = (0.0, 0.0);
            ffi::nacre_result_times(result, &mut input_ms, &mut output_ms);
            ffi::nacre_result_free(result);
            Ok(RunResult {
                outputs,
                input_time: milliseconds(input_ms),
                output_time: milliseconds(output_ms),
            })
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { ffi::nacre_session_free(self.0) }
    }
}

fn milliseconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time / 1e3).unwrap_or_default()
}

fn to_raw(input: &Input) -> ffi::NacreValue {
    let mut raw = ffi::NacreValue {
        kind: ffi::OTHER,
        data_type: 0,
        data: ptr::null(),
        size: 0,
        shape: ptr::null(),
        rank: 0,
        owner: ptr::null_mut(),
        copy: false,
        key: ptr::null(),
    };
    match input {
        Input::Default => {}
        Input::Tensor { scalar_type, shape, data, overwritten, key } => {
            raw.kind = ffi::TENSOR;
            raw.data_type = *scalar_type;
            raw.data = data.as_ptr();
            raw.size = data.len();
            raw.shape = shape.as_ptr();
            raw.rank = shape.len();
            raw.owner = Box::into_raw(Box::new(data.clone())).cast();
            raw.copy = *overwritten;
            raw.key = key.as_deref().map_or(ptr::null(), CStr::as_ptr);
        }
        Input::Strings(data) => {
            raw.kind = ffi::STRINGS;
            raw.data = data.as_ptr();
            raw.size = data.len();
        }
    }
    raw
}

/// Drops what a tensor referred to.
extern "C" fn release(owner: *mut c_void) {
    if !owner.is_null() {
        // SAFETY: `to_raw` made it, and the shim gives it back once.
        drop(unsafe { Box::from_raw(owner.cast::<Bytes>()) });
    }
}

/// # Safety
/// `raw` is an output of a living result, `storage` the memory that was taken out of it, or null.
unsafe fn from_raw(raw: &ffi::NacreOutput, storage: *mut ffi::NacreStorage) -> Output {
    let storage = Storage { memory: storage, data: raw.data, size: raw.size };
    // SAFETY: the caller's promise.
    let (shape, key, type_name) = unsafe {
        (
            array(raw.shape, raw.rank).to_vec(),
            (!raw.key.is_null()).then(|| text(raw.key)),
            text(raw.type_name),
        )
    };
    Output {
        kind: ValueKind::from_raw(raw.kind),
        scalar_type: raw.data_type,
        shape,
        data: if storage.size == 0 { Bytes::new() } else { Bytes::from_owner(storage) },
        count: raw.count,
        key,
        type_name,
    }
}

/// Memory that libtorch manages.
struct Storage {
    memory: *mut ffi::NacreStorage,
    data: *const u8,
    size: usize,
}

// SAFETY: nobody writes into it any more, and giving it back is allowed from any thread.
unsafe impl Send for Storage {}

impl AsRef<[u8]> for Storage {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the memory holds that many bytes and lives as long as this.
        unsafe { array(self.data, self.size) }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { ffi::nacre_storage_free(self.memory) }
    }
}

/// Puts the parts behind one another in pinned host memory.
///
/// # Errors
/// Without a GPU, or without memory.
pub(crate) fn gather_pinned(parts: &[Bytes]) -> Result<Bytes, NativeError> {
    let size = parts.iter().map(Bytes::len).sum();
    let (mut memory, mut data) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: both places are ours.
    NativeError::check(unsafe { ffi::nacre_pinned_alloc(size, &mut memory, &mut data) })?;
    let storage = Storage { memory, data, size };
    let mut at = data;
    for part in parts {
        // SAFETY: the parts add up to the size of the memory, which is new and so no part's.
        unsafe {
            ptr::copy_nonoverlapping(part.as_ptr(), at, part.len());
            at = at.add(part.len());
        }
    }
    Ok(if size == 0 { Bytes::new() } else { Bytes::from_owner(storage) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_memory_without_a_gpu_is_an_error() {
        if crate::library::start().unwrap().gpus > 0 {
            return;
        }
        let error = gather_pinned(&[Bytes::from_static(b"ab")]).unwrap_err();
        assert!(error.summary().contains("no GPU"), "{}", error.summary());
    }
}
