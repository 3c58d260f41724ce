/// Whether the dims are those of the template, in which -1 is any.
pub(crate) fn matches(template: &[i64], dims: &[i64]) -> bool {
    template.len() == dims.len() && template.iter().zip(dims).all(|(&want, &dim)| want == -1 || want == dim)
}

/// The dims of `count` elements in the template, whose -1, if it is the only one, is what is left.
pub(crate) fn fill(template: &[i64], count: usize) -> Option<Vec<i64>> {
    let count = i64::try_from(count).ok()?;
    let known =
        template.iter().filter(|&&dim| dim >= 0).try_fold(1_i64, |product, &dim| product.checked_mul(dim))?;
    let missing = match template.iter().filter(|&&dim| dim < 0).count() {
        0 if known == count => 0,
        1 if known > 0 && count % known == 0 => count / known,
        _ => return None,
    };
    Some(template.iter().map(|&dim| if dim < 0 { missing } else { dim }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_one_matches_any_size() {
        assert!(matches(&[-1, 3], &[0, 3]));
        assert!(!matches(&[-1, 3], &[1, 4]));
        assert!(!matches(&[-1], &[1, 1]));
        assert!(matches(&[], &[]));
    }

    #[test]
    fn fills_the_one_varying_dim() {
        assert_eq!(fill(&[2, -1], 6), Some(vec![2, 3]));
        assert_eq!(fill(&[2, 3], 6), Some(vec![2, 3]));
        assert_eq!(fill(&[2, -1], 5), None);
        assert_eq!(fill(&[-1, -1], 4), None);
        assert_eq!(fill(&[3], 6), None);
        assert_eq!(fill(&[-1], 0), Some(vec![0]));
        assert_eq!(fill(&[0, -1], 0), None);
    }
}
