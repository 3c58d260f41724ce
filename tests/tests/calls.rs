//! A plugin that calls two models, behind the whole server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{io::Write, net::TcpStream, path::PathBuf};

use nacre_tests::{Repository, Server, root};
use serde_json::{Value, json};

fn average() -> PathBuf {
    let file = root().join("plugins/out/average.wasm");
    assert!(file.is_file(), "{} is missing: build it with `make plugins`", file.display());
    file
}

fn identity(delay_ms: u32) -> String {
    format!(
        r#"backend: "identity"
        max_batch_size: 4
        input {{ name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }}
        output {{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }}
        parameters {{ key: "execute_delay_ms" value {{ string_value: "{delay_ms}" }} }}"#
    )
}

fn asking(models: &str, more: &str) -> String {
    let parameter = |key: &str, value: &str| {
        format!("parameters {{ key: \"{key}\" value {{ string_value: \"{value}\" }} }}\n")
    };
    format!(
        "backend: \"wasm\" max_batch_size: 4
         input {{ name: \"x\" data_type: TYPE_FP32 dims: [ -1 ] }}
         output {{ name: \"mean\" data_type: TYPE_FP32 dims: [ -1 ] }}\n{}{}{}{}{more}",
        parameter("NACRE_MODELS", models),
        parameter("model_input", "INPUT0"),
        parameter("model_output", "OUTPUT0"),
        parameter("batched", "true")
    )
}

fn request() -> Value {
    json!({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3], "data": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}]})
}

fn repository(slow_ms: u32) -> Repository {
    Repository::default()
        .model("a", &identity(0))
        .model("b", &identity(0))
        .model("slow", &identity(slow_ms))
        .model("both", &asking("a, b", ""))
        .file("both", "plugin.wasm", &average())
        .model(
            "late",
            &asking("a, slow", "parameters { key: \"NACRE_TIMEOUT_MS\" value { string_value: \"100\" } }"),
        )
        .file("late", "plugin.wasm", &average())
        .model("patient", &asking("slow", ""))
        .file("patient", "plugin.wasm", &average())
        .model("greedy", &asking("a, nobody", ""))
        .file("greedy", "plugin.wasm", &average())
}

#[test]
fn two_models_are_asked_and_their_answers_combined() {
    let repository = repository(0);
    let server = Server::start(repository.path(), &[]);
    let answer = server.post("/v2/models/both/infer", &request());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["outputs"][0]["data"], json!([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(answer.body["outputs"][0]["shape"], json!([2, 3]));
    // Each element of the batch is a call of its own, and each is counted where it was answered.
    for model in ["a", "b"] {
        let statistics = server.get(&format!("/v2/models/{model}/stats"));
        assert_eq!(statistics.body["model_stats"][0]["inference_count"], 2, "{model}");
    }
    let answer = server.post("/v2/models/greedy/infer", &request());
    assert_eq!(answer.status, 503);
    assert!(answer.error().contains("unknown model 'nobody'"), "{}", answer.error());
}

#[test]
fn a_deadline_passes_through_to_the_models_that_are_called() {
    let repository = repository(60_000);
    let server = Server::start(repository.path(), &[]);
    let answer = server.post("/v2/models/late/infer", &request());
    assert_eq!(answer.status, 504, "{answer:?}");
    assert!(answer.error().contains("100 ms"), "{}", answer.error());
}

#[test]
fn a_client_that_goes_away_cancels_the_calls_too() {
    let repository = repository(60_000);
    let server = Server::start(repository.path(), &[]);
    let body = request().to_string();
    let mut client = TcpStream::connect(server.http()).unwrap();
    write!(
        client,
        "POST /v2/models/patient/infer HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    wait_for(&server, "nv_inference_pending_request_count{model=\"slow\",version=\"1\"} ", "0", false);
    drop(client);
    for model in ["patient", "slow"] {
        let canceled =
            format!("nv_inference_request_failure{{model=\"{model}\",version=\"1\",reason=\"CANCELED\"}} ");
        wait_for(&server, &canceled, "0", false);
    }
}

/// Until the metric has that value, or another one.
fn wait_for(server: &Server, metric: &str, value: &str, equal: bool) {
    for _ in 0..100_000 {
        let metrics = server.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(metric));
        if line.is_some_and(|found| (found == value) == equal) {
            return;
        }
    }
    panic!("{metric} never became what was expected:\n{}", server.metrics());
}
