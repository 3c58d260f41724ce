//! What one execution costs beside torch's own time, with a tensor of 588 KB (an image of 3×224×224 FP32).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[allow(dead_code)]
#[path = "../tests/torchscript/common.rs"]
mod common;

use std::hint::black_box;

use bytes::Bytes;
use common::{floats, instance, load, models, one_to_one, tensor};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use nacre_domain::DataType;

const SHAPE: [i64; 4] = [1, 3, 224, 224];
const ELEMENTS: usize = 3 * 224 * 224;

fn execute(criterion: &mut Criterion) {
    let lines = format!("max_batch_size: 8\n{}", one_to_one("3, 224, 224"));
    let mut group = criterion.benchmark_group("identity_588k");
    let model = load("identity.pt", &lines).unwrap();
    let mut instance = instance(&model);
    let input = floats("x", &SHAPE, &vec![1.0; ELEMENTS]);
    group.bench_function("execute", |b| b.iter(|| instance.execute(vec![black_box(input.clone())]).unwrap()));
    // The same through tch as it comes: without the way in and out, and without inference mode.
    let module = tch::CModule::load(models().join("identity.pt")).unwrap();
    let image = tch::Tensor::ones(SHAPE, (tch::Kind::Float, tch::Device::Cpu));
    group.bench_function("tch_forward", |b| {
        b.iter(|| tch::no_grad(|| module.forward_ts(&[black_box(image.shallow_clone())]).unwrap()));
    });
    group.finish();
}

fn gather(criterion: &mut Criterion) {
    const PARTS: usize = 8;
    let lines = format!("max_batch_size: 8\n{}", one_to_one("3, 224, 224"));
    let model = load("identity.pt", &lines).unwrap();
    let mut instance = instance(&model);
    let parts: Vec<Bytes> = (0..PARTS).map(|_| floats("x", &SHAPE, &vec![1.0; ELEMENTS]).data).collect();
    let mut group = criterion.benchmark_group("gather_8x588k");
    group.throughput(Throughput::Bytes((PARTS * ELEMENTS * 4) as u64));
    group.bench_function("gather", |b| b.iter(|| instance.gather(black_box(&parts)).unwrap()));
    group.bench_function("gather_and_execute", |b| {
        b.iter(|| {
            let data = instance.gather(black_box(&parts)).unwrap();
            instance.execute(vec![tensor("x", DataType::Fp32, &[8, 3, 224, 224], data)]).unwrap()
        });
    });
    group.bench_function("into_new_memory", |b| b.iter(|| Bytes::from(black_box(&parts).concat())));
    group.finish();
}

criterion_group!(benches, execute, gather);
criterion_main!(benches);
