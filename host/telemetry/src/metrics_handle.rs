use std::{sync::Arc, time::Duration};

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use nacre_domain::{Error, ModelKey, Result};

use crate::{custom_metrics, machine::Machine, metric_name::MetricName};

/// Renders the metrics. Clones share everything.
#[derive(Clone)]
pub struct MetricsHandle {
    prometheus: PrometheusHandle,
    machine: Arc<Machine>,
}

impl MetricsHandle {
    /// All metrics in Prometheus' text format, the machine's CPU and memory as of now.
    ///
    /// Takes time in the order of milliseconds with hundreds of models.
    pub fn render(&self) -> String {
        self.machine.update();
        let mut text = self.prometheus.render();
        custom_metrics::render(&mut text);
        text
    }

    /// Moves samples from the lists that requests append to into the histograms. To be called every few seconds: it
    /// bounds those lists while nobody scrapes.
    pub fn run_upkeep(&self) {
        self.prometheus.run_upkeep();
    }
}

/// Makes Prometheus the recorder of this process. To be called once, before the first
/// [`ModelStatistics`](crate::ModelStatistics): a model's series are registered where it is made, and go nowhere
/// without a recorder.
///
/// # Errors
/// There is a recorder already.
pub fn install_metrics() -> Result<MetricsHandle> {
    let prometheus = builder()
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|e| Error::internal("metrics cannot be set up").with_source(e))?;
    for name in MetricName::ALL {
        name.describe();
    }
    Ok(MetricsHandle { prometheus, machine: Arc::new(Machine::new()) })
}

/// Sets `nv_model_load_duration_secs`.
pub fn record_model_load(key: &ModelKey, duration: Duration) {
    MetricName::ModelLoadDuration.gauge(key).set(duration.as_secs_f64());
}

/// A recorder with the buckets of every histogram.
pub(crate) fn builder() -> Result<PrometheusBuilder, BuildError> {
    MetricName::ALL.into_iter().try_fold(PrometheusBuilder::new(), |builder, name| match name.buckets() {
        Some(bounds) => builder.set_buckets_for_metric(Matcher::Full(name.as_str().into()), bounds),
        None => Ok(builder),
    })
}
