use nacre_config::VersionPolicy;

/// What the name of a folder inside a model's says about a version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VersionName {
    /// A version.
    Version(u64),
    /// A number, but none that is a version: `0`, `01`, `-1`, `1.5`, or too large.
    Malformed,
    /// Nothing of the kind.
    Other,
}

pub(crate) fn version_name(name: &str) -> VersionName {
    let numeric = name.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && name.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    match name.parse::<u64>() {
        Ok(version) if version > 0 && !name.starts_with(['0', '+']) => VersionName::Version(version),
        _ if numeric => VersionName::Malformed,
        _ => VersionName::Other,
    }
}

/// What a version policy makes of the versions that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenVersions {
    /// Versions to serve, ascending.
    pub served: Vec<u64>,
    /// Versions that the policy names but that are not there, ascending.
    pub missing: Vec<u64>,
}

/// Applies a version policy to the versions that there are.
pub fn choose_versions(policy: &VersionPolicy, available: impl IntoIterator<Item = u64>) -> ChosenVersions {
    let mut served: Vec<u64> = available.into_iter().collect();
    served.sort_unstable();
    served.dedup();
    let mut missing = Vec::new();
    match policy {
        VersionPolicy::All => {}
        VersionPolicy::Latest(count) => {
            let surplus = served.len().saturating_sub(usize::try_from(*count).unwrap_or(usize::MAX));
            served.drain(..surplus);
        }
        VersionPolicy::Specific(wanted) => {
            missing = wanted.iter().copied().filter(|version| !served.contains(version)).collect();
            missing.sort_unstable();
            missing.dedup();
            served.retain(|version| wanted.contains(version));
        }
    }
    ChosenVersions { served, missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_numbers_without_leading_zero_are_versions() {
        assert_eq!(version_name("1"), VersionName::Version(1));
        assert_eq!(version_name("1700000000"), VersionName::Version(1_700_000_000));
        for name in ["0", "01", "-1", "1.5", "99999999999999999999", "2024-01-01"] {
            assert_eq!(version_name(name), VersionName::Malformed, "{name}");
        }
        for name in ["", "assets", "1a", "v1", "+1", "config.pbtxt", ".git"] {
            assert_eq!(version_name(name), VersionName::Other, "{name}");
        }
    }

    #[test]
    fn latest_takes_the_highest() {
        let chosen = |count| choose_versions(&VersionPolicy::Latest(count), [9, 2, 10]).served;
        assert_eq!(chosen(1), [10]);
        assert_eq!(chosen(2), [9, 10]);
        assert_eq!(chosen(7), [2, 9, 10]);
    }

    #[test]
    fn all_takes_all() {
        assert_eq!(choose_versions(&VersionPolicy::All, [9, 2, 10]).served, [2, 9, 10]);
    }

    #[test]
    fn specific_reports_what_is_missing() {
        let chosen = choose_versions(&VersionPolicy::Specific(vec![4, 2, 3]), [1, 2, 3]);
        assert_eq!(chosen, ChosenVersions { served: vec![2, 3], missing: vec![4] });
    }
}
