//! Counts its calls of `process` and of `configure`: 1 and 1 in an instance that no other request has seen.
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use nacre_guests::{answer, guest};

static PROCESSED: AtomicU8 = AtomicU8::new(0);
static CONFIGURED: AtomicU8 = AtomicU8::new(0);

guest!(
    |_| {
        PROCESSED.fetch_add(1, Relaxed);
        Ok(answer(vec![PROCESSED.load(Relaxed), CONFIGURED.load(Relaxed)]))
    },
    |_| {
        CONFIGURED.fetch_add(1, Relaxed);
        Ok(())
    }
);
