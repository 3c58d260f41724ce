use std::{io, sync::mpsc, thread, time::Duration};

use wasmtime::Engine;

/// Time between two epochs: how finely plugins share a thread and how late a deadline may be noticed.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// Advances the engine's epoch from a thread of its own, so that plugins are interrupted even when every plugin thread
/// is busy. Dropping it ends the thread.
pub(crate) struct Ticker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> io::Result<Ticker> {
        let (stop, stopped) = mpsc::channel::<()>();
        let engine = engine.clone();
        let thread = thread::Builder::new().name("plugin-epoch".into()).spawn(move || {
            while stopped.recv_timeout(TICK) == Err(mpsc::RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        })?;
        Ok(Ticker { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It waits at most one tick and cannot fail.
            let _ = thread.join();
        }
    }
}
