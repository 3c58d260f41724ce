//! Writes a line of 100 MB to standard output, and a million lines to standard error, then answers.
use std::io::Write;

use nacre_guests::{answer, guest};

guest!(|_| {
    let mut stdout = std::io::stdout().lock();
    let megabyte = vec![b'x'; 1_000_000];
    for _ in 0..100 {
        let _ = stdout.write_all(&megabyte);
    }
    let _ = stdout.write_all(b"\n");
    for _ in 0..1_000_000 {
        eprintln!("the same again");
    }
    Ok(answer(vec![1]))
});
