//! Projects of plugins: their folder, its manifest, and how a new one is made.
//!
//! A project's folder is a model's folder of a repository: `config.pbtxt` and `1/plugin.wasm` are what a server reads,
//! beside them lie the sources, `nacre.toml`, the cases in `tests/`, and `.nacre/`, the SDK that goes with this binary.

pub(crate) mod embedded;
mod language;
mod manifest;
mod new;

pub use language::Language;
pub use manifest::{MANIFEST, Project};
pub use new::{NewOptions, NewReport, new};
