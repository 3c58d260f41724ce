//! Both protocols through real sockets, in front of an engine with identity models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod grpc;
mod http;
mod server;
