use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// Counts what is under way, so that a shutdown can wait for its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    count: AtomicUsize,
    idle: Notify,
}

/// Counts as one while it lives.
#[derive(Debug)]
pub(crate) struct InFlightGuard(Arc<Shared>);

impl InFlight {
    pub(crate) fn enter(&self) -> InFlightGuard {
        self.shared.count.fetch_add(1, Ordering::SeqCst);
        InFlightGuard(self.shared.clone())
    }

    /// Waits for the moment in which nothing is under way.
    pub(crate) async fn wait_idle(&self) {
        loop {
            // The wish to be told comes before the look, or the last one could leave in between unseen.
            let idle = self.shared.idle.notified();
            tokio::pin!(idle);
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
        requests.wait_idle().await;
        let (first, second) = (requests.enter(), requests.enter());
        let mut waiting = Box::pin(requests.wait_idle());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(second);
        waiting.await;
    }
}
