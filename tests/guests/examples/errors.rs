//! Answers with the error that IN names.
use nacre_guests::{ErrorCode, error, guest, input};

guest!(|request| {
    let code = match input(request).as_slice() {
        b"invalid-argument" => ErrorCode::InvalidArgument,
        b"not-found" => ErrorCode::NotFound,
        b"unsupported" => ErrorCode::Unsupported,
        b"resource-exhausted" => ErrorCode::ResourceExhausted,
        b"unavailable" => ErrorCode::Unavailable,
        b"deadline-exceeded" => ErrorCode::DeadlineExceeded,
        _ => ErrorCode::Internal,
    };
    Err(error(code, "as asked for"))
});
