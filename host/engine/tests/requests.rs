//! What becomes of single requests: found or not, valid or not, in time or not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use common::{Repository, Served, fp32, request, values, want};
use nacre_domain::{DataType, Deadline, Error, ErrorCode, InferenceRequest, Tensor, concat_bytes_elements};

/// `plain`: no batch dimension, `batched`: up to 4 rows, `pair`: two inputs of which one is optional, `text`: BYTES.
async fn serve() -> Served {
    Repository::new()
        .step("plain", 0, &["x FP32 [2]"], &["y FP32 [2]"])
        .step("batched", 4, &["x FP32 [-1,3]"], &["y FP32 [-1,3]"])
        .step(
            "pair",
            4,
            &["a FP32 [1]", "b FP32 [1]", "c FP32 [1] optional:true"],
            &["p FP32 [1]", "q FP32 [1]"],
        )
        .step("text", 4, &["x STRING [2]"], &["y STRING [2]"])
        .behaving("broken", "broken", 0, &["x FP32 [2]"], &["y FP32 [2]"])
        .serve()
        .await
}

async fn refused(served: &Served, request: InferenceRequest) -> (ErrorCode, String) {
    let error: Error = served.infer(request).await.unwrap_err();
    (error.code(), error.message().to_owned())
}

async fn invalid(served: &Served, request: InferenceRequest) -> String {
    let (code, message) = refused(served, request).await;
    assert_eq!(code, ErrorCode::InvalidArgument, "{message}");
    message
}

#[tokio::test]
async fn answers_with_the_outputs_in_the_order_of_the_configuration() {
    let served = serve().await;
    let inputs = vec![fp32("a", &[2, 1], &[1.0, 2.0]), fp32("b", &[2, 1], &[3.0, 4.0])];
    let response = served.infer(request("pair", inputs)).await.unwrap();
    assert_eq!(response.model.to_string(), "pair/1");
    assert_eq!(response.id, "id");
    let outputs: Vec<_> = response.outputs.iter().map(|t| (t.name.as_str(), values(t))).collect();
    assert_eq!(outputs, [("p", vec![1.0, 2.0]), ("q", vec![3.0, 4.0])]);
}

#[tokio::test]
async fn answers_with_the_outputs_asked_for_in_that_order() {
    let served = serve().await;
    let inputs = || vec![fp32("a", &[1, 1], &[1.0]), fp32("b", &[1, 1], &[3.0])];
    for wish in [["q", "p"].as_slice(), &["q"]] {
        let request = InferenceRequest { outputs: want(wish), ..request("pair", inputs()) };
        let response = served.infer(request).await.unwrap();
        assert_eq!(response.outputs.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), wish);
    }
}

#[tokio::test]
async fn unknown_models_and_versions_are_not_found_and_told_what_exists() {
    let served = serve().await;
    let (code, message) = refused(&served, request("nope", vec![])).await;
    assert_eq!(code, ErrorCode::NotFound);
    assert_eq!(message, "unknown model 'nope'; this server has 'batched', 'broken', 'pair', 'plain', 'text'");
    let (code, message) =
        refused(&served, InferenceRequest { version: Some(7), ..request("plain", vec![]) }).await;
    assert_eq!(code, ErrorCode::NotFound);
    assert_eq!(message, "model 'plain' has no version 7; it has 1");
}

#[tokio::test]
async fn a_model_that_did_not_load_is_unavailable_with_the_reason() {
    let served = serve().await;
    for version in [None, Some(1)] {
        let (code, message) =
            refused(&served, InferenceRequest { version, ..request("broken", vec![]) }).await;
        assert_eq!(code, ErrorCode::Unavailable);
        assert!(message.starts_with("model 'broken' "), "{message}");
        assert!(message.ends_with(": the file is broken"), "{message}");
    }
}

#[tokio::test]
async fn missing_unknown_and_repeated_inputs_are_named() {
    let served = serve().await;
    let one = || fp32("a", &[1, 1], &[1.0]);
    assert_eq!(
        invalid(&served, request("pair", vec![])).await,
        "model 'pair': expected at least 2 inputs but got 0; missing: 'a', 'b'"
    );
    assert_eq!(
        invalid(&served, request("pair", vec![one()])).await,
        "model 'pair': expected at least 2 inputs but got 1; missing: 'b'"
    );
    assert_eq!(
        invalid(&served, request("plain", vec![])).await,
        "model 'plain': expected 1 input but got 0; missing: 'x'"
    );
    assert_eq!(
        invalid(&served, request("plain", vec![one()])).await,
        "model 'plain' has no input 'a'; its inputs are 'x'"
    );
    assert_eq!(
        invalid(&served, request("pair", vec![one(), one()])).await,
        "model 'pair': input 'a' is given twice"
    );
}

