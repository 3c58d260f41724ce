//! Lines from plugins on their way to the server's log.

use std::{
    borrow::Cow,
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use nacre_domain::ModelKey;
use tracing::Level;

use crate::LOG_LINES_PARAMETER;

/// Bytes of a line; the rest of it is cut.
pub(crate) const MAX_LINE: usize = 4096;
/// The time in which the lines of one model version are limited.
const WINDOW: Duration = Duration::from_secs(1);

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The function `log.write`.
    Log,
    /// Standard output.
    Stdout,
    /// Standard error; Rust, C and Python write their last words there.
    Stderr,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Source::Log => "log",
            Source::Stdout => "stdout",
            Source::Stderr => "stderr",
        }
    }

    pub(crate) fn level(self) -> Level {
        match self {
            Source::Log | Source::Stdout => Level::INFO,
            Source::Stderr => Level::WARN,
        }
    }
}

/// One line on its way.
pub(crate) struct Line<'a> {
    pub(crate) request: &'a str,
    pub(crate) source: Source,
    pub(crate) level: Level,
    pub(crate) text: &'a str,
    /// Bytes that were cut from it already.
    pub(crate) missing: usize,
    pub(crate) fields: &'a [(String, String)],
}

/// The log of one model version: shared by its instances, so that its rate is limited as a whole.
pub(crate) struct PluginLog {
    key: ModelKey,
    max_lines: u32,
    rate: Mutex<Rate>,
}

impl PluginLog {
    /// `max_lines` in a second; the rest is counted.
    pub(crate) fn new(key: ModelKey, max_lines: u32) -> PluginLog {
        PluginLog { key, max_lines, rate: Mutex::new(Rate::new(max_lines, Instant::now())) }
    }

    /// Writes a message, line by line. A message may be megabytes of line ends; once a line is not admitted, those behind
    /// it are only counted.
    pub(crate) fn write(
        &self,
        request: &str,
        source: Source,
        level: Level,
        message: &str,
        fields: &[(String, String)],
    ) {
        let mut rest = message;
        while !rest.is_empty() {
            let (text, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            let text = text.strip_suffix('\r').unwrap_or(text);
            if !self.write_line(&Line { request, source, level, text, missing: 0, fields }) {
                let ends = behind.bytes().filter(|&byte| byte == b'\n').count() as u64;
                self.rate().dropped += ends + u64::from(!behind.is_empty() && !behind.ends_with('\n'));
                return;
            }
            rest = behind;
        }
    }

    /// Says how many lines were dropped, at most once in a window; called when a request ends.
    pub(crate) fn report_dropped(&self) {
        let dropped = self.rate().take_dropped();
        self.report(dropped);
    }

    /// Whether the line was admitted.
    pub(crate) fn write_line(&self, line: &Line<'_>) -> bool {
        let (dropped, admitted) = self.rate().admit(Instant::now());
        self.report(dropped);
        if admitted {
            self.emit(line);
        }
        admitted
    }

    fn emit(&self, line: &Line<'_>) {
        let (model, version, stream) = (self.key.name.as_str(), self.key.version, line.source.name());
        let request_id = (!line.request.is_empty()).then(|| printable(line.request, 0));
        let request_id = request_id.as_deref();
        let fields = (!line.fields.is_empty()).then(|| join_fields(line.fields));
        let fields = fields.as_deref();
        let text = printable(line.text, line.missing);
        // The level of an event is part of its static metadata, hence one call for each.
        macro_rules! emit {
            ($level:ident) => {
                tracing::$level!(target: "nacre::plugin", model, version, request_id, stream, fields, "{text}")
            };
        }
        match line.level {
            Level::ERROR => emit!(error),
            Level::WARN => emit!(warn),
            Level::INFO => emit!(info),
            Level::DEBUG => emit!(debug),
            Level::TRACE => emit!(trace),
        }
    }

    fn report(&self, dropped: u64) {
        if dropped > 0 {
            tracing::warn!(
                target: "nacre::plugin",
                model = self.key.name.as_str(),
                version = self.key.version,
                dropped,
                "lines of the plugin were dropped, more than {} in a second (parameter {LOG_LINES_PARAMETER} raises it)",
                self.max_lines
            );
        }
    }

    fn rate(&self) -> MutexGuard<'_, Rate> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PluginLog {
    fn drop(&mut self) {
        let dropped = self.rate().dropped;
        self.report(dropped);
    }
}

/// Counts the lines of a window.
struct Rate {
    max_lines: u32,
    window: Instant,
    lines: u32,
    dropped: u64,
    reported: bool,
}

impl Rate {
    fn new(max_lines: u32, now: Instant) -> Rate {
        Rate { max_lines, window: now, lines: 0, dropped: 0, reported: false }
    }

