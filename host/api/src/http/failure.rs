use axum::response::{IntoResponse, Response};
use http::{
    HeaderValue, Method, StatusCode, Uri,
    header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER},
};
use nacre_domain::{Error, ErrorCode};

use crate::status;

/// An error as an HTTP response: its status, and `{"error": "..."}`.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    message: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        status::log(&error);
        Failure { status: status::statuses(error.code()).0, message: error.message().to_owned() }
    }
}

impl Failure {
    /// There is nothing at that path.
    pub fn unknown_path(method: &Method, uri: &Uri) -> Failure {
        let message = format!("there is no {method} {}", uri.path());
        Failure { status: StatusCode::NOT_FOUND, message }
    }

    /// There is something at that path, but not for that method.
    pub fn wrong_method(method: &Method, uri: &Uri) -> Failure {
        let message = format!("{} does not take {method}; the header 'Allow' says what it takes", uri.path());
        Failure { status: StatusCode::METHOD_NOT_ALLOWED, message }
    }

    /// A model that is asked whether it is ready and is not: 400, as in Triton.
    pub fn not_ready(message: String) -> Failure {
        Failure { status: StatusCode::BAD_REQUEST, message }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.message }).to_string();
        let mut response = (self.status, [(CONTENT_TYPE, "application/json")], body).into_response();
        if self.status == status::statuses(ErrorCode::Unavailable).0 {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == status::statuses(ErrorCode::Unsupported).0 {
            // What Content-Encoding is supported is the one thing that a client may negotiate (RFC 9110, 12.5.3).
            response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        response
    }
}
