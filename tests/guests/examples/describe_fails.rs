//! Cannot describe itself.
use nacre_guests::{ErrorCode, answer, error, guest};

guest!(|_| Ok(answer(vec![])), |_| Ok(()), |_| Err(error(ErrorCode::Internal, "no idea what I am")));
