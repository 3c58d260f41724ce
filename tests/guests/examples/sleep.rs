//! Waits for an hour.
use std::{thread::sleep, time::Duration};

use nacre_guests::{answer, guest};

guest!(|_| {
    sleep(Duration::from_secs(3600));
    Ok(answer(vec![]))
});
