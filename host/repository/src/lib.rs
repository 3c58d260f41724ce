//! Model repositories on disk: which models and versions there are and where their files lie. Files only: nothing
//! here parses a configuration or loads a model.

mod scan;
mod versions;

pub use scan::{ModelEntry, scan};
pub use versions::choose_versions;
