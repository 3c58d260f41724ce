//! What the server says about itself: metrics, per-model statistics and the log.
//!
//! Requests are recorded here and only here, once each, so that the statistics call and the metrics agree.

mod custom_metrics;
mod custom_series;
mod logging;
mod machine;
mod metric_name;
mod metrics_handle;
mod plugin_metrics;
mod report;
mod statistics;
mod timing;

pub use custom_metrics::{CustomKind, CustomMetrics, Refused};
pub use logging::{LogFormat, init_logging};
pub use metrics_handle::{MetricsHandle, install_metrics, record_model_load};
pub use plugin_metrics::{LoadPhase, PluginFailure, PluginMetrics};
pub use report::{BatchReport, DurationCount, StatisticsReport};
pub use statistics::{FailureReason, ModelStatistics, PendingGuard};
pub use timing::RequestTiming;
