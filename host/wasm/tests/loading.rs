//! What is said of a component that cannot be served, and what is completed of one that can.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use common::{Server, TENSORS, element_model, guest, message, parameter};
use nacre_domain::{
    DataType, Error,
    ErrorCode::{Internal, InvalidArgument, NotFound},
};
use nacre_wasm::{MEMORY_PARAMETER, WasmOptions};

fn refused(component: &[u8], expected: &[&str]) {
    let server = Server::new();
    let echo = server.model("echo", "");
    let result = server.load_bytes("broken", component, TENSORS).map(|_| ());
    let text = message(result, InvalidArgument);
    for part in expected.iter().chain(&["plugin 'broken' version 1"]) {
        assert!(text.contains(part), "expected '{part}' in: {text}");
    }
    assert_eq!(server.call(&echo, b"hello").unwrap(), b"hello");
}

fn guest_bytes(name: &str) -> Vec<u8> {
    std::fs::read(guest(name)).unwrap()
}

#[test]
fn what_is_no_component_is_named() {
    refused(b"", &["is empty"]);
    refused(b"not WebAssembly at all", &["is a text file"]);
    refused(b"\0asm\x01\0\0\0", &["is a core module", "wasm-tools component new"]);
    refused(&[0x7f, b'E', b'L', b'F', 0xff, 0, 0], &["first bytes are not those of WebAssembly"]);
}

#[test]
fn a_component_that_is_cut_off_is_named() {
    let whole = guest_bytes("echo");
    refused(&whole[..whole.len() / 2], &["cut off"]);
    refused(&whole[..7], &["cut off"]);
}

#[test]
fn a_damaged_component_is_refused() {
    let mut damaged = guest_bytes("echo");
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    refused(&damaged, &["cannot be compiled"]);
}

#[test]
fn another_interface_version_is_named_with_the_hosts() {
    refused(
        &guest_bytes("other_version"),
        &["built for nacre:plugin@9.9.9", "this server has nacre:plugin@1.0.0"],
    );
}

#[test]
fn an_unknown_import_is_named() {
    refused(&guest_bytes("unknown_import"), &["imports acme:secrets/vault@1.2.3"]);
}

#[test]
fn a_component_that_exports_no_step_is_named() {
    refused(&guest_bytes("no_export"), &["expected it to export nacre:plugin/step@1.0.0", "exports nothing"]);
}

#[test]
fn a_missing_file_is_named() {
    let server = Server::new();
    let directory = server.folder("gone", b"");
    std::fs::remove_file(directory.join("1/plugin.wasm")).unwrap();
    let config =
        nacre_config::parse("gone", &directory.join("config.pbtxt"), "backend: \"wasm\"").unwrap().config;
    let result = nacre_backend::Backend::load(
        &server.backend,
        &nacre_backend::ModelSource {
            config: config.into(),
            key: nacre_domain::ModelKey { name: "gone".into(), version: 1 },
            version_directory: directory.join("1"),
            file: Some(directory.join("1/plugin.wasm")),
            directory,
        },
    );
    assert!(message(result.map(|_| ()), NotFound).contains("gone/1/plugin.wasm"));
}

#[test]
fn the_plugins_own_reason_is_the_load_error() {
    let server = Server::new();
    let load = |name: &str| server.load(name, name, TENSORS).map(|_| ());
    let text = message(load("configure_fails"), InvalidArgument);
    assert!(text.contains("configure failed: parameter 'k' must be a number"), "{text}");
    let text = message(load("describe_fails"), Internal);
    assert!(text.contains("describe failed: no idea what I am"), "{text}");
}

#[test]
fn tensors_are_completed_from_the_plugin() {
    let server = Server::new();
    let loaded = server.load("echo", "echo", "").unwrap();
    assert_eq!(loaded.config.inputs[0].spec.name, "IN");
    assert_eq!(loaded.config.outputs[0].spec.data_type, DataType::Uint8);
    assert_eq!(loaded.config.outputs[0].spec.dims, [-1]);
    assert_eq!(server.call(&element_model(loaded), b"hello").unwrap(), b"hello");
}

#[test]
fn tensors_that_differ_from_the_plugins_are_refused() {
    let server = Server::new();
    let load = |from: &str, to: &str| -> Result<(), Error> {
        server.load("echo", "echo", &TENSORS.replacen(from, to, 1)).map(|_| ())
    };
    let text = message(load("TYPE_UINT8", "TYPE_FP32"), InvalidArgument);
    assert!(text.contains("input[0].data_type of 'IN': expected TYPE_UINT8, got TYPE_FP32"), "{text}");
    let text = message(load("\"OUT\"", "\"RESULT\""), InvalidArgument);
    assert!(text.contains("output[0].name: expected one of 'OUT', got 'RESULT'"), "{text}");
    let text = message(load("[ -1 ]", "[ 2, 2 ]"), InvalidArgument);
    assert!(text.contains("input[0].dims of 'IN': expected [-1], got [2,2]"), "{text}");
    load("[ -1 ]", "[ 5 ]").unwrap();
}

#[test]
fn limits_are_read_and_bounded() {
    let server = Server::with(WasmOptions { max_memory_mb: 100, ..WasmOptions::default() }, 1);
    let load = |value: &str| {
        server.load("echo", "echo", &format!("{TENSORS}{}", parameter(MEMORY_PARAMETER, value))).map(|_| ())
    };
    load("100").unwrap();
    for value in ["101", "much"] {
        let text = message(load(value), InvalidArgument);
        assert!(text.contains("NACRE_MEMORY_MB: expected a whole number from 1 to 100"), "{text}");
    }
}

#[test]
fn concurrency_is_the_instance_groups_or_the_number_of_threads() {
    let server = Server::with(WasmOptions { concurrency: 7, ..WasmOptions::default() }, 1);
    assert_eq!(server.model("echo", "").concurrency(), 7);
    let groups = "instance_group [ { count: 2 kind: KIND_CPU }, { count: 1 kind: KIND_CPU } ]";
    assert_eq!(server.model("echo", groups).concurrency(), 3);
}
