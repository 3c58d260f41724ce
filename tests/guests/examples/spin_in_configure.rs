//! Computes for ever before it is asked anything.
use nacre_guests::{answer, guest};

guest!(|_| Ok(answer(vec![])), |_| loop {
    std::hint::black_box(0);
});
