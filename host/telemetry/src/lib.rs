//! What the server says about itself: metrics, per-model statistics and the log.

mod logging;
mod statistics;
mod metrics_handle;
mod timing;

pub use logging::{LogFormat, init_logging};
pub use metrics_handle::{MetricsHandle, install_metrics, record_model_load};
pub use statistics::{BatchReport, DurationCount, FailureReason, ModelStatistics, PendingGuard, StatisticsReport};
pub use timing::RequestTiming;
