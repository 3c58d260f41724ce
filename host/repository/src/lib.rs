//! Model repositories on disk: which models and versions there are and where their files lie. Files only: nothing
//! here parses a configuration or loads a model.

mod files;
mod scan;
mod versions;
mod watch;

pub use files::{Contents, Files, Stamp};
pub use scan::{ModelEntry, Scan, check_repositories, scan};
pub use versions::{ChosenVersions, choose_versions};
pub use watch::{Change, Followed, Watch};
