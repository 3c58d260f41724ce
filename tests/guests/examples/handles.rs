//! Takes handles for ever.
use nacre_guests::guest;

guest!(|_| {
    let mut kept = Vec::new();
    loop {
        kept.push(wasip2::clocks::monotonic_clock::subscribe_duration(1));
    }
});
