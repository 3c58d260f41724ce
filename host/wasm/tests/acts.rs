//! One guest that does whatever a word says, against every limit and every import: each act is one request's, or one
//! load's, clear error; and the next request is answered.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use common::{Server, TENSORS, element_model, message, parameter};
use nacre_domain::{
    Error,
    ErrorCode::{
        self, DeadlineExceeded, Internal, InvalidArgument, NotFound, ResourceExhausted, Unavailable,
    },
};
use nacre_wasm::{
    CONFIGURE_TIMEOUT_PARAMETER, HOST_CALLS_PARAMETER, MEMORY_PARAMETER, MODELS_PARAMETER, OUTPUT_PARAMETER,
    TIMEOUT_PARAMETER,
};

/// Longest error that a client may get: what a plugin says is cut.
const LONGEST_ERROR: usize = 5000;

fn config() -> String {
    parameter(TIMEOUT_PARAMETER, "20000")
}

fn few_host_calls() -> String {
    parameter(HOST_CALLS_PARAMETER, "10000")
}

fn short() -> String {
    parameter(TIMEOUT_PARAMETER, "200")
}

/// The act fails as expected, twice, and the request after it succeeds.
fn fails(word: &str, config: &str, code: ErrorCode, expected: &[&str]) {
    let server = Server::cached();
    let model = server.model("acts", config);
    for _ in 0..2 {
        let text = message(server.call(&model, word.as_bytes()), code);
        check(&text, expected);
        assert_eq!(server.call(&model, b"behave").unwrap(), b"well");
    }
}

fn check(text: &str, expected: &[&str]) {
    assert!(text.len() < LONGEST_ERROR, "{} bytes", text.len());
    for part in expected.iter().chain(&["plugin 'acts' version 1"]) {
        assert!(text.contains(part), "expected '{part}' in: {text}");
    }
}

/// The act does no harm, and is answered.
fn passes(word: &str, config: &str) {
    let server = Server::cached();
    let model = server.model("acts", config);
    assert_eq!(server.call(&model, word.as_bytes()).unwrap(), b"done");
    assert_eq!(server.call(&model, b"behave").unwrap(), b"well");
}

fn load(key: &str, word: &str, config: &str) -> (Server, Result<(), Error>) {
    let server = Server::cached();
    let config = format!("{TENSORS}{}{config}", parameter(key, word));
    let loaded = server.load("acts", "acts", &config).map(|_| ());
    (server, loaded)
}

/// A load with that parameter fails as expected, and another load in the same server succeeds.
fn not_loaded(key: &str, word: &str, config: &str, code: ErrorCode, expected: &[&str]) {
    let (server, loaded) = load(key, word, config);
    check(&message(loaded, code), expected);
    let model = server.model("acts", "");
    assert_eq!(server.call(&model, b"behave").unwrap(), b"well");
}

macro_rules! process {
    ($($name:ident: $word:literal, $config:expr, $code:ident, [$($part:expr),*];)*) => {$(
        #[test]
        fn $name() {
            fails($word, &$config, $code, &[$($part),*]);
        }
    )*};
}

macro_rules! harmless {
    ($($name:ident: $word:literal;)*) => {$(
        #[test]
        fn $name() {
            passes($word, &config());
        }
    )*};
}

macro_rules! at_load {
    ($($name:ident: $key:literal $word:literal, $config:expr, $code:ident, [$($part:expr),*];)*) => {$(
        #[test]
        fn $name() {
            not_loaded($key, $word, &$config, $code, &[$($part),*]);
        }
    )*};
}

const FEW_CALLS: &str = "called into the host more often than its limit: 10000 calls allowed";
const TOO_MUCH: &str = "gave more data than its limit: 64 MiB allowed";
const UTF8: &str = "invalid utf-8";

