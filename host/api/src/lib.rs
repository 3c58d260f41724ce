//! The two protocols: KServe v2 over HTTP and over gRPC, with the extensions of Triton that work here, and the metrics.
//!
//! Both go through one codec ([`codec`]) and one error table (`status`); a handler decodes, calls the engine and
//! encodes, and decides nothing. Tensor bytes that a client sends as bytes are never copied after the body has been
//! read, and those of a binary answer are handed to the socket as they came from the model.

pub mod codec;
mod documents;
mod grpc;
mod http;
mod infer;
mod metrics;
mod options;
mod serve;
mod status;

pub use grpc::serve_grpc;
pub use http::http_router;
pub use metrics::serve_metrics;
pub use options::ApiOptions;
pub use serve::serve_http;
