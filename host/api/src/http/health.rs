use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde_json::json;

use super::{Api, Failure, model_path::ModelPath};

/// `GET /v2/health/live`.
pub async fn live(State(api): State<Api>) -> Response {
    answer("live", api.engine.is_live())
}

/// `GET /v2/health/ready`.
pub async fn ready(State(api): State<Api>) -> Response {
    answer("ready", api.engine.is_ready())
}

/// `GET /v2/models/{model}[/versions/{version}]/ready`: a model that does not exist is not ready, too.
pub async fn model_ready(State(api): State<Api>, path: ModelPath) -> Result<Response, Failure> {
    if api.engine.model_is_ready(&path.name, path.version) {
        return Ok(answer("ready", true));
    }
    let reason = match api.engine.model(&path.name, path.version) {
        Ok(_) => format!("model '{}' is not ready", path.name),
        Err(error) => error.message().to_owned(),
    };
    Err(Failure::not_ready(reason))
}

/// Triton's status, 200 or 400. Triton's body is empty; this one is what KServe's client wants to read.
fn answer(what: &str, yes: bool) -> Response {
    let status = if yes { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    (status, Json(json!({ what: yes }))).into_response()
}
