//! Guests that misbehave: each is one request's clear error, and nothing else suffers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Server, log, message, parameter, request};
use nacre_domain::{
    Deadline,
    ErrorCode::{self, DeadlineExceeded, Internal},
};
use nacre_wasm::{
    CONFIGURE_TIMEOUT_PARAMETER, HOST_CALLS_PARAMETER, MEMORY_PARAMETER, OUTPUT_PARAMETER, TIMEOUT_PARAMETER,
    WasmOptions,
};

/// Asks the guest to misbehave and sees that the error is as expected, that its next request succeeds, and that
/// another model's does.
fn misbehaves(guest: &str, config: &str, input: &[u8], code: ErrorCode, expected: &[&str]) {
    let server = Server::new();
    let other = server.model("echo", "");
    let model = server.model(guest, config);
    for _ in 0..2 {
        let text = message(server.call(&model, input), code);
        assert!(text.contains(&format!("plugin '{guest}' version 1")), "{text}");
        for part in expected {
            assert!(text.contains(part), "expected '{part}' in: {text}");
        }
        assert_eq!(server.call(&model, b"behave").unwrap(), b"well");
        assert_eq!(server.call(&other, b"hello").unwrap(), b"hello");
    }
}

fn many_calls() -> String {
    parameter(HOST_CALLS_PARAMETER, "100000000")
}

fn timeout(milliseconds: u32) -> String {
    parameter(TIMEOUT_PARAMETER, &milliseconds.to_string())
}

#[test]
fn spinning_ends_at_the_deadline() {
    misbehaves(
        "spin",
        &timeout(200),
        b"",
        DeadlineExceeded,
        &["did not answer within 200 ms", TIMEOUT_PARAMETER],
    );
}

#[test]
fn waiting_ends_at_the_deadline() {
    misbehaves("sleep", &timeout(200), b"", DeadlineExceeded, &["did not answer within 200 ms"]);
}

#[test]
fn spinning_while_it_is_configured_is_a_load_error() {
    let server = Server::new();
    let limit = parameter(CONFIGURE_TIMEOUT_PARAMETER, "200");
    let error = server.load("spin_in_configure", "spin_in_configure", &limit);
    let text = message(error.map(|_| ()), DeadlineExceeded);
    assert!(text.contains("was not configured within 200 ms"), "{text}");
    assert!(text.contains(CONFIGURE_TIMEOUT_PARAMETER), "{text}");
    let other = server.model("echo", "");
    assert_eq!(server.call(&other, b"hello").unwrap(), b"hello");
}

#[test]
fn the_requests_own_deadline_comes_first_if_it_is_earlier() {
    let server = Server::new();
    let model = server.model("spin", "");
    let mut request = request(b"");
    request.deadline = Deadline::after(Duration::from_millis(100));
    let text = message(server.execute(&model, request), DeadlineExceeded);
    assert!(
        text.contains("the request's deadline passed while plugin 'spin' version 1 was running"),
        "{text}"
    );
}

#[test]
fn allocating_ends_at_the_memory_limit() {
    misbehaves(
        "allocate",
        &parameter(MEMORY_PARAMETER, "32"),
        b"",
        Internal,
        &["32 MiB allowed", MEMORY_PARAMETER],
    );
}

#[test]
fn recursion_ends_at_the_stacks_end() {
    misbehaves("recurse", "", b"", Internal, &["trapped: call stack exhausted"]);
}

#[test]
fn a_trap_is_an_error_and_its_backtrace_is_in_the_log() {
    log();
    misbehaves("trap", "", b"", Internal, &["trapped: wasm `unreachable` instruction executed"]);
    assert!(log().contains("ends_here"), "{}", log());
}

