//! Measurements of a plugin's own, among the server's Prometheus metrics.
//!
//! `metrics::add("tokens", 12.0, &[("language", "en")])` is published as `nacre_plugin_custom_tokens` with the labels
//! `model`, `version` and `language`. Names are made of lower-case letters, digits and `_`. The first use of a name
//! decides whether it is a counter, a gauge or a histogram. What is malformed, or beyond the server's limits, is dropped,
//! and the log says so once.

use crate::bindings::nacre::plugin::metrics;

/// Adds to a counter; `amount` is not negative.
pub fn add(name: &str, amount: f64, labels: &[(&str, &str)]) {
    metrics::add(name, amount, &owned(labels));
}

/// Sets a gauge.
pub fn set(name: &str, value: f64, labels: &[(&str, &str)]) {
    metrics::set(name, value, &owned(labels));
}

/// Adds a value to a histogram.
pub fn observe(name: &str, value: f64, labels: &[(&str, &str)]) {
    metrics::observe(name, value, &owned(labels));
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
