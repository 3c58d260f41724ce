//! The three listening sockets: bound before anything is loaded, so that a port in use is known at once.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result};
use tokio::net::TcpListener;

use crate::options::EndpointOptions;

/// Sockets that listen; `None` for an endpoint that is switched off.
pub struct Endpoints {
    pub http: Option<TcpListener>,
    pub grpc: Option<TcpListener>,
    pub metrics: Option<TcpListener>,
}

impl Endpoints {
    /// Binds what the options ask for.
    pub async fn bind(options: &EndpointOptions) -> Result<Endpoints> {
        let EndpointOptions { allow_http, allow_grpc, allow_metrics, .. } = *options;
        Ok(Endpoints {
            http: bind("http", allow_http, options.http_address, options.http_port).await?,
            grpc: bind("grpc", allow_grpc, options.grpc_address, options.grpc_port).await?,
            metrics: bind("metrics", allow_metrics, options.metrics_address, options.metrics_port).await?,
        })
    }

    /// Name and address of each endpoint that is on.
    pub fn addresses(&self) -> Vec<(&'static str, SocketAddr)> {
        [("http", &self.http), ("grpc", &self.grpc), ("metrics", &self.metrics)]
            .into_iter()
            .filter_map(|(name, listener)| Some((name, listener.as_ref()?.local_addr().ok()?)))
            .collect()
    }
}

async fn bind(name: &str, allowed: bool, address: IpAddr, port: u16) -> Result<Option<TcpListener>> {
    if !allowed {
        return Ok(None);
    }
    let listener = TcpListener::bind((address, port)).await.with_context(|| {
        format!(
            "cannot listen on {}; choose another with --{name}-port or --{name}-address, or switch it off with \
             --allow-{name}=false",
            SocketAddr::new(address, port)
        )
    })?;
    Ok(Some(listener))
}
