//! What a call costs beyond the plugin's own work: a fresh instance, and the bytes in and out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;

use common::{Server, request};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn calls(criterion: &mut Criterion) {
    let server = Server::new();
    let echo = server.model("echo", "");
    eprintln!("{}", server.backend.description());
    let mut group = criterion.benchmark_group("wasm call");
    for (name, size) in [("empty", 0), ("588 KB in and out", 588 << 10)] {
        let request = request(&vec![7; size]);
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| server.runtime.block_on(echo.process(black_box(request.clone()))).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
