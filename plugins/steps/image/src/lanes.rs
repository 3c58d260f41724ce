//! The few instructions on several numbers at once that the resampling is made of. On WebAssembly they have names,
//! since a compiler does not find them by itself; elsewhere arrays say the same.

#[cfg(target_feature = "simd128")]
#[path = "lanes/wasm.rs"]
mod vector;

#[cfg(not(target_feature = "simd128"))]
#[path = "lanes/portable.rs"]
mod vector;

pub(crate) use vector::{I16s, I32s};

/// Numbers of 16 bits that are worked on at once.
pub(crate) const LANES: usize = 8;
