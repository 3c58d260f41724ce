//! Runs TorchScript models on libtorch; the only crate that knows libtorch.

use nacre_backend::{Backend, LoadedModel, ModelSource};
use nacre_domain::{Error, Result};

/// What the operator decides about this backend.
#[derive(Clone, Debug, Default)]
pub struct TorchOptions {
    /// Serve a model that asks for a GPU on the CPU, with a warning, where there is no GPU.
    pub gpu_fallback_cpu: bool,
}

/// The backend `pytorch`.
pub struct TorchBackend {
    description: TorchDescription,
}

/// Which libtorch this is and what it found, for the start-up log; its `Display` is one line.
#[derive(Clone, Debug)]
pub struct TorchDescription {
    /// The library file.
    pub library: std::path::PathBuf,
    /// Version, such as `2.11.0`.
    pub version: String,
    /// GPUs that it can use.
    pub gpus: u32,
    /// Threads that operators of all models share.
    pub threads: usize,
}

impl std::fmt::Display for TorchDescription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "libtorch {} ({}), {} GPUs, {} CPU threads",
            self.version,
            self.library.display(),
            self.gpus,
            self.threads
        )
    }
}

impl TorchBackend {
    /// Finds libtorch. To be called before anything else touches it; calling it again is harmless.
    ///
    /// # Errors
    /// Unsupported if the libtorch found is not of the version that this was built for.
    pub fn new(_options: TorchOptions) -> Result<TorchBackend> {
        Err(Error::internal("not built yet"))
    }

    /// What was found.
    pub fn description(&self) -> &TorchDescription {
        &self.description
    }
}

impl Backend for TorchBackend {
    fn names(&self) -> &'static [&'static str] {
        &["pytorch", "pytorch_libtorch"]
    }

    fn default_filename(&self) -> Option<&'static str> {
        Some("model.pt")
    }

    fn load(&self, _source: &ModelSource) -> Result<LoadedModel> {
        Err(Error::internal("not built yet"))
    }
}
