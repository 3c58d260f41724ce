//! Answers with the error that IN names.
use nacre_guests::{Error, guest, input};

guest!(|request| {
    let why = "as asked for".to_owned();
    Err(match input(request).as_slice() {
        b"invalid-argument" => Error::InvalidArgument(why),
        b"not-found" => Error::NotFound(why),
        b"unavailable" => Error::Unavailable(why),
        _ => Error::Internal(why),
    })
});
