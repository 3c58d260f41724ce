use std::cmp::Ordering;

/// One of many scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Its place among them.
    pub index: usize,
    /// The score.
    pub score: f32,
}

/// The `k` highest scores, highest first; all of them if there are fewer.
///
/// Of equal scores the one with the lower index comes first. NaN is lower than any number.
pub fn top_k(scores: &[f32], k: usize) -> Vec<Scored> {
    let mut all: Vec<Scored> =
        scores.iter().enumerate().map(|(index, &score)| Scored { index, score }).collect();
    if k == 0 {
        return Vec::new();
    }
    if k < all.len() {
        all.select_nth_unstable_by(k - 1, descending);
        all.truncate(k);
    }
    all.sort_unstable_by(descending);
    all
}

/// Higher scores first, then lower indices: no two are equal.
pub(crate) fn descending(left: &Scored, right: &Scored) -> Ordering {
    let by_score = match right.score.partial_cmp(&left.score) {
        Some(order) => order,
        None => left.score.is_nan().cmp(&right.score.is_nan()),
    };
    by_score.then(left.index.cmp(&right.index))
}
