use std::time::Duration;

use nacre_domain::Deadline;
use tonic::metadata::MetadataMap;

/// The deadline of a call, from the `grpc-timeout` that its client sent: at most eight digits and a unit. One that is
/// malformed is none, as other servers have it.
pub fn deadline(metadata: &MetadataMap) -> Deadline {
    let timeout = metadata.get("grpc-timeout").and_then(|value| value.to_str().ok()).and_then(parse);
    timeout.map_or(Deadline::NONE, Deadline::after)
}

fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(value * 3600)),
        "M" => Some(Duration::from_secs(value * 60)),
        "S" => Some(Duration::from_secs(value)),
        "m" => Some(Duration::from_millis(value)),
        "u" => Some(Duration::from_micros(value)),
        "n" => Some(Duration::from_nanos(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_a_number_and_a_unit() {
        assert_eq!(parse("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(parse("99999999M"), Some(Duration::from_secs(99999999 * 60)));
        assert_eq!(parse("5S"), Some(Duration::from_secs(5)));
        assert_eq!(parse("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parse("1u"), Some(Duration::from_micros(1)));
        assert_eq!(parse("0n"), Some(Duration::ZERO));
        for text in ["", "5", "S", "-5S", "5.0S", "100000000S", "5 S", "5é"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
