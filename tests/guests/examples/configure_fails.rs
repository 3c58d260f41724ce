//! Cannot be configured.
use nacre_guests::{ErrorCode, answer, error, guest};

guest!(
    |_| Ok(answer(vec![])),
    |_| Err(error(ErrorCode::InvalidArgument, "parameter 'k' must be a number"))
);
