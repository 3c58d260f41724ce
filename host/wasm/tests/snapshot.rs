//! Configured once, fresh for every request; and what happens where that cannot be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{sync::Arc, time::Duration};

use common::{Server, log, message, parameter, request};
use futures::future::join_all;
use nacre_backend::ModelCalls;
use nacre_domain::{Deadline, ErrorCode, InferenceRequest, InferenceResponse};
use nacre_wasm::{REUSE_PARAMETER, Start, WasmOptions};

fn entries(count: u32) -> String {
    parameter("entries", &count.to_string())
}

#[test]
fn requests_start_from_what_configure_left() {
    let server = Server::new();
    let (model, report) = server.reported("configured", &entries(1000));
    assert!(matches!(report.start, Start::Snapshot { memory_bytes: 1.. }), "{report:?}");
    assert_eq!(server.call(&model, b"999").unwrap(), b"entry 999");
    // Drawn once, in `configure`.
    let draw = server.call(&model, b"draw").unwrap();
    for _ in 0..3 {
        assert_eq!(server.call(&model, b"draw").unwrap(), draw);
    }
}

#[test]
fn what_one_request_leaves_no_other_sees() {
    let server = Server::new();
    let (count, report) = server.reported("count", "");
    assert!(matches!(report.start, Start::Snapshot { .. }), "{report:?}");
    let answers = server.runtime.block_on(join_all((0..100).map(|_| count.process(request(b"")))));
    for answer in answers {
        // One call of `process` and one of `configure`.
        assert_eq!(answer.unwrap().outputs[0].data, [1, 1].as_slice());
    }
}

#[test]
fn a_report_tells_what_a_load_found_and_took() {
    let server = Server::new();
    let (_, report) = server.reported("configured", &entries(100_000));
    assert_eq!(report.summary, "a guest of the tests");
    assert_eq!(report.interface, "1.0.0");
    assert_eq!(report.inputs[0].name, "IN");
    assert_eq!(report.outputs[0].data_type, "UINT8");
    assert!(!report.from_cache);
    assert!(report.component_bytes > 10_000 && report.image_bytes > report.component_bytes);
    for part in [report.compile, report.describe, report.configure, report.snapshot] {
        assert!(part > Duration::ZERO && part < report.total, "{report:?}");
    }
    let Start::Snapshot { memory_bytes } = report.start else { panic!("{report:?}") };
    assert!(memory_bytes > 5_000_000, "{memory_bytes}");
}

#[test]
fn a_plugin_that_keeps_a_stream_open_is_configured_for_every_request_and_the_log_says_so() {
    log();
    let server = Server::new();
    let (model, report) = server.reported("configured", &(entries(10) + &parameter("print", "yes")));
    let Start::Configure { reason } = &report.start else { panic!("{report:?}") };
    assert!(reason.contains("standard output"), "{reason}");
    assert_eq!(server.call(&model, b"7").unwrap(), b"entry 7");
    assert_ne!(server.call(&model, b"draw").unwrap(), server.call(&model, b"draw").unwrap());
    let log = log();
    let line = log.lines().find(|line| line.contains("configured again for every request")).unwrap();
    for part in ["WARN", "model=\"configured\"", "standard output"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn instances_are_used_again_only_where_asked_for() {
    log();
    let server = Server::new();
    let count = server.model("count", &parameter(REUSE_PARAMETER, "1"));
    for n in 1..=5 {
        assert_eq!(server.call(&count, b"").unwrap(), [n, 1]);
    }
    assert!(log().lines().any(|line| line.contains(REUSE_PARAMETER) && line.contains("model=\"count\"")));
}

#[test]
fn a_reused_instance_prints_in_the_name_of_the_request_at_hand() {
    log();
    let server = Server::new();
    let model = server.model("configured", &(parameter("print", "yes") + &parameter(REUSE_PARAMETER, "1")));
    let draw = |id: &str| {
        let mut request = request(b"draw");
        request.id = id.into();
        server.execute(&model, request).unwrap().outputs[0].data.clone()
    };
    assert_eq!(draw("first"), draw("second"), "it was not the same instance");
    let log = log();
    let of = |id: &str| {
        let id = format!("request_id=\"{id}\"");
        log.lines().filter(|line| line.contains("asked for draw") && line.contains(&id)).count()
    };
    assert_eq!((of("first"), of("second")), (1, 1));
}

#[test]
fn an_instance_is_not_used_again_after_an_error_or_a_trap() {
    let server = Server::new();
    let errors = server.model("errors", &parameter(REUSE_PARAMETER, "1"));
    message(server.call(&errors, b"internal"), ErrorCode::Internal);
    assert_eq!(server.call(&errors, b"behave").unwrap(), b"well");
    let trap = server.model("trap", &parameter(REUSE_PARAMETER, "1"));
    for _ in 0..3 {
        message(server.call(&trap, b""), ErrorCode::Internal);
        assert_eq!(server.call(&trap, b"behave").unwrap(), b"well");
    }
}

#[test]
fn a_wrong_number_of_instances_to_keep_is_refused() {
    let server = Server::new();
    for value in ["0", "65", "many"] {
        let config = format!("{}{}", common::TENSORS, parameter(REUSE_PARAMETER, value));
        let text = message(server.load("count", "count", &config).map(|_| ()), ErrorCode::InvalidArgument);
        assert!(text.contains("NACRE_REUSE: expected a whole number from 1 to 64"), "{text}");
    }
}

/// Somebody to call, who is never called.
struct Nobody;

impl ModelCalls for Nobody {
    fn infer<'a>(
        &'a self,
        _: InferenceRequest,
    ) -> std::pin::Pin<Box<dyn Future<Output = nacre_domain::Result<InferenceResponse>> + Send + 'a>> {
        Box::pin(async { panic!("called") })
    }

    fn levels(&self) -> usize {
        1
    }
}

#[test]
fn plugins_that_call_others_never_wait_for_slots_of_those() {
    let server = Server::with(WasmOptions { max_instances: 1, ..WasmOptions::default() }, 2);
    let (spin, echo) = (server.model("spin", ""), server.model("echo", ""));
    let mut caller = request(b"hello");
    caller.models = Some(Arc::new(Nobody));
    // This takes the one slot of plugins that call nobody.
    let spinning = server.runtime.spawn(async move { spin.process(request(b"")).await });
    // From when it is taken on, another one waits till its deadline.
    let refused = loop {
        let mut waiting = request(b"hello");
        waiting.deadline = Deadline::after(Duration::from_millis(50));
        if let Err(error) = server.execute(&echo, waiting) {
            break error;
        }
    };
    assert_eq!(refused.code(), ErrorCode::DeadlineExceeded, "{refused}");
    assert_eq!(server.execute(&echo, caller).unwrap().outputs[0].data, b"hello".as_slice());
    assert!(!spinning.is_finished());
    spinning.abort();
}
