/// How the protocols present and protect the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiOptions {
    /// Name in the server metadata.
    pub server_name: String,
    /// Version in the server metadata.
    pub server_version: String,
    /// Largest body of an HTTP request, in bytes; a larger one is answered with 413.
    pub max_http_body: usize,
    /// Largest gRPC message in either direction, in bytes.
    pub max_grpc_message: usize,
}

impl Default for ApiOptions {
    /// Triton's limits: 64 MiB over HTTP, what a signed 32-bit length can say over gRPC.
    fn default() -> ApiOptions {
        ApiOptions {
            server_name: "nacre".to_owned(),
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            max_http_body: 64 << 20,
            max_grpc_message: i32::MAX as usize,
        }
    }
}
