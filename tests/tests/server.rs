//! The command: start-up, what it prints, options, shutdown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{
    fs::File,
    io::Write,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    process::{Command, Output, Stdio},
};

use nacre_tests::{Repository, Server, binary};
use serde_json::json;

const IDENTITY: &str = r#"
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"#;

fn request(values: &[f32]) -> serde_json::Value {
    json!({"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 2], "data": values}]})
}

fn run(arguments: &[&str]) -> (Output, String) {
    let output = Command::new(binary()).args(arguments).output().unwrap();
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output, String::from_utf8(text).unwrap())
}

#[test]
fn one_broken_model_does_not_stop_the_others() {
    let repository = Repository::default()
        .model("good", IDENTITY)
        .model("typo", "backend: \"identity\"\nmax_batch_sise: 8")
        .model("python_step", "backend: \"python\"");
    let server = Server::start(repository.path(), &[]);

    let answer = server.post("/v2/models/good/infer", &request(&[1.5, -2.0]));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["outputs"][0]["data"], json!([1.5, -2.0]));

    let answer = server.post("/v2/models/typo/infer", &request(&[1.0, 2.0]));
    assert_eq!(answer.status, 503);
    assert!(answer.error().contains("max_batch_sise"), "{answer:?}");
    assert!(answer.error().contains("config.pbtxt:3:1"), "names line and column: {answer:?}");

    let answer = server.post("/v2/models/python_step/infer", &request(&[1.0, 2.0]));
    assert!(answer.error().contains("backend: \"wasm\""), "points to plugins: {answer:?}");

    let log = server.log();
    for expected in ["READY", "UNAVAILABLE", "max_batch_sise", "libtorch"] {
        assert!(log.contains(expected), "the start-up says {expected}:\n{log}");
    }
}

#[test]
fn exit_on_error_is_an_error_exit() {
    let repository = Repository::default().model("python_step", "backend: \"python\"");
    let model_repository = format!("--model-repository={}", repository.path().display());
    let (output, text) = run(&[
        &model_repository,
        "--exit-on-error=true",
        "--http-port=0",
        "--grpc-port=0",
        "--metrics-port=0",
    ]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("--exit-on-error"), "{text}");
}

#[test]
fn a_missing_repository_is_named() {
    let (output, text) = run(&["serve", "--model-repository=/nowhere/models", "--http-port=0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("/nowhere/models"), "{text}");
}

#[test]
fn a_port_in_use_is_named_with_the_option() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let repository = Repository::default().model("good", IDENTITY);
    let (output, text) = run(&[
        &format!("--model-repository={}", repository.path().display()),
        "--http-address=127.0.0.1",
        &format!("--http-port={port}"),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&port.to_string()) && text.contains("--http-port"), "{text}");
}

#[test]
fn help_reads_well_and_bare_shows_it() {
    let (output, text) = run(&["--help"]);
    assert!(output.status.success());
    for expected in ["--model-repository", "--gpu-fallback", "--exit-timeout-secs", "Example"] {
        assert!(text.contains(expected), "{text}");
    }
    let (output, bare) = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(bare.contains("Usage"), "{bare}");
}

#[test]
fn a_full_disk_under_the_standard_output_stops_nothing() {
    let repository = Repository::default().model("good", IDENTITY);
    let mut server = Command::new(binary())
        .arg(format!("--model-repository={}", repository.path().display()))
        .args(["--http-address=127.0.0.1", "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1"])
        .args(["--http-port=0", "--grpc-port=0", "--metrics-port=0"])
        .stdout(File::create("/dev/full").unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().contains("cannot write the table of models")));
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    log.for_each(drop);
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

fn delayed(milliseconds: u32) -> Repository {
    let delay = format!(
        "parameters [ {{ key: \"execute_delay_ms\" value: {{ string_value: \"{milliseconds}\" }} }} ]"
    );
    Repository::default().model("slow", &format!("{IDENTITY}\n{delay}"))
}

/// Waits until one request runs: then the other waits.
fn wait_until_one_waits_for_the_other(server: &Server) {
    while !server.metrics().contains("nv_inference_pending_request_count{model=\"slow\",version=\"1\"} 1") {
        std::thread::yield_now();
    }
}

#[test]
fn sigterm_finishes_what_is_running_and_waiting_and_exits_0() {
    let repository = delayed(1000);
    let server = Server::start(repository.path(), &[]);
    std::thread::scope(|scope| {
        let post = || server.post("/v2/models/slow/infer", &request(&[3.0, 4.0]));
        let requests = [scope.spawn(post), scope.spawn(post)];
        wait_until_one_waits_for_the_other(&server);
        server.terminate();
        for request in requests {
            let answer = request.join().unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    });
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn requests_beyond_the_exit_timeout_are_cut_off_and_the_exit_is_still_0() {
    let repository = delayed(600_000);
    let server = Server::start(repository.path(), &["--exit-timeout-secs=1"]);
    let clients = [(); 2].map(|()| {
        let (address, body) = (server.http(), request(&[3.0, 4.0]).to_string());
        std::thread::spawn(move || {
            ureq::post(format!("http://{address}/v2/models/slow/infer")).send(body.as_bytes()).is_err()
        })
    });
    wait_until_one_waits_for_the_other(&server);
    server.terminate();
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("cut off"), "{log}");
    for client in clients {
        assert!(client.join().unwrap(), "each client sees an error or the end of its connection");
    }
}

#[test]
fn a_connection_that_says_nothing_holds_up_no_shutdown() {
    let repository = Repository::default().model("good", IDENTITY);
    let server = Server::start(repository.path(), &["--exit-timeout-secs=600"]);
    // Half a request's header over HTTP, nothing at all over gRPC.
    let mut half = TcpStream::connect(server.http()).unwrap();
    half.write_all(b"GET /v2 HTTP/1.1\r\nHost: ").unwrap();
    let _silent = TcpStream::connect(server.grpc()).unwrap();
    server.terminate();
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("cut off"), "nothing was running: {log}");
}

#[test]
fn an_optional_input_that_is_left_out_leaves_out_its_output() {
    let config = r#"
        backend: "identity"
        input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1, 2 ] }
        input { name: "INPUT1" data_type: TYPE_FP32 dims: [ 1, 2 ] optional: true }
        output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1, 2 ] }
        output { name: "OUTPUT1" data_type: TYPE_FP32 dims: [ 1, 2 ] }
    "#;
    let repository = Repository::default().model("pair", config);
    let server = Server::start(repository.path(), &[]);
    let answer = server.post("/v2/models/pair/infer", &request(&[1.0, 2.0]));
    assert_eq!(answer.status, 200, "{answer:?}");
    let outputs = answer.body["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), 1, "{answer:?}");
    assert_eq!(outputs[0]["name"], "OUTPUT0");
}
