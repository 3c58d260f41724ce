//! Sums of products in eight lanes: a compiler may not reorder a sum of floats by itself.

const LANES: usize = 8;

/// The sum of the products of two vectors' components, as long as the shorter.
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left_chunks, left_rest) = left.as_chunks::<LANES>();
    let (right_chunks, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (left, right) in left_chunks.iter().zip(right_chunks) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}
