use bytes::Bytes;
use nacre_config::ModelConfig;
use nacre_domain::{
    DataType, Deadline, Error, InferenceRequest, Parameters, Result, ShapeDisplay, Tensor,
    concat_bytes_elements, element_count,
};

use super::{DecodedRequest, OutputPlan};

/// Decodes a body that is the data of a model's only input and nothing else (`Inference-Header-Content-Length: 0`); the
/// outputs are wanted as bytes.
///
/// As in Triton the request is a batch of one, one dimension of the input may be open and is found from the size of the
/// body, and a BYTES input has one element, which is the body.
///
/// # Errors
/// Invalid argument if the model has another number of inputs, or the body does not fit its input.
pub fn decode_raw_request(config: &ModelConfig, version: Option<u64>, body: Bytes) -> Result<DecodedRequest> {
    let [input] = config.inputs.as_slice() else {
        return Err(Error::invalid_argument(format!(
            "model '{}' has {} inputs; a raw body (Inference-Header-Content-Length: 0) can only be the data of a \
             model with one",
            config.name,
            config.inputs.len()
        )));
    };
    let spec = &input.spec;
    let data_type = spec.data_type;
    let dims = shape(data_type, &spec.dims, body.len())
        .map_err(|e| e.context(format!("model '{}': raw body as input '{}'", config.name, spec.name)))?;
    let data = if data_type == DataType::Bytes { concat_bytes_elements(&[body]) } else { body };
    let shape = config.is_batched().then_some(1).into_iter().chain(dims).collect();
    Ok(DecodedRequest {
        request: InferenceRequest {
            model: config.name.clone(),
            version,
            id: String::new(),
            parameters: Parameters::new(),
            inputs: vec![Tensor { name: spec.name.clone(), data_type, shape, data }],
            outputs: Vec::new(),
            deadline: Deadline::NONE,
        },
        outputs: OutputPlan::new(&[], true)?,
    })
}

/// The dims of the input with the open one, if there is one, found from the size of the body.
fn shape(data_type: DataType, dims: &[i64], length: usize) -> Result<Vec<i64>> {
    let Some(size) = data_type.size() else {
        if dims.iter().any(|&dim| dim != 1 && dim != -1) {
            return Err(Error::invalid_argument(format!(
                "its dims are {}, but a raw body is one BYTES element",
                ShapeDisplay(dims)
            )));
        }
        return Ok(vec![1; dims.len()]);
    };
    let open = dims.iter().filter(|&&dim| dim < 0).count();
    let known: Vec<i64> = dims.iter().copied().filter(|&dim| dim >= 0).collect();
    let row = element_count(&known)?.saturating_mul(size);
    let found = match open {
        0 if row == length => 0,
        1 if row > 0 && length.is_multiple_of(row) => i64::try_from(length / row).unwrap_or(i64::MAX),
        0 | 1 => {
            let expected =
                if open == 0 { format!("{row} bytes") } else { format!("a multiple of {row} bytes") };
            return Err(Error::invalid_argument(format!(
                "dims {} of {data_type} take {expected}, got {length}",
                ShapeDisplay(dims)
            )));
        }
        _ => {
            return Err(Error::invalid_argument(format!(
                "dims {} have {open} open dimensions, and the size of the body tells only one",
                ShapeDisplay(dims)
            )));
        }
    };
    Ok(dims.iter().map(|&dim| if dim < 0 { found } else { dim }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_open_dimension_is_found_from_the_size() {
        assert_eq!(shape(DataType::Fp32, &[2, -1], 24).unwrap(), [2, 3]);
        assert_eq!(shape(DataType::Uint8, &[-1], 0).unwrap(), [0]);
        assert_eq!(shape(DataType::Int16, &[2, 2], 8).unwrap(), [2, 2]);
        assert_eq!(shape(DataType::Bytes, &[1], 1000).unwrap(), [1]);
    }

    #[test]
    fn a_body_that_does_not_fit_is_refused() {
        for (data_type, dims, length, message) in [
            (DataType::Fp32, &[2, 2][..], 15, "dims [2,2] of FP32 take 16 bytes, got 15"),
            (DataType::Fp32, &[2, -1], 15, "dims [2,-1] of FP32 take a multiple of 8 bytes, got 15"),
            (DataType::Fp32, &[-1, -1], 16, "have 2 open dimensions"),
            (DataType::Bytes, &[2], 16, "but a raw body is one BYTES element"),
        ] {
            let error = shape(data_type, dims, length).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }
}
