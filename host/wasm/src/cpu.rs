//! The share of a core that the calls of one plugin may use together.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep_until},
};
use tokio_util::sync::PollSemaphore;

/// How far the calls may run ahead of their share: what they use is right over times longer than this.
const BURST: Duration = Duration::from_millis(100);

/// One plugin's share, common to its calls.
///
/// A guest gives way at every tick, so a call runs in slices of a few milliseconds. Each slice is charged with the
/// processor time that it took; when the plugin is ahead of its share, its calls wait in line, first come first served,
/// and each has one slice at a time. Waiting counts towards the deadline.
pub(crate) struct CpuShare {
    percent: u32,
    /// When the time used so far would be used up at the rate of the share.
    used_up: Mutex<Instant>,
    /// Permission to run a slice: one for each core that the share comes to.
    turns: Arc<Semaphore>,
}

impl CpuShare {
    /// `percent` of one core, at least 1.
    pub(crate) fn new(percent: u32) -> CpuShare {
        let cores = usize::try_from(percent.div_ceil(100)).unwrap_or(1).max(1);
        CpuShare {
            percent: percent.max(1),
            used_up: Mutex::new(Instant::now()),
            turns: Arc::new(Semaphore::new(cores)),
        }
    }

    /// The call, held to the share.
    pub(crate) fn hold<F: Future>(&self, call: F) -> Held<'_, F> {
        Held {
            call: Box::pin(call),
            share: self,
            turns: PollSemaphore::new(Arc::clone(&self.turns)),
            turn: None,
            sleep: Box::pin(sleep_until(Instant::now().into())),
        }
    }

    /// From when on there is time again; `None` if there is now.
    fn next_slice(&self, now: Instant) -> Option<Instant> {
        let used_up = *self.used_up.lock().unwrap_or_else(PoisonError::into_inner);
        used_up.checked_sub(BURST).filter(|&moment| moment > now)
    }

    fn charge(&self, began: Instant, used: Duration) {
        let at_the_rate = used.saturating_mul(100) / self.percent;
        let mut used_up = self.used_up.lock().unwrap_or_else(PoisonError::into_inner);
        *used_up = (*used_up).max(began) + at_the_rate;
    }
}

/// A call that is held to its plugin's share of the processor.
pub(crate) struct Held<'a, F> {
    call: Pin<Box<F>>,
    share: &'a CpuShare,
    turns: PollSemaphore,
    turn: Option<OwnedSemaphorePermit>,
    sleep: Pin<Box<Sleep>>,
}

impl<F: Future> Future for Held<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // Kept while waiting for the time to come, so that nobody overtakes.
        if this.turn.is_none() {
            this.turn = ready!(this.turns.poll_acquire(cx));
        }
        while let Some(moment) = this.share.next_slice(Instant::now()) {
            this.sleep.as_mut().reset(moment.into());
            ready!(this.sleep.as_mut().poll(cx));
        }
        let (began, before) = (Instant::now(), thread_time());
        let polled = this.call.as_mut().poll(cx);
        this.share.charge(began, thread_time().saturating_sub(before));
        this.turn = None;
        polled
    }
}

/// Processor time of this thread so far.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to the structure given and to nothing else.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
        return Duration::ZERO;
    }
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_was_used_has_to_come_again_at_the_rate_of_the_share() {
        let share = CpuShare::new(10);
        let start = Instant::now();
        assert_eq!(share.next_slice(start), None);
        // A tenth of the burst is there at once.
        share.charge(start, Duration::from_millis(9));
        assert_eq!(share.next_slice(start), None);
        share.charge(start, Duration::from_millis(11));
        let next = share.next_slice(start).unwrap();
        assert!(next >= start + Duration::from_millis(99), "{:?}", next - start);
        assert_eq!(share.next_slice(start + Duration::from_millis(101)), None);
    }

    #[test]
    fn time_that_was_not_used_is_not_saved_up() {
        let share = CpuShare::new(50);
        let later = Instant::now() + Duration::from_secs(3600);
        share.charge(later, Duration::from_millis(100));
        assert_eq!(share.next_slice(later), Some(later + Duration::from_millis(100)));
    }

    #[tokio::test]
    async fn calls_of_one_plugin_get_equal_parts() {
        let share = CpuShare::new(20);
        let end = Instant::now() + Duration::from_millis(400);
        let call = |_| async {
            let mut slices = 0_u32;
            while Instant::now() < end {
                let slice = thread_time() + Duration::from_millis(2);
                while thread_time() < slice {
                    std::hint::spin_loop();
                }
                slices += 1;
                tokio::task::yield_now().await;
            }
            slices
        };
        let slices = futures::future::join_all((0..4).map(call).map(|call| share.hold(call))).await;
        let (least, most) = (slices.iter().min().unwrap(), slices.iter().max().unwrap());
        assert!(*least > 0 && most - least <= 2, "{slices:?}");
    }
}
