//! The picture steps as plugins beside the same code native: with a fresh instance in every call, as requests have it,
//! and with one instance that lives on, which leaves the time that the step itself takes, and its tensors' copies; and
//! these copies alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::{
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use common::{Server, element_model, parameter, request};
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use nacre_backend::{ElementModel, ElementRequest};
use nacre_domain::{DataType, Deadline, Parameters, Tensor, concat_bytes_elements};
use nacre_image::Options;

const PREPROCESS: &str = r#"
input { name: "image" data_type: TYPE_UINT8 dims: [ -1, -1, 3 ] }
output { name: "tensor" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
"#;
const DECODE_IMAGE: &str = r#"
input { name: "image" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "pixels" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
"#;

fn built(path: &str, command: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    assert!(file.is_file(), "{path} is missing: {command}");
    file
}

/// A plugin of `plugins/out`, or of the folder that `NACRE_BENCH_PLUGINS` names.
fn component(name: &str) -> Vec<u8> {
    let file = match env::var_os("NACRE_BENCH_PLUGINS") {
        Some(folder) => Path::new(&folder).join(format!("{name}.wasm")),
        None => built(&format!("plugins/out/{name}.wasm"), "make plugins"),
    };
    fs::read(file).unwrap()
}

/// A plugin, loaded twice: with a fresh instance in every call, and with one that is kept.
struct Step {
    server: Server,
    fresh: Arc<dyn ElementModel>,
    kept: Arc<dyn ElementModel>,
}

impl Step {
    fn load(name: &str, config: &str) -> Self {
        let server = Server::new();
        let component = component(name);
        let load =
            |model: &str, config: &str| element_model(server.load_bytes(model, &component, config).unwrap());
        let fresh = load("fresh", config);
        let kept = load("kept", &format!("{config}{}", parameter("NACRE_REUSE", "1")));
        Self { server, fresh, kept }
    }

    fn bench(&self, group: &mut BenchmarkGroup<'_, WallTime>, image: Tensor) {
        let request = ElementRequest {
            id: String::new(),
            parameters: Parameters::new(),
            inputs: vec![image],
            outputs: vec![],
            deadline: Deadline::NONE,
            models: None,
        };
        for (name, model) in [("fresh instance", &self.fresh), ("kept instance", &self.kept)] {
            group.bench_function(name, |bencher| {
                let call =
                    || self.server.runtime.block_on(model.process(black_box(request.clone()))).unwrap();
                bencher.iter(call);
            });
        }
    }
}

/// What a call costs that only takes a 224×224 picture and gives its tensor, with one instance that lives on.
fn copies(criterion: &mut Criterion) {
    let server = Server::new();
    let model = server.model("copies", &parameter("NACRE_REUSE", "1"));
    let picture = request(&vec![0; 3 * 224 * 224]);
    criterion.bench_function("preprocess 224x224/copies alone", |bencher| {
        bencher.iter(|| server.runtime.block_on(model.process(black_box(picture.clone()))).unwrap());
    });
}

fn prepare(criterion: &mut Criterion) {
    let step = Step::load("preprocess", PREPROCESS);
    let options = Options::default();
    for (height, width) in [(224, 224), (427, 640)] {
        let mut group = criterion.benchmark_group(format!("preprocess {width}x{height}"));
        let pixels: Vec<u8> = (0..3 * height * width).map(|index| (index * 7 % 251) as u8).collect();
        let shape = vec![height as i64, width as i64, 3];
        let mut values = vec![0.0; options.value_count()];
        group.bench_function("native", |bencher| {
            bencher.iter(|| nacre_image::prepare(black_box(&pixels), &shape, &options, &mut values).unwrap());
        });
        let data = Bytes::from(pixels.clone());
        step.bench(&mut group, Tensor { name: "image".into(), data_type: DataType::Uint8, shape, data });
        group.finish();
    }
}

fn decode(criterion: &mut Criterion) {
    let step = Step::load("decode_image", DECODE_IMAGE);
    let options = Options::default();
    for name in ["rocket.jpg", "chelsea.png"] {
        let file = fs::read(built(&format!(".setup/photographs/{name}"), "make setup")).unwrap();
        let mut group = criterion.benchmark_group(format!("decode {name}"));
        let mut values = vec![0.0; options.value_count()];
        group.bench_function("native", |bencher| {
            bencher.iter(|| nacre_image::decode(black_box(&file), &options, &mut values).unwrap());
        });
        let (data_type, shape) = (DataType::Bytes, vec![1]);
        let data = concat_bytes_elements(&[&file]);
        step.bench(&mut group, Tensor { name: "image".into(), data_type, shape, data });
        group.finish();
    }
}

criterion_group!(benches, copies, prepare, decode);
criterion_main!(benches);
