//! Whether an answer is the expected one.

use nacre_domain::{Parameters, ShapeDisplay, Tensor};

use super::{
    Tolerance,
    numbers::{Element, elements},
};

/// What is wrong with the outputs, one sentence each; none if they are as expected.
pub fn outputs(expected: &[Tensor], got: &[Tensor], tolerance: Tolerance) -> Vec<String> {
    let problem = |expected: &Tensor| match got.iter().find(|tensor| tensor.name == expected.name) {
        None => {
            let names: Vec<_> = got.iter().map(|tensor| format!("'{}'", tensor.name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Some(format!("output '{}' is missing; the answer has {names}", expected.name))
        }
        Some(got) => tensor(expected, got, tolerance),
    };
    expected.iter().filter_map(problem).collect()
}

/// What is wrong with the parameters of the answer.
pub fn parameters(expected: &Parameters, got: &Parameters) -> Vec<String> {
    let problem = |(name, value)| match got.get(name) {
        None => Some(format!("parameter '{name}' is missing in the answer; expected {value:?}")),
        Some(other) if other != value => {
            Some(format!("parameter '{name}': expected {value:?}, got {other:?}"))
        }
        Some(_) => None,
    };
    expected.iter().filter_map(problem).collect()
}

fn tensor(expected: &Tensor, got: &Tensor, tolerance: Tolerance) -> Option<String> {
    let name = &expected.name;
    if (expected.data_type, &expected.shape) != (got.data_type, &got.shape) {
        return Some(format!(
            "output '{name}': expected {} {}, got {} {}",
            expected.data_type,
            ShapeDisplay(&expected.shape),
            got.data_type,
            ShapeDisplay(&got.shape)
        ));
    }
    let mut wrong = 0_usize;
    let mut first = None;
    let mut largest = 0.0_f64;
    let mut count = 0_usize;
    for (index, (expected, got)) in elements(expected).zip(elements(got)).enumerate() {
        count += 1;
        if same(&expected, &got, tolerance) {
            continue;
        }
        wrong += 1;
        if let (Element::Float(a, _), Element::Float(b, _)) = (&expected, &got) {
            largest = largest.max((a - b).abs());
        }
        first.get_or_insert((index, expected, got));
    }
    let (index, wanted, got) = first?;
    let at = position(index, &expected.shape);
    let mut text = format!("output '{name}'{at}: expected {wanted}, got {got}");
    if count > 1 {
        text.push_str(&format!("; {wrong} of {count} elements differ"));
    }
    if matches!(wanted, Element::Float(..)) {
        let Tolerance { absolute, relative } = tolerance;
        text.push_str(&format!(
            ", by {largest:.3e} at most (tolerance {absolute:e} + {relative:e} of the expected)"
        ));
    }
    Some(text)
}

fn same(expected: &Element, got: &Element, tolerance: Tolerance) -> bool {
    match (expected, got) {
        (Element::Float(a, _), Element::Float(b, _)) => {
            (a.is_nan() && b.is_nan())
                || a == b
                || (a.is_finite() && (a - b).abs() <= tolerance.absolute + tolerance.relative * a.abs())
        }
        _ => expected == got,
    }
}

/// `[1,0]` of a flat index; nothing for a scalar.
fn position(index: usize, shape: &[i64]) -> String {
    let mut rest = index;
    let mut at: Vec<i64> = Vec::with_capacity(shape.len());
    for &dim in shape.iter().rev() {
        let dim = usize::try_from(dim).unwrap_or(1).max(1);
        at.push(i64::try_from(rest % dim).unwrap_or_default());
        rest /= dim;
    }
    at.reverse();
    if at.is_empty() { String::new() } else { ShapeDisplay(&at).to_string() }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nacre_domain::DataType;

    use super::*;

    fn floats(values: &[f32], shape: &[i64]) -> Tensor {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor { name: "y".into(), data_type: DataType::Fp32, shape: shape.to_vec(), data: data.into() }
    }

    fn compare(expected: &[f32], got: &[f32]) -> Vec<String> {
        let shape = [expected.len() as i64];
        outputs(&[floats(expected, &shape)], &[floats(got, &shape)], Tolerance::default())
    }

    #[test]
    fn floats_may_be_off_by_the_tolerance() {
        assert!(compare(&[1000.0, 0.0], &[1000.009, 1e-7]).is_empty());
        assert!(compare(&[f32::NAN, f32::INFINITY], &[f32::NAN, f32::INFINITY]).is_empty());
        assert_eq!(compare(&[f32::NAN], &[1.0]).len(), 1);
        assert_eq!(compare(&[f32::INFINITY], &[f32::NEG_INFINITY]).len(), 1);
        assert_eq!(
            compare(&[1.0, 2.0, 3.0], &[1.0, 2.5, 4.0]),
            [
                "output 'y'[1]: expected 2, got 2.5; 2 of 3 elements differ, by 1.000e0 at most (tolerance 1e-6 + 1e-5 of \
              the expected)"
            ]
        );
    }

    #[test]
    fn the_place_is_that_of_the_shape() {
        let (expected, got) = (floats(&[1.0; 6], &[2, 3]), floats(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0], &[2, 3]));
        assert!(
            outputs(&[expected], &[got], Tolerance::default())[0]
                .starts_with("output 'y'[1,2]: expected 1, got 9")
        );
    }

    #[test]
    fn types_shapes_and_names_differ() {
        let y = floats(&[1.0], &[1]);
        assert_eq!(
            outputs(std::slice::from_ref(&y), &[floats(&[1.0], &[1, 1])], Tolerance::default()),
            ["output 'y': expected FP32 [1], got FP32 [1,1]"]
        );
        let z = Tensor { name: "z".into(), ..y.clone() };
        assert_eq!(outputs(&[y], &[z], Tolerance::default()), ["output 'y' is missing; the answer has 'z'"]);
    }

    #[test]
    fn strings_are_equal_or_not() {
        let text = |text: &'static [u8]| Tensor {
            name: "y".into(),
            data_type: DataType::Bytes,
            shape: vec![1],
            data: Bytes::from_static(text),
        };
        assert_eq!(
            outputs(&[text(b"\x01\0\0\0a")], &[text(b"\x01\0\0\0b")], Tolerance::default()),
            ["output 'y'[0]: expected \"a\", got \"b\""]
        );
    }
}
