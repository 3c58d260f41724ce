use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE},
    response::Response,
};
use nacre_domain::{Error, Result};

use super::{
    Api, Failure,
    body::{Chunks, read_body},
    model_path::ModelPath,
};
use crate::{
    codec::{EncodedResponse, decode_raw_request, decode_request, encode_response},
    infer,
};

/// Length of the JSON at the start of a body that goes on with the data of tensors.
const JSON_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

/// `POST /v2/models/{model}[/versions/{version}]/infer`.
pub async fn infer(
    State(api): State<Api>,
    path: ModelPath,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let json_length = json_length(&headers)?;
    let body = read_body(&headers, body, api.options.max_http_body).await?;
    let decoded = if json_length == Some(0) {
        decode_raw_request(&api.engine.model(&path.name, path.version)?.config, path.version, body)?
    } else {
        let size = json_length.unwrap_or(body.len());
        offload(size, move || decode_request(&path.name, path.version, json_length, &body)).await?
    };
    let (response, plan) = infer::infer(&api.engine, decoded).await?;
    let size = response.outputs.iter().filter(|o| !plan.form(&o.name).binary).map(|o| o.data.len()).sum();
    Ok(into_response(offload(size, move || encode_response(response, &plan)).await?))
}

/// Reads or writes JSON of about so many bytes: on a blocking thread if it takes long enough (some milliseconds a
/// megabyte) to keep the other connections of this network thread waiting.
async fn offload<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    const LONG: usize = 128 << 10;
    if bytes < LONG {
        return work();
    }
    let failed = |e| Error::internal("coding the JSON of a request failed").with_source(e);
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

fn json_length(headers: &HeaderMap) -> Result<Option<usize>> {
    let Some(value) = headers.get(JSON_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    length.map(Some).ok_or_else(|| {
        Error::invalid_argument(format!(
            "Inference-Header-Content-Length is '{}', expected the number of bytes of the JSON",
            String::from_utf8_lossy(value.as_bytes())
        ))
    })
}

fn into_response(encoded: EncodedResponse) -> Response {
    let mut response = Response::new(Body::new(Chunks::new(encoded.chunks)));
    let headers = response.headers_mut();
    let content_type =
        if encoded.json_length.is_some() { "application/octet-stream" } else { "application/json" };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(length) = encoded.json_length {
        headers.insert(JSON_LENGTH, HeaderValue::from(length));
    }
    response
}
