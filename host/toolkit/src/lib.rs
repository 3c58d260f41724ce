//! What authors of plugins use: `nacre plugin …`.

pub mod build;
pub mod project;
