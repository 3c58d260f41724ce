use std::{collections::BTreeMap, num::NonZeroUsize};

use nacre_domain::{Error, Parameters, RequestedOutput, Result, Value};

use super::parameters::wrong_type;

/// How the client wants one output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputForm {
    /// As bytes behind the JSON; gRPC knows nothing else.
    pub binary: bool,
    /// Not the tensor but its highest so many elements, as `value:index[:label]`.
    pub classes: Option<NonZeroUsize>,
}

/// How the client wants the outputs of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPlan {
    /// Those that the request does not name.
    pub default: OutputForm,
    by_name: BTreeMap<String, OutputForm>,
}

impl OutputPlan {
    /// The plan of a request's outputs: `binary_data` and `classification` of their parameters, and `binary_data_output`
    /// of the request for those that say nothing.
    ///
    /// # Errors
    /// Invalid argument for such a parameter of the wrong type, unsupported for shared memory.
    pub fn new(outputs: &[RequestedOutput], binary: bool) -> Result<OutputPlan> {
        let default = OutputForm { binary, classes: None };
        let by_name = outputs.iter().map(|output| {
            let form = form(&output.parameters, default)
                .map_err(|e| e.context(format!("output '{}'", output.name)))?;
            Ok((output.name.clone(), form))
        });
        Ok(OutputPlan { default, by_name: by_name.collect::<Result<_>>()? })
    }

    /// How that output is wanted.
    pub fn form(&self, output: &str) -> OutputForm {
        self.by_name.get(output).copied().unwrap_or(self.default)
    }

    /// Whether classification is asked for anywhere.
    pub fn classifies(&self) -> bool {
        self.by_name.values().any(|form| form.classes.is_some())
    }
}

fn form(parameters: &Parameters, default: OutputForm) -> Result<OutputForm> {
    refuse_shared_memory(parameters)?;
    let mut form = default;
    match parameters.get("binary_data") {
        None => {}
        Some(Value::Bool(binary)) => form.binary = *binary,
        Some(other) => return Err(wrong_type("binary_data", other, "true or false")),
    }
    match parameters.get("classification") {
        None => {}
        Some(Value::Int(count @ 0..)) => {
            form.classes = usize::try_from(*count).ok().and_then(NonZeroUsize::new)
        }
        Some(other) => return Err(wrong_type("classification", other, "a number of classes, 0 for none")),
    }
    Ok(form)
}

/// Refuses a tensor that lies in shared memory.
///
/// # Errors
/// Unsupported if the parameters of an input or output say so.
pub fn refuse_shared_memory(parameters: &Parameters) -> Result<()> {
    if parameters.keys().any(|name| name.starts_with("shared_memory_")) {
        return Err(Error::unsupported(
            "shared memory is not supported; send and take the data with the request",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(name: &str, parameters: &[(&str, Value)]) -> RequestedOutput {
        RequestedOutput {
            name: name.into(),
            parameters: parameters.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        }
    }

    #[test]
    fn an_output_may_differ_from_the_request() {
        let outputs = [
            output("a", &[]),
            output("b", &[("binary_data", Value::Bool(false))]),
            output("c", &[("classification", Value::Int(3))]),
            output("d", &[("classification", Value::Int(0))]),
        ];
        let plan = OutputPlan::new(&outputs, true).unwrap();
        assert!(plan.form("a").binary && !plan.form("b").binary && plan.form("unnamed").binary);
        assert_eq!(plan.form("c").classes, NonZeroUsize::new(3));
        assert_eq!(plan.form("d").classes, None);
        assert!(plan.classifies());
    }

    #[test]
    fn wrong_parameters_name_the_output() {
        for (parameter, value, message) in [
            (
                "binary_data",
                Value::Int(1),
                "output 'a': parameter 'binary_data' is 1, expected true or false",
            ),
            (
                "classification",
                Value::Int(-1),
                "output 'a': parameter 'classification' is -1, expected a number of",
            ),
            ("shared_memory_region", Value::String("r".into()), "output 'a': shared memory is not supported"),
        ] {
            let error = OutputPlan::new(&[output("a", &[(parameter, value)])], false).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }
}
