use nacre_config::ModelConfig;
use nacre_domain::{Error, Result, ShapeDisplay, TensorSpec};

use crate::{
    DescribedTensor, LoadReport,
    bindings::{step, types},
    failure,
    limits::DESCRIBED_TENSORS,
    tensors::data_type_from_guest,
};

/// What a plugin says of its tensors; both lists are empty if it leaves that to config.pbtxt.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) inputs: Vec<TensorSpec>,
    pub(crate) outputs: Vec<TensorSpec>,
}

impl Signature {
    /// # Errors
    /// Invalid argument: an empty or repeated name, or a dimension below -1.
    pub(crate) fn new(description: step::Description) -> Result<Signature> {
        let signature = Signature {
            inputs: description.inputs.into_iter().map(spec).collect(),
            outputs: description.outputs.into_iter().map(spec).collect(),
        };
        check("input", &signature.inputs).map_err(failure::shortened)?;
        check("output", &signature.outputs).map_err(failure::shortened)?;
        Ok(signature)
    }

    /// What was found at an earlier load; `None` if it is not understood.
    pub(crate) fn of(report: &LoadReport) -> Option<Signature> {
        let specs = |tensors: &[DescribedTensor]| -> Option<Vec<_>> {
            tensors.iter().map(DescribedTensor::spec).collect()
        };
        Some(Signature { inputs: specs(&report.inputs)?, outputs: specs(&report.outputs)? })
    }

    /// Outputs that config.pbtxt does not list. The plugin may give them; nobody can ask for them.
    pub(crate) fn unlisted_outputs(&self, config: &ModelConfig) -> Vec<String> {
        let names = self.outputs.iter().map(|spec| &spec.name);
        names.filter(|name| config.output(name).is_none()).cloned().collect()
    }
}

fn check(kind: &str, specs: &[TensorSpec]) -> Result<()> {
    if specs.len() > DESCRIBED_TENSORS {
        return Err(Error::invalid_argument(format!(
            "it describes {} {kind}s: expected at most {DESCRIBED_TENSORS}",
            specs.len()
        )));
    }
    for (i, spec) in specs.iter().enumerate() {
        if spec.name.is_empty() || specs.iter().take(i).any(|other| other.name == spec.name) {
            return Err(Error::invalid_argument(format!(
                "it describes an {kind} '{}': expected a name, and one that no other {kind} has",
                spec.name
            )));
        }
        if spec.dims.iter().any(|&dim| dim < -1) {
            return Err(Error::invalid_argument(format!(
                "it describes {kind} '{}' with dims {}: expected none below -1",
                spec.name,
                ShapeDisplay(&spec.dims)
            )));
        }
    }
    Ok(())
}

fn spec(spec: types::TensorSpecResult) -> TensorSpec {
    TensorSpec {
        name: spec.name,
        data_type: data_type_from_guest(spec.data_type),
        dims: spec.dims,
        optional: spec.optional,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(tensors: &[(&str, &[i64])]) -> Result<Signature> {
        let spec = |(name, dims): &(&str, &[i64])| types::TensorSpecResult {
            name: (*name).to_owned(),
            data_type: types::DataType::Fp32,
            dims: dims.to_vec(),
            optional: false,
        };
        Signature::new(step::Description {
            summary: String::new(),
            inputs: vec![],
            outputs: tensors.iter().map(spec).collect(),
        })
    }

    #[test]
    fn names_are_there_and_differ() {
        assert!(signature(&[("a", &[-1]), ("b", &[])]).is_ok());
        assert!(signature(&[("", &[1])]).unwrap_err().message().contains("describes an output ''"));
        assert!(
            signature(&[("a", &[1]), ("a", &[2])]).unwrap_err().message().contains("describes an output 'a'")
        );
    }

    #[test]
    fn dims_are_not_below_minus_one() {
        let error = signature(&[("a", &[3, -2])]).unwrap_err();
        assert!(error.message().contains("output 'a' with dims [3,-2]"), "{error}");
    }
}
