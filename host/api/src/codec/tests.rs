//! Properties of the whole codec, and what it answers to requests that are wrong.

use bytes::Bytes;
use nacre_domain::{
    DataType, Error, ErrorCode, InferenceResponse, ModelKey, Parameters, RequestedOutput, Tensor, Value,
    concat_bytes_elements,
};
use proptest::{collection::vec, prelude::*};

use super::*;

fn decode(json: &str) -> Result<DecodedRequest> {
    decode_request("m", None, None, &Bytes::copy_from_slice(json.as_bytes()))
}

fn decode_binary(json: &str, data: &[u8]) -> Result<DecodedRequest> {
    let body: Bytes = [json.as_bytes(), data].concat().into();
    decode_request("m", None, Some(json.len()), &body)
}

fn respond(outputs: Vec<Tensor>, plan: &OutputPlan) -> Result<EncodedResponse> {
    let model = ModelKey { name: "m".into(), version: 2 };
    encode_response(
        InferenceResponse { model, id: String::new(), parameters: Parameters::new(), outputs },
        plan,
    )
}

fn json(response: &EncodedResponse) -> &str {
    std::str::from_utf8(&response.chunks[0]).unwrap()
}

fn tensor(name: &str, data_type: DataType, shape: &[i64], data: impl Into<Bytes>) -> Tensor {
    Tensor { name: name.into(), data_type, shape: shape.into(), data: data.into() }
}

fn message(result: Result<DecodedRequest>) -> String {
    let error: Error = result.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
    error.message().to_owned()
}

/// Tensors of any data type with a JSON form. Floats that are not finite keep no payload in JSON and are left out.
fn tensors() -> impl Strategy<Value = Tensor> {
    let with_json = DataType::ALL.into_iter().filter(|d| !matches!(d, DataType::Fp16 | DataType::Bf16));
    (proptest::sample::select(with_json.collect::<Vec<_>>()), 0..4_i64, 0..5_i64).prop_flat_map(
        |(data_type, rows, columns)| {
            let count = usize::try_from(rows * columns).unwrap();
            let data = match data_type.size() {
                None => vec(".{0,8}", count).prop_map(|texts| concat_bytes_elements(&texts)).boxed(),
                Some(size) => vec(any::<u8>(), count * size).prop_map(Bytes::from).boxed(),
            };
            data.prop_filter("finite", move |data| is_finite(data_type, data)).prop_map(move |data| {
                let data =
                    if data_type == DataType::Bool { data.iter().map(|b| b % 2).collect() } else { data };
                tensor("x", data_type, &[rows, columns], data)
            })
        },
    )
}

fn is_finite(data_type: DataType, data: &[u8]) -> bool {
    match data_type {
        DataType::Fp32 => data.as_chunks().0.iter().all(|b| f32::from_le_bytes(*b).is_finite()),
        DataType::Fp64 => data.as_chunks().0.iter().all(|b| f64::from_le_bytes(*b).is_finite()),
        _ => true,
    }
}

proptest! {
    #[test]
    fn a_tensor_comes_back_from_json_and_from_bytes_unchanged(tensor in tensors()) {
        let in_json = respond(vec![tensor.clone()], &OutputPlan::default()).unwrap();
        prop_assert_eq!(in_json.json_length, None);
        // The outputs of a response are written as the inputs of a request are read.
        let request = json(&in_json).replacen("\"outputs\"", "\"inputs\"", 1);
        prop_assert_eq!(&decode(&request).unwrap().request.inputs, std::slice::from_ref(&tensor));

        let in_bytes = respond(vec![tensor.clone()], &OutputPlan::new(&[], true).unwrap()).unwrap();
        let request = json(&in_bytes).replacen("\"outputs\"", "\"inputs\"", 1);
        prop_assert_eq!(in_bytes.json_length, Some(request.len() + 1));
        let data = in_bytes.chunks[1..].concat();
        prop_assert_eq!(&decode_binary(&request, &data).unwrap().request.inputs, &[tensor]);
    }

    #[test]
    fn no_body_makes_the_decoder_panic(body in vec(any::<u8>(), 0..200), length in proptest::option::of(0..250_usize)) {
        let _ = decode_request("m", None, length, &Bytes::from(body));
    }

    #[test]
    fn no_mutation_of_a_request_makes_the_decoder_panic(at in 0..150_usize, byte in any::<u8>(), cut in 0..150_usize) {
        let mut body = br#"{"id":"7","parameters":{"a":1.5},"inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2],[3,4e1]]}],"outputs":[{"name":"y"}]}"#.to_vec();
        if let Some(target) = body.get_mut(at) {
            *target = byte;
        }
        let _ = decode_request("m", None, None, &Bytes::copy_from_slice(&body));
        body.truncate(cut);
        let _ = decode_request("m", None, None, &Bytes::from(body));
    }
}

