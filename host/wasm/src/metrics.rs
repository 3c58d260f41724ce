//! The import `metrics`.

use std::sync::atomic::{AtomicBool, Ordering};

use nacre_domain::ModelKey;
use nacre_telemetry::{CustomKind, CustomMetrics, Refused};

use crate::{METRIC_SERIES_PARAMETER, bindings::metrics, limits::Limits, state::HostState};

/// The metrics that one plugin names itself, and what has been said of those that were dropped.
pub(crate) struct OwnMetrics {
    key: ModelKey,
    metrics: CustomMetrics,
    max_series: usize,
    malformed_told: AtomicBool,
    kind_told: AtomicBool,
    surplus_told: AtomicBool,
}

impl OwnMetrics {
    pub(crate) fn new(key: &ModelKey, limits: &Limits) -> OwnMetrics {
        OwnMetrics {
            key: key.clone(),
            metrics: CustomMetrics::new(key, limits.metric_series),
            max_series: limits.metric_series,
            malformed_told: AtomicBool::new(false),
            kind_told: AtomicBool::new(false),
            surplus_told: AtomicBool::new(false),
        }
    }

    fn record(&self, kind: CustomKind, name: &str, value: f64, labels: &mut [(String, String)]) {
        match self.metrics.record(kind, name, value, labels) {
            Ok(()) => {}
            Err(Refused::Malformed(reason)) => self.tell(&self.malformed_told, &reason),
            Err(Refused::OtherKind(reason)) => self.tell(&self.kind_told, &reason),
            Err(Refused::Surplus) => self.tell(
                &self.surplus_told,
                &format!(
                    "there are {} series already (parameter {METRIC_SERIES_PARAMETER} allows more)",
                    self.max_series
                ),
            ),
        }
    }

    /// Once for each reason, since a plugin makes the same mistake in every request.
    fn tell(&self, told: &AtomicBool, reason: &str) {
        if !told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "nacre::plugin",
                model = self.key.name.as_str(),
                version = self.key.version,
                "a metric of the plugin is dropped, and others like it without a further word: {reason}"
            );
        }
    }
}

impl HostState {
    fn record_metric(
        &mut self,
        kind: CustomKind,
        name: &str,
        value: f64,
        mut labels: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        self.count_call()?;
        self.own_metrics.record(kind, name, value, &mut labels);
        Ok(())
    }
}

impl metrics::Host for HostState {
    fn add(&mut self, name: String, amount: f64, labels: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.record_metric(CustomKind::Counter, &name, amount, labels)
    }

    fn set(&mut self, name: String, value: f64, labels: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.record_metric(CustomKind::Gauge, &name, value, labels)
    }

    fn observe(&mut self, name: String, value: f64, labels: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.record_metric(CustomKind::Histogram, &name, value, labels)
    }
}
