use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::HeaderMap,
};
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

/// The body of a load request; it may be empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoadRequest {
    /// A configuration or files to use instead of those in the folder.
    parameters: Map<String, Value>,
}

/// `POST /v2/repository/models/{model}/load`: loads the model anew from its folder. As Triton's, it answers when the model
/// is served, with an empty body.
pub async fn load(
    State(api): State<Api>,
    Path(model): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(), Failure> {
    let body = read_body(&headers, body, api.options.max_http_body).await?;
    let request: LoadRequest = if body.is_empty() { LoadRequest::default() } else { parse(&body)? };
    if let Some(name) = request.parameters.keys().next() {
        return Err(Error::unsupported(format!("loading a model with the parameter '{name}'")).into());
    }
    Ok(api.engine.load_model(&model).await?)
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|e| Error::invalid_argument(format!("the repository request is not what was expected: {e}")))
}

/// As Triton, without what is not known.
fn entry(model: ModelIndex) -> Value {
    let members =
        [("name", model.name), ("version", model.version), ("state", model.state), ("reason", model.reason)];
    let known = members.into_iter().filter(|(_, value)| !value.is_empty());
    Value::Object(known.map(|(name, value)| (name.to_owned(), Value::String(value))).collect::<Map<_, _>>())
}
