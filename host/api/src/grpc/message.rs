//! `ModelInferRequest` to the domain's request, and its response to `ModelInferResponse`.

use std::collections::HashMap;

use bytes::Bytes;
use nacre_domain::{
    Deadline, Error, InferenceRequest, InferenceResponse, Parameters, RequestedOutput, Result, Tensor, Value,
};
use nacre_proto::inference::{
    InferParameter, ModelInferRequest, ModelInferResponse, infer_parameter::ParameterChoice,
    model_infer_request::InferInputTensor, model_infer_response::InferOutputTensor,
};

use super::contents::contents_bytes;
use crate::codec::{
    DecodedRequest, OutputPlan, RequestParameters, data_type, parse_version, refuse_shared_memory,
};

/// Decodes a request; raw contents stay slices of the received message.
///
/// # Errors
/// Invalid argument that names the model and the input.
pub fn decode(request: ModelInferRequest, deadline: Deadline) -> Result<DecodedRequest> {
    let model = request.model_name.clone();
    decode_inner(request, deadline).map_err(|e| e.context(format!("model '{model}'")))
}

fn decode_inner(request: ModelInferRequest, deadline: Deadline) -> Result<DecodedRequest> {
    let version = parse_version(&request.model_version)?;
    let sorted = RequestParameters::sort(parameters(request.parameters)?)?;
    let inputs = tensors(request.inputs, request.raw_input_contents)?;
    let outputs = request
        .outputs
        .into_iter()
        .map(|output| {
            let parameters =
                parameters(output.parameters).map_err(|e| e.context(format!("output '{}'", output.name)))?;
            Ok(RequestedOutput { name: output.name, parameters })
        })
        .collect::<Result<Vec<_>>>()?;
    let plan = OutputPlan::new(&outputs, true)?;
    Ok(DecodedRequest {
        request: InferenceRequest {
            model: request.model_name,
            version,
            id: request.id,
            parameters: sorted.free,
            inputs,
            outputs,
            deadline: sorted.deadline.earliest(deadline),
        },
        outputs: plan,
    })
}

/// Raw contents are for all inputs, in their order, or for none.
fn tensors(inputs: Vec<InferInputTensor>, raw: Vec<Bytes>) -> Result<Vec<Tensor>> {
    if raw.is_empty() {
        return inputs.into_iter().map(|input| tensor(input, None)).collect();
    }
    if raw.len() != inputs.len() {
        return Err(Error::invalid_argument(format!(
            "'raw_input_contents' has {} entries for {} inputs; expected one for each, in their order",
            raw.len(),
            inputs.len()
        )));
    }
    inputs.into_iter().zip(raw).map(|(input, raw)| tensor(input, Some(raw))).collect()
}

fn tensor(input: InferInputTensor, raw: Option<Bytes>) -> Result<Tensor> {
    let InferInputTensor { name, datatype, shape, parameters: given, contents } = input;
    let build = || {
        let data_type = data_type(&datatype)?;
        refuse_shared_memory(&parameters(given)?)?;
        let data = match (raw, contents) {
            (Some(raw), None) => raw,
            (None, Some(contents)) => contents_bytes(data_type, &contents)?,
            (Some(_), Some(_)) => {
                return Err(Error::invalid_argument(
                    "it has 'contents' although the request has 'raw_input_contents'; expected all inputs in one \
                     of them",
                ));
            }
            (None, None) => {
                return Err(Error::invalid_argument(
                    "it has no data, neither 'contents' nor 'raw_input_contents'",
                ));
            }
        };
        Ok((data_type, data))
    };
    let (data_type, data) = build().map_err(|e: Error| e.context(format!("input '{name}'")))?;
    Ok(Tensor { name, data_type, shape, data })
}

fn parameters(given: HashMap<String, InferParameter>) -> Result<Parameters> {
    given
        .into_iter()
        .map(|(name, parameter)| {
            let value = match parameter.parameter_choice {
                Some(ParameterChoice::BoolParam(flag)) => Value::Bool(flag),
                Some(ParameterChoice::Int64Param(number)) => Value::Int(number),
                Some(ParameterChoice::StringParam(text)) => Value::String(text),
                Some(ParameterChoice::DoubleParam(number)) => Value::Double(number),
                // As over HTTP: what a signed integer does not hold is a floating-point number.
                Some(ParameterChoice::Uint64Param(number)) => {
                    i64::try_from(number).map_or(Value::Double(number as f64), Value::Int)
                }
                None => return Err(Error::invalid_argument(format!("parameter '{name}' has no value"))),
            };
            Ok((name, value))
        })
        .collect()
}

/// Encodes a response, with the outputs' bytes in `raw_output_contents`.
pub fn encode(response: InferenceResponse) -> ModelInferResponse {
    let mut message = ModelInferResponse {
        model_name: response.model.name,
        model_version: response.model.version.to_string(),
        id: response.id,
        parameters: response.parameters.into_iter().map(|(name, value)| (name, parameter(value))).collect(),
        ..ModelInferResponse::default()
    };
    for output in response.outputs {
        message.raw_output_contents.push(output.data);
        message.outputs.push(InferOutputTensor {
            name: output.name,
            datatype: output.data_type.name().to_owned(),
            shape: output.shape,
            ..InferOutputTensor::default()
        });
    }
    message
}

