use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// The threads that plugins run on: a runtime apart from the one that serves the network, so that a plugin that
/// computes never delays the answer to a health check.
///
/// Made once per process. Dropping it neither waits nor joins, so it may be dropped anywhere, the reactor included;
/// what still runs then is interrupted where it next yields.
#[derive(Debug)]
pub struct PluginThreads {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl PluginThreads {
    /// Starts the threads (at least one).
    ///
    /// # Errors
    /// The operating system gives no more threads.
    pub fn new(threads: usize) -> io::Result<PluginThreads> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("plugin")
            .enable_time()
            .build()?;
        Ok(PluginThreads { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Spawns tasks on these threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for PluginThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
