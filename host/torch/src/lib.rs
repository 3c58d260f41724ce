//! Runs TorchScript models on libtorch; the only crate that knows libtorch.
//!
//! What needs C++ (loading, the schema, inference mode, running, devices) is in the shim beside it, in `shim/`; `tch`
//! does the rest. Tensor bytes are not copied on the CPU: libtorch reads those of the request, and an output is libtorch's
//! own memory. The price: a model that overwrites its input gets a copy, found by analysing its graph at load.

mod binding;
mod buffers;
mod completion;
mod data_type;
mod ffi;
mod file_problem;
mod instance;
mod library;
mod model;
mod module;
mod native_error;
mod placement;
mod session;
mod settings;
mod shapes;

use nacre_backend::{Backend, LoadedModel, ModelSource};
use nacre_domain::Result;

pub use library::TorchDescription;

/// What the operator decides about this backend.
#[derive(Clone, Debug, Default)]
pub struct TorchOptions {
    /// Serve a model that asks for a GPU on the CPU, with a warning, where there is no such GPU.
    pub gpu_fallback_cpu: bool,
}

/// The backend `pytorch`: TorchScript models.
pub struct TorchBackend {
    options: TorchOptions,
    description: TorchDescription,
}

impl TorchBackend {
    /// Makes libtorch ready. To be called before anything else in the process touches it, because it remembers which
    /// devices it found first; again is harmless.
    ///
    /// # Errors
    /// Unsupported if the libtorch that was found is not of the version that this was built for.
    pub fn new(options: TorchOptions) -> Result<TorchBackend> {
        Ok(TorchBackend { options, description: library::start()? })
    }

    /// What was found, for the start-up log.
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

    fn load(&self, source: &ModelSource) -> Result<LoadedModel> {
        model::TorchModel::load(source, self.options.gpu_fallback_cpu)
    }
}