#[test]
fn a_request_is_read_whatever_the_order_of_its_members() {
    let decoded = decode(
        r#" {"unknown":[{}],"outputs":[{"name":"y","parameters":{"binary_data":true,"k":"v"}},{"name":"z"}],
             "inputs":[{"data":[[1,2]],"name":"x","shape":[1,2],"datatype":"INT32","extra":null}],
             "parameters":{"s":"text","i":-3,"f":0.5,"b":true},"id":"42"} "#,
    )
    .unwrap();
    let request = decoded.request;
    assert_eq!((request.model.as_str(), request.id.as_str()), ("m", "42"));
    assert_eq!(request.inputs, [tensor("x", DataType::Int32, &[1, 2], vec![1, 0, 0, 0, 2, 0, 0, 0])]);
    let parameters = [
        ("b", Value::Bool(true)),
        ("f", Value::Double(0.5)),
        ("i", Value::Int(-3)),
        ("s", Value::String("text".into())),
    ];
    assert_eq!(request.parameters, parameters.map(|(name, value)| (name.to_owned(), value)).into());
    assert_eq!(request.outputs.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["y", "z"]);
    assert!(decoded.outputs.form("y").binary && !decoded.outputs.form("z").binary);
}

#[test]
fn null_stands_for_an_optional_member_that_is_absent() {
    let decoded = decode(r#"{"id":null,"parameters":null,"outputs":null,"inputs":[]}"#).unwrap().request;
    assert!(decoded.id.is_empty() && decoded.outputs.is_empty() && decoded.inputs.is_empty());
}

#[test]
fn binary_inputs_are_slices_of_the_body_in_their_order() {
    let json = r#"{"inputs":[
        {"name":"a","shape":[3],"datatype":"UINT8","parameters":{"binary_data_size":3}},
        {"name":"j","shape":[1],"datatype":"UINT8","data":[9]},
        {"name":"none","shape":[0],"datatype":"FP16","parameters":{"binary_data_size":0}},
        {"name":"b","shape":[1],"datatype":"FP16","parameters":{"binary_data_size":2}}]}"#;
    let body: Bytes = [json.as_bytes(), b"abcde"].concat().into();
    let inputs = decode_request("m", Some(1), Some(json.len()), &body).unwrap().request.inputs;
    let data: Vec<&[u8]> = inputs.iter().map(|input| &input.data[..]).collect();
    assert_eq!(data, [b"abc".as_slice(), &[9], b"", b"de"]);
    assert_eq!(inputs[3].data.as_ptr(), body[json.len() + 3..].as_ptr());
}

