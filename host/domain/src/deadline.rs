use std::time::{Duration, Instant};

/// The moment by which a request has to be answered, if there is one. Every step of an ensemble inherits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// No limit.
    pub const NONE: Deadline = Deadline(None);

    /// A deadline at the given moment.
    pub fn at(moment: Instant) -> Deadline {
        Deadline(Some(moment))
    }

    /// A deadline `timeout` from now; a moment beyond what the clock can express is no deadline.
    pub fn after(timeout: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(timeout))
    }

    /// The moment itself.
    pub fn moment(self) -> Option<Instant> {
        self.0
    }

    /// Time left: `None` without a deadline, zero once it has passed.
    pub fn remaining(self) -> Option<Duration> {
        self.0.map(|moment| moment.saturating_duration_since(Instant::now()))
    }

    /// Whether the moment has passed.
    pub fn has_passed(self) -> bool {
        self.0.is_some_and(|moment| moment <= Instant::now())
    }

    /// The earlier of the two.
    pub fn earliest(self, other: Deadline) -> Deadline {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Deadline(Some(a.min(b))),
            (a, b) => Deadline(a.or(b)),
        }
    }
}
