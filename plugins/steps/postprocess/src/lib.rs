//! What follows a network: scores to probabilities, the highest of them with their labels, overlapping boxes to one
//! each, tokens to sentences.
//!
//! Slices in, slices or indices out; nothing here knows of WebAssembly, and the same code runs natively in tests. Sums
//! run in eight lanes, which become SIMD instructions where there are such.

mod boxes;
mod labels;
mod lanes;
mod pooling;
mod similarity;
mod softmax;
mod top_k;

pub use boxes::{Nms, corners_of_center, intersection_over_union};
pub use labels::Labels;
pub use pooling::Pooling;
pub use similarity::{cosine_similarity_matrix, normalize_l2};
pub use softmax::softmax;
pub use top_k::{Scored, top_k};
