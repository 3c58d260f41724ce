//! Decoding a request and encoding its answer, without a socket and without a model: one FP32 tensor of 588 KB
//! (1×3×224×224), in JSON and as bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use nacre_api::codec::{OutputPlan, decode_request, encode_response};
use nacre_domain::{DataType, InferenceResponse, ModelKey, Parameters, Tensor};

const ELEMENTS: usize = 3 * 224 * 224;

fn tensor() -> Tensor {
    // Normalised pixels, as a client would send them.
    let values = (0..ELEMENTS).map(|i| ((i * 37 % 256) as f32 - 127.0) / 128.0);
    Tensor {
        name: "x".into(),
        data_type: DataType::Fp32,
        shape: vec![1, 3, 224, 224],
        data: values.flat_map(f32::to_le_bytes).collect(),
    }
}

fn response(tensor: &Tensor) -> InferenceResponse {
    InferenceResponse {
        model: ModelKey { name: "m".into(), version: 1 },
        id: String::new(),
        parameters: Parameters::new(),
        outputs: vec![tensor.clone()],
    }
}

fn bench(c: &mut Criterion) {
    let tensor = tensor();
    let mut group = c.benchmark_group("infer codec, FP32 588 KB");
    group.throughput(Throughput::Bytes(tensor.data.len() as u64));
    for (name, binary) in [("json", false), ("binary", true)] {
        let plan = OutputPlan::new(&[], binary).unwrap();
        let encoded = encode_response(response(&tensor), &plan).unwrap();
        // The outputs of a response are written as the inputs of a request are read.
        let head =
            String::from_utf8(encoded.chunks[0].to_vec()).unwrap().replacen("\"outputs\"", "\"inputs\"", 1);
        let length = binary.then_some(head.len());
        let body = Bytes::from([head.as_bytes(), &encoded.chunks[1..].concat()].concat());
        assert_eq!(
            decode_request("m", None, length, &body).unwrap().request.inputs,
            std::slice::from_ref(&tensor)
        );

        group.bench_function(format!("decode {name}"), |b| {
            b.iter(|| decode_request("m", None, length, black_box(&body)).unwrap());
        });
        group.bench_function(format!("encode {name}"), |b| {
            b.iter(|| encode_response(response(black_box(&tensor)), &plan).unwrap());
        });
    }
    let text = tensor.data.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b)).sin().to_string());
    let text = text.collect::<Vec<_>>().join(",");
    let body = Bytes::from(format!(
        r#"{{"inputs":[{{"name":"x","datatype":"FP32","shape":[1,3,224,224],"data":[{text}]}}]}}"#
    ));
    group.bench_function("decode json with 17 digits", |b| {
        b.iter(|| decode_request("m", None, None, black_box(&body)).unwrap());
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
