//! The accept loop that all three listeners share.

use std::{pin::pin, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::net::TcpListener;

/// Serves HTTP/1.1 (keep-alive) and HTTP/2 without TLS on one port until `shutdown` resolves; then takes no more
/// connections, finishes the requests that are running and returns.
///
/// A client that closes its connection, or resets its stream, drops the handler's future and so cancels its request.
pub async fn serve_http(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    serve(listener, router, Builder::new(TokioExecutor::new()), shutdown).await;
}

/// [`serve_http`] for a service that speaks HTTP/2 alone.
pub async fn serve_http2(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    serve(listener, router, Builder::new(TokioExecutor::new()).http2_only(), shutdown).await;
}

async fn serve(
    listener: TcpListener,
    router: Router,
    mut builder: Builder<TokioExecutor>,
    shutdown: impl Future<Output = ()>,
) {
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(KEEP_ALIVE);
    let connections = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, mostly: without a pause this would spin until one is free.
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "setting TCP_NODELAY failed");
        }
        let connection = builder
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()))
            .into_owned();
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = error.as_ref(), "connection ended");
            }
        });
    }
    drop(listener);
    connections.shutdown().await;
}

/// An HTTP/2 client that does not answer a ping within hyper's 20 seconds after this long is gone, and its requests with
/// it.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
