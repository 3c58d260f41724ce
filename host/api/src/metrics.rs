use axum::{Router, routing::get};
use http::header::CONTENT_TYPE;
use nacre_telemetry::MetricsHandle;
use tokio::net::TcpListener;

use crate::{http::with_fallbacks, serve_http};

/// Serves `GET /metrics` in the Prometheus text format until `shutdown` resolves.
pub async fn serve_metrics(
    listener: TcpListener,
    metrics: MetricsHandle,
    shutdown: impl Future<Output = ()>,
) {
    let render = move || async move {
        ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render())
    };
    let router = with_fallbacks(Router::new().route("/metrics", get(render)));
    serve_http(listener, router, shutdown).await;
}
