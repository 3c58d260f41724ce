use bytes::Bytes;
use nacre_domain::{DataType, Error, InferenceRequest, Parameters, RequestedOutput, Result, Tensor, Value};

use super::{
    OutputPlan, RequestParameters,
    json::{Reader, read_data},
    output_plan::refuse_shared_memory,
    parameters::wrong_type,
};

/// A request and how its answer is wanted.
#[derive(Clone, Debug)]
pub struct DecodedRequest {
    /// What the engine is to do.
    pub request: InferenceRequest,
    /// How the outputs are to be written.
    pub outputs: OutputPlan,
}

/// Decodes the body of an infer request: JSON, and behind it the data of those inputs that have a `binary_data_size`,
/// in their order, as slices of the body. `json_length` is `Inference-Header-Content-Length`; without it all is JSON.
///
/// Keys that are not known are skipped, as Triton does.
///
/// # Errors
/// Invalid argument that names the model and the place: malformed JSON, a missing or wrong key, sizes that do not add
/// up. Unsupported for tensors in shared memory.
pub fn decode_request(
    model: &str,
    version: Option<u64>,
    json_length: Option<usize>,
    body: &Bytes,
) -> Result<DecodedRequest> {
    decode(model, version, json_length, body).map_err(|e| e.context(format!("model '{model}'")))
}

fn decode(
    model: &str,
    version: Option<u64>,
    json_length: Option<usize>,
    body: &Bytes,
) -> Result<DecodedRequest> {
    let json_length = json_length.unwrap_or(body.len());
    let json = body.get(..json_length).ok_or_else(|| {
        Error::invalid_argument(format!(
            "Inference-Header-Content-Length is {json_length}, but the body has only {} bytes",
            body.len()
        ))
    })?;
    if json.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::invalid_argument("the request has no body; expected a JSON object with 'inputs'"));
    }
    let head = Head::read(&mut Reader::new(json)?)?;
    let parameters = RequestParameters::sort(head.parameters)?;
    let outputs = OutputPlan::new(&head.outputs, parameters.binary_output)?;
    let mut binary = Binary { rest: body.slice(json_length..) };
    let inputs = head.inputs.ok_or_else(|| missing("the request", "inputs"))?;
    let inputs = inputs.into_iter().map(|input| input.into_tensor(&mut binary)).collect::<Result<_>>()?;
    binary.end()?;
    Ok(DecodedRequest {
        request: InferenceRequest {
            model: model.to_owned(),
            version,
            id: head.id,
            parameters: parameters.free,
            inputs,
            outputs: head.outputs,
            deadline: parameters.deadline,
        },
        outputs,
    })
}

/// The members of the request's object.
#[derive(Default)]
struct Head {
    id: String,
    parameters: Parameters,
    inputs: Option<Vec<Input>>,
    outputs: Vec<RequestedOutput>,
}

