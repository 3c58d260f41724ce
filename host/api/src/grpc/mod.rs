//! KServe v2 over gRPC, with health checking (`grpc.health.v1`) and reflection.

mod contents;
mod deadline;
mod health;
mod message;
mod service;

/// The service's trait, over the messages of `nacre-proto`.
#[allow(missing_docs, clippy::all, reason = "generated")]
mod generated {
    tonic::include_proto!("inference");
}

use std::sync::Arc;

use generated::grpc_inference_service_server::GrpcInferenceServiceServer;
use nacre_engine::Engine;
use tokio::net::TcpListener;
use tonic::service::Routes;
use tonic_health::pb::health_server::HealthServer;
use tonic_reflection::server::Builder as Reflection;

use crate::{ApiOptions, serve::serve_http2};

/// Serves gRPC until `shutdown` resolves; then takes no more connections, finishes the calls that are running and
/// returns.
pub async fn serve_grpc(
    listener: TcpListener,
    engine: Arc<Engine>,
    options: ApiOptions,
    shutdown: impl Future<Output = ()>,
) {
    let limit = options.max_grpc_message;
    let health = HealthServer::new(health::Health::new(Arc::clone(&engine)));
    let inference = GrpcInferenceServiceServer::new(service::InferenceService::new(engine, options))
        .max_decoding_message_size(limit)
        .max_encoding_message_size(limit);
    let mut routes = Routes::builder();
    routes.add_service(inference).add_service(health);
    // The descriptors are a part of this binary; if they were unreadable, only reflection would be lacking.
    match (reflection().build_v1(), reflection().build_v1alpha()) {
        (Ok(v1), Ok(v1alpha)) => {
            routes.add_service(v1).add_service(v1alpha);
        }
        (Err(error), _) | (_, Err(error)) => tracing::error!(%error, "reflection is not served"),
    }
    serve_http2(listener, routes.routes().prepare().into_axum_router(), shutdown).await;
}

fn reflection() -> Reflection<'static> {
    Reflection::configure()
        .register_encoded_file_descriptor_set(nacre_proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
