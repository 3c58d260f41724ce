//! What a well-behaved guest can rely on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::sync::Arc;

use common::{Server, TENSORS, element_model, log, message, request};
use futures::future::join_all;
use nacre_domain::{
    ErrorCode::{Internal, InvalidArgument, NotFound, Unavailable},
    Value,
};
use nacre_wasm::WasmOptions;

#[test]
fn bytes_and_parameters_go_in_and_come_out() {
    let server = Server::new();
    let echo = server.model("echo", "");
    let data: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
    let mut request = request(&data);
    request.parameters.insert("flag".into(), Value::Bool(true));
    request.parameters.insert("count".into(), Value::Int(-3));
    request.parameters.insert("ratio".into(), Value::Double(0.5));
    request.parameters.insert("name".into(), Value::String("ü".into()));
    let parameters = request.parameters.clone();
    let execution = server.execute(&echo, request).unwrap();
    assert_eq!(execution.outputs[0].data, data);
    assert_eq!(execution.outputs[0].shape, [100_000]);
    assert_eq!(execution.parameters, parameters);
    assert_eq!(server.call(&echo, b"").unwrap(), b"");
}

#[test]
fn each_request_has_a_fresh_configured_instance() {
    let server = Server::new();
    let count = server.model("count", "");
    for _ in 0..5 {
        assert_eq!(server.call(&count, b"").unwrap(), [1, 1]);
    }
}

#[test]
fn many_requests_at_once_each_get_their_own_answer() {
    let server = Server::new();
    let echo = server.model("echo", "");
    let answers = server.runtime.block_on(join_all((0..500_u32).map(|i| {
        let echo = Arc::clone(&echo);
        server.runtime.spawn(async move { (i, echo.process(request(&i.to_le_bytes())).await) })
    })));
    for answer in answers {
        let (i, execution) = answer.unwrap();
        assert_eq!(execution.unwrap().outputs[0].data, i.to_le_bytes().as_slice());
    }
}

#[test]
fn the_plugins_own_errors_keep_their_kind() {
    let server = Server::new();
    let errors = server.model("errors", "");
    for (kind, code) in [
        ("invalid-argument", InvalidArgument),
        ("not-found", NotFound),
        ("unavailable", Unavailable),
        ("internal", Internal),
    ] {
        let message = message(server.call(&errors, kind.as_bytes()), code);
        assert_eq!(message, "plugin 'errors' version 1: as asked for");
    }
}

#[test]
fn files_of_the_model_folder_can_be_read_and_no_others() {
    let server = Server::new();
    let loaded = server.load("reads_files", "reads_files", TENSORS).unwrap();
    let model = element_model(loaded);
    let folder = server.repository.path().join("reads_files");
    std::fs::write(folder.join("labels.txt"), "cat\ndog\n").unwrap();
    std::fs::write(server.repository.path().join("secret"), "secret").unwrap();
    assert_eq!(server.call(&model, b"labels.txt").unwrap(), b"cat\ndog\n");
    assert!(message(server.call(&model, b"missing"), NotFound).contains("'missing'"));
    assert!(message(server.call(&model, b"../secret"), InvalidArgument).contains("'../secret'"));
    assert!(
        message(server.call(&model, b"/etc/passwd"), InvalidArgument).contains("inside the model's folder")
    );
}

#[test]
fn outputs_that_nobody_wants_are_dropped() {
    let server = Server::new();
    let echo = server.model("echo", "");
    let mut request = request(b"x");
    request.outputs = vec!["OUT".into()];
    assert_eq!(server.execute(&echo, request).unwrap().outputs.len(), 1);
}

#[test]
fn harmless_wasi_works_and_the_rest_is_denied() {
    log();
    let server = Server::new();
    let wasi = server.model("wasi", "");
    let told = String::from_utf8(server.call(&wasi, b"").unwrap()).unwrap();
    let expected = [
        "monotonic-clock advances: true",
        "monotonic-clock resolution: true",
        "wall-clock is set: true",
        "wall-clock resolution: true",
        "std::time: true",
        "random differs: true",
        "random u64 differs: true",
        "insecure differs: true",
        "insecure u64 differs: true",
        "insecure-seed: true",
        "std hash map: {1: 2}",
        "environment: []",
        "arguments: []",
        "initial-cwd: None",
        "std::env: (0, 0)",
        "stdin: Err(\"StreamError::Closed\")",
        "stdout: true",
        "terminal-stdin: true",
        "terminal-stdout: true",
        "terminal-stderr: true",
        "preopens: 0",
        "std::fs::read_dir: Err(NotFound)",
        "std::fs::write: Err(NotFound)",
        "tcp-create-socket: Err(\"access-denied\")",
        "udp-create-socket: Err(\"access-denied\")",
        "ip-name-lookup: Err(\"access-denied\")",
        "std::net::UdpSocket: Err(PermissionDenied)",
        "http fields: Err(HeaderError::Forbidden)",
        "http fields get: []",
        "http set-authority: Err(())",
        "http body: Err(())",
        "http options: None",
        "http handle: Err(ErrorCode::HttpRequestDenied)",
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    assert!(
        log().lines().any(|line| line.contains("to standard output") && line.contains("stream=\"stdout\""))
    );
}

#[test]
fn without_room_for_the_pool_instances_are_allocated_on_demand() {
    // Four gigabytes of address space for each of them: more than a processor can address.
    let options = WasmOptions { max_instances: 1 << 20, ..WasmOptions::default() };
    let server = Server::with(options, 1);
    assert!(server.backend.description().contains("on demand"), "{}", server.backend.description());
    let echo = server.model("echo", "");
    assert_eq!(server.call(&echo, b"hello").unwrap(), b"hello");
}