#[test]
fn a_panic_is_an_error_and_its_message_is_in_the_log() {
    log();
    misbehaves("panic", "", b"", Internal, &["trapped"]);
    let log = log();
    let line = log.lines().find(|line| line.contains("out of ideas")).unwrap();
    for part in ["WARN", "model=\"panic\"", "version=1", "request_id=\"r-1\"", "stream=\"stderr\""] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn exiting_ends_the_call_and_not_the_server() {
    misbehaves("exit", "", b"", Internal, &["called exit(0) instead of answering"]);
}

#[test]
fn an_answer_above_the_limit_is_refused() {
    misbehaves("huge_answer", "", b"65", Internal, &["64 MiB allowed", OUTPUT_PARAMETER]);
}

#[test]
fn an_answer_of_two_gigabytes_is_refused() {
    let memory = parameter(MEMORY_PARAMETER, "4096");
    misbehaves("huge_answer", &memory, b"2047", Internal, &["64 MiB allowed", OUTPUT_PARAMETER]);
}

#[test]
fn an_answer_below_the_limit_passes() {
    let server = Server::new();
    let model = server.model("huge_answer", &parameter(OUTPUT_PARAMETER, "16"));
    assert_eq!(server.call(&model, b"16").unwrap().len(), 16 << 20);
    assert!(server.call(&model, b"18").is_err());
}

#[test]
fn handles_are_limited() {
    misbehaves("handles", "", b"", Internal, &["more handles (streams, timers) than the limit of 1024"]);
}

#[test]
fn wrong_answers_name_the_output_and_both_sides() {
    for (lie, expected) in [
        ("dtype", "output 'OUT': expected UINT8, got FP32"),
        ("rank", "output 'OUT': expected shape [-1], got [2,2]"),
        ("size", "tensor 'OUT': byte size mismatch: shape [5] of UINT8 takes 5 bytes, got 4"),
        ("negative", "tensor 'OUT': shape [-1] has a negative dimension"),
        ("overflow", "takes 9223372036854775807 bytes, got 4"),
        ("name", "gave an output 'OTHER', expected only 'OUT'"),
        ("twice", "gave output 'OUT' twice"),
        ("missing", "gave no output 'OUT'"),
        ("length", "failed: list pointer/length out of bounds of memory"),
    ] {
        misbehaves("lies", &parameter("lie", lie), b"", Internal, &[expected]);
    }
}

#[test]
fn ten_million_log_lines_are_limited_in_rate_and_counted() {
    log();
    let server = Server::new();
    let model = server.model("log_flood", &(timeout(120_000) + &many_calls()));
    assert_eq!(server.call(&model, b"").unwrap(), [1]);
    drop(model);
    let log = log();
    let written = log.lines().filter(|line| line.contains("the same again")).count();
    let dropped: usize = log
        .lines()
        .filter(|line| line.contains("lines of the plugin were dropped"))
        .filter_map(|line| line.split("dropped=").nth(1)?.split_whitespace().next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(written + dropped, 10_000_000);
    assert!(written < 100_000, "{written}");
}

#[test]
fn a_flood_on_standard_output_is_cut_and_counted() {
    log();
    let server = Server::new();
    let model = server.model("stdout_flood", &(timeout(120_000) + &many_calls()));
    assert_eq!(server.call(&model, b"").unwrap(), [1]);
    assert_eq!(server.call(&model, b"behave").unwrap(), b"well");
    let log = log();
    assert!(log.lines().all(|line| line.len() < 10_000));
    assert!(log.contains("… (99995904 bytes cut)"));
    assert!(log.contains("lines of the plugin were dropped"));
}

#[test]
fn files_and_sockets_are_denied() {
    let server = Server::new();
    let files = server.model("open_file", "");
    let told = String::from_utf8(server.call(&files, b"").unwrap()).unwrap();
    assert!(told.contains("No such file or directory"), "{told}");
    assert_eq!(server.call(&files, b"behave").unwrap(), b"well");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let sockets = server.model("open_socket", "");
    let address = listener.local_addr().unwrap().to_string();
    assert_eq!(server.call(&sockets, address.as_bytes()).unwrap(), b"PermissionDenied");
    assert_eq!(server.call(&sockets, b"localhost:80").unwrap(), b"PermissionDenied");
    assert!(listener.accept().is_err(), "something connected");
}

#[test]
fn other_models_answer_while_one_spins() {
    // One thread for both: without yielding, the spinning guest would keep it.
    let server = Server::with(WasmOptions::default(), 1);
    let spin = server.model("spin", &timeout(60_000));
    let echo = server.model("echo", "");
    let spinning = server.runtime.spawn(async move { spin.process(request(b"")).await });
    for _ in 0..10 {
        assert_eq!(server.call(&echo, b"hello").unwrap(), b"hello");
    }
    assert!(!spinning.is_finished());
    spinning.abort();
}

#[test]
fn a_dropped_call_gives_its_instance_back() {
    let options = WasmOptions { max_instances: 1, ..WasmOptions::default() };
    let server = Server::with(options, 1);
    let spin = server.model("spin", &timeout(600_000));
    let echo = server.model("echo", "");
    let spinning = Arc::clone(&spin);
    let task = server.runtime.spawn(async move { spinning.process(request(b"")).await });
    // From when the only instance is taken on, others wait for it, and say so when their own deadline passes.
    let text = loop {
        let mut waiting = request(b"hello");
        waiting.deadline = Deadline::at(Instant::now() + Duration::from_millis(50));
        if let Err(error) = server.execute(&echo, waiting) {
            assert_eq!(error.code(), DeadlineExceeded, "{error}");
            break error.message().to_owned();
        }
    };
    assert!(text.contains("waited for a free instance of plugin 'echo' version 1"), "{text}");
    task.abort();
    assert_eq!(server.call(&echo, b"hello").unwrap(), b"hello");
}
