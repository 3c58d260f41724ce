use crate::{Error, ErrorCode};

impl Error {
    /// An error of any code. The text reaches the client: one sentence with what was wrong, expected and got.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The client sent something that cannot be processed; HTTP 400.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }

    /// Something that the request or the settings name is not there; HTTP 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// Something that a client may ask for, but not of this plugin; HTTP 501.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unsupported, message)
    }

    /// More than a limit allows; HTTP 413.
    pub fn resource_exhausted(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ResourceExhausted, message)
    }

    /// It may work later; HTTP 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    /// A fault of the plugin; HTTP 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// The sentence, without the code.
    pub fn message(&self) -> &str {
        &self.message
    }
}
