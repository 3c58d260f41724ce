//! Runs plugins: WebAssembly components of the world `nacre:plugin/plugin`.

mod backend;
mod options;

pub use backend::WasmBackend;
pub use options::WasmOptions;
