//! Follows the repositories: what changes in them goes live.

mod settle;

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{
    FutureExt,
    stream::{FuturesUnordered, StreamExt},
};
use nacre_repository::{Change, Followed, Scan, Watch};
use tokio::sync::{Notify, mpsc};

use self::settle::{Patience, Settling};
use crate::lifecycle::Lifecycle;

/// Least time between two scans: events come in crowds.
const BETWEEN_SCANS: Duration = Duration::from_millis(20);

/// Events that may wait. When more come, everything is looked at instead.
const EVENTS: usize = 4096;

/// How the repositories are followed.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// Ask the system for file events; where there are none, poll.
    pub events: bool,
    /// How often to look where there are no events.
    pub poll: Duration,
    /// A folder that has not changed for so long is complete, if no event has said so before.
    pub quiet: Duration,
    /// Longest that a file which is being written is waited for after the last change, and longest that a model which does
    /// not load is taken to be incomplete.
    pub incomplete: Duration,
}

impl Default for FollowOptions {
    fn default() -> FollowOptions {
        FollowOptions {
            events: true,
            poll: Duration::from_secs(15),
            quiet: Duration::from_millis(300),
            incomplete: Duration::from_secs(10),
        }
    }
}

/// Where events come from.
struct Events {
    watch: Option<Watch>,
    changes: mpsc::Receiver<Change>,
    /// Some did not fit.
    lost: Arc<AtomicBool>,
    /// Why the repositories are polled as well; said once.
    problem: Option<String>,
}

impl Events {
    fn start(options: &FollowOptions) -> Events {
        let (sender, changes) = mpsc::channel(EVENTS);
        let lost = Arc::new(AtomicBool::new(false));
        let mut events = Events { watch: None, changes, lost: lost.clone(), problem: None };
        if options.events {
            let notice = move |change| {
                if sender.try_send(change).is_err() {
                    lost.store(true, Ordering::SeqCst);
                }
            };
            match Watch::start(notice) {
                Ok(watch) => events.watch = Some(watch),
                Err(error) => events.poll_because(error.to_string(), options),
            }
        }
        events
    }

    fn polls(&self) -> bool {
        self.watch.is_none() || self.problem.is_some()
    }

    fn poll_because(&mut self, problem: String, options: &FollowOptions) {
        if self.problem.as_ref() != Some(&problem) {
            let seconds = options.poll.as_secs_f64();
            tracing::warn!(reason = problem, seconds, "looking for changes of the repository every so often");
        }
        self.problem = Some(problem);
    }

    /// Follows the folders of a scan. Gives whether there are new ones, in which something may have happened unseen.
    async fn follow(&mut self, scan: &Scan, options: &FollowOptions) -> bool {
        let Some(mut watch) = self.watch.take() else { return false };
        let folders = scan.folders.clone();
        let followed = tokio::task::spawn_blocking(move || {
            let followed = watch.follow(&folders);
            (watch, followed)
        });
        let Ok((watch, Followed { new, problem })) = followed.await else { return false };
        self.watch = Some(watch);
        match problem {
            Some(problem) => self.poll_because(problem, options),
            None => self.problem = None,
        }
        new
    }

    /// The next change; never, without events.
    async fn next(&mut self) -> Change {
        match self.changes.recv().await {
            Some(_) if self.lost.swap(false, Ordering::SeqCst) => Change::Lost,
            Some(change) => change,
            None => std::future::pending().await,
        }
    }
}

/// Follows the repositories until it is dropped. `rescan` asks for a look at everything.
pub(crate) async fn follow(lifecycle: &Lifecycle, options: &FollowOptions, rescan: &Notify) {
    let mut events = Events::start(options);
    let patience = Patience { quiet: options.quiet, incomplete: options.incomplete };
    let mut settling = Settling::new(patience, lifecycle.entries().await);
    let mut applying = FuturesUnordered::new();
    let mut problem = None;
    loop {
        match lifecycle.scan().await {
            Ok(scan) => {
                if problem.take().is_some() {
                    tracing::info!("the model repository can be read again");
                }
                if events.follow(&scan, options).await {
                    continue;
                }
                settling.observe(Instant::now(), &scan);
            }
            Err(error) => {
                let text = error.to_string();
                if problem.as_ref() != Some(&text) {
                    tracing::error!(%error, "cannot look for changes; what is served stays");
                }
                problem = Some(text);
            }
        }
        let changes = settling.take(Instant::now());
        if !changes.is_empty() {
            applying.push(lifecycle.apply(changes));
        }
        let scanned = tokio::time::Instant::now();
        let due = settling.next().map_or(scanned + options.poll, tokio::time::Instant::from_std);
        let mut next_look = pin!(tokio::time::sleep_until(match events.polls() || problem.is_some() {
            true => due.min(scanned + options.poll),
            false if settling.next().is_some() => due,
            false => scanned + Duration::from_secs(3600),
        }));
        loop {
            tokio::select! {
                change = events.next() => {
                    settling.notice(change);
                    while let Some(change) = events.next().now_or_never() {
                        settling.notice(change);
                    }
                    tokio::time::sleep_until(scanned + BETWEEN_SCANS).await;
                    while let Some(change) = events.next().now_or_never() {
                        settling.notice(change);
                    }
                }
                () = &mut next_look => {}
                () = rescan.notified() => {}
                Some(failed) = applying.next() => {
                    for (model, reason) in failed {
                        if let Some(wait) = settling.failed(Instant::now(), &model) {
                            let seconds = wait.as_secs_f64();
                            tracing::info!(model, reason, seconds, "does not load yet, waiting for more of its files");
                        }
                    }
                    if settling.next().is_none() {
                        continue;
                    }
                }
            }
            break;
        }
    }
}
