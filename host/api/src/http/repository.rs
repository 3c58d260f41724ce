use axum::{Json, body::Body, extract::State, http::HeaderMap};
use nacre_domain::{Error, Result};
use nacre_proto::inference::repository_index_response::ModelIndex;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Api, Failure, body::read_body};
use crate::documents;

/// The body of an index request; it may be empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct IndexRequest {
    /// Only what is ready.
    ready: bool,
}

/// `POST /v2/repository/index`.
pub async fn index(State(api): State<Api>, headers: HeaderMap, body: Body) -> Result<Json<Value>, Failure> {
    let body = read_body(&headers, body, api.options.max_http_body).await?;
    let request = if body.is_empty() { IndexRequest::default() } else { parse(&body)? };
    let index = documents::repository_index(&api.engine, request.ready);
    Ok(Json(index.models.into_iter().map(entry).collect()))
}

fn parse(body: &[u8]) -> Result<IndexRequest> {
    serde_json::from_slice(body)
        .map_err(|e| Error::invalid_argument(format!("the index request is not what was expected: {e}")))
}

/// As Triton, without what is not known.
fn entry(model: ModelIndex) -> Value {
    let members =
        [("name", model.name), ("version", model.version), ("state", model.state), ("reason", model.reason)];
    let known = members.into_iter().filter(|(_, value)| !value.is_empty());
    Value::Object(known.map(|(name, value)| (name.to_owned(), Value::String(value))).collect::<Map<_, _>>())
}
