//! The one error table: what each [`ErrorCode`] is in HTTP and in gRPC.

use std::borrow::Cow;

use http::StatusCode;
use nacre_domain::{Error, ErrorCode};
use tonic::{Code, Status};

/// The HTTP status and the gRPC code of an error code, side by side.
///
/// They are Triton's where Triton has the code. Its HTTP side knows no code for the rest and answers 400; here a
/// passed deadline is 504, a cancelled request 499 (nginx's "client closed request"; nobody is left to read it) and a
/// message above a limit 413.
pub const fn statuses(code: ErrorCode) -> (StatusCode, Code) {
    match code {
        ErrorCode::InvalidArgument => (StatusCode::BAD_REQUEST, Code::InvalidArgument),
        ErrorCode::NotFound => (StatusCode::NOT_FOUND, Code::NotFound),
        ErrorCode::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
        ErrorCode::Unsupported => (StatusCode::NOT_IMPLEMENTED, Code::Unimplemented),
        ErrorCode::DeadlineExceeded => (StatusCode::GATEWAY_TIMEOUT, Code::DeadlineExceeded),
        ErrorCode::Cancelled => (client_closed_request(), Code::Cancelled),
        ErrorCode::ResourceExhausted => (StatusCode::PAYLOAD_TOO_LARGE, Code::ResourceExhausted),
        ErrorCode::Internal => (StatusCode::INTERNAL_SERVER_ERROR, Code::Internal),
    }
}

/// 499, which has no name in the registry.
const fn client_closed_request() -> StatusCode {
    match StatusCode::from_u16(499) {
        Ok(status) => status,
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

/// The error as a gRPC status, logged.
pub fn grpc_status(error: &Error) -> Status {
    log(error);
    Status::new(statuses(error.code()).1, header_sized(error.message()))
}

/// The message, cut off where it is too long for gRPC: it travels percent-encoded (up to three bytes for one) in a
/// trailer, and clients refuse an answer with more than 8 KiB of those, and with it the status.
fn header_sized(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2048;
    match message.split_at(message.floor_char_boundary(LONGEST)) {
        (whole, "") => whole.into(),
        (start, _) => format!("{start}…").into(),
    }
}

/// Writes a failed request to the log: the server's own failures as errors, with their cause; what the client did
/// wrong only where debugging is on.
pub fn log(error: &Error) {
    if error.code() == ErrorCode::Internal {
        let cause = std::error::Error::source(error).map(tracing::field::display);
        tracing::error!(%error, cause, "request failed");
    } else {
        tracing::debug!(%error, code = ?error.code(), "request refused");
    }
}
