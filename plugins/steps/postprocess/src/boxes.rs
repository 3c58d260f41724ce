//! Boxes of a detector: `[x1, y1, x2, y2]`, two opposite corners with `x1 <= x2` and `y1 <= y2`, in any unit.

use crate::top_k::{Scored, descending};

/// Non-maximum suppression: of boxes that overlap much, only the one with the highest score stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nms {
    /// Boxes whose intersection over union is more than this are taken for one.
    pub iou_threshold: f32,
    /// Boxes with a lower score are left out, and so are those whose score is NaN.
    pub score_threshold: f32,
    /// How many boxes stay at most.
    pub max_detections: usize,
}

impl Default for Nms {
    fn default() -> Self {
        Self { iou_threshold: 0.5, score_threshold: f32::NEG_INFINITY, max_detections: usize::MAX }
    }
}

impl Nms {
    /// Indices of the boxes that stay, highest score first, of equal scores the lower index first.
    ///
    /// The same boxes as torchvision's `nms`. Time grows with the boxes above the threshold times those that stay.
    pub fn select(&self, boxes: &[[f32; 4]], scores: &[f32]) -> Vec<usize> {
        self.select_where(boxes, scores, |_, _| true)
    }

    /// The same with a class for each box: boxes of unlike classes do not suppress each other.
    ///
    /// The same boxes as torchvision's `batched_nms`.
    pub fn select_per_class(&self, boxes: &[[f32; 4]], scores: &[f32], classes: &[i64]) -> Vec<usize> {
        self.select_where(boxes, scores, |left, right| classes.get(left) == classes.get(right))
    }

    fn select_where(
        &self,
        boxes: &[[f32; 4]],
        scores: &[f32],
        alike: impl Fn(usize, usize) -> bool,
    ) -> Vec<usize> {
        let mut candidates: Vec<_> = scores
            .iter()
            .take(boxes.len())
            .enumerate()
            .map(|(index, &score)| Scored { index, score })
            .filter(|candidate| candidate.score >= self.score_threshold)
            .collect();
        candidates.sort_unstable_by(descending);
        let mut kept: Vec<usize> = Vec::new();
        for Scored { index, .. } in candidates {
            if kept.len() == self.max_detections {
                break;
            }
            let overlaps = |&other: &usize| {
                alike(index, other)
                    && intersection_over_union(&boxes[index], &boxes[other]) > self.iou_threshold
            };
            if !kept.iter().any(overlaps) {
                kept.push(index);
            }
        }
        kept
    }
}

/// The area that two boxes share, as a part of what they cover together: 0 to 1. Of boxes without area it is 0.
pub fn intersection_over_union(left: &[f32; 4], right: &[f32; 4]) -> f32 {
    let area = |[x1, y1, x2, y2]: [f32; 4]| (x2 - x1).max(0.0) * (y2 - y1).max(0.0);
    let shared =
        area([left[0].max(right[0]), left[1].max(right[1]), left[2].min(right[2]), left[3].min(right[3])]);
    let covered = area(*left) + area(*right) - shared;
    if covered > 0.0 { shared / covered } else { 0.0 }
}

/// The corners of a box given as `[center x, center y, width, height]`, as many detectors do.
pub fn corners_of_center([x, y, width, height]: [f32; 4]) -> [f32; 4] {
    [x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0]
}