impl Head {
    fn read(reader: &mut Reader<'_>) -> Result<Head> {
        let mut head = Head::default();
        reader.object(|reader, key| {
            match key.as_ref() {
                "id" if !reader.null() => head.id = string(reader, "the request", "id")?,
                "parameters" if !reader.null() => head.parameters = parameters(reader)?,
                "inputs" => {
                    let mut inputs = Vec::new();
                    array(reader, "the request", "inputs", |reader| {
                        inputs.push(Input::read(reader, inputs.len())?);
                        Ok(())
                    })?;
                    head.inputs = Some(inputs);
                }
                "outputs" if !reader.null() => {
                    let mut outputs = Vec::new();
                    array(reader, "the request", "outputs", |reader| {
                        outputs.push(requested_output(reader, outputs.len())?);
                        Ok(())
                    })?;
                    head.outputs = outputs;
                }
                "id" | "parameters" | "outputs" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        reader.end()?;
        Ok(head)
    }
}

/// An input as the JSON describes it.
struct Input {
    name: String,
    data_type: DataType,
    shape: Vec<i64>,
    data: Data,
}

/// The member `data`, which may come before the type and the shape that it takes to read it.
enum JsonData {
    Read(Bytes),
    At(usize),
}

/// Where the elements of an input are.
enum Data {
    Json(Bytes),
    Binary(usize),
}

impl Input {
    fn read(reader: &mut Reader<'_>, index: usize) -> Result<Input> {
        let place = format!("input {index}");
        let mut name = None;
        let mut data_type = None;
        let mut shape = None;
        let mut data = None;
        let mut parameters = Parameters::new();
        object(reader, &place, |reader, key| {
            match key {
                "name" => name = Some(string(reader, &place, "name")?),
                "datatype" => data_type = Some(string(reader, &place, "datatype")?),
                "shape" => {
                    let place = name.as_ref().map_or_else(|| place.clone(), |name| format!("input '{name}'"));
                    shape = Some(read_shape(reader, &place)?);
                }
                "parameters" if !reader.null() => parameters = self::parameters(reader)?,
                "parameters" => {}
                "data" => {
                    data = Some(match (&data_type, &shape) {
                        (Some(data_type), Some(shape)) => {
                            let place =
                                name.as_ref().map_or_else(|| place.clone(), |name| format!("input '{name}'"));
                            JsonData::Read(read(reader, data_type, shape).map_err(|e| e.context(place))?)
                        }
                        _ => {
                            let offset = reader.offset();
                            reader.skip()?;
                            JsonData::At(offset)
                        }
                    });
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let name = name.ok_or_else(|| missing(&place, "name"))?;
        let place = format!("input '{name}'");
        let at_input = |error: Error| error.context(&place);
        let type_name: String = data_type.ok_or_else(|| missing(&place, "datatype"))?;
        let data_type = super::data_type(&type_name).map_err(at_input)?;
        let shape: Vec<i64> = shape.ok_or_else(|| missing(&place, "shape"))?;
        refuse_shared_memory(&parameters).map_err(at_input)?;
        let data = match (data, binary_size(&parameters).map_err(at_input)?) {
            (Some(JsonData::Read(data)), None) => Data::Json(data),
            (Some(JsonData::At(offset)), None) => {
                Data::Json(read(&mut reader.at(offset), &type_name, &shape).map_err(at_input)?)
            }
            (None, Some(size)) => Data::Binary(size),
            (None, None) => {
                return Err(Error::invalid_argument(format!(
                    "{place} has neither 'data' nor the parameter 'binary_data_size'"
                )));
            }
            (Some(_), Some(_)) => {
                return Err(Error::invalid_argument(format!(
                    "{place} has both 'data' and 'binary_data_size'; expected one of them"
                )));
            }
        };
        Ok(Input { name, data_type, shape, data })
    }

    fn into_tensor(self, binary: &mut Binary) -> Result<Tensor> {
        let data = match self.data {
            Data::Json(data) => data,
            Data::Binary(size) => binary.take(&self.name, size)?,
        };
        Ok(Tensor { name: self.name, data_type: self.data_type, shape: self.shape, data })
    }
}

/// The bytes behind the JSON that no input has taken yet.
struct Binary {
    rest: Bytes,
}

impl Binary {
    fn take(&mut self, input: &str, size: usize) -> Result<Bytes> {
        if size > self.rest.len() {
            return Err(Error::invalid_argument(format!(
                "input '{input}': its 'binary_data_size' is {size}, but behind the JSON (whose length \
                 Inference-Header-Content-Length gives) only {} bytes are left for it",
                self.rest.len()
            )));
        }
        Ok(self.rest.split_to(size))
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "the last {} bytes of the body belong to no input; expected every 'binary_data_size' and the JSON \
             together to be the whole body",
            self.rest.len()
        )))
    }
}

fn read(reader: &mut Reader<'_>, data_type: &str, shape: &[i64]) -> Result<Bytes> {
    read_data(reader, super::data_type(data_type)?, shape)
}

fn binary_size(parameters: &Parameters) -> Result<Option<usize>> {
    let Some(value) = parameters.get("binary_data_size") else { return Ok(None) };
    let size = if let Value::Int(size) = value { usize::try_from(*size).ok() } else { None };
    size.map(Some).ok_or_else(|| wrong_type("binary_data_size", value, "a number of bytes"))
}

fn requested_output(reader: &mut Reader<'_>, index: usize) -> Result<RequestedOutput> {
    let place = format!("output {index}");
    let mut name = None;
    let mut parameters = Parameters::new();
    object(reader, &place, |reader, key| {
        match key {
            "name" => name = Some(string(reader, &place, "name")?),
            "parameters" if !reader.null() => parameters = self::parameters(reader)?,
            "parameters" => {}
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(RequestedOutput { name: name.ok_or_else(|| missing(&place, "name"))?, parameters })
}

fn read_shape(reader: &mut Reader<'_>, place: &str) -> Result<Vec<i64>> {
    let mut shape = Vec::new();
    array(reader, place, "shape", |reader| {
        let number = reader.number();
        let dim = number.and_then(|n| n.as_integer()).and_then(|n| i64::try_from(n).ok());
        match dim.filter(|&dim| dim >= 0) {
            Some(dim) => shape.push(dim),
            None => {
                let found = number.map_or_else(|| reader.excerpt(), |number| number.text.to_owned());
                return Err(Error::invalid_argument(format!(
                    "{place}: dimension {} of its 'shape' is {found}, expected a whole number, 0 or more",
                    shape.len()
                )));
            }
        }
        Ok(())
    })?;
    Ok(shape)
}

fn parameters(reader: &mut Reader<'_>) -> Result<Parameters> {
    let mut parameters = Parameters::new();
    object(reader, "'parameters'", |reader, key| {
        let Some(value) = reader.scalar()? else {
            return Err(Error::invalid_argument(format!(
                "parameter '{key}' is {}, expected a string, a number, true or false",
                reader.excerpt()
            )));
        };
        parameters.insert(key.to_owned(), value);
        Ok(())
    })?;
    Ok(parameters)
}

fn object<'a>(
    reader: &mut Reader<'a>,
    place: &str,
    mut member: impl FnMut(&mut Reader<'a>, &str) -> Result<()>,
) -> Result<()> {
    expect(reader, b'{', || format!("{place} has to be an object"))?;
    reader.object(|reader, key| member(reader, &key))
}

fn array<'a>(
    reader: &mut Reader<'a>,
    place: &str,
    key: &str,
    element: impl FnMut(&mut Reader<'a>) -> Result<()>,
) -> Result<()> {
    expect(reader, b'[', || format!("'{key}' of {place} has to be an array"))?;
    reader.array(element)
}

fn string(reader: &mut Reader<'_>, place: &str, key: &str) -> Result<String> {
    expect(reader, b'"', || format!("'{key}' of {place} has to be a string"))?;
    Ok(reader.string()?.into_owned())
}

fn expect(reader: &mut Reader<'_>, first: u8, message: impl Fn() -> String) -> Result<()> {
    match reader.peek() {
        Some(found) if found != first => {
            let message = format!("{}, got {} at {}", message(), reader.excerpt(), reader.position());
            Err(Error::invalid_argument(message))
        }
        _ => Ok(()),
    }
}

fn missing(place: &str, key: &str) -> Error {
    Error::invalid_argument(format!("{place} has no '{key}'"))
}
