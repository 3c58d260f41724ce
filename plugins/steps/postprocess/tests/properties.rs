//! Each step against a reference that is written as its definition reads, in double precision and without haste.
#![allow(missing_docs)]

use nacre_postprocess::{
    Labels, Nms, Pooling, cosine_similarity_matrix, intersection_over_union, normalize_l2, softmax, top_k,
};
use proptest::{collection::vec, prelude::*};

fn close(left: f32, right: f64, tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert!((f64::from(left) - right).abs() <= tolerance, "{left} is not {right}");
    Ok(())
}

/// Boxes on a coarse grid, so that many touch, coincide or lie within each other; some have no area.
fn boxes() -> impl Strategy<Value = Vec<[f32; 4]>> {
    let side = || (0..12_i32, 0..8_i32);
    let one = (side(), side())
        .prop_map(|((x, width), (y, height))| [x, y, x + width, y + height].map(|v| v as f32));
    vec(one, 0..40)
}

fn iou(left: &[f32; 4], right: &[f32; 4]) -> f64 {
    let side = |low: f32, high: f32| f64::from(high - low).max(0.0);
    let shared = side(left[0].max(right[0]), left[2].min(right[2]))
        * side(left[1].max(right[1]), left[3].min(right[3]));
    let area = |[x1, y1, x2, y2]: [f32; 4]| side(x1, x2) * side(y1, y2);
    let covered = area(*left) + area(*right) - shared;
    if covered == 0.0 { 0.0 } else { shared / covered }
}

/// Goes over all boxes again and again: takes the best that is left, strikes out what it covers.
fn naive_nms(boxes: &[[f32; 4]], scores: &[f32], classes: &[i64], nms: &Nms) -> Vec<usize> {
    let mut left: Vec<usize> = (0..boxes.len()).filter(|&i| scores[i] >= nms.score_threshold).collect();
    let mut kept = Vec::new();
    while !left.is_empty() && kept.len() < nms.max_detections {
        let best = left.iter().copied().reduce(|a, b| if scores[b] > scores[a] { b } else { a }).unwrap();
        kept.push(best);
        left.retain(|&i| {
            let same_class = classes[i] == classes[best];
            i != best && !(same_class && iou(&boxes[i], &boxes[best]) > f64::from(nms.iou_threshold))
        });
    }
    kept
}

