//! What authors of plugins use: `nacre plugin …`.
