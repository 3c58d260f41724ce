//! Answers with as many MiB as IN says (as decimal text).
use nacre_guests::{ErrorCode, answer, error, guest, input};

guest!(|request| {
    let size: usize = String::from_utf8_lossy(&input(request))
        .parse()
        .map_err(|_| error(ErrorCode::InvalidArgument, "IN: expected a number of MiB"))?;
    // SAFETY: fresh memory of a component is zero; writing to all of it would only take time.
    let data = unsafe { Box::new_uninit_slice(size << 20).assume_init() };
    Ok(answer(Vec::from(data)))
});
