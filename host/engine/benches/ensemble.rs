//! What an ensemble costs for each of its steps beyond the time of the steps themselves: identity models called one
//! after the other by the client against the same calls as steps of one ensemble. The tensor is that of a 224×224
//! photograph (588 KB), which neither copies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{fs, hint::black_box, sync::Arc};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nacre_backend::identity::IdentityBackend;
use nacre_domain::{DataType, Deadline, InferenceRequest, Parameters, Tensor};
use nacre_engine::{Engine, EngineOptions};
use tokio::runtime::{Builder, Runtime};

const SHAPE: [i64; 4] = [1, 3, 224, 224];
const TENSOR: &str = "data_type: TYPE_FP32 dims: [3, 224, 224]";
const STEPS: [usize; 3] = [1, 3, 10];

fn engine(runtime: &Runtime) -> Arc<Engine> {
    let root = tempfile::tempdir().unwrap();
    let write = |name: String, text: String| {
        fs::create_dir_all(root.path().join(&name)).unwrap();
        fs::write(root.path().join(&name).join("config.pbtxt"), text).unwrap();
    };
    let ends = |input: &str, output: &str| {
        format!(
            "max_batch_size: 8 input {{ name: \"{input}\" {TENSOR} }} output {{ name: \"{output}\" {TENSOR} }}"
        )
    };
    write("identity".into(), format!("backend: \"identity\" {}", ends("INPUT0", "OUTPUT0")));
    for steps in STEPS {
        let step = |i| {
            format!(
                "step {{ model_name: \"identity\" model_version: -1 \
                 input_map {{ key: \"INPUT0\" value: \"t{i}\" }} output_map {{ key: \"OUTPUT0\" value: \"t{}\" }} }}",
                i + 1
            )
        };
        let graph: String = (0..steps).map(step).collect();
        let text = format!(
            "platform: \"ensemble\" {} ensemble_scheduling {{ {graph} }}",
            ends("t0", &format!("t{steps}"))
        );
        write(format!("chain{steps}"), text);
    }
    let options = EngineOptions {
        repositories: vec![root.path().to_owned()],
        plugin_threads: 1,
        load_threads: 1,
        strict_readiness: false,
    };
    let engine = Engine::new(options, vec![Arc::new(IdentityBackend)]).unwrap();
    runtime.block_on(engine.load_all());
    engine
}

fn request(model: String, input: &str, data: &Bytes) -> InferenceRequest {
    let tensor =
        Tensor { name: input.into(), data_type: DataType::Fp32, shape: SHAPE.into(), data: data.clone() };
    InferenceRequest {
        model,
        version: None,
        id: String::new(),
        parameters: Parameters::new(),
        inputs: vec![tensor],
        outputs: Vec::new(),
        deadline: Deadline::NONE,
    }
}

fn benches(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let engine = engine(&runtime);
    let data = Bytes::from(vec![0_u8; 3 * 224 * 224 * 4]);
    let mut group = criterion.benchmark_group("identity steps");
    for steps in STEPS {
        group.bench_function(BenchmarkId::new("called one by one", steps), |bencher| {
            bencher.iter(|| {
                runtime.block_on(async {
                    for _ in 0..steps {
                        black_box(engine.infer(request("identity".into(), "INPUT0", &data)).await.unwrap());
                    }
                });
            });
        });
        group.bench_function(BenchmarkId::new("as one ensemble", steps), |bencher| {
            bencher.iter(|| {
                runtime.block_on(async {
                    black_box(engine.infer(request(format!("chain{steps}"), "t0", &data)).await.unwrap());
                });
            });
        });
    }
    group.finish();
    runtime.block_on(engine.shutdown());
}

criterion_group!(ensemble, benches);
criterion_main!(ensemble);
