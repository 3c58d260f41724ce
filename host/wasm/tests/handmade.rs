//! Components that no compiler would make: each is a clear error of a load or of a request, and the next load succeeds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::time::Duration;

use common::{Server, TENSORS, element_model, message, parameter, source, wat::Handmade};
use nacre_domain::ErrorCode::{self, DeadlineExceeded, Internal, InvalidArgument};
use nacre_wasm::{CONFIGURE_TIMEOUT_PARAMETER, MEMORY_PARAMETER, Start, TIMEOUT_PARAMETER};

fn config() -> String {
    TENSORS.to_owned() + &parameter(TIMEOUT_PARAMETER, "500") + &parameter(CONFIGURE_TIMEOUT_PARAMETER, "500")
}

/// A request fails as expected, twice, in a server that still answers with another plugin.
fn fails(plugin: Handmade, code: ErrorCode, expected: &[&str]) {
    let server = Server::new();
    let other = server.model("echo", "");
    let model = server.load_bytes("handmade", &plugin.component(), &config()).unwrap();
    let model = element_model(model);
    for _ in 0..2 {
        check(&message(server.call(&model, b"bytes"), code), expected);
        assert_eq!(server.call(&other, b"hello").unwrap(), b"hello");
    }
}

/// The plugin does not load, for the expected reason, and another does.
fn not_loaded(plugin: Handmade, code: ErrorCode, expected: &[&str]) {
    let server = Server::new();
    let loaded = server.load_bytes("handmade", &plugin.component(), &config()).map(|_| ());
    check(&message(loaded, code), expected);
    assert_eq!(server.call(&server.model("echo", ""), b"hello").unwrap(), b"hello");
}

fn check(text: &str, expected: &[&str]) {
    assert!(text.len() < 5000, "{} bytes", text.len());
    for part in expected.iter().chain(&["plugin 'handmade' version 1"]) {
        assert!(text.contains(part), "expected '{part}' in: {text}");
    }
}

/// A response with these as its pointer to outputs and their number.
fn outputs(pointer: &str, count: &str) -> String {
    format!("(data (i32.const 68) \"{pointer}{count}\")")
}

#[test]
fn what_is_made_by_hand_loads_and_answers() {
    let server = Server::new();
    let model = server.load_bytes("handmade", &Handmade::default().component(), &config()).unwrap();
    let error = server.call(&element_model(model), b"bytes").unwrap_err();
    assert!(error.message().contains("it gave no output 'OUT'"), "{error}");
}

#[test]
fn an_answer_beyond_the_memory_is_refused() {
    fails(
        Handmade { process: "(i32.const 0x7fffff00)", ..Handmade::default() },
        Internal,
        &["out of bounds"],
    );
}

#[test]
fn an_answer_that_is_not_aligned_is_refused() {
    fails(Handmade { process: "(i32.const 65)", ..Handmade::default() }, Internal, &["aligned"]);
}

#[test]
fn an_answer_that_is_neither_success_nor_error_is_refused() {
    let definitions = "(data (i32.const 64) \"\\07\")";
    fails(Handmade { definitions, ..Handmade::default() }, Internal, &["discriminant"]);
}

#[test]
fn outputs_beyond_the_memory_are_refused() {
    let definitions = &outputs("\\00\\ff\\ff\\7f", "\\01\\00\\00\\00");
    fails(Handmade { definitions, ..Handmade::default() }, Internal, &["out of bounds of memory"]);
}

#[test]
fn more_outputs_than_fit_into_the_memory_are_refused() {
    let definitions = &outputs("\\00\\01\\00\\00", "\\ff\\ff\\ff\\ff");
    fails(Handmade { definitions, ..Handmade::default() }, Internal, &["out of bounds of memory"]);
}

#[test]
fn millions_of_empty_outputs_are_refused() {
    // All of the memory's zeros read as tensors without a name: 2^21 of them.
    let definitions = &outputs("\\00\\01\\00\\00", "\\00\\00\\20\\00");
    let memory = "(memory (export \"memory\") 2000)";
    fails(Handmade { definitions, memory, ..Handmade::default() }, Internal, &["plugin"]);
}

// The first thing that goes into a guest are the settings of `describe`.
#[test]
fn room_beyond_the_memory_is_not_written_to() {
    let realloc = "(i32.const 0x7fffff00)";
    not_loaded(Handmade { realloc, ..Handmade::default() }, Internal, &["realloc", "beyond end of memory"]);
}

#[test]
fn a_trap_while_room_is_made_is_a_load_error() {
    not_loaded(Handmade { realloc: "(unreachable)", ..Handmade::default() }, Internal, &["unreachable"]);
}

#[test]
fn making_room_for_ever_ends_at_the_deadline() {
    let realloc = "(loop $again (br $again)) (unreachable)";
    not_loaded(Handmade { realloc, ..Handmade::default() }, DeadlineExceeded, &["within 500 ms"]);
}