#[tokio::test]
async fn an_optional_input_may_be_left_out_or_given() {
    let served = serve().await;
    let mut inputs = vec![fp32("a", &[1, 1], &[1.0]), fp32("b", &[1, 1], &[3.0])];
    assert!(served.infer(request("pair", inputs.clone())).await.is_ok());
    inputs.push(fp32("c", &[1, 1], &[5.0]));
    assert!(served.infer(request("pair", inputs)).await.is_ok());
}

#[tokio::test]
async fn a_wrong_data_type_is_told_with_the_right_one() {
    let served = serve().await;
    let tensor = Tensor { data_type: DataType::Int32, ..fp32("x", &[2], &[1.0, 2.0]) };
    assert_eq!(
        invalid(&served, request("plain", vec![tensor])).await,
        "model 'plain', input 'x': data type is INT32, but the model expects FP32"
    );
}

#[tokio::test]
async fn a_wrong_shape_is_told_with_the_right_one_and_what_it_may_be_about() {
    let served = serve().await;
    let zeros = |shape: &[i64]| {
        let count = shape.iter().product::<i64>().max(0) as usize;
        vec![fp32("x", shape, &vec![0.0; count])]
    };
    for (model, shape, expected) in [
        ("plain", &[3][..], "model 'plain', input 'x': unexpected shape, expected [2], got [3]"),
        (
            "plain",
            &[1, 2],
            "model 'plain', input 'x': unexpected shape, expected [2], got [1,2]; the model has no batch dimension \
             (max_batch_size is 0), so send [2]",
        ),
        (
            "plain",
            &[5, 2],
            "model 'plain', input 'x': unexpected shape, expected [2], got [5,2]; the model has no batch dimension \
             (max_batch_size is 0), so send each of the 5 elements as a request of its own with shape [2]",
        ),
        (
            "batched",
            &[7, 3],
            "model 'batched', input 'x': unexpected shape, expected [-1,-1,3], got [7,3]; the batch dimension is \
             missing: the model has max_batch_size 4, so one element is sent as [1,7,3]",
        ),
        (
            "batched",
            &[1, 7, 2],
            "model 'batched', input 'x': unexpected shape, expected [-1,-1,3], got [1,7,2]; the first dimension is \
             that of the batch",
        ),
        (
            "batched",
            &[],
            "model 'batched', input 'x': unexpected shape, expected [-1,-1,3], got []; the first dimension is that \
             of the batch",
        ),
        (
            "batched",
            &[5, 1, 3],
            "model 'batched', input 'x': batch size 5 is above the model's max_batch_size 4 (shape [5,1,3])",
        ),
        (
            "batched",
            &[0, 1, 3],
            "model 'batched', input 'x': the batch size (first dimension) is at least 1, got shape [0,1,3]",
        ),
    ] {
        assert_eq!(invalid(&served, request(model, zeros(shape))).await, expected);
    }
    let message = invalid(&served, request("batched", zeros(&[1, -1, 3]))).await;
    assert!(message.contains("shape [1,-1,3] has a negative dimension"), "{message}");
}

#[tokio::test]
async fn a_tensor_of_zero_elements_is_served_where_the_dims_allow_it() {
    let served = serve().await;
    let response = served.infer(request("batched", vec![fp32("x", &[2, 0, 3], &[])])).await.unwrap();
    assert_eq!(response.outputs[0].shape, [2, 0, 3]);
    assert!(response.outputs[0].data.is_empty());
}

#[tokio::test]
async fn inputs_of_unequal_batch_size_are_refused() {
    let served = serve().await;
    let inputs = vec![fp32("a", &[1, 1], &[1.0]), fp32("b", &[2, 1], &[3.0, 4.0])];
    assert_eq!(
        invalid(&served, request("pair", inputs)).await,
        "model 'pair': inputs of one request need the same batch size, but 'a' has 1 and 'b' has 2"
    );
}

#[tokio::test]
async fn a_wrong_byte_size_is_told_with_the_right_one() {
    let served = serve().await;
    let tensor = Tensor { data: Bytes::from_static(&[0; 7]), ..fp32("x", &[2], &[]) };
    assert_eq!(
        invalid(&served, request("plain", vec![tensor])).await,
        "model 'plain': tensor 'x': byte size mismatch: shape [2] of FP32 takes 8 bytes, got 7"
    );
    let data = concat_bytes_elements(&["one"]);
    let tensor = Tensor { name: "x".into(), data_type: DataType::Bytes, shape: vec![1, 2], data };
    assert_eq!(
        invalid(&served, request("text", vec![tensor])).await,
        "model 'text': tensor 'x': shape [1,2] has 2 BYTES elements, got 1"
    );
}

#[tokio::test]
async fn an_unknown_output_is_named() {
    let served = serve().await;
    let wish = InferenceRequest {
        outputs: want(&["y", "z"]),
        ..request("plain", vec![fp32("x", &[2], &[1.0, 2.0])])
    };
    assert_eq!(invalid(&served, wish).await, "model 'plain' has no output 'z'; its outputs are 'y'");
}