process! {
    reading_beyond_the_memory_is_a_trap: "read beyond", config(), Internal, ["trapped: out of bounds memory access"];
    writing_beyond_the_memory_is_a_trap: "write beyond", config(), Internal, ["trapped: out of bounds memory access"];

    a_log_line_beyond_the_output_limit_is_refused:
        "log: more than an answer", config(), Internal, [TOO_MUCH, OUTPUT_PARAMETER];
    a_log_line_that_is_no_text_is_refused: "log: no UTF-8", config(), Internal, [UTF8];
    logging_for_ever_ends: "log: for ever", few_host_calls(), Internal, [FEW_CALLS, HOST_CALLS_PARAMETER];
    measuring_for_ever_ends: "metrics: for ever", few_host_calls(), Internal, [FEW_CALLS];
    reading_files_for_ever_ends: "files: for ever", few_host_calls(), Internal, [FEW_CALLS];
    calling_models_for_ever_ends: "models: for ever", few_host_calls(), Internal, [FEW_CALLS];
    taking_random_numbers_for_ever_ends: "random: for ever", few_host_calls(), Internal, [FEW_CALLS];
    asking_the_time_for_ever_ends: "clock: for ever", few_host_calls(), Internal, [FEW_CALLS];
    printing_for_ever_ends: "stdout: for ever", few_host_calls(), Internal, [FEW_CALLS];

    a_file_of_a_long_path_is_an_error_cut_short: "files: a long path", config(), NotFound, ["file 'a/a/"];
    a_path_that_leads_out_is_refused: "files: dots", config(), InvalidArgument, ["inside the model's folder"];
    a_device_is_no_file: "files: a device", config(), InvalidArgument, ["inside the model's folder"];

    a_model_that_was_not_granted_is_not_called: "models: not granted", config(), InvalidArgument,
        ["may not call model 'secret'", "NACRE_MODELS", "config.pbtxt"];
    a_model_of_a_long_name_is_an_error_cut_short:
        "models: a long name", config(), InvalidArgument, ["may not call model 'mmm"];
    calls_at_once_are_limited:
        "models: many at once", config(), ResourceExhausted, ["10000 calls at once: expected 256 at most"];

    random_bytes_are_limited: "random: much", config(), Internal, ["failed:"];
    insecure_random_bytes_are_limited: "random: insecure much", config(), Internal, ["failed:"];
    waiting_for_nothing_is_an_error: "poll: nothing", config(), Internal, ["failed: empty poll list"];
    waiting_for_an_age_ends_at_the_deadline: "poll: an age", short(), DeadlineExceeded, ["within 200 ms"];
    handles_of_what_is_denied_are_limited: "handles: denied", config(), Internal, ["more handles"];
    waiting_for_one_handle_many_times_at_once_is_limited:
        "poll: the same many times", config(), Internal, ["more handles"];
    printing_more_at_once_than_permitted_is_refused:
        "stdout: too much at once", config(), Internal, ["more bytes written at once"];
    printing_zeroes_without_end_is_refused: "stdout: zeroes", config(), Internal, ["failed:"];

    an_error_of_fifty_megabytes_is_cut: "error: long", config(), InvalidArgument, ["eeee…"];
    an_error_that_is_no_text_is_refused: "error: no UTF-8", config(), Internal, [UTF8];

    outputs_beyond_those_of_the_model_are_refused:
        "answer: many outputs", config(), Internal, ["gave output 'OUT' twice"];
    an_output_of_a_long_name_is_an_error_cut_short:
        "answer: other outputs", config(), Internal, ["gave an output 'xxx"];
    a_shape_of_a_million_dimensions_is_an_error_cut_short:
        "answer: many dimensions", config(), Internal, ["expected shape [-1], got [1,1,1"];
    the_least_dimension_is_refused:
        "answer: the least dimension", config(), Internal, ["output 'OUT'", "-9223372036854775808"];
    the_largest_dimension_is_refused:
        "answer: the largest dimension", config(), Internal, ["takes 9223372036854775807 bytes, got 4"];
    an_output_name_that_is_no_text_is_refused: "answer: a name that is no UTF-8", config(), Internal, [UTF8];
    a_response_parameter_counts_as_output:
        "answer: a parameter without end", config(), Internal, [TOO_MUCH, OUTPUT_PARAMETER];
}

