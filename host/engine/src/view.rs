use std::{collections::BTreeMap, fmt, sync::Arc};

use nacre_config::ModelConfig;
use nacre_domain::ModelKey;

/// A ready version of a model, as the protocol's metadata and configuration calls see it.
#[derive(Clone, Debug)]
pub struct ModelView {
    /// Name and version.
    pub key: ModelKey,
    /// Versions of the model that are ready, ascending.
    pub versions: Vec<u64>,
    /// Its configuration, completed with what the model itself says.
    pub config: Arc<ModelConfig>,
    /// Labels by output name, for outputs with a `label_filename`; the first label is that of class 0.
    pub labels: BTreeMap<String, Arc<[String]>>,
}

/// One line of the repository index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Name of the model.
    pub name: String,
    /// Its version; `None` where the model as a whole has a problem.
    pub version: Option<u64>,
    /// State of that version.
    pub state: ModelState,
    /// Why it is unavailable, else empty.
    pub reason: String,
}

/// State of a version of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// Serves requests.
    Ready,
    /// Failed to load, or was unloaded.
    Unavailable,
    /// Is being loaded.
    Loading,
    /// Finishes its requests and goes.
    Unloading,
}

impl ModelState {
    /// Name in the repository index: `READY`.
    pub const fn name(self) -> &'static str {
        match self {
            ModelState::Ready => "READY",
            ModelState::Unavailable => "UNAVAILABLE",
            ModelState::Loading => "LOADING",
            ModelState::Unloading => "UNLOADING",
        }
    }
}

impl fmt::Display for ModelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
