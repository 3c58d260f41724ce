//! A request's instance: fresh from the snapshot with little and with much configured state, and without a snapshot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::{fs, hint::black_box, path::PathBuf, sync::Arc, time::Duration};

use common::{Server, element_model, parameter, request, source};
use criterion::{Criterion, criterion_group, criterion_main};
use nacre_backend::{ElementModel, ElementRequest};
use nacre_domain::{DataType, Tensor};

/// About 12 MiB, and 100 ms of work in `configure`.
const MUCH: &str = "200000";

fn calls(criterion: &mut Criterion) {
    let server = Server::new();
    eprintln!("{}", server.backend.description());
    let mut group = criterion.benchmark_group("fresh instance");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1)).sample_size(50);
    let mut bench = |name: &str, model: &Arc<dyn ElementModel>, request: &ElementRequest| {
        let calls = (0..20).map(|_| server.runtime.block_on(model.process(request.clone())).unwrap());
        let instantiate = calls.map(|execution| execution.input_time).min();
        eprintln!("{name}: an instance within {instantiate:?} at best");
        group.bench_function(name, |bencher| {
            bencher.iter(|| server.runtime.block_on(model.process(black_box(request.clone()))).unwrap());
        });
    };
    let asked = request(b"7");
    for (name, entries, print) in [
        ("snapshot, no state", "1", "no"),
        ("snapshot, 100 ms of state", MUCH, "no"),
        ("configured each time, no state", "1", "yes"),
        ("configured each time, 100 ms of state", MUCH, "yes"),
    ] {
        let config = parameter("entries", entries) + &parameter("print", print);
        let (model, report) = server.reported("configured", &config);
        eprintln!("{name}: {}", serde_json::to_string(&report).unwrap());
        bench(name, &model, &asked);
    }
    // A component of the scale template made from Python, or any other language.
    if let Some(file) = std::env::var_os("NACRE_BENCH_SCALE").map(PathBuf::from) {
        let folder = server.folder("scale", &fs::read(&file).unwrap());
        let source = source("scale", folder, "");
        let (loaded, report) = server.backend.load_with_report(&source).unwrap();
        eprintln!("{}: {}", file.display(), serde_json::to_string(&report).unwrap());
        let mut scale = request(b"");
        scale.outputs = vec!["y".into()];
        scale.inputs = vec![Tensor {
            name: "x".into(),
            data_type: DataType::Fp32,
            shape: vec![1],
            data: vec![0; 4].into(),
        }];
        bench("scale", &element_model(loaded), &scale);
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
