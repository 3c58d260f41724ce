use crate::lanes::dot;

/// Below this a length is taken for it, so that a vector of zeros stays one.
const SHORTEST: f32 = 1e-12;

/// Scales a vector to length 1. One of zeros stays as it is.
pub fn normalize_l2(vector: &mut [f32]) {
    let length = length(vector);
    vector.iter_mut().for_each(|value| *value /= length);
}

/// The cosine of the angle between each vector and each: 1 for the same direction, 0 for a right angle, -1 for opposite
/// directions; 0 with a vector of zeros. `vectors` is `[n, width]`; writes `[n, n]`.
///
/// # Panics
/// If `vectors` and `cosines` have not `n * width` and `n * n` values, or `width` is 0.
pub fn cosine_similarity_matrix(vectors: &[f32], width: usize, cosines: &mut [f32]) {
    let (rows, rest) = (vectors.chunks_exact(width), vectors.len() % width);
    let n = rows.len();
    assert!(
        rest == 0 && cosines.len() == n * n,
        "{} values of width {width}, {} cosines",
        vectors.len(),
        cosines.len()
    );
    let rows: Vec<_> = rows.map(|row| (row, length(row))).collect();
    for (i, (left, left_length)) in rows.iter().enumerate() {
        for (j, (right, right_length)) in rows.iter().enumerate().take(i + 1) {
            let cosine = dot(left, right) / left_length / right_length;
            cosines[i * n + j] = cosine;
            cosines[j * n + i] = cosine;
        }
    }
}

fn length(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt().max(SHORTEST)
}
