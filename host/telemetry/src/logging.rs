use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people; with colours where standard error is a terminal, unless `NO_COLOR` is set.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts the log on standard error: from `info` at verbosity 0, `debug` at 1, `trace` from 2 on. Libraries speak from
/// `warn`, and from verbosity 3 on as we do.
///
/// A second call has no effect.
pub fn init_logging(format: LogFormat, verbosity: u8) {
    let layer = match format {
        LogFormat::Text => {
            let layer = fmt::layer().with_writer(io::stderr);
            if io::stderr().is_terminal() { layer.boxed() } else { layer.with_ansi(false).boxed() }
        }
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    // The error says only that there is a log already.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter(verbosity))).try_init();
}

/// Which events are written. A prefix covers all of our crates.
fn filter(verbosity: u8) -> Targets {
    let (ours, others) = match verbosity {
        0 => (LevelFilter::INFO, LevelFilter::WARN),
        1 => (LevelFilter::DEBUG, LevelFilter::WARN),
        2 => (LevelFilter::TRACE, LevelFilter::WARN),
        _ => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    Targets::new().with_default(others).with_target("nacre", ours)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn verbosity_opens_our_levels_first_and_the_libraries_last() {
        let quiet = filter(0);
        assert!(quiet.would_enable("nacre_engine::lifecycle", &Level::INFO));
        assert!(!quiet.would_enable("nacre_engine::lifecycle", &Level::DEBUG));
        assert!(quiet.would_enable("hyper", &Level::WARN));
        assert!(filter(1).would_enable("nacre_wasm", &Level::DEBUG));
        assert!(!filter(2).would_enable("hyper", &Level::INFO));
        assert!(filter(3).would_enable("hyper", &Level::TRACE));
    }
}
