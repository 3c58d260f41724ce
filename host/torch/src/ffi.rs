//! The C functions of the shim; `shim/nacre_torch.h` says what each does and who owns what.

use std::ffi::{c_char, c_int, c_void};

/// Declares types that are only ever seen behind a pointer.
macro_rules! opaque {
    ($($name:ident),+) => {$(
        #[repr(C)]
        pub(crate) struct $name {
            private: [u8; 0],
        }
    )+};
}

opaque!(NacreError, NacreModule, NacreSession, NacreResult, NacreStorage);

pub(crate) const OTHER: i32 = 0;
pub(crate) const TENSOR: i32 = 1;
pub(crate) const STRINGS: i32 = 2;
pub(crate) const TENSOR_DICT: i32 = 3;
pub(crate) const TENSOR_LIST: i32 = 4;

#[repr(C)]
pub(crate) struct NacreArgument {
    pub name: *const c_char,
    pub type_name: *const c_char,
    pub kind: i32,
    pub has_default: bool,
    pub overwritten: bool,
}

#[repr(C)]
pub(crate) struct NacreValue {
    pub kind: i32,
    pub data_type: i32,
    pub data: *const u8,
    pub size: usize,
    pub shape: *const i64,
    pub rank: usize,
    pub owner: *mut c_void,
    pub copy: bool,
    pub key: *const c_char,
}

#[repr(C)]
pub(crate) struct NacreRun {
    pub container: i32,
    pub inference_mode: bool,
    pub optimized_execution: bool,
    pub release: extern "C" fn(*mut c_void),
}

#[repr(C)]
pub(crate) struct NacreOutput {
    pub kind: i32,
    pub data_type: i32,
    pub data: *const u8,
    pub size: usize,
    pub shape: *const i64,
    pub rank: usize,
    pub count: usize,
    pub key: *const c_char,
    pub type_name: *const c_char,
}

unsafe extern "C" {
    pub(crate) fn nacre_error_text(error: *const NacreError) -> *const c_char;
    pub(crate) fn nacre_error_message(error: *const NacreError) -> *const c_char;
    pub(crate) fn nacre_error_is_out_of_memory(error: *const NacreError) -> bool;
    pub(crate) fn nacre_error_free(error: *mut NacreError);

    pub(crate) fn nacre_library_path() -> *const c_char;
    pub(crate) fn nacre_library_version(version: *mut u32);
    pub(crate) fn nacre_compiled_version(version: *mut u32);
    pub(crate) fn nacre_gpu_count() -> u32;
    pub(crate) fn nacre_set_interop_threads(threads: c_int) -> *mut NacreError;
    pub(crate) fn nacre_pinned_alloc(
        size: usize,
        storage: *mut *mut NacreStorage,
        data: *mut *mut u8,
    ) -> *mut NacreError;
    pub(crate) fn nacre_storage_free(storage: *mut NacreStorage);

    pub(crate) fn nacre_archive_records(path: *const c_char, records: *mut *mut c_char) -> *mut NacreError;
    pub(crate) fn nacre_text_free(text: *mut c_char);

    pub(crate) fn nacre_module_load(
        path: *const c_char,
        gpu: i32,
        optimize: bool,
        module: *mut *mut NacreModule,
        warning: *mut *mut c_char,
    ) -> *mut NacreError;
    pub(crate) fn nacre_module_arguments(
        module: *const NacreModule,
        count: *mut usize,
    ) -> *const NacreArgument;
    pub(crate) fn nacre_module_outputs(
        module: *const NacreModule,
        count: *mut usize,
        known: *mut bool,
    ) -> *const NacreArgument;
    pub(crate) fn nacre_module_result_type(module: *const NacreModule) -> *const c_char;
    pub(crate) fn nacre_module_is_stateless(module: *const NacreModule) -> bool;
    pub(crate) fn nacre_module_free(module: *mut NacreModule);

    pub(crate) fn nacre_session_new(
        module: *const NacreModule,
        share: bool,
        session: *mut *mut NacreSession,
    ) -> *mut NacreError;
    pub(crate) fn nacre_session_free(session: *mut NacreSession);
    pub(crate) fn nacre_session_run(
        session: *mut NacreSession,
        run: *const NacreRun,
        values: *const NacreValue,
        count: usize,
        result: *mut *mut NacreResult,
    ) -> *mut NacreError;

    pub(crate) fn nacre_result_outputs(result: *const NacreResult, count: *mut usize) -> *const NacreOutput;
    pub(crate) fn nacre_result_take(result: *mut NacreResult, index: usize) -> *mut NacreStorage;
    pub(crate) fn nacre_result_times(result: *const NacreResult, input_ms: *mut f64, output_ms: *mut f64);
    pub(crate) fn nacre_result_free(result: *mut NacreResult);
}
