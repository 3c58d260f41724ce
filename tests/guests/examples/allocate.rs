//! Allocates for ever.
use nacre_guests::guest;

guest!(|_| {
    let mut kept = Vec::new();
    loop {
        kept.push(std::hint::black_box(vec![1_u8; 1 << 20]));
    }
});
