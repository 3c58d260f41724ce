use nacre_backend::{Backend, LoadedModel, ModelSource};
use nacre_domain::{Error, Result};

use crate::WasmOptions;

/// The backend `wasm`.
pub struct WasmBackend {}

impl WasmBackend {
    /// Starts the one engine that all plugins of this process share.
    ///
    /// # Errors
    /// The host has no memory left, or its processor is not supported.
    pub fn new(_options: WasmOptions) -> Result<WasmBackend> {
        Ok(WasmBackend {})
    }

    /// One line for the start-up log: what was chosen and why.
    pub fn description(&self) -> String {
        String::new()
    }
}

impl Backend for WasmBackend {
    fn names(&self) -> &'static [&'static str] {
        &["wasm"]
    }

    fn default_filename(&self) -> Option<&'static str> {
        Some("plugin.wasm")
    }

    fn load(&self, source: &ModelSource) -> Result<LoadedModel> {
        Err(Error::internal(format!("model '{}': not yet", source.key.name)))
    }
}
