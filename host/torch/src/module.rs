use std::{
    ffi::{CStr, CString, c_char},
    fmt,
    path::Path,
    ptr,
};

use crate::{ffi, native_error::NativeError};

/// What a value of TorchScript is, as far as tensors can stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// `Tensor`, `Optional[Tensor]`.
    Tensor,
    /// `List[str]`.
    Strings,
    /// `Dict[str, Tensor]`.
    TensorDict,
    /// `List[Tensor]`.
    TensorList,
    /// Anything else.
    Other,
}

impl ValueKind {
    pub(crate) fn from_raw(kind: i32) -> ValueKind {
        match kind {
            ffi::TENSOR => ValueKind::Tensor,
            ffi::STRINGS => ValueKind::Strings,
            ffi::TENSOR_DICT => ValueKind::TensorDict,
            ffi::TENSOR_LIST => ValueKind::TensorList,
            _ => ValueKind::Other,
        }
    }
}

/// An argument of `forward`.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub name: String,
    /// As TorchScript writes it, for messages.
    pub type_name: String,
    pub kind: ValueKind,
    /// It may be left out.
    pub has_default: bool,
    /// The model writes into it.
    pub overwritten: bool,
}

/// What `forward` takes and gives.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    /// Arguments without self.
    pub arguments: Vec<Argument>,
    /// Outputs one by one; `None` if only a run can tell how many there are (lists, dictionaries).
    pub outputs: Option<Vec<ValueKind>>,
    /// Type of what it gives back, as TorchScript writes it.
    pub result_type: String,
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("forward(")?;
        for (i, argument) in self.arguments.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}: {}", argument.name, argument.type_name)?;
        }
        write!(f, ") -> {}", self.result_type)
    }
}

/// A loaded TorchScript module on one device.
pub(crate) struct Module(*mut ffi::NacreModule);

// SAFETY: nothing changes a module once it is loaded, and its reference counts are atomic.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads a file to the GPU of that index, or the CPU. The second value says what of the optimisation failed.
    pub(crate) fn load(
        file: &Path,
        gpu: Option<u32>,
        optimize: bool,
    ) -> Result<(Module, Option<String>), NativeError> {
        let path = c_path(file);
        let gpu = gpu.map_or(-1, |index| i32::try_from(index).unwrap_or(i32::MAX));
        let (mut module, mut warning) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the path lives through the call; both places are ours.
        NativeError::check(unsafe {
            ffi::nacre_module_load(path.as_ptr(), gpu, optimize, &mut module, &mut warning)
        })?;
        Ok((Module(module), take_text(warning)))
    }

    pub(crate) fn schema(&self) -> Schema {
        let (mut inputs, mut outputs, mut known) = (0, 0, false);
        // SAFETY: the module lives, and with it what it describes; the counts are those of the arrays.
        unsafe {
            let first = ffi::nacre_module_arguments(self.0, &mut inputs);
            let arguments = array(first, inputs)
                .iter()
                .map(|argument| Argument {
                    name: text(argument.name),
                    type_name: text(argument.type_name),
                    kind: ValueKind::from_raw(argument.kind),
                    has_default: argument.has_default,
                    overwritten: argument.overwritten,
                })
                .collect();
            let first = ffi::nacre_module_outputs(self.0, &mut outputs, &mut known);
            let outputs =
                array(first, outputs).iter().map(|output| ValueKind::from_raw(output.kind)).collect();
            Schema {
                arguments,
                outputs: known.then_some(outputs),
                result_type: text(ffi::nacre_module_result_type(self.0)),
            }
        }
    }

    /// Whether instances may share it: no run leaves anything behind.
    pub(crate) fn is_stateless(&self) -> bool {
        // SAFETY: the module lives.
        unsafe { ffi::nacre_module_is_stateless(self.0) }
    }

    pub(crate) fn as_ptr(&self) -> *const ffi::NacreModule {
        self.0
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { ffi::nacre_module_free(self.0) }
    }
}

/// Names of the files in an archive that torch wrote.
pub(crate) fn archive_records(file: &Path) -> Result<Vec<String>, NativeError> {
    let path = c_path(file);
    let mut records = ptr::null_mut();
    // SAFETY: the path lives through the call; the place is ours.
    NativeError::check(unsafe { ffi::nacre_archive_records(path.as_ptr(), &mut records) })?;
    Ok(take_text(records).unwrap_or_default().lines().map(str::to_owned).collect())
}

/// A path for C. One with a null byte cannot name a file, so what is before it will not be found either.
fn c_path(file: &Path) -> CString {
    use std::os::unix::ffi::OsStrExt;
    let bytes = file.as_os_str().as_bytes();
    CString::new(bytes.split(|&b| b == 0).next().unwrap_or_default()).unwrap_or_default()
}

/// Takes over a text of the shim; `None` if it is null.
fn take_text(raw: *mut c_char) -> Option<String> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: a text of the shim ends with a null byte and is freed once, here.
    unsafe {
        let owned = text(raw);
        ffi::nacre_text_free(raw);
        Some(owned)
    }
}

/// Copies a text of the shim.
///
/// # Safety
/// It is null or ends with a null byte.
pub(crate) unsafe fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()
}

/// The slice at `first`, which may be null if `count` is 0.
///
/// # Safety
/// There are `count` elements, and they live as long as the caller says.
pub(crate) unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, count) }
}
