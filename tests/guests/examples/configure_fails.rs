//! Cannot be configured.
use nacre_guests::{Error, answer, guest};

guest!(|_| Ok(answer(vec![])), |_| Err(Error::InvalidArgument("parameter 'k' must be a number".into())));
