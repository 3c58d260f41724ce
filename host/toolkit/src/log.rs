//! The log on a terminal: the plugin's lines, and the host's warnings, each as one short line on standard error.

use std::{fmt, io::Write as _};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

use crate::console::{BAD, BOLD, DIM, WARN, paint};

/// Where lines of plugins come from.
const PLUGIN: &str = "nacre::plugin";

/// Starts it: the plugin's lines from `info` on, `debug` with a verbosity of 1, `trace` with 2; the host's from `warn` on,
/// `debug` with 2. A second call has no effect.
pub fn start(verbosity: u8) {
    let (plugin, host) = match verbosity {
        0 => (LevelFilter::INFO, LevelFilter::WARN),
        1 => (LevelFilter::DEBUG, LevelFilter::WARN),
        _ => (LevelFilter::TRACE, LevelFilter::DEBUG),
    };
    let filter = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("nacre", host)
        .with_target(PLUGIN, plugin);
    let _ = tracing_subscriber::registry().with(Lines.with_filter(filter)).try_init();
}

/// Writes events as lines.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut parts = Parts::default();
        event.record(&mut parts);
        let line = parts.line(event.metadata().target() == PLUGIN, *event.metadata().level());
        let _ = writeln!(anstream::stderr().lock(), "{line}");
    }
}

/// An event's message and fields.
#[derive(Default)]
struct Parts {
    message: String,
    stream: String,
    fields: Vec<String>,
}

impl Visit for Parts {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "stream" => value.clone_into(&mut self.stream),
            // One plugin speaks, and to one person.
            "model" | "version" | "request_id" => {}
            // The plugin's own fields, as it wrote them.
            "fields" => self.fields.push(value.to_owned()),
            name => self.fields.push(format!("{name}={value}")),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() != "version" {
            self.fields.push(format!("{}={value}", field.name()));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl Parts {
    fn line(&self, of_plugin: bool, level: Level) -> String {
        let style = match level {
            Level::ERROR => BAD,
            Level::WARN => WARN,
            Level::INFO => BOLD,
            _ => DIM,
        };
        let who = match (of_plugin, self.stream.as_str()) {
            (true, "" | "log") => format!("plugin {}", level.as_str().to_ascii_lowercase()),
            (true, stream) => format!("plugin {stream}"),
            (false, _) => level.as_str().to_ascii_lowercase(),
        };
        let mut line = format!("{} {}", paint(style, format_args!("{who}:")), self.message);
        if !self.fields.is_empty() {
            line.push_str(&paint(DIM, format_args!(" ({})", self.fields.join(" "))));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_who_speaks() {
        let parts = Parts { message: "hello".into(), stream: "stderr".into(), fields: vec!["a=1".into()] };
        let plain = anstream::adapter::strip_str(&parts.line(true, Level::WARN)).to_string();
        assert_eq!(plain, "plugin stderr: hello (a=1)");
        let parts = Parts { message: "hello".into(), stream: "log".into(), fields: vec![] };
        let plain = anstream::adapter::strip_str(&parts.line(true, Level::INFO)).to_string();
        assert_eq!(plain, "plugin info: hello");
        let parts = Parts { message: "no effect".into(), ..Parts::default() };
        let plain = anstream::adapter::strip_str(&parts.line(false, Level::WARN)).to_string();
        assert_eq!(plain, "warn: no effect");
    }
}