fn parameter(value: Value) -> InferParameter {
    let choice = match value {
        Value::Bool(flag) => ParameterChoice::BoolParam(flag),
        Value::Int(number) => ParameterChoice::Int64Param(number),
        Value::Double(number) => ParameterChoice::DoubleParam(number),
        Value::String(text) => ParameterChoice::StringParam(text),
    };
    InferParameter { parameter_choice: Some(choice) }
}

#[cfg(test)]
mod tests {
    use nacre_domain::{DataType, ModelKey};
    use nacre_proto::inference::{InferTensorContents, model_infer_request::InferRequestedOutputTensor};
    use prost::Message;

    use super::*;

    fn input(name: &str, datatype: &str, shape: &[i64]) -> InferInputTensor {
        InferInputTensor {
            name: name.into(),
            datatype: datatype.into(),
            shape: shape.into(),
            ..Default::default()
        }
    }

    fn request(inputs: Vec<InferInputTensor>, raw: &[&'static [u8]]) -> ModelInferRequest {
        ModelInferRequest {
            model_name: "m".into(),
            inputs,
            raw_input_contents: raw.iter().map(|raw| Bytes::from_static(raw)).collect(),
            ..Default::default()
        }
    }

    fn ints(values: &[i32]) -> Option<InferTensorContents> {
        Some(InferTensorContents { int_contents: values.into(), ..Default::default() })
    }

    #[test]
    fn raw_contents_are_slices_of_the_message() {
        let message =
            Bytes::from(request(vec![input("x", "INT32", &[1, 2])], &[b"12345678"]).encode_to_vec());
        let decoded = decode(ModelInferRequest::decode(message.clone()).unwrap(), Deadline::NONE).unwrap();
        let tensor = &decoded.request.inputs[0];
        assert_eq!(
            (tensor.data_type, &tensor.shape[..], &tensor.data[..]),
            (DataType::Int32, &[1, 2][..], &b"12345678"[..])
        );
        assert!(message.as_ptr_range().contains(&tensor.data.as_ptr()));
    }

    #[test]
    fn typed_and_raw_contents_are_the_same_tensor() {
        let typed = InferInputTensor { contents: ints(&[1, -1]), ..input("x", "INT16", &[2]) };
        let typed = decode(request(vec![typed], &[]), Deadline::NONE).unwrap();
        let raw =
            decode(request(vec![input("x", "INT16", &[2])], &[b"\x01\0\xff\xff"]), Deadline::NONE).unwrap();
        assert_eq!(typed.request.inputs, raw.request.inputs);
    }

    #[test]
    fn wrong_requests_name_model_and_input() {
        let int = || input("x", "INT32", &[1]);
        let with_version =
            |version: &str| ModelInferRequest { model_version: version.into(), ..request(vec![], &[]) };
        let parameter = |name: &str| HashMap::from([(name.to_owned(), InferParameter::default())]);
        for (request, message) in [
            (request(vec![int()], &[]), "model 'm': input 'x': it has no data"),
            (
                request(vec![int()], &[b"1234", b"5678"]),
                "model 'm': 'raw_input_contents' has 2 entries for 1 inputs",
            ),
            (request(vec![int(), int()], &[b"1234"]), "'raw_input_contents' has 1 entries for 2 inputs"),
            (
                request(vec![InferInputTensor { contents: ints(&[1]), ..int() }], &[b"1234"]),
                "input 'x': it has 'contents' although the request has 'raw_input_contents'",
            ),
            (request(vec![input("x", "INT33", &[1])], &[b"1234"]), "input 'x': datatype 'INT33' is unknown"),
            (with_version("one"), "model 'm': model version 'one' is not a positive integer"),
            (
                ModelInferRequest { parameters: parameter("p"), ..request(vec![], &[]) },
                "parameter 'p' has no value",
            ),
            (
                ModelInferRequest {
                    outputs: vec![InferRequestedOutputTensor {
                        name: "y".into(),
                        parameters: parameter("q"),
                    }],
                    ..request(vec![], &[])
                },
                "output 'y': parameter 'q' has no value",
            ),
        ] {
            let error = decode(request, Deadline::NONE).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }

    #[test]
    fn parameters_keep_their_types_both_ways() {
        let values: Parameters = [
            ("b", Value::Bool(true)),
            ("i", Value::Int(i64::MIN)),
            ("d", Value::Double(0.5)),
            ("s", Value::String("text".into())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let response = InferenceResponse {
            model: ModelKey { name: "m".into(), version: 3 },
            id: "7".into(),
            parameters: values.clone(),
            outputs: vec![],
        };
        let message = encode(response);
        assert_eq!((message.model_version.as_str(), message.id.as_str()), ("3", "7"));
        assert_eq!(parameters(message.parameters).unwrap(), values);
    }
}
