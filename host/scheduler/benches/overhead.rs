//! What the scheduler itself costs: models here compute nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Duration;

use common::{ElementFunction, Served, batching, config, echo, request, tensor};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nacre_backend::{ElementRequest, Execution};
use nacre_domain::{DataType, InferenceRequest};
use tokio::runtime::Runtime;

/// One 224×224 RGB picture in FP32: 588 KiB.
const PICTURE: [i64; 4] = [1, 3, 224, 224];
const PICTURE_BYTES: usize = 3 * 224 * 224 * 4;

fn small(rows: u8) -> InferenceRequest {
    request(vec![tensor("INPUT0", DataType::Uint8, &[i64::from(rows), 4], vec![0; usize::from(rows) * 4])])
}

/// Requests submitted together, from submit to the last answer.
fn batched(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = c.benchmark_group("batched/identity");
    for waiting in [1, 32] {
        let mut config = config(32, DataType::Uint8);
        config.dynamic_batching =
            Some(batching(&[32], Duration::from_micros(if waiting > 1 { 200 } else { 0 })));
        let served = Served::identity(config);
        group.throughput(Throughput::Elements(waiting));
        group.bench_function(BenchmarkId::new("small requests at once", waiting), |b| {
            b.iter(|| {
                let all = (0..waiting).map(|_| served.queue.submit(small(1)));
                runtime.block_on(futures::future::try_join_all(all)).unwrap()
            });
        });
    }
    let mut of_pictures = config(8, DataType::Fp32);
    of_pictures.dynamic_batching = Some(batching(&[8], Duration::from_millis(10)));
    let served = Served::identity(of_pictures);
    let picture = request(vec![tensor("INPUT0", DataType::Fp32, &PICTURE, vec![0; PICTURE_BYTES])]);
    group.throughput(Throughput::Bytes(8 * PICTURE_BYTES as u64));
    group.bench_function("gather 8 x 588 KiB", |b| {
        b.iter(|| {
            let all = (0..8).map(|_| served.queue.submit(picture.clone()));
            runtime.block_on(futures::future::try_join_all(all)).unwrap()
        });
    });
}

/// Requests of so many rows, from submit to answer.
fn per_element(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = c.benchmark_group("per element");
    let served = Served::elements(
        config(32, DataType::Uint8),
        ElementFunction::new(2, |request: ElementRequest| async move { echo(request.inputs) }),
    );
    for rows in [1, 8, 32] {
        group.throughput(Throughput::Elements(rows.into()));
        group.bench_function(BenchmarkId::new("no-op rows", rows), |b| {
            b.iter(|| runtime.block_on(served.queue.submit(small(rows))).unwrap());
        });
    }
    let output = tensor("OUTPUT0", DataType::Fp32, &PICTURE[1..], vec![0; PICTURE_BYTES]);
    let served = Served::elements(
        config(8, DataType::Uint8),
        ElementFunction::new(2, move |_| {
            let outputs = vec![output.clone()];
            async move { Ok(Execution { outputs, ..Execution::default() }) }
        }),
    );
    group.throughput(Throughput::Bytes(8 * PICTURE_BYTES as u64));
    group.bench_function("join 8 x 588 KiB", |b| {
        b.iter(|| runtime.block_on(served.queue.submit(small(8))).unwrap());
    });
}

criterion_group!(benches, batched, per_element);
criterion_main!(benches);
