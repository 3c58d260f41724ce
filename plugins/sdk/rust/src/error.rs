use crate::Error;

impl Error {
    /// The client sent something that cannot be processed; HTTP 400. The text reaches the client: one sentence with
    /// what was wrong, expected and got.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }

    /// Something that the request or the settings name is not there; HTTP 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound(message.into())
    }

    /// It may work later; HTTP 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable(message.into())
    }

    /// A fault of the plugin; HTTP 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    /// The sentence, without the kind.
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidArgument(message)
            | Self::NotFound(message)
            | Self::Unavailable(message)
            | Self::Internal(message) => message,
        }
    }
}
