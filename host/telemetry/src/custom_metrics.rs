//! Metrics that plugins name themselves.
//!
//! Not by way of the facade, since what a plugin does is bounded here: a series is a few numbers whatever is recorded
//! (the facade keeps each sample of a histogram until the next scrape), counters take fractions, and the series go when
//! the plugin does.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use nacre_domain::ModelKey;

use crate::custom_series::{Series, check_name, check_value, escape, render_labels};

/// In front of every name.
pub(crate) const PREFIX: &str = "nacre_plugin_custom_";
/// Names that a histogram makes of its own.
const HISTOGRAM_SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];
/// What a metric does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomKind {
    /// Only grows.
    Counter,
    /// Takes any value.
    Gauge,
    /// Counts values by size.
    Histogram,
}

impl CustomKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            CustomKind::Counter => "counter",
            CustomKind::Gauge => "gauge",
            CustomKind::Histogram => "histogram",
        }
    }
}

/// Why a measurement was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its name, labels or value are not what they have to be; with what was expected.
    Malformed(String),
    /// The name is in use for another kind of metric.
    OtherKind(String),
    /// There are as many series as there may be.
    Surplus,
}

/// Series of one plugin version. Two values for one version, as while it is loaded anew, share them; they go with the
/// last one.
pub struct CustomMetrics {
    model: Arc<Model>,
    max_series: usize,
}

struct Model {
    key: ModelKey,
    /// By name and rendered labels.
    series: Mutex<HashMap<(String, String), Series>>,
}

/// Which versions have series, and what each name is: one name is one kind in a scrape, whoever uses it.
#[derive(Default)]
struct Registry {
    models: BTreeMap<(String, u64), Weak<Model>>,
    /// With the number of series.
    kinds: BTreeMap<String, (CustomKind, usize)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { models: BTreeMap::new(), kinds: BTreeMap::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CustomMetrics {
    /// For at most so many series, a histogram counting as one.
    pub fn new(key: &ModelKey, max_series: usize) -> CustomMetrics {
        let mut registry = registry();
        let slot = registry.models.entry((key.name.clone(), key.version)).or_default();
        let model = slot.upgrade().unwrap_or_else(|| {
            let model = Arc::new(Model { key: key.clone(), series: Mutex::default() });
            *slot = Arc::downgrade(&model);
            model
        });
        CustomMetrics { model, max_series }
    }

    /// Adds to a counter, sets a gauge or adds a value to a histogram.
    ///
    /// # Errors
    /// Why nothing was recorded.
    pub fn record(
        &self,
        kind: CustomKind,
        name: &str,
        value: f64,
        labels: &mut [(String, String)],
    ) -> Result<(), Refused> {
        check_value(kind, name, value)?;
        check_name("metric name", name)?;
        let labels = render_labels(name, labels)?;
        let mut series = self.model.series();
        let key = (name.to_owned(), labels);
        if let Some(entry) = series.get_mut(&key) {
            return entry.record(kind, name, value);
        }
        if series.len() >= self.max_series {
            return Err(Refused::Surplus);
        }
        registry().register(name, kind)?;
        series.entry(key).or_insert_with(|| Series::new(kind)).record(kind, name, value)
    }
}

impl Model {
    fn series(&self) -> MutexGuard<'_, HashMap<(String, String), Series>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let mut registry = registry();
        let key = (self.key.name.clone(), self.key.version);
        // A new one may have taken the place already.
        if registry.models.get(&key).is_some_and(|model| model.strong_count() == 0) {
            registry.models.remove(&key);
        }
        let series = self.series.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (name, _) in series.keys() {
            registry.unregister(name);
        }
    }
}

impl Registry {
    fn register(&mut self, name: &str, kind: CustomKind) -> Result<(), Refused> {
        let other = |what: String| Err(Refused::OtherKind(what));
        if let Some((known, count)) = self.kinds.get_mut(name) {
            if *known != kind {
                return other(format!("'{name}' is a {} already, not a {}", known.name(), kind.name()));
            }
            *count += 1;
            return Ok(());
        }
        // A histogram `x` is also the names `x_sum` and so on.
        for suffix in HISTOGRAM_SUFFIXES {
            let of_histogram = name.strip_suffix(suffix).and_then(|base| self.kinds.get(base));
            if of_histogram.is_some_and(|(kind, _)| *kind == CustomKind::Histogram) {
                return other(format!("'{name}' is a part of a histogram already"));
            }
            if kind == CustomKind::Histogram && self.kinds.contains_key(&format!("{name}{suffix}")) {
                return other(format!(
                    "'{name}{suffix}' is in use already, which a histogram '{name}' also needs"
                ));
            }
        }
        self.kinds.insert(name.to_owned(), (kind, 1));
        Ok(())
    }