    /// Lines to report as dropped before this one, and whether this one may be written.
    fn admit(&mut self, now: Instant) -> (u64, bool) {
        let mut earlier = 0;
        if now.saturating_duration_since(self.window) >= WINDOW {
            earlier = self.dropped;
            *self = Rate::new(self.max_lines, now);
        }
        if self.lines < self.max_lines {
            self.lines += 1;
            return (earlier, true);
        }
        self.dropped += 1;
        (earlier, false)
    }

    fn take_dropped(&mut self) -> u64 {
        if self.dropped == 0 || self.reported {
            return 0;
        }
        self.reported = true;
        std::mem::take(&mut self.dropped)
    }
}

/// Cuts a text to the limit of a line and takes the control characters out of it, so that it stays one line of the log.
/// `missing` bytes were cut before.
fn printable(line: &str, missing: usize) -> Cow<'_, str> {
    let (line, cut) = cut(line);
    let cut = cut.saturating_add(missing);
    if cut == 0 && !line.contains(char::is_control) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len() + 32);
    for c in line.chars() {
        if c.is_control() && c != '\t' { text.extend(c.escape_default()) } else { text.push(c) }
    }
    if cut > 0 {
        let _ = write!(text, " … ({cut} bytes cut)");
    }
    Cow::Owned(text)
}

fn cut(line: &str) -> (&str, usize) {
    if line.len() <= MAX_LINE {
        return (line, 0);
    }
    let end = line.floor_char_boundary(MAX_LINE);
    (line.get(..end).unwrap_or_default(), line.len() - end)
}

fn join_fields(fields: &[(String, String)]) -> String {
    let mut text = String::new();
    for (key, value) in fields {
        if text.len() > MAX_LINE {
            break;
        }
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{key}={}", cut(value).0);
    }
    printable(&text, 0).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_LINES: u32 = 100;

    #[test]
    fn admits_so_many_lines_in_a_window_and_counts_the_rest() {
        let start = Instant::now();
        let mut rate = Rate::new(MAX_LINES, start);
        for _ in 0..MAX_LINES {
            assert_eq!(rate.admit(start), (0, true));
        }
        assert_eq!(rate.admit(start), (0, false));
        assert_eq!(rate.admit(start), (0, false));
        assert_eq!(rate.admit(start + WINDOW), (2, true));
        assert_eq!(rate.admit(start + WINDOW), (0, true));
    }

    #[test]
    fn reports_once_in_a_window() {
        let start = Instant::now();
        let mut rate = Rate::new(MAX_LINES, start);
        for _ in 0..MAX_LINES + 3 {
            rate.admit(start);
        }
        assert_eq!(rate.take_dropped(), 3);
        rate.admit(start);
        assert_eq!(rate.take_dropped(), 0);
        assert_eq!(rate.admit(start + WINDOW), (1, true));
    }

    #[test]
    fn lines_behind_one_that_is_dropped_are_counted() {
        let log = PluginLog::new(ModelKey { name: "m".into(), version: 1 }, 2);
        for (message, dropped) in [("a\nb\nc\nd\n", 2), ("e\r\n\nf", 5), ("", 5), ("g", 6)] {
            log.write("", Source::Log, Level::TRACE, message, &[]);
            assert_eq!(log.rate().dropped, dropped, "{message:?}");
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(printable("ok\tü", 0), "ok\tü");
        assert_eq!(printable("a\nb\u{1b}[31m", 0), "a\\nb\\u{1b}[31m");
        let long = "ü".repeat(MAX_LINE);
        let text = printable(&long, 10);
        assert!(text.ends_with(" … (4106 bytes cut)"), "{}", &text[text.len() - 40..]);
    }
}
