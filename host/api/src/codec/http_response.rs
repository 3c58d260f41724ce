use bytes::Bytes;
use nacre_domain::{Error, InferenceResponse, Parameters, Result, Tensor, Value};
use serde::Serialize;

use super::{OutputPlan, json::write_data};

/// The body of an infer response.
#[derive(Clone, Debug)]
pub struct EncodedResponse {
    /// `Inference-Header-Content-Length`, if data follow the JSON.
    pub json_length: Option<usize>,
    /// The JSON, then the data of the binary outputs as they came from the model, in the order of the outputs.
    pub chunks: Vec<Bytes>,
}

/// Encodes a response: every output as JSON or as bytes behind it, as the plan says, with the members in Triton's order.
///
/// # Errors
/// Invalid argument for an output that has no JSON form but is not wanted as bytes.
pub fn encode_response(response: InferenceResponse, plan: &OutputPlan) -> Result<EncodedResponse> {
    let model = response.model.name.clone();
    encode(response, plan).map_err(|e| e.context(format!("model '{model}'")))
}

fn encode(response: InferenceResponse, plan: &OutputPlan) -> Result<EncodedResponse> {
    let mut json = Vec::with_capacity(256);
    json.push(b'{');
    if !response.id.is_empty() {
        json.extend_from_slice(b"\"id\":");
        write(&mut json, &response.id)?;
        json.push(b',');
    }
    json.extend_from_slice(b"\"model_name\":");
    write(&mut json, &response.model.name)?;
    json.extend_from_slice(b",\"model_version\":");
    write(&mut json, &response.model.version.to_string())?;
    if !response.parameters.is_empty() {
        json.extend_from_slice(b",\"parameters\":");
        write_parameters(&mut json, &response.parameters)?;
    }
    json.extend_from_slice(b",\"outputs\":[");
    let mut binary = Vec::new();
    let mut any_binary = false;
    for (i, output) in response.outputs.into_iter().enumerate() {
        if i > 0 {
            json.push(b',');
        }
        let as_bytes = plan.form(&output.name).binary;
        write_output(&mut json, &output, as_bytes)?;
        any_binary |= as_bytes;
        if as_bytes && !output.data.is_empty() {
            binary.push(output.data);
        }
    }
    json.extend_from_slice(b"]}");
    let json_length = any_binary.then_some(json.len());
    let mut chunks = vec![Bytes::from(json)];
    chunks.append(&mut binary);
    Ok(EncodedResponse { json_length, chunks })
}

fn write_output(json: &mut Vec<u8>, output: &Tensor, as_bytes: bool) -> Result<()> {
    json.extend_from_slice(b"{\"name\":");
    write(json, &output.name)?;
    json.extend_from_slice(b",\"datatype\":");
    write(json, output.data_type.name())?;
    json.extend_from_slice(b",\"shape\":");
    write(json, &output.shape)?;
    if as_bytes {
        json.extend_from_slice(b",\"parameters\":{\"binary_data_size\":");
        write(json, &output.data.len())?;
        json.push(b'}');
    } else {
        json.extend_from_slice(b",\"data\":");
        write_data(json, output)?;
    }
    json.push(b'}');
    Ok(())
}

fn write_parameters(json: &mut Vec<u8>, parameters: &Parameters) -> Result<()> {
    json.push(b'{');
    for (i, (name, value)) in parameters.iter().enumerate() {
        if i > 0 {
            json.push(b',');
        }
        write(json, name)?;
        json.push(b':');
        match value {
            Value::Bool(flag) => write(json, flag)?,
            Value::Int(number) => write(json, number)?,
            Value::Double(number) => write(json, number)?,
            Value::String(text) => write(json, text)?,
        }
    }
    json.push(b'}');
    Ok(())
}

fn write<T: Serialize + ?Sized>(json: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(json, value)
        .map_err(|e| Error::internal("writing the response's JSON failed").with_source(e))
}
