//! Which of the waiting requests make up the next batch: a pure function of what waits, the moment and the settings.

use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

use nacre_config::ModelConfig;

/// Settings of batch forming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Most rows of a batch; ignored for a request that alone has more.
    pub(crate) max_rows: usize,
    /// Sizes that are formed as soon as they can be, ascending.
    pub(crate) preferred_rows: Vec<usize>,
    /// How long a request may wait for others.
    pub(crate) max_delay: Duration,
}

/// A waiting request, as far as batch forming looks at it. Only requests of equal kinds share a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<K> {
    pub(crate) kind: K,
    pub(crate) rows: usize,
    pub(crate) since: Instant,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Run these, by their places in the queue, ascending.
    Run(Vec<usize>),
    /// Nothing is worth running before that moment, unless more comes.
    WaitUntil(Instant),
    /// Nothing waits.
    Idle,
}

impl Settings {
    /// `None` where each request is a batch of its own: without `dynamic_batching`, or without a batch dimension.
    pub(crate) fn of(config: &ModelConfig) -> Option<Settings> {
        let batching = config.dynamic_batching.as_ref().filter(|_| config.is_batched())?;
        let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let mut preferred_rows: Vec<_> = batching.preferred_batch_sizes.iter().copied().map(size).collect();
        preferred_rows.sort_unstable();
        Some(Settings {
            max_rows: size(config.max_batch_size),
            preferred_rows,
            max_delay: batching.max_queue_delay,
        })
    }
}

/// Decides what to run next. `queue` is in the order of arrival.
///
/// Requests of one kind are taken in their order and none is passed over for a smaller one behind it. A kind is ready
/// when its waiting requests reach a preferred size (the largest reached is run), or cannot grow (the maximum is
/// reached, or the next request would exceed it), or its oldest has waited for the delay. Of the kinds that are ready
/// the one with the oldest request goes first, so a kind that waits for company holds up no other.
pub(crate) fn form<K: Copy + Eq + Hash>(
    queue: impl Iterator<Item = Waiting<K>> + Clone,
    now: Instant,
    settings: &Settings,
) -> Decision {
    let Some(first) = queue.clone().next() else { return Decision::Idle };
    // The oldest request's kind alone decides in nearly every case, and needs only as much of the queue as one batch.
    let mut oldest = Group::new(first.since);
    for (place, waiting) in queue.clone().enumerate().filter(|(_, waiting)| waiting.kind == first.kind) {
        oldest.push(place, waiting.rows, settings);
        if oldest.is_full {
            break;
        }
    }
    if let Some(batch) = oldest.ready(now, settings) {
        return Decision::Run(batch);
    }
    let moment = first.since.checked_add(settings.max_delay);

    let mut places = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (place, waiting) in queue.enumerate().filter(|(_, waiting)| waiting.kind != first.kind) {
        let at = *places.entry(waiting.kind).or_insert_with(|| {
            groups.push(Group::new(waiting.since));
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.push(place, waiting.rows, settings);
        }
    }
    match groups.into_iter().find_map(|group| group.ready(now, settings)) {
        Some(batch) => Decision::Run(batch),
        // The oldest request's delay ends before any other's. (None only for a delay of centuries.)
        None => Decision::WaitUntil(moment.unwrap_or(now + Duration::from_secs(3600))),
    }
}

/// The requests of one kind that fit into one batch.
struct Group {
    since: Instant,
    places: Vec<usize>,
    rows: usize,
    /// How many of the places make up the largest preferred size.
    preferred: Option<usize>,
    /// No request more can be added.
    is_full: bool,
}

impl Group {
    fn new(since: Instant) -> Group {
        Group { since, places: Vec::new(), rows: 0, preferred: None, is_full: false }
    }

    fn push(&mut self, place: usize, rows: usize, settings: &Settings) {
        if self.is_full {
            return;
        }
        let sum = self.rows.saturating_add(rows);
        if sum > settings.max_rows && !self.places.is_empty() {
            self.is_full = true;
            return;
        }
        self.places.push(place);
        self.rows = sum;
        self.is_full = sum >= settings.max_rows;
        if settings.preferred_rows.binary_search(&sum).is_ok() {
            self.preferred = Some(self.places.len());
        }
    }

    fn ready(mut self, now: Instant, settings: &Settings) -> Option<Vec<usize>> {
        if let Some(preferred) = self.preferred {
            self.places.truncate(preferred);
            return Some(self.places);
        }
        let overdue = now.saturating_duration_since(self.since) >= settings.max_delay;
        (self.is_full || overdue).then_some(self.places)
    }
}

#[cfg(test)]
mod tests;