#[test]
fn wrong_requests_are_refused_with_the_place_and_what_was_expected() {
    let input = |members: &str| format!(r#"{{"inputs":[{{{members}}}]}}"#);
    for (json, expected) in [
        (String::new(), "model 'm': the request has no body; expected a JSON object with 'inputs'"),
        ("[]".into(), "malformed at line 1 column 1: expected an object, got '['"),
        (
            "{\"inputs\":[\n{]}".into(),
            "malformed at line 2 column 2: expected a key in quotation marks, got ']'",
        ),
        ("{} x".into(), "expected nothing after the end of the JSON, got 'x'"),
        ("{}".into(), "model 'm': the request has no 'inputs'"),
        (r#"{"inputs":{}}"#.into(), "'inputs' of the request has to be an array, got an object"),
        (r#"{"inputs":[7]}"#.into(), "input 0 has to be an object, got 7 at line 1 column 12"),
        (r#"{"id":7,"inputs":[]}"#.into(), "'id' of the request has to be a string, got 7"),
        (r#"{"inputs":[],"outputs":[{}]}"#.into(), "output 0 has no 'name'"),
        (
            r#"{"inputs":[],"parameters":{"p":[1]}}"#.into(),
            "parameter 'p' is an array, expected a string, a number",
        ),
        (r#"{"inputs":[],"parameters":7}"#.into(), "'parameters' has to be an object, got 7"),
        (r#"{"inputs":[],"parameters":{"triton_x":1}}"#.into(), "parameter 'triton_x' is reserved"),
        (input(""), "input 0 has no 'name'"),
        (input(r#""name":"x""#), "input 'x' has no 'datatype'"),
        (input(r#""name":"x","datatype":"FP32""#), "input 'x' has no 'shape'"),
        (
            input(r#""name":"x","datatype":"FP32","shape":[1]"#),
            "input 'x' has neither 'data' nor the parameter 'binary_data_size'",
        ),
        (
            input(r#""name":"x","datatype":"FP33","shape":[1],"data":[1]"#),
            "input 'x': datatype 'FP33' is unknown; expected one of BOOL, UINT8",
        ),
        (
            input(r#""name":"x","datatype":"FP32","shape":[1,-1],"data":[1]"#),
            "input 'x': dimension 1 of its 'shape' is -1, expected a whole number, 0 or more",
        ),
        (
            input(r#""name":"x","datatype":"FP32","shape":[1.5],"data":[1]"#),
            "dimension 0 of its 'shape' is 1.5, expected a whole number",
        ),
        (
            input(r#""name":"x","datatype":"FP32","shape":[3],"data":[1,2]"#),
            "model 'm': input 'x': shape [3] has 3 elements, but its data has 2",
        ),
        (
            input(r#""data":[1,true],"name":"x","datatype":"FP32","shape":[2]"#),
            "input 'x': element 1 of its data is true, but FP32 takes a number",
        ),
        (
            input(
                r#""name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}"#,
            ),
            "input 'x' has both 'data' and 'binary_data_size'",
        ),
        (
            input(r#""name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":"4"}"#),
            "input 'x': parameter 'binary_data_size' is '4', expected a number of bytes",
        ),
        (
            input(r#""name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}"#),
            "input 'x': its 'binary_data_size' is 4, but behind the JSON",
        ),
        (
            input(r#""name":"x","datatype":"BF16","shape":[1],"data":[1]"#),
            "input 'x': BF16 has no JSON form; send its data as bytes",
        ),
    ] {
        let found = message(decode(&json));
        assert!(found.contains(expected), "{json}\n  answered: {found}\n  expected: {expected}");
    }
}

#[test]
fn binary_sizes_have_to_add_up_exactly() {
    let json =
        r#"{"inputs":[{"name":"x","shape":[4],"datatype":"UINT8","parameters":{"binary_data_size":4}}]}"#;
    assert!(decode_binary(json, b"1234").is_ok());
    assert!(message(decode_binary(json, b"123")).contains("only 3 bytes are left for it"));
    assert!(
        message(decode_binary(json, b"12345")).contains("the last 1 bytes of the body belong to no input")
    );
    let too_long = decode_request("m", None, Some(1000), &Bytes::from_static(b"{}"));
    assert!(
        message(too_long).contains("Inference-Header-Content-Length is 1000, but the body has only 2 bytes")
    );
}

#[test]
fn shared_memory_is_unsupported_rather_than_ignored() {
    let error = decode(r#"{"inputs":[{"name":"x","shape":[1],"datatype":"UINT8","parameters":{"shared_memory_region":"r"}}]}"#)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
}

#[test]
fn a_response_has_tritons_members_in_tritons_order() {
    let outputs = [("b", true), ("j", false)].map(|(name, binary)| RequestedOutput {
        name: name.into(),
        parameters: [("binary_data".to_owned(), Value::Bool(binary))].into(),
    });
    let plan = OutputPlan::new(&outputs, false).unwrap();
    let data = Bytes::from_static(&[1, 2]);
    let response = InferenceResponse {
        model: ModelKey { name: "m".into(), version: 2 },
        id: "a\"b".into(),
        parameters: [("p".to_owned(), Value::Bool(true)), ("q".to_owned(), Value::Int(7))].into(),
        outputs: vec![
            tensor("b", DataType::Uint8, &[2], data.clone()),
            tensor("j", DataType::Uint8, &[1, 2], data.clone()),
        ],
    };
    let encoded = encode_response(response, &plan).unwrap();
    assert_eq!(
        json(&encoded),
        r#"{"id":"a\"b","model_name":"m","model_version":"2","parameters":{"p":true,"q":7},"outputs":[{"name":"b","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}},{"name":"j","datatype":"UINT8","shape":[1,2],"data":[1,2]}]}"#
    );
    assert_eq!(encoded.json_length, Some(encoded.chunks[0].len()));
    assert_eq!(encoded.chunks[1].as_ptr(), data.as_ptr());
}

#[test]
fn an_output_without_a_json_form_has_to_be_asked_for_as_bytes() {
    let output = || vec![tensor("y", DataType::Fp16, &[1], vec![0, 60])];
    let error = respond(output(), &OutputPlan::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(respond(output(), &OutputPlan::new(&[], true).unwrap()).is_ok());
}
