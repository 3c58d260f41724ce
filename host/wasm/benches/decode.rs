//! `decode_image` as a plugin (a fresh instance, the file copied in, the tensor copied out) beside the same code native.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
};

use common::{Server, element_model};
use criterion::{Criterion, criterion_group, criterion_main};
use nacre_backend::ElementRequest;
use nacre_domain::{DataType, Deadline, Parameters, Tensor, concat_bytes_elements};
use nacre_image::Options;

const CONFIG: &str = r#"
max_batch_size: 32
input { name: "image" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "pixels" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
parameters { key: "width" value { string_value: "224" } }
parameters { key: "height" value { string_value: "224" } }
parameters { key: "resize" value { string_value: "straight" } }
parameters { key: "mean" value { string_value: "127" } }
parameters { key: "std" value { string_value: "128" } }
"#;

fn built(path: &str, command: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    assert!(file.is_file(), "{path} is missing: {command}");
    file
}

fn decode(criterion: &mut Criterion) {
    let server = Server::new();
    let component = fs::read(built("plugins/out/decode_image.wasm", "make plugins")).unwrap();
    let plugin = element_model(server.load_bytes("decode_image", &component, CONFIG).unwrap());
    let options = Options { mean: [127.0; 3], std: [128.0; 3], ..Options::default() };
    for name in ["chelsea.png", "rocket.jpg"] {
        let file = fs::read(built(&format!(".setup/photographs/{name}"), "make setup")).unwrap();
        let mut group = criterion.benchmark_group(format!("decode {name}"));
        let mut values = vec![0.0; 3 * 224 * 224];
        group.bench_function("native", |bencher| {
            bencher.iter(|| nacre_image::decode(black_box(&file), &options, &mut values).unwrap());
        });
        let request = ElementRequest {
            id: String::new(),
            parameters: Parameters::new(),
            inputs: vec![Tensor {
                name: "image".into(),
                data_type: DataType::Bytes,
                shape: vec![1],
                data: concat_bytes_elements(&[&file]),
            }],
            outputs: vec![],
            deadline: Deadline::NONE,
            models: None,
        };
        group.bench_function("plugin", |bencher| {
            bencher.iter(|| server.runtime.block_on(plugin.process(black_box(request.clone()))).unwrap());
        });
        group.finish();
    }
}

criterion_group!(benches, decode);
criterion_main!(benches);
