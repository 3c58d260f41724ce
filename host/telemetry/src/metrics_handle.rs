use std::time::Duration;

use nacre_domain::{Error, ModelKey, Result};

/// Renders the metrics.
#[derive(Clone, Debug)]
pub struct MetricsHandle {}

impl MetricsHandle {
    /// Prometheus text.
    pub fn render(&self) -> String {
        String::new()
    }

    /// To be called every few seconds.
    pub fn run_upkeep(&self) {}
}

/// Once per process.
///
/// # Errors
/// Called twice.
pub fn install_metrics() -> Result<MetricsHandle> {
    Err(Error::internal("not there yet"))
}

/// nv_model_load_duration_secs.
pub fn record_model_load(_key: &ModelKey, _duration: Duration) {}
