//! KServe v2 over HTTP. Each handler decodes, calls and encodes.

mod body;
mod failure;
mod health;
mod infer;
mod metadata;
mod model_path;
mod repository;

use std::sync::Arc;

use axum::{
    Router,
    routing::{MethodRouter, get, post},
};
use http::{Method, Uri};
use nacre_engine::Engine;

use crate::ApiOptions;
use failure::Failure;

/// What the handlers share.
#[derive(Clone)]
struct Api {
    engine: Arc<Engine>,
    options: Arc<ApiOptions>,
}

/// The routes of the HTTP protocol.
pub fn http_router(engine: Arc<Engine>, options: ApiOptions) -> Router {
    let routes = Router::new()
        .route("/v2", get(metadata::server))
        .route("/v2/health/live", get(health::live))
        .route("/v2/health/ready", get(health::ready))
        .route("/v2/models/stats", get(metadata::all_statistics))
        .route("/v2/repository/index", post(repository::index))
        .route("/v2/repository/models/{model}/load", post(repository::load));
    let routes = of_model(routes, "", get(metadata::model));
    let routes = of_model(routes, "/ready", get(health::model_ready));
    let routes = of_model(routes, "/config", get(metadata::config));
    let routes = of_model(routes, "/stats", get(metadata::statistics));
    let routes = of_model(routes, "/infer", post(infer::infer));
    with_fallbacks(routes.with_state(Api { engine, options: Arc::new(options) }))
}

/// A route of a model, with a version in the path and without.
fn of_model(routes: Router<Api>, suffix: &str, handler: MethodRouter<Api>) -> Router<Api> {
    routes
        .route(&format!("/v2/models/{{model}}{suffix}"), handler.clone())
        .route(&format!("/v2/models/{{model}}/versions/{{version}}{suffix}"), handler)
}

/// Adds the protocol's JSON errors for unknown paths and wrong methods.
pub fn with_fallbacks(routes: Router) -> Router {
    routes
        .fallback(async |method: Method, uri: Uri| Failure::unknown_path(&method, &uri))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| Failure::wrong_method(&method, &uri))
}
