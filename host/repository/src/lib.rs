//! Model repositories on disk: which models and versions there are and where their files lie. Files only: nothing
//! here parses a configuration or loads a model.

mod scan;
mod versions;

pub use scan::{ModelEntry, check_repositories, scan};
pub use versions::{ChosenVersions, choose_versions};
