use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use nacre_domain::Error;

/// Runs what may panic. What it changed must not be used afterwards.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(run))
}

/// The error that a panic is to the client: `what` panicked, and the panic's message.
pub(crate) fn error(what: &str, panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::internal(format!("{what} panicked: {message}"))
}
