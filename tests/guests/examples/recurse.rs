//! Calls itself for ever.
#![allow(clippy::only_used_in_recursion, reason = "recursion is what it is for")]
use nacre_guests::{answer, guest};

#[inline(never)]
#[allow(unconditional_recursion)]
fn deeper(n: u64) -> u64 {
    std::hint::black_box(deeper(n + 1)) + 1
}

guest!(|_| Ok(answer(deeper(0).to_le_bytes().to_vec())));
