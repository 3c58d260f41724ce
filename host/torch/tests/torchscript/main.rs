//! TorchScript models from file to answer, one behaviour a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;
mod files;
mod inputs;
mod memory;
mod outputs;
mod placement;
mod running;
mod strings;
