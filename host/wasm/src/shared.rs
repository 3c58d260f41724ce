//! What all plugins of a process share: the engine, and the slots of its pool.

use std::sync::Arc;

use nacre_domain::{Deadline, Error, Result};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout_at,
};
use wasmtime::Engine;

use crate::{
    cache::{ImageCache, Origin},
    compile::Compiler,
    failure::PluginName,
    ticker::Ticker,
};

/// The epoch ticks as long as a plugin holds this.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) compiler: Compiler,
    pub(crate) slots: Slots,
    pub(crate) idle: Arc<Semaphore>,
    /// `None` if compiled images are not to be kept, or cannot be.
    pub(crate) images: Option<Images>,
    pub(crate) _ticker: Ticker,
}

/// Where compiled images are kept.
pub(crate) struct Images {
    pub(crate) cache: ImageCache,
    pub(crate) origin: Origin,
}

/// How many calls can follow one inside another: a plugin that calls a plugin that calls none is at level 1.
const LEVELS: usize = 8;

/// Room for instances that wait for another request, over all plugins.
pub(crate) fn idle_instances(max_instances: u32) -> u32 {
    max_instances.div_ceil(4)
}

/// Room for instances, less than the pool has: a call waits here rather than fail there.
///
/// A plugin that waits for another keeps its slot. So that such plugins never wait for each other's slots, each level of
/// calls has its own: those of level 0 end by themselves, those of level 1 wait for level 0 at most, and so on.
pub(crate) struct Slots {
    levels: Vec<Semaphore>,
}

impl Slots {
    pub(crate) fn new(max_instances: u32) -> Slots {
        let levels = (0..=LEVELS).map(|level| Semaphore::new(of_level(level, max_instances) as usize));
        Slots { levels: levels.collect() }
    }

    /// Slots of all levels together.
    pub(crate) fn total(max_instances: u32) -> u32 {
        (0..=LEVELS).map(|level| of_level(level, max_instances)).fold(0, u32::saturating_add)
    }

    /// Waits for room at a level.
    ///
    /// # Errors
    /// The deadline passed.
    pub(crate) async fn acquire(
        &self,
        level: usize,
        deadline: Deadline,
        name: &PluginName,
    ) -> Result<SemaphorePermit<'_>> {
        let Some(slots) = self.levels.get(level) else {
            return Err(Error::internal(format!(
                "{name} is called {level} levels deep, at most {LEVELS} work"
            )));
        };
        let slot = slots.acquire();
        let slot = match deadline.moment() {
            None => slot.await,
            Some(moment) => timeout_at(moment.into(), slot).await.map_err(|_| {
                Error::deadline_exceeded(format!(
                    "the request's deadline passed while it waited for a free instance of {name}"
                ))
            })?,
        };
        slot.map_err(|_| Error::unavailable("the server is shutting down"))
    }
}

fn of_level(level: usize, max_instances: u32) -> u32 {
    if level == 0 { max_instances } else { max_instances.div_ceil(4) }
}