proptest! {
    #[test]
    fn softmax_is_its_definition(scores in vec(-300.0_f32..300.0, 1..200)) {
        let largest = scores.iter().copied().fold(f32::MIN, f32::max);
        let powers: Vec<f64> = scores.iter().map(|&score| f64::from(score - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        let mut probabilities = scores;
        softmax(&mut probabilities);
        for (&probability, power) in probabilities.iter().zip(powers) {
            close(probability, power / sum, 1e-5)?;
        }
    }

    #[test]
    fn top_k_is_the_front_of_all_in_order(
        // Few values: many are equal.
        scores in vec(prop_oneof![(-5..5_i32).prop_map(|v| v as f32), Just(f32::NAN), Just(f32::INFINITY)], 0..60),
        k in 0..70_usize,
    ) {
        let mut all: Vec<usize> = (0..scores.len()).collect();
        // A stable sort: what is equal keeps its order.
        all.sort_by(|&a, &b| {
            let key = |i: usize| if scores[i].is_nan() { f32::NEG_INFINITY } else { scores[i] };
            key(b).total_cmp(&key(a)).then(scores[a].is_nan().cmp(&scores[b].is_nan()))
        });
        all.truncate(k);
        let found = top_k(&scores, k);
        prop_assert_eq!(found.iter().map(|scored| scored.index).collect::<Vec<_>>(), all);
        for scored in found {
            prop_assert_eq!(scored.score.to_bits(), scores[scored.index].to_bits());
        }
    }

    #[test]
    fn nms_keeps_what_striking_out_one_by_one_keeps(
        boxes in boxes(),
        scores in vec((0..10_i32).prop_map(|v| v as f32 / 10.0), 40),
        classes in vec(0..3_i64, 40),
        iou_threshold in prop_oneof![Just(0.0), Just(0.5), 0.0_f32..1.0],
        score_threshold in 0.0_f32..0.6,
        max_detections in prop_oneof![Just(usize::MAX), 0..10_usize],
    ) {
        let nms = Nms { iou_threshold, score_threshold, max_detections };
        let (scores, classes) = (&scores[..boxes.len()], &classes[..boxes.len()]);
        prop_assert_eq!(nms.select_per_class(&boxes, scores, classes), naive_nms(&boxes, scores, classes, &nms));
        prop_assert_eq!(nms.select(&boxes, scores), naive_nms(&boxes, scores, &[0; 40], &nms));
    }

    #[test]
    fn intersection_over_union_is_symmetric_and_within_0_and_1(boxes in boxes()) {
        for pair in boxes.windows(2) {
            let value = intersection_over_union(&pair[0], &pair[1]);
            prop_assert!((0.0..=1.0).contains(&value));
            prop_assert_eq!(value, intersection_over_union(&pair[1], &pair[0]));
            close(value, iou(&pair[0], &pair[1]), 1e-6)?;
        }
    }

    #[test]
    fn pooling_sees_the_tokens_and_nothing_else(
        (width, mask, values) in (1..20_usize, vec(0..2_i64, 0..12)).prop_flat_map(|(width, mask)| {
            let values = vec(-100.0_f32..100.0, width * mask.len());
            (Just(width), Just(mask), values)
        }),
    ) {
        // Padding is poisoned: a NaN would show.
        let tokens: Vec<f32> = values.iter().enumerate()
            .map(|(i, &value)| if mask[i / width] == 0 { f32::NAN } else { value }).collect();
        let of_component = |component: usize| {
            (0..mask.len()).filter(|&i| mask[i] != 0).map(|i| f64::from(values[i * width + component])).collect::<Vec<_>>()
        };
        for pooling in [Pooling::Mean, Pooling::Cls, Pooling::Max] {
            let mut pooled = vec![f32::NAN; width];
            pooling.pool(&tokens, &mask, &mut pooled);
            for (component, &value) in pooled.iter().enumerate() {
                let kept = of_component(component);
                let expected = match pooling {
                    _ if kept.is_empty() => 0.0,
                    Pooling::Mean => kept.iter().sum::<f64>() / kept.len() as f64,
                    Pooling::Cls => kept[0],
                    Pooling::Max => kept.iter().copied().fold(f64::MIN, f64::max),
                };
                close(value, expected, 1e-3)?;
            }
        }
    }

    #[test]
    fn cosines_are_those_of_the_vectors(
        (width, vectors) in (1..40_usize, 0..8_usize)
            .prop_flat_map(|(width, n)| (Just(width), vec(-10.0_f32..10.0, width * n))),
    ) {
        let n = vectors.len() / width;
        let mut cosines = vec![f32::NAN; n * n];
        cosine_similarity_matrix(&vectors, width, &mut cosines);
        let dot = |i: usize, j: usize| (0..width)
            .map(|c| f64::from(vectors[i * width + c]) * f64::from(vectors[j * width + c])).sum::<f64>();
        for i in 0..n {
            for j in 0..n {
                let lengths = dot(i, i).sqrt() * dot(j, j).sqrt();
                close(cosines[i * n + j], if lengths == 0.0 { 0.0 } else { dot(i, j) / lengths }, 1e-5)?;
            }
        }
    }

    #[test]
    fn a_normalised_vector_has_length_1_and_its_direction(mut vector in vec(-1e6_f32..1e6, 1..50)) {
        let before = vector.clone();
        normalize_l2(&mut vector);
        let length: f64 = before.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
        for (&value, &old) in vector.iter().zip(&before) {
            close(value, if length == 0.0 { 0.0 } else { f64::from(old) / length }, 1e-5)?;
        }
    }

    #[test]
    fn labels_are_lines(names in vec("[a-zé,][a-zé, ]{0,7}[a-z]", 1..20), crlf in any::<bool>(), last in any::<bool>()) {
        let end = if crlf { "\r\n" } else { "\n" };
        let labels = Labels::parse(&(names.join(end) + if last { end } else { "" }));
        prop_assert_eq!(labels.len(), names.len());
        for (class, name) in names.iter().enumerate() {
            prop_assert_eq!(labels.get(class), Some(name.as_str()));
        }
        prop_assert_eq!(labels.get(names.len()), None);
    }
}

#[test]
fn scores_beyond_any_power_of_e_are_probabilities_too() {
    let mut scores = [f32::MAX, f32::MAX, f32::NEG_INFINITY, f32::MIN];
    softmax(&mut scores);
    assert_eq!(scores, [0.5, 0.5, 0.0, 0.0]);
    softmax(&mut []);
}

#[test]
fn a_score_that_is_no_number_makes_no_probability() {
    for wrong in [f32::NAN, f32::INFINITY] {
        let mut scores = [1.0, wrong];
        softmax(&mut scores);
        assert!(scores[1].is_nan());
    }
}

#[test]
fn zeros_have_no_direction() {
    let mut zeros = [0.0; 3];
    normalize_l2(&mut zeros);
    assert_eq!(zeros, [0.0; 3]);
    let mut cosines = [f32::NAN; 4];
    cosine_similarity_matrix(&[0.0, 0.0, 1.0, 0.0], 2, &mut cosines);
    assert_eq!(cosines, [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn boxes_without_a_score_are_left_out() {
    let boxes = [[0.0, 0.0, 1.0, 1.0], [5.0, 5.0, 6.0, 6.0]];
    assert_eq!(Nms::default().select(&boxes, &[f32::NAN, 0.1]), [1]);
    assert_eq!(nacre_postprocess::corners_of_center([2.0, 3.0, 2.0, 4.0]), [1.0, 1.0, 3.0, 5.0]);
}

#[test]
fn an_empty_line_is_a_class_without_a_name() {
    let labels = Labels::parse("\u{feff}cat\n\ndog\n");
    assert_eq!(
        (labels.get(0), labels.get(1), labels.get(2), labels.len()),
        (Some("cat"), Some(""), Some("dog"), 3)
    );
    assert!(Labels::parse("").is_empty());
}
