/// The candidates that `wrong` was probably meant to be, best first; at most three.
pub(crate) fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let simple = |name: &str| name.to_ascii_lowercase().replace('_', "");
    let wrong = simple(wrong);
    let limit = (wrong.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let name = simple(candidate);
            let distance = edit_distance(&wrong, &name);
            // Half of a longer name, such as FP32 for TYPE_FP32, is near too, but less so.
            let part = wrong.len() >= 3 && (name.ends_with(&wrong) || name.starts_with(&wrong));
            match () {
                () if distance <= limit => Some((distance, candidate)),
                () if part => Some((limit + distance, candidate)),
                () => None,
            }
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// `; did you mean 'a' or 'b'?`, or nothing.
pub(crate) fn did_you_mean(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("; did you mean {}?", names.join(" or "))
}

/// Insertions, deletions, substitutions and swaps of neighbours that make one of the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (i, x) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut best =
                (at(&last, j + 1) + 1).min(at(&row, j) + 1).min(at(&last, j) + usize::from(x != y));
            if j > 0 && previous == Some(y) && b.get(j - 1) == Some(&x) {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
        previous = Some(x);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_of_the_keyboard_and_halves_of_names() {
        let types = ["TYPE_FP16", "TYPE_FP32", "TYPE_STRING"];
        assert_eq!(nearest("FP32", types), ["TYPE_FP32"]);
        assert_eq!(nearest("TYPE_F32", types)[0], "TYPE_FP32");
        assert_eq!(nearest("dim", ["name", "dims", "reshape"]), ["dims"]);
        assert_eq!(nearest("maxBatchSize", ["max_batch_size", "metric_tags"]), ["max_batch_size"]);
        assert_eq!(nearest("inptu", ["input", "output"]), ["input"]);
        assert!(nearest("zebra", ["name", "dims"]).is_empty());
    }

    #[test]
    fn counts_edits() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("ab", "ba"), 1);
    }
}
