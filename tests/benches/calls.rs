//! One plugin that asks two models, beside the ensemble that runs the same two and joins them with the same plugin; over
//! HTTP, on a real server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use nacre_tests::{Repository, Server, root};
use serde_json::json;

fn parameter(key: &str, value: &str) -> String {
    format!("parameters {{ key: \"{key}\" value {{ string_value: \"{value}\" }} }}\n")
}

fn tensor(kind: &str, name: &str) -> String {
    format!("{kind} {{ name: \"{name}\" data_type: TYPE_FP32 dims: [ -1 ] }}\n")
}

fn repository(delay_ms: u32) -> Repository {
    let model = format!(
        "backend: \"identity\" max_batch_size: 8\n{}{}{}",
        tensor("input", "INPUT0"),
        tensor("output", "OUTPUT0"),
        parameter("execute_delay_ms", &delay_ms.to_string())
    );
    let asking = format!(
        "backend: \"wasm\" max_batch_size: 8\n{}{}{}{}{}{}",
        tensor("input", "x"),
        tensor("output", "mean"),
        parameter("NACRE_MODELS", "a, b"),
        parameter("model_input", "INPUT0"),
        parameter("model_output", "OUTPUT0"),
        parameter("batched", "true")
    );
    let joining = format!(
        "backend: \"wasm\" max_batch_size: 8\n{}{}{}",
        tensor("input", "p"),
        tensor("input", "q"),
        tensor("output", "mean")
    );
    let step = |model: &str, inputs: &[(&str, &str)], output: (&str, &str)| {
        let map = |kind: &str, (name, tensor): (&str, &str)| {
            format!("{kind} {{ key: \"{name}\" value: \"{tensor}\" }} ")
        };
        let inputs: String = inputs.iter().map(|&input| map("input_map", input)).collect();
        format!(
            "step {{ model_name: \"{model}\" model_version: -1 {inputs}{} }}\n",
            map("output_map", output)
        )
    };
    let ensemble = format!(
        "platform: \"ensemble\" max_batch_size: 8\n{}{}ensemble_scheduling {{ {}{}{} }}",
        tensor("input", "x"),
        tensor("output", "mean"),
        step("a", &[("INPUT0", "x")], ("OUTPUT0", "of_a")),
        step("b", &[("INPUT0", "x")], ("OUTPUT0", "of_b")),
        step("joining", &[("p", "of_a"), ("q", "of_b")], ("mean", "mean"))
    );
    let plugin = root().join("plugins/out/average.wasm");
    Repository::default()
        .model("a", &model)
        .model("b", &model)
        .model("asking", &asking)
        .file("asking", "plugin.wasm", &plugin)
        .model("joining", &joining)
        .file("joining", "plugin.wasm", &plugin)
        .model("ensemble", &ensemble)
}

fn calls(criterion: &mut Criterion) {
    for (delay_ms, values) in [(0, 1024), (10, 1024), (0, 150_528)] {
        let repository = repository(delay_ms);
        let server = Server::start(repository.path(), &[]);
        let data = vec![0.5; values];
        let header = json!({
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, values],
                        "parameters": {"binary_data_size": values * 4}}],
            "outputs": [{"name": "mean", "parameters": {"binary_data": true}}]
        })
        .to_string();
        let mut body = header.clone().into_bytes();
        data.iter().for_each(|value: &f32| body.extend(value.to_le_bytes()));
        let mut group = criterion.benchmark_group(format!("two models of {delay_ms} ms, {values} values"));
        for model in ["ensemble", "asking"] {
            let path = format!("/v2/models/{model}/infer");
            assert_eq!(server.post_binary(&path, header.len(), &body), 200, "{}", server.log());
            group.bench_function(model, |bencher| {
                bencher.iter(|| assert_eq!(server.post_binary(&path, header.len(), &body), 200));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