#[test]
fn growing_the_memory_for_ever_ends_at_its_limit() {
    let process = "(loop $again (drop (memory.grow (i32.const 16))) (br $again)) (unreachable)";
    fails(Handmade { process, ..Handmade::default() }, Internal, &["256 MiB allowed", MEMORY_PARAMETER]);
}

#[test]
fn growing_a_table_for_ever_ends_at_its_limit() {
    let definitions = "(table $t 1 funcref)";
    let process =
        "(loop $again (drop (table.grow $t (ref.null func) (i32.const 1000))) (br $again)) (unreachable)";
    fails(Handmade { definitions, process, ..Handmade::default() }, Internal, &["function tables", "100000"]);
}

#[test]
fn recursion_without_end_ends_at_the_stacks_end() {
    let definitions = "(func $deeper (param i64 i64) (result i64) \
                       (i64.add (local.get 0) (call $deeper (local.get 1) (local.get 0))))";
    let process = "(drop (call $deeper (i64.const 1) (i64.const 2))) (i32.const 64)";
    fails(Handmade { definitions, process, ..Handmade::default() }, Internal, &["call stack exhausted"]);
}

#[test]
fn dividing_by_zero_is_a_trap() {
    let process = "(i32.div_u (i32.const 1) (i32.load (i32.const 0)))";
    fails(Handmade { process, ..Handmade::default() }, Internal, &["trapped: integer divide by zero"]);
}

#[test]
fn calling_what_is_no_function_is_a_trap() {
    let definitions = "(table $t 1 funcref) (type $f (func (result i32)))";
    let process = "(call_indirect $t (type $f) (i32.const 0))";
    fails(Handmade { definitions, process, ..Handmade::default() }, Internal, &["trapped"]);
}

#[test]
fn a_start_function_that_spins_is_a_load_error() {
    let definitions = "(func $spin (loop $again (br $again))) (start $spin)";
    not_loaded(Handmade { definitions, ..Handmade::default() }, DeadlineExceeded, &["within 500 ms"]);
}

#[test]
fn a_start_function_that_traps_is_a_load_error() {
    let definitions = "(func $trap (unreachable)) (start $trap)";
    not_loaded(Handmade { definitions, ..Handmade::default() }, Internal, &["unreachable"]);
}

#[test]
fn data_that_does_not_fit_is_a_load_error() {
    let definitions = "(data (i32.const 0x7fffffff) \"far away\")";
    not_loaded(Handmade { definitions, ..Handmade::default() }, Internal, &["out of bounds"]);
}

#[test]
fn a_memory_that_begins_above_the_limit_is_a_load_error() {
    let memory = "(memory (export \"memory\") 65536)";
    not_loaded(Handmade { memory, ..Handmade::default() }, Internal, &["4096 MiB wanted", "256 MiB allowed"]);
}

#[test]
fn a_table_that_begins_above_the_limit_is_a_load_error() {
    let definitions = "(table 10000000 funcref)";
    not_loaded(Handmade { definitions, ..Handmade::default() }, InvalidArgument, &["table"]);
}

#[test]
fn globals_without_number_are_a_load_error() {
    let definitions = &"(global i64 (i64.const 1))".repeat(700_000);
    not_loaded(Handmade { definitions, ..Handmade::default() }, InvalidArgument, &["handmade"]);
}

#[test]
fn a_vector_in_a_global_is_configured_for_every_request_and_says_so() {
    let server = Server::new();
    let definitions = "(global $v (mut v128) (v128.const i64x2 1 2))";
    let component = Handmade { definitions, ..Handmade::default() }.component();
    let source = source("handmade", server.folder("handmade", &component), &config());
    let (model, report) = server.backend.load_with_report(&source).unwrap();
    let Start::Configure { reason } = report.start else { panic!("{:?}", report.start) };
    assert!(reason.contains("v128"), "{reason}");
    // Configured, and asked.
    assert!(server.call(&element_model(model), b"bytes").is_err());
}

/// Functions that take long to compile: each branches into all of its thousand blocks.
fn long_to_compile(functions: usize) -> String {
    let blocks = "(block ".repeat(1000);
    let labels: String = (0..1000).map(|label| format!("{label} ")).collect();
    let ends = " (drop (i32.load (i32.const 0))))".repeat(1000);
    let function = format!("(func (param i32) {blocks} (br_table {labels} (local.get 0)) {ends})");
    function.repeat(functions)
}

#[test]
fn other_plugins_answer_while_one_takes_long_to_compile() {
    let server = Server::new();
    let other = server.model("echo", "");
    let definitions = &long_to_compile(100);
    let component = Handmade { definitions, ..Handmade::default() }.component();
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| server.load_bytes("handmade", &component, &config()).map(|_| ()));
        while !loading.is_finished() {
            let start = std::time::Instant::now();
            assert_eq!(server.call(&other, b"hello").unwrap(), b"hello");
            longest = longest.max(start.elapsed());
        }
        loading.join().unwrap().unwrap();
    });
    // It shares the cores with them, and is never in line before them.
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}
