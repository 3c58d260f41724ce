//! One series of a plugin's own metric: its numbers, its text, and what names and labels have to be.

use std::fmt::Write as _;

use crate::custom_metrics::{CustomKind, PREFIX, Refused};

/// Bytes of a name, of a label's name and of a label's value.
const LONGEST_NAME: usize = 100;
const LONGEST_VALUE: usize = 200;
/// Labels of a series.
const MOST_LABELS: usize = 10;
/// Label names that the server itself uses.
const RESERVED: [&str; 4] = ["model", "version", "le", "quantile"];
/// Upper bounds of every histogram: nobody tells the server what is measured.
const BOUNDS: [f64; 25] = [
    1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0,
    50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4,
];

/// Its numbers.
pub(crate) enum Series {
    Counter(f64),
    Gauge(f64),
    Histogram(Box<Buckets>),
}

#[derive(Default)]
pub(crate) struct Buckets {
    /// Not cumulative; the last is beyond all bounds.
    counts: [u64; BOUNDS.len() + 1],
    sum: f64,
}

impl Series {
    pub(crate) fn new(kind: CustomKind) -> Series {
        match kind {
            CustomKind::Counter => Series::Counter(0.0),
            CustomKind::Gauge => Series::Gauge(0.0),
            CustomKind::Histogram => Series::Histogram(Box::default()),
        }
    }

    pub(crate) fn record(&mut self, kind: CustomKind, name: &str, value: f64) -> Result<(), Refused> {
        match (self, kind) {
            (Series::Counter(sum), CustomKind::Counter) => *sum += value,
            (Series::Gauge(now), CustomKind::Gauge) => *now = value,
            (Series::Histogram(buckets), CustomKind::Histogram) => {
                let at = BOUNDS.partition_point(|&bound| bound < value);
                if let Some(count) = buckets.counts.get_mut(at) {
                    *count += 1;
                }
                buckets.sum += value;
            }
            _ => {
                return Err(Refused::OtherKind(format!("'{name}' is not a {}", kind.name())));
            }
        }
        Ok(())
    }

    pub(crate) fn kind(&self) -> CustomKind {
        match self {
            Series::Counter(_) => CustomKind::Counter,
            Series::Gauge(_) => CustomKind::Gauge,
            Series::Histogram(_) => CustomKind::Histogram,
        }
    }

    pub(crate) fn render(&self, text: &mut String, name: &str, labels: &str) {
        match self {
            Series::Counter(value) | Series::Gauge(value) => {
                let _ = writeln!(text, "{PREFIX}{name}{{{labels}}} {}", number(*value));
            }
            Series::Histogram(buckets) => {
                let mut count = 0;
                let bounds = BOUNDS.iter().map(|bound| number(*bound)).chain(["+Inf".to_owned()]);
                for (bound, more) in bounds.zip(buckets.counts) {
                    count += more;
                    let _ = writeln!(text, "{PREFIX}{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
                }
                let _ = writeln!(text, "{PREFIX}{name}_sum{{{labels}}} {}", number(buckets.sum));
                let _ = writeln!(text, "{PREFIX}{name}_count{{{labels}}} {count}");
            }
        }
    }
}

pub(crate) fn check_value(kind: CustomKind, name: &str, value: f64) -> Result<(), Refused> {
    let expected = match kind {
        CustomKind::Counter if !value.is_finite() || value < 0.0 => "a number that is not negative",
        CustomKind::Histogram if !value.is_finite() => "a number",
        _ => return Ok(()),
    };
    let name = start_of(name);
    Err(Refused::Malformed(format!("value of '{name}': expected {expected}, got {value}")))
}

pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Refused> {
    let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let starts = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if letters && starts && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Refused::Malformed(format!(
        "{what} '{}': expected lower-case letters, digits and '_', no digit in front, at most {LONGEST_NAME}",
        start_of(name)
    )))
}

/// Sorted by name, so that the order in which they are given makes no difference.
pub(crate) fn render_labels(name: &str, labels: &mut [(String, String)]) -> Result<String, Refused> {
    if labels.len() > MOST_LABELS {
        return Err(Refused::Malformed(format!(
            "'{name}' has {} labels: expected at most {MOST_LABELS}",
            labels.len()
        )));
    }
    labels.sort_unstable();
    let mut text = String::new();
    let mut before = None;
    for (label, value) in &*labels {
        check_name("label", label)?;
        if RESERVED.contains(&label.as_str()) || before == Some(label) {
            return Err(Refused::Malformed(format!("label '{label}' of '{name}' is there already")));
        }
        before = Some(label);
        if value.len() > LONGEST_VALUE {
            return Err(Refused::Malformed(format!(
                "label '{label}' of '{name}' has {} bytes: expected at most {LONGEST_VALUE}",
                value.len()
            )));
        }
        let _ = write!(text, ",{label}=\"");
        escape(&mut text, value);
        text.push('"');
    }
    Ok(text)
}

pub(crate) fn escape(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            _ => text.push(c),
        }
    }
}

/// As Prometheus writes it.
fn number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    value.to_string()
}

fn start_of(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.escape_debug().to_string();
    }
    let end = name.floor_char_boundary(LONGEST_NAME);
    format!("{}…", name.get(..end).unwrap_or_default().escape_debug())
}
