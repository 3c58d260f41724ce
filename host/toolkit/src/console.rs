//! What a person sees, and what a script reads.
//!
//! Results go to the standard output: text, or with `--json` one object that begins with `"ok"`. Everything on the way
//! there (steps, warnings, the plugin's log, errors) goes to standard error. Colours are for terminals, and not where
//! `NO_COLOR` is set.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::{cli::OutputArgs, failure::Failure};

/// What is right.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What deserves a look.
pub const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// What matters less.
pub const DIM: Style = Style::new().dimmed();
/// Names and headings.
pub const BOLD: Style = Style::new().bold();

/// A text in a style; where there are no colours, the text alone.
pub fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// What a command found.
pub trait Report: Serialize {
    /// Whether the plugin is as it should be; if not, the exit code is 1.
    fn passed(&self) -> bool {
        true
    }

    /// Writes it for a person.
    ///
    /// # Errors
    /// The standard output is closed.
    fn render(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// A report as JSON.
#[derive(Serialize)]
struct Document<'a, R> {
    ok: bool,
    #[serde(flatten)]
    report: &'a R,
}

/// A failure as JSON.
#[derive(Serialize)]
struct FailureDocument<'a> {
    ok: bool,
    error: &'a Failure,
}

/// Where a command's words go.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    json: bool,
}

impl Console {
    /// For a command with these options; the plugin's log is told from now on as well.
    pub fn start(output: OutputArgs) -> Self {
        crate::log::start(output.verbose);
        Self { json: output.json }
    }

    /// A long step begins.
    pub fn step(&self, text: &str) {
        if !self.json {
            self.note(&paint(DIM, format_args!("· {text} …")));
        }
    }

    /// A line beside the result.
    pub fn note(&self, text: &str) {
        // A closed standard error is nobody's loss.
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }

    /// Something that does not stop the command.
    pub fn warn(&self, text: &str) {
        self.note(&format!("{} {text}", paint(WARN, "warning:")));
    }

    /// A question to a person, if there is one; the answer without spaces around it.
    pub fn ask(&self, question: &str) -> Option<String> {
        if self.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        let _ = write!(anstream::stderr().lock(), "{question} ");
        let mut line = String::new();
        (io::stdin().read_line(&mut line).ok()? > 0).then(|| line.trim().to_owned())
    }

    /// Writes a report of several; for commands that go on.
    pub fn report<R: Report>(&self, report: &R) {
        // A reader that has left wants no more.
        let _ = self.write_report(report);
    }

    /// Writes a failure; for commands that go on.
    pub fn failure(&self, failure: &Failure) {
        if self.json {
            let _ = write_json(&FailureDocument { ok: false, error: failure });
            return;
        }
        self.note(&format!("{} {}", paint(BAD, "error:"), failure.message));
        if let Some(fix) = &failure.fix {
            self.note(&format!("{} {fix}", paint(BOLD, "help:")));
        }
    }

    /// Writes what a command ended with and gives its exit code.
    pub fn finish<R: Report>(&self, result: Result<R, Failure>) -> ExitCode {
        match result {
            Ok(report) => {
                self.report(&report);
                if report.passed() { ExitCode::SUCCESS } else { ExitCode::from(1) }
            }
            Err(failure) => {
                self.failure(&failure);
                failure.exit_code()
            }
        }
    }

    fn write_report<R: Report>(&self, report: &R) -> io::Result<()> {
        if self.json {
            return write_json(&Document { ok: report.passed(), report });
        }
        let mut out = anstream::stdout().lock();
        report.render(&mut out)?;
        out.flush()
    }
}

fn write_json(document: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, document)?;
    writeln!(out)?;
    out.flush()
}

/// A size as people say it: `61 KB`; thousands, as file managers have them.
pub fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        _ if bytes < 1e3 => format!("{bytes} B"),
        _ if bytes < 1e6 => format!("{:.0} KB", bytes / 1e3),
        _ if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}

/// Milliseconds with three digits that count: `0.027 ms`, `12.5 ms`, `1.20 s`.
pub fn duration(milliseconds: f64) -> String {
    match milliseconds {
        _ if milliseconds < 1.0 => format!("{:.0} µs", milliseconds * 1e3),
        _ if milliseconds < 10.0 => format!("{milliseconds:.2} ms"),
        _ if milliseconds < 1e3 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.2} s", milliseconds / 1e3),
    }
}

/// The text of a report without colours.
///
/// # Errors
/// What its rendering says.
pub fn plain(report: &impl Report) -> io::Result<String> {
    let mut out = anstream::StripStream::new(Vec::new());
    report.render(&mut out)?;
    Ok(String::from_utf8_lossy(&out.into_inner()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(
            [size(999), size(61_234), size(18_000_000), size(2_500_000_000)],
            ["999 B", "61 KB", "18.0 MB", "2.5 GB"]
        );
        assert_eq!(
            [duration(0.0274), duration(1.5), duration(68.2), duration(8000.0)],
            ["27 µs", "1.50 ms", "68 ms", "8.00 s"]
        );
    }
}
