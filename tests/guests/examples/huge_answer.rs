//! Answers with as many MiB as IN says (as decimal text).
use nacre_guests::{Error, answer, guest, input};

guest!(|request| {
    let size: usize = String::from_utf8_lossy(&input(request))
        .parse()
        .map_err(|_| Error::InvalidArgument("IN: expected a number of MiB".into()))?;
    Ok(answer(vec![0; size << 20]))
});
