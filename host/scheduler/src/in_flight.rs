use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// Counts work that is under way, so that one can wait for there to be none.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    count: AtomicUsize,
    idle: Notify,
}

/// One piece of work, from being accepted until nothing runs for it any more, whether or not somebody still waits for
/// its result.
#[derive(Debug)]
pub struct InFlightGuard(Arc<Shared>);

impl InFlight {
    /// Counts one more until the guard is dropped.
    ///
    /// Sequentially consistent: who enters and then finds that something is still open is seen by whoever closes it and
    /// then waits.
    pub fn enter(&self) -> InFlightGuard {
        self.shared.count.fetch_add(1, Ordering::SeqCst);
        InFlightGuard(Arc::clone(&self.shared))
    }

    /// Waits until nothing is in flight.
    pub async fn idle(&self) {
        loop {
            // Registered before the count is read: a guard dropped in between wakes it.
            let mut idle = std::pin::pin!(self.shared.idle.notified());
            idle.as_mut().enable();
            if self.shared.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn waits_for_the_last_one() {
        let requests = InFlight::default();
        requests.idle().await;
        let (first, second) = (requests.enter(), requests.enter());
        let mut waiting = Box::pin(requests.idle());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(second);
        waiting.await;
    }
}
