//! Idle instances that are kept for other requests, for plugins that ask for it.
//!
//! By default an instance sees one request. A plugin whose memory cannot be snapshotted, and whose `configure` is slow,
//! may be better off with instances that live on: parameter `NACRE_REUSE` says how many are kept. The price is that what
//! one request leaves in memory is there in the next, whoever sent it, and that memory only grows. An instance is dropped
//! after an error of any kind, after a deadline, and when a call is cancelled. Idle instances have room of their own in
//! the pool, so that they keep nobody from running; where it is used up, an instance is dropped as if nobody had asked.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nacre_domain::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::Store;

use crate::{bindings, state::HostState};

/// Parameter of config.pbtxt: most idle instances that are kept for other requests; unset keeps none.
pub const REUSE_PARAMETER: &str = "NACRE_REUSE";

/// An instance that has been configured and can be asked.
pub(crate) struct Instance {
    pub(crate) store: Store<HostState>,
    pub(crate) plugin: bindings::Plugin,
    /// Room in the pool while it is idle; kept once it has it, until it is dropped.
    room: Option<OwnedSemaphorePermit>,
}

impl Instance {
    pub(crate) fn new(store: Store<HostState>, plugin: bindings::Plugin) -> Instance {
        Instance { store, plugin, room: None }
    }
}

/// The idle instances of one plugin.
pub(crate) struct Idle {
    most: usize,
    /// Room for the idle instances of all plugins.
    room: Arc<Semaphore>,
    instances: Mutex<Vec<Instance>>,
}

impl Idle {
    pub(crate) fn new(most: usize, room: &Arc<Semaphore>) -> Idle {
        Idle { most, room: Arc::clone(room), instances: Mutex::default() }
    }

    /// How many are kept at most.
    ///
    /// # Errors
    /// Invalid argument: the parameter is no number, or above `most`.
    pub(crate) fn limit(parameters: &BTreeMap<String, String>, most: u32) -> Result<usize> {
        let Some(text) = parameters.get(REUSE_PARAMETER) else { return Ok(0) };
        let limit = text.trim().parse::<u32>().ok().filter(|n| (1..=most).contains(n));
        limit.map(|n| n as usize).ok_or_else(|| {
            Error::invalid_argument(format!(
                "parameter {REUSE_PARAMETER}: expected a whole number from 1 to {most} (what this server allows), got \
                 '{text}'; leave it out for a fresh instance in every request"
            ))
        })
    }

    /// The instance that was used last: its memory is the likeliest to be in the processor's caches.
    pub(crate) fn take(&self) -> Option<Instance> {
        if self.most == 0 { None } else { self.instances().pop() }
    }

    /// Keeps an instance, or drops it if there is no room.
    pub(crate) fn put(&self, mut instance: Instance) {
        if self.most == 0 {
            return;
        }
        if instance.room.is_none() {
            instance.room = Arc::clone(&self.room).try_acquire_owned().ok();
        }
        let mut instances = self.instances();
        if instance.room.is_some() && instances.len() < self.most {
            instances.push(instance);
        } else {
            // Dropping takes a while.
            drop(instances);
        }
    }

    fn instances(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
