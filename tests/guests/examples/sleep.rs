//! Waits for an hour.
#![allow(clippy::disallowed_methods, reason = "waiting is what it is for")]
use std::{thread::sleep, time::Duration};

use nacre_guests::{answer, guest};

guest!(|_| {
    sleep(Duration::from_secs(3600));
    Ok(answer(vec![]))
});
