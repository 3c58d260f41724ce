use std::path::PathBuf;

/// What the engine is to serve and with how many threads.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Model repositories, at least one.
    pub repositories: Vec<PathBuf>,
    /// Threads that plugins run on; 0 means one for each core.
    pub plugin_threads: usize,
    /// Most models that load at the same time; 0 means one for each core.
    pub load_threads: usize,
    /// Ready only while every version of every model is; else from the moment when each has loaded or failed.
    pub strict_readiness: bool,
}