#[tokio::test]
async fn a_reshaped_model_sees_other_dims_than_its_clients() {
    let served = Repository::new()
        .behaving(
            "seen",
            "reporting shapes",
            0,
            &["x FP32 [-1,2,3] reshape:{shape:[-1,6]}"],
            &["y FP32 [-1]"],
        )
        .step("given", 4, &["x FP32 [1] reshape:{shape:[]}"], &["y FP32 [1] reshape:{shape:[]}"])
        .serve()
        .await;
    let response = served.infer(request("seen", vec![fp32("x", &[5, 2, 3], &[0.0; 30])])).await.unwrap();
    assert_eq!(values(&response.outputs[0]), [5.0, 6.0]);
    let response = served.infer(request("given", vec![fp32("x", &[2, 1], &[1.0, 2.0])])).await.unwrap();
    assert_eq!(response.outputs[0].shape, [2, 1]);
}

#[tokio::test]
async fn a_passed_deadline_is_told_and_the_next_request_is_served() {
    let repository = Repository::new();
    repository.behaving("m", "waiting", 0, &["x FP32 [1]"], &["y FP32 [1]"]);
    let served = repository.serve().await;
    let tensor = || vec![fp32("x", &[1], &[1.0])];
    let until = |deadline| InferenceRequest { deadline, ..request("m", tensor()) };
    for timeout in [Duration::ZERO, Duration::from_millis(1)] {
        let (code, message) = refused(&served, until(Deadline::after(timeout))).await;
        assert_eq!(code, ErrorCode::DeadlineExceeded);
        assert!(message.contains("model 'm'"), "{message}");
    }
    served.switches.barrier.open();
    served.infer(until(Deadline::NONE)).await.unwrap();
    served.infer(until(Deadline::after(Duration::MAX))).await.unwrap();
}

#[tokio::test]
async fn statistics_count_each_request_once() {
    let repository = Repository::new();
    repository
        .step("m", 4, &["x FP32 [1]"], &["y FP32 [1]"])
        .behaving("failing", "failing", 0, &["x FP32 [1]"], &["y FP32 [1]"])
        .behaving("waiting", "waiting", 0, &["x FP32 [1]"], &["y FP32 [1]"]);
    let served = repository.serve().await;
    for rows in [1_usize, 3] {
        served.infer(request("m", vec![fp32("x", &[rows as i64, 1], &vec![0.5; rows])])).await.unwrap();
    }
    invalid(&served, request("m", vec![])).await;
    refused(&served, request("failing", vec![fp32("x", &[1], &[1.0])])).await;
    {
        let mut cancelled = Box::pin(served.infer(request("waiting", vec![fp32("x", &[1], &[1.0])])));
        assert!(futures::poll!(cancelled.as_mut()).is_pending());
    }
    let report = |name: &str| served.statistics(Some(name), None).unwrap().remove(0).1;
    let m = report("m");
    assert_eq!((m.success.count, m.fail.count, m.inference_count, m.execution_count), (2, 1, 4, 2));
    let sizes: Vec<_> = m.batches.iter().map(|batch| (batch.batch_size, batch.compute_infer.count)).collect();
    assert_eq!(sizes, [(1, 1), (3, 1)]);
    for name in ["failing", "waiting"] {
        assert_eq!((report(name).success.count, report(name).fail.count), (0, 1), "{name}");
    }
    served.switches.barrier.open();
    assert_eq!(served.statistics(None, None).unwrap().len(), 3);
    assert_eq!(served.statistics(Some("nope"), None).unwrap_err().code(), ErrorCode::NotFound);
}

#[tokio::test]
async fn a_shutdown_lets_running_requests_end_and_no_new_one_begin() {
    let repository = Repository::new();
    repository.behaving("m", "waiting", 0, &["x FP32 [1]"], &["y FP32 [1]"]);
    let served = repository.serve().await;
    let engine = served.engine.clone();
    assert!(engine.is_live() && engine.is_ready());
    let running = tokio::spawn({
        let engine = engine.clone();
        async move { engine.infer(request("m", vec![fp32("x", &[1], &[1.0])])).await }
    });
    let switches = served.switches.clone();
    tokio::task::spawn_blocking(move || switches.barrier.wait_for(1)).await.unwrap();
    engine.begin_shutdown();
    assert!(engine.is_live() && !engine.is_ready());
    let (code, message) = refused(&served, request("m", vec![])).await;
    assert_eq!((code, message.as_str()), (ErrorCode::Unavailable, "the server is shutting down"));
    let mut drained = Box::pin(engine.drain());
    assert!(futures::poll!(drained.as_mut()).is_pending());
    served.switches.barrier.open();
    drained.await;
    assert!(running.await.unwrap().is_ok());
    engine.shutdown().await;
    assert_eq!(Arc::strong_count(&served.switches.instances), 1, "instances are left");
}
