use std::time::Duration;

use nacre_domain::{Deadline, Error, Parameters, Result, Value};

/// The parameters of a request, sorted by who they are for.
#[derive(Clone, Debug, Default)]
pub struct RequestParameters {
    /// For the model.
    pub free: Parameters,
    /// From `timeout`, in microseconds; 0 is none.
    pub deadline: Deadline,
    /// `binary_data_output`: outputs are wanted as bytes unless they say otherwise.
    pub binary_output: bool,
}

impl RequestParameters {
    /// Takes out the parameters that the protocol reserves.
    ///
    /// `sequence_*` and `priority` mean nothing to a model that schedules neither and, as in Triton, go no further.
    ///
    /// # Errors
    /// Invalid argument for a reserved parameter of the wrong type, or one that begins with `triton_`.
    pub fn sort(all: Parameters) -> Result<RequestParameters> {
        let mut sorted = RequestParameters::default();
        for (name, value) in all {
            match name.as_str() {
                "timeout" => sorted.deadline = deadline(&value)?,
                "binary_data_output" => sorted.binary_output = boolean(&name, &value)?,
                "sequence_start" | "sequence_end" => drop(boolean(&name, &value)?),
                "sequence_id" | "priority" => {}
                // The stream's own setting, which clients also send with single requests.
                "triton_enable_empty_final_response" => {}
                reserved if reserved.starts_with("triton_") => {
                    return Err(Error::invalid_argument(format!(
                        "parameter '{name}' is reserved: names that begin with 'triton_' are not the client's to use"
                    )));
                }
                _ => {
                    sorted.free.insert(name, value);
                }
            }
        }
        Ok(sorted)
    }
}

fn deadline(timeout: &Value) -> Result<Deadline> {
    match timeout {
        Value::Int(0) => Ok(Deadline::NONE),
        Value::Int(microseconds) if *microseconds > 0 => {
            Ok(Deadline::after(Duration::from_micros(microseconds.unsigned_abs())))
        }
        other => Err(wrong_type("timeout", other, "a whole number of microseconds, 0 or more")),
    }
}

fn boolean(name: &str, value: &Value) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        other => Err(wrong_type(name, other, "true or false")),
    }
}

/// The error of a parameter that has a value it cannot have.
pub fn wrong_type(name: &str, value: &Value, expected: &str) -> Error {
    let found = match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::String(text) => format!("'{text}'"),
    };
    Error::invalid_argument(format!("parameter '{name}' is {found}, expected {expected}"))
}

/// The version that a request names; an empty one leaves the choice to the server.
///
/// # Errors
/// Invalid argument if it is no positive integer.
pub fn parse_version(text: &str) -> Result<Option<u64>> {
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(version) if plain && version > 0 => Ok(Some(version)),
        _ => Err(Error::invalid_argument(format!("model version '{text}' is not a positive integer"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(parameters: &[(&str, Value)]) -> Result<RequestParameters> {
        RequestParameters::sort(
            parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        )
    }

    #[test]
    fn reserved_parameters_do_not_reach_the_model() {
        let sorted = sort(&[
            ("threshold", Value::Double(0.5)),
            ("binary_data_output", Value::Bool(true)),
            ("sequence_id", Value::Int(7)),
            ("sequence_start", Value::Bool(true)),
            ("priority", Value::Int(1)),
            ("timeout", Value::Int(60_000_000)),
        ])
        .unwrap();
        assert_eq!(sorted.free.keys().collect::<Vec<_>>(), ["threshold"]);
        assert!(sorted.binary_output);
        assert!(sorted.deadline.remaining().is_some_and(|left| left > Duration::from_secs(50)));
        assert_eq!(sort(&[("timeout", Value::Int(0))]).unwrap().deadline, Deadline::NONE);
    }

    #[test]
    fn reserved_parameters_of_the_wrong_type_are_refused() {
        for (name, value, message) in [
            ("timeout", Value::String("1".into()), "parameter 'timeout' is '1', expected a whole number of"),
            ("timeout", Value::Int(-1), "parameter 'timeout' is -1, expected"),
            (
                "binary_data_output",
                Value::Int(1),
                "parameter 'binary_data_output' is 1, expected true or false",
            ),
            ("triton_final_response", Value::Bool(true), "parameter 'triton_final_response' is reserved"),
        ] {
            let error = sort(&[(name, value)]).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }

    #[test]
    fn versions_are_positive_integers() {
        assert_eq!(parse_version("").unwrap(), None);
        assert_eq!(parse_version("12").unwrap(), Some(12));
        for text in ["0", "-1", "+1", "x", "1.0", "99999999999999999999"] {
            assert!(parse_version(text).unwrap_err().message().contains("not a positive integer"), "{text}");
        }
    }
}
