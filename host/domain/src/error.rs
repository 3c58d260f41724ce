use std::{error::Error as StdError, fmt, sync::Arc};

/// Result with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault an error is and what may be done about it; `api` maps each code to an HTTP status and a gRPC code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The request, or the file, is wrong; the same again will fail again.
    InvalidArgument,
    /// No such model, version, input or file.
    NotFound,
    /// Not served now: loading, unloading, overloaded or shutting down. Trying again later may work.
    Unavailable,
    /// A legal wish that this server does not fulfil.
    Unsupported,
    /// The deadline passed before the answer was there.
    DeadlineExceeded,
    /// The client gave up.
    Cancelled,
    /// A message or result above a configured limit.
    ResourceExhausted,
    /// The model, the plugin or the server failed.
    Internal,
}

/// An error as it reaches the client: what kind, and a sentence that names what was wrong, where, what was expected
/// and what was got.
///
/// Cheap to clone: one failed batch answers every request in it.
#[derive(Clone, Debug)]
pub struct Error {
    code: ErrorCode,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of the given code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), source: None }
    }

    /// [`ErrorCode::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// [`ErrorCode::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::NotFound, message)
    }

    /// [`ErrorCode::Unavailable`].
    pub fn unavailable(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::Unavailable, message)
    }

    /// [`ErrorCode::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::Unsupported, message)
    }

    /// [`ErrorCode::DeadlineExceeded`].
    pub fn deadline_exceeded(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::DeadlineExceeded, message)
    }

    /// [`ErrorCode::ResourceExhausted`].
    pub fn resource_exhausted(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::ResourceExhausted, message)
    }

    /// [`ErrorCode::Internal`].
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::Internal, message)
    }

    /// Keeps the error that caused this one, for the log.
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Error {
        self.source = Some(Arc::new(source));
        self
    }

    /// Says where it happened: `context: message`.
    pub fn context(mut self, context: impl fmt::Display) -> Error {
        self.message = format!("{context}: {}", self.message);
        self
    }

    /// The kind of error.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn StdError + 'static))
    }
}
