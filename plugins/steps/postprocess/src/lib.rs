//! What follows a network: scores to probabilities, the highest of them with their labels, overlapping boxes to one
//! each, tokens to sentences.
//!
//! Slices in, slices or indices out; nothing here knows of WebAssembly, and the same code runs natively in tests. Sums
//! run in eight lanes, which become SIMD instructions where there are such.
//!
//! ```
//! use nacre_postprocess::{Labels, softmax, top_k};
//!
//! let labels = Labels::parse("cat\ndog\nbird\n");
//! let mut scores = [0.0, 2.0, 1.0];
//! softmax(&mut scores);
//! let best: Vec<_> = top_k(&scores, 2).iter().map(|best| labels.get(best.index).unwrap_or("?")).collect();
//! assert_eq!(best, ["dog", "bird"]);
//! ```

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
