use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// Counts the work that a model has not finished, so that one can wait for there to be none.
#[derive(Clone, Default)]
pub(crate) struct InFlight {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    count: AtomicUsize,
    idle: Notify,
}

/// One piece of work, from being accepted until nothing runs for it any more, whether or not somebody still waits for
/// its result.
pub(crate) struct InFlightGuard {
    shared: Arc<Shared>,
}

impl InFlight {
    pub(crate) fn enter(&self) -> InFlightGuard {
        self.shared.count.fetch_add(1, Ordering::Relaxed);
        InFlightGuard { shared: Arc::clone(&self.shared) }
    }

    /// Waits until nothing is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            // Registered before the count is read: a guard dropped in between wakes it.
            let mut idle = std::pin::pin!(self.shared.idle.notified());
            idle.as_mut().enable();
            if self.shared.count.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Clone for InFlightGuard {
    fn clone(&self) -> InFlightGuard {
        self.shared.count.fetch_add(1, Ordering::Relaxed);
        InFlightGuard { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.shared.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.idle.notify_waiters();
        }
    }
}