harmless! {
    a_log_line_of_fifty_megabytes_is_cut: "log: a long line";
    fifty_million_line_ends_in_one_call_are_counted: "log: line ends";
    millions_of_lines_in_one_call_are_counted: "log: short lines";
    half_a_million_fields_of_a_line_are_cut: "log: fields";
    a_hundred_thousand_metrics_are_dropped: "metrics: names";
    a_hundred_thousand_labels_are_dropped: "metrics: labels";
    malformed_metrics_are_dropped: "metrics: malformed";
    metrics_of_another_kind_are_dropped: "metrics: other kind";
    handles_that_are_dropped_are_free_again: "handles: dropped";
    half_a_million_parameters_are_within_the_output_limit: "answer: many parameters";
    a_parameter_may_be_no_number: "answer: not a number";
}

at_load! {
    a_trap_in_configure_is_the_load_error:
        "configure" "trap", "", Internal, ["configure", "trapped: wasm `unreachable` instruction executed"];
    allocating_in_configure_ends_at_the_memory_limit:
        "configure" "allocate", parameter(MEMORY_PARAMETER, "32"), Internal, ["32 MiB allowed", MEMORY_PARAMETER];
    exiting_in_configure_is_the_load_error: "configure" "exit", "", Internal, ["called exit(1)"];
    spinning_in_configure_ends_at_its_deadline:
        "configure" "spin", parameter(CONFIGURE_TIMEOUT_PARAMETER, "200"), DeadlineExceeded,
        ["was not configured within 200 ms", CONFIGURE_TIMEOUT_PARAMETER];
    waiting_in_configure_ends_at_its_deadline:
        "configure" "poll: an age", parameter(CONFIGURE_TIMEOUT_PARAMETER, "200"), DeadlineExceeded,
        ["was not configured within 200 ms"];
    logging_for_ever_in_configure_ends: "configure" "log: for ever", few_host_calls(), Internal, [FEW_CALLS];
    calling_a_model_in_configure_is_refused:
        "configure" "models: not granted", parameter(MODELS_PARAMETER, "secret"), Unavailable,
        ["can be called from process alone"];
    a_long_error_of_configure_is_cut: "configure" "error: long", "", InvalidArgument, ["configure failed: eee"];

    a_trap_in_describe_is_the_load_error: "describe" "trap", "", Internal, ["describe", "trapped"];
    spinning_in_describe_ends_at_the_deadline:
        "describe" "spin", parameter(CONFIGURE_TIMEOUT_PARAMETER, "200"), DeadlineExceeded, ["within 200 ms"];
    allocating_in_describe_ends_at_the_memory_limit:
        "describe" "allocate", parameter(MEMORY_PARAMETER, "32"), Internal, ["32 MiB allowed"];
    describing_many_tensors_is_refused:
        "describe" "many", "", InvalidArgument, ["it describes 200000 inputs: expected at most 1024"];
    describing_a_tensor_of_a_long_name_is_an_error_cut_short:
        "describe" "a long name", "", InvalidArgument, ["it describes an input 'xxx"];
    describing_a_million_dimensions_is_an_error_cut_short:
        "describe" "many dimensions", "", InvalidArgument, ["with dims [-2,-2"];
    a_summary_that_is_no_text_is_refused: "describe" "no UTF-8", "", Internal, [UTF8];
    a_summary_beyond_the_output_limit_is_refused:
        "describe" "a long summary", parameter(MEMORY_PARAMETER, "512"), Internal, [TOO_MUCH];
}

#[test]
fn strings_that_lie_about_their_length_are_refused() {
    let server = Server::cached();
    let tensors = TENSORS.replace(
        "output { name: \"OUT\" data_type: TYPE_UINT8",
        "output { name: \"OUT\" data_type: TYPE_STRING",
    );
    let config = format!("{tensors}{}", parameter("describe", "nothing"));
    let model = element_model(server.load("acts", "acts", &config).unwrap());
    let text = message(server.call(&model, b"answer: strings that lie"), Internal);
    check(&text, &["output", "'OUT'", "2147483647"]);
}

#[test]
fn control_characters_do_not_reach_the_log() {
    common::log();
    passes("log: escapes", &config());
    let log = common::log();
    let line = log.lines().find(|line| line.contains("injected")).unwrap();
    assert!(line.contains("model=\"acts\"") && !line.contains("gone"), "{line}");
    assert!(!log.contains('\u{1b}'), "{log}");
}
