use nacre_config::VersionPolicy;

/// Versions of `available` (ascending) that the policy serves, and those that it names but that are missing.
pub fn choose_versions(_policy: &VersionPolicy, _available: &[u64]) -> (Vec<u64>, Vec<u64>) {
    (Vec::new(), Vec::new())
}
