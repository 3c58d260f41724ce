//! What a plugin's instances took, and what it measured itself: from the same series that a server publishes.

use std::{collections::BTreeMap, sync::OnceLock};

use nacre_telemetry::MetricsHandle;

/// The metrics of this process; empty ones if another recorder is in its place.
pub struct Metrics(Option<MetricsHandle>);

/// Before the names that plugins give their own.
const OF_PLUGIN: &str = "nacre_plugin_custom_";
const MEMORY_PEAK: &str = "nacre_plugin_memory_peak_bytes{";

impl Metrics {
    /// To be called before a plugin is loaded.
    pub fn start() -> Self {
        static METRICS: OnceLock<Option<MetricsHandle>> = OnceLock::new();
        Self(METRICS.get_or_init(|| nacre_telemetry::install_metrics().ok()).clone())
    }

    /// The most linear memory of an instance so far, in bytes. One plugin is loaded in a process.
    pub fn memory_peak(&self) -> u64 {
        let peak = |line: &str| line.strip_prefix(MEMORY_PEAK)?.rsplit_once(' ')?.1.parse::<f64>().ok();
        self.text().lines().find_map(peak).map_or(0, |bytes| bytes as u64)
    }

    /// The plugin's own, `name{label="value"}` to value, without the buckets of histograms.
    pub fn of_plugin(&self) -> BTreeMap<String, f64> {
        of_plugin(&self.text())
    }

    fn text(&self) -> String {
        self.0.as_ref().map(MetricsHandle::render).unwrap_or_default()
    }
}

fn of_plugin(text: &str) -> BTreeMap<String, f64> {
    let series = |line: &str| {
        let (name, value) = line.strip_prefix(OF_PLUGIN)?.rsplit_once(' ')?;
        let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap_or((name, ""));
        if name.ends_with("_bucket") {
            return None;
        }
        // Of the model and its version there is one.
        let own: Vec<_> = labels
            .split(',')
            .filter(|label| {
                !label.is_empty() && !label.starts_with("model=") && !label.starts_with("version=")
            })
            .collect();
        let name = if own.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", own.join(",")) };
        Some((name, value.parse().ok()?))
    };
    text.lines().filter_map(series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugins_own_series_are_named_as_it_named_them() {
        let text = "# TYPE nacre_plugin_custom_words counter\n\
                    nacre_plugin_custom_words{model=\"m\",version=\"1\",kind=\"known\"} 3\n\
                    nacre_plugin_custom_size_bucket{model=\"m\",version=\"1\",le=\"1\"} 3\n\
                    nacre_plugin_custom_size_sum{model=\"m\",version=\"1\"} 1.5\n\
                    nv_inference_count{model=\"m\"} 1";
        let expected =
            BTreeMap::from([("size_sum".to_owned(), 1.5), ("words{kind=\"known\"}".to_owned(), 3.0)]);
        assert_eq!(of_plugin(text), expected);
    }
}
