//! Ends in an `unreachable` instruction.
use nacre_guests::guest;

#[inline(never)]
fn ends_here() -> ! {
    core::arch::wasm32::unreachable()
}

guest!(|_| ends_here());
