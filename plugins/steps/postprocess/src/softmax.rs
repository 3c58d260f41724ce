/// Makes scores (logits) probabilities, in place: they are between 0 and 1, and their sum is 1.
///
/// However large scores are, nothing overflows. A NaN or +∞ among them, or only -∞, makes NaNs, as in PyTorch.
pub fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in &mut *scores {
        *score = (*score - largest).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}