    fn unregister(&mut self, name: &str) {
        if let Some((_, count)) = self.kinds.get_mut(name) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.kinds.remove(name);
            }
        }
    }
}

/// Appends all series in Prometheus' text format, by name.
pub(crate) fn render(text: &mut String) {
    let models: Vec<Arc<Model>> = registry().models.values().filter_map(Weak::upgrade).collect();
    let mut by_name: BTreeMap<String, (CustomKind, String)> = BTreeMap::new();
    for model in &models {
        let mut head = String::from("model=\"");
        escape(&mut head, &model.key.name);
        let _ = write!(head, "\",version=\"{}\"", model.key.version);
        let series = model.series();
        let mut sorted: Vec<_> = series.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        for ((name, labels), series) in sorted {
            let (_, lines) = by_name.entry(name.clone()).or_insert_with(|| (series.kind(), String::new()));
            series.render(lines, name, &format!("{head}{labels}"));
        }
    }
    for (name, (kind, lines)) in by_name {
        let _ = writeln!(text, "# HELP {PREFIX}{name} Measured by plugins themselves");
        let _ = writeln!(text, "# TYPE {PREFIX}{name} {}\n{lines}", kind.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(model: &str, max_series: usize) -> CustomMetrics {
        CustomMetrics::new(&ModelKey { name: model.into(), version: 1 }, max_series)
    }

    fn record(metrics: &CustomMetrics, kind: CustomKind, name: &str, value: f64) -> Result<(), Refused> {
        metrics.record(kind, name, value, &mut [])
    }

    fn labels(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    }

    fn scrape() -> String {
        let mut text = String::new();
        render(&mut text);
        text
    }

    #[track_caller]
    fn assert_lines(lines: &[&str]) {
        let text = scrape();
        for line in lines {
            assert!(text.lines().any(|l| l == *line), "no line '{line}' in:\n{text}");
        }
    }

    #[test]
    fn each_kind_is_published_as_what_it_is() {
        let metrics = metrics("kinds", 10);
        record(&metrics, CustomKind::Counter, "kinds_seconds", 0.25).unwrap();
        record(&metrics, CustomKind::Counter, "kinds_seconds", 0.5).unwrap();
        record(&metrics, CustomKind::Gauge, "kinds_level", -3.0).unwrap();
        record(&metrics, CustomKind::Gauge, "kinds_level", f64::NAN).unwrap();
        for value in [0.0001, 0.3, 1e9] {
            record(&metrics, CustomKind::Histogram, "kinds_size", value).unwrap();
        }
        let at = "model=\"kinds\",version=\"1\"";
        assert_lines(&[
            "# TYPE nacre_plugin_custom_kinds_seconds counter",
            &format!("nacre_plugin_custom_kinds_seconds{{{at}}} 0.75"),
            "# TYPE nacre_plugin_custom_kinds_level gauge",
            &format!("nacre_plugin_custom_kinds_level{{{at}}} NaN"),
            "# TYPE nacre_plugin_custom_kinds_size histogram",
            &format!("nacre_plugin_custom_kinds_size_bucket{{{at},le=\"0.0001\"}} 1"),
            &format!("nacre_plugin_custom_kinds_size_bucket{{{at},le=\"0.5\"}} 2"),
            &format!("nacre_plugin_custom_kinds_size_bucket{{{at},le=\"10000\"}} 2"),
            &format!("nacre_plugin_custom_kinds_size_bucket{{{at},le=\"+Inf\"}} 3"),
            &format!("nacre_plugin_custom_kinds_size_count{{{at}}} 3"),
        ]);
    }

    #[test]
    fn the_order_of_labels_makes_no_difference_and_their_values_are_escaped() {
        let metrics = metrics("labels", 10);
        for pairs in [[("a", "1"), ("b", "x\"\\\n")], [("b", "x\"\\\n"), ("a", "1")]] {
            metrics.record(CustomKind::Counter, "labels_seen", 1.0, &mut labels(&pairs)).unwrap();
        }
        assert_lines(&[
            "nacre_plugin_custom_labels_seen{model=\"labels\",version=\"1\",a=\"1\",b=\"x\\\"\\\\\\n\"} 2",
        ]);
    }

    #[test]
    fn what_is_malformed_is_refused_with_what_was_expected() {
        let metrics = metrics("malformed", 10);
        let long = "x".repeat(10_000);
        for name in ["", "Upper", "1st", "a-b", "a b", "ü", "a\n", &long] {
            let Err(Refused::Malformed(text)) = record(&metrics, CustomKind::Counter, name, 1.0) else {
                panic!("{name}");
            };
            assert!(text.contains("expected lower-case letters") && text.len() < 300, "{text}");
        }
        for value in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(record(&metrics, CustomKind::Counter, "malformed_n", value).is_err());
        }
        assert!(record(&metrics, CustomKind::Histogram, "malformed_n", f64::NAN).is_err());
        let eleven: Vec<_> = (0..11).map(|i| (format!("l{i}"), String::new())).collect();
        for mut labels in [
            labels(&[("model", "x")]),
            labels(&[("a", "1"), ("a", "2")]),
            labels(&[("a b", "1")]),
            labels(&[("a", &long)]),
            eleven,
        ] {
            let result = metrics.record(CustomKind::Counter, "malformed_n", 1.0, &mut labels);
            assert!(matches!(result, Err(Refused::Malformed(_))), "{result:?}");
        }
        assert!(!scrape().contains("malformed"));
    }

    #[test]
    fn series_are_limited_for_each_model() {
        let (one, other) = (metrics("limited_1", 3), metrics("limited_2", 3));
        for i in 0..3 {
            record(&one, CustomKind::Counter, &format!("limited_{i}"), 1.0).unwrap();
        }
        assert_eq!(record(&one, CustomKind::Counter, "limited_3", 1.0), Err(Refused::Surplus));
        record(&one, CustomKind::Counter, "limited_0", 1.0).unwrap();
        record(&other, CustomKind::Counter, "limited_3", 1.0).unwrap();
    }

    #[test]
    fn a_name_is_one_kind_whoever_uses_it_until_nobody_does() {
        let (one, other) = (metrics("kind_1", 10), metrics("kind_2", 10));
        record(&one, CustomKind::Counter, "kind_x", 1.0).unwrap();
        for metrics in [&one, &other] {
            let Err(Refused::OtherKind(text)) = record(metrics, CustomKind::Gauge, "kind_x", 1.0) else {
                panic!("two kinds");
            };
            assert!(text.contains("kind_x"), "{text}");
        }
        record(&one, CustomKind::Histogram, "kind_h", 1.0).unwrap();
        assert!(matches!(record(&other, CustomKind::Gauge, "kind_h_sum", 1.0), Err(Refused::OtherKind(_))));
        record(&one, CustomKind::Gauge, "kind_g_count", 1.0).unwrap();
        assert!(matches!(record(&other, CustomKind::Histogram, "kind_g", 1.0), Err(Refused::OtherKind(_))));
        drop(one);
        record(&other, CustomKind::Gauge, "kind_x", 1.0).unwrap();
        assert!(!scrape().contains("kind_1"));
    }

    #[test]
    fn a_version_that_is_loaded_anew_goes_on() {
        let before = metrics("anew", 10);
        record(&before, CustomKind::Counter, "anew_n", 1.0).unwrap();
        let after = metrics("anew", 10);
        record(&after, CustomKind::Counter, "anew_n", 1.0).unwrap();
        drop(before);
        assert_lines(&["nacre_plugin_custom_anew_n{model=\"anew\",version=\"1\"} 2"]);
    }
}
