//! Ensembles that run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use common::{Repository, Switches, fp32, request, values, want};
use nacre_domain::{Deadline, ErrorCode, InferenceRequest};

const X: &[&str] = &["x FP32 [2]"];
const Y: &[&str] = &["y FP32 [2]"];

fn diamond_steps() -> [&'static str; 4] {
    [
        "double | x=in | y=left",
        "copy | x=in | y=right",
        "add | a=left b=right | y=sum",
        "double | x=sum | y=out",
    ]
}

/// `add` takes two, `double` and `copy` one; all batched.
fn models(repository: &Repository) -> &Repository {
    repository
        .behaving("add", "adding", 8, &["a FP32 [2]", "b FP32 [2]"], Y)
        .behaving("double", "doubling", 8, X, Y)
        .step("copy", 8, X, Y)
        .behaving("failing", "failing", 8, X, Y)
        .behaving("waiting left", "waiting", 8, X, Y)
        .behaving("waiting right", "waiting", 8, X, Y)
}

#[tokio::test]
async fn a_diamond_joins_what_it_parted() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "diamond",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]", "left FP32 [2]"],
        &diamond_steps(),
    );
    let served = repository.serve().await;
    let response = served.infer(request("diamond", vec![fp32("in", &[1, 2], &[1.0, 10.0])])).await.unwrap();
    assert_eq!(response.model.to_string(), "diamond/1");
    let outputs: Vec<_> = response.outputs.iter().map(|t| (t.name.as_str(), values(t))).collect();
    assert_eq!(outputs, [("out", vec![6.0, 60.0]), ("left", vec![2.0, 20.0])]);
}

#[tokio::test]
async fn a_diamond_with_its_steps_in_any_order_and_a_step_that_reads_one_tensor_twice() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "diamond",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]"],
        &[
            "add | a=twice b=right | y=out",
            "add | a=left b=left | y=twice",
            "copy | x=in | y=right",
            "double | x=in | y=left",
        ],
    );
    let served = repository.serve().await;
    let response =
        served.infer(request("diamond", vec![fp32("in", &[2, 2], &[1.0, 2.0, 3.0, 4.0])])).await.unwrap();
    assert_eq!(response.outputs[0].shape, [2, 2]);
    assert_eq!(values(&response.outputs[0]), [5.0, 10.0, 15.0, 20.0]);
}

#[tokio::test]
async fn steps_whose_inputs_are_ready_run_at_once() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "wide",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]"],
        &["waiting left | x=in | y=left", "waiting right | x=in | y=right", "add | a=left b=right | y=out"],
    );
    let served = repository.serve().await;
    let engine = served.engine.clone();
    let running =
        tokio::spawn(
            async move { engine.infer(request("wide", vec![fp32("in", &[1, 2], &[1.0, 2.0])])).await },
        );
    let switches = served.switches.clone();
    // Both branches are inside their models before either may go on.
    tokio::task::spawn_blocking(move || switches.barrier.wait_for(2)).await.unwrap();
    served.switches.barrier.open();
    assert_eq!(values(&running.await.unwrap().unwrap().outputs[0]), [2.0, 4.0]);
}

#[tokio::test]
async fn tensors_reach_the_steps_without_a_copy() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "chain",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]"],
        &["copy | x=in | y=t", "copy | x=t | y=out"],
    );
    let served = repository.serve().await;
    let tensor = fp32("in", &[1, 2], &[1.0, 2.0]);
    let bytes = tensor.data.as_ptr();
    let response = served.infer(request("chain", vec![tensor])).await.unwrap();
    assert_eq!(response.outputs[0].data.as_ptr(), bytes);
}

#[tokio::test]
async fn only_the_steps_that_the_outputs_asked_for_need_are_run() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "diamond",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]", "left FP32 [2]"],
        &diamond_steps(),
    );
    let served = repository.serve().await;
    let request = InferenceRequest {
        outputs: want(&["left"]),
        ..request("diamond", vec![fp32("in", &[1, 2], &[1.0, 2.0])])
    };
    let response = served.infer(request).await.unwrap();
    assert_eq!(response.outputs.len(), 1);
    assert_eq!(*served.switches.executed.lock().unwrap(), ["double"]);
}

#[tokio::test]
async fn an_ensemble_may_be_a_step_of_another() {
    let repository = Repository::new();
    models(&repository)
        .ensemble(
            "a outer",
            8,
            &["in FP32 [2]"],
            &["out FP32 [2]"],
            &["inner | in=in | out=t", "double | x=t | y=out"],
        )
        .ensemble("inner", 8, &["in FP32 [2]"], &["out FP32 [2]"], &["double | x=in | y=out"]);
    let served = repository.serve().await;
    let response = served.infer(request("a outer", vec![fp32("in", &[1, 2], &[1.0, 2.0])])).await.unwrap();
    assert_eq!(values(&response.outputs[0]), [4.0, 8.0]);
    let success = |name: &str| served.statistics(Some(name), None).unwrap()[0].1.success.count;
    assert_eq!([success("a outer"), success("inner"), success("double")], [1, 1, 2]);
}

#[tokio::test]
async fn an_error_names_its_step_and_costs_the_next_request_nothing() {
    let repository = Repository::new();
    models(&repository)
        .ensemble(
            "bad",
            8,
            &["in FP32 [2]"],
            &["out FP32 [2]"],
            &["copy | x=in | y=t", "failing | x=t | y=out"],
        )
        .ensemble("outer", 8, &["in FP32 [2]"], &["out FP32 [2]"], &["bad | in=in | out=out"]);
    let served = repository.serve().await;
    let error = served.infer(request("bad", vec![fp32("in", &[1, 2], &[1.0, 2.0])])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert!(error.message().starts_with("step 1 'failing' of ensemble 'bad': "), "{error}");
    assert!(error.message().ends_with("the model failed"), "{error}");
    let error = served.infer(request("outer", vec![fp32("in", &[1, 2], &[1.0, 2.0])])).await.unwrap_err();
    assert!(
        error.message().starts_with("step 0 'bad' of ensemble 'outer': step 1 'failing' of ensemble 'bad': "),
        "{error}"
    );
    assert!(served.infer(request("copy", vec![fp32("x", &[1, 2], &[1.0, 2.0])])).await.is_ok());
}

#[tokio::test]
async fn a_step_that_gets_a_shape_it_does_not_take_is_named() {
    let repository = Repository::new();
    models(&repository).step("any", 8, &["x FP32 [-1]"], &["y FP32 [-1]"]).ensemble(
        "late",
        8,
        &["in FP32 [-1]"],
        &["out FP32 [2]"],
        &["any | x=in | y=t", "copy | x=t | y=out"],
    );
    let served = repository.serve().await;
    assert!(served.infer(request("late", vec![fp32("in", &[1, 2], &[1.0, 2.0])])).await.is_ok());
    let error = served.infer(request("late", vec![fp32("in", &[1, 3], &[1.0, 2.0, 3.0])])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert_eq!(
        error.message(),
        "step 1 'copy' of ensemble 'late': model 'copy', input 'x': unexpected shape, expected [-1,2], got [1,3]; \
         the first dimension is that of the batch"
    );
}

#[tokio::test]
async fn a_deadline_holds_for_the_steps() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "slow",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]"],
        &["waiting left | x=in | y=out"],
    );
    let served = repository.serve().await;
    let request = InferenceRequest {
        deadline: Deadline::after(std::time::Duration::from_millis(5)),
        ..request("slow", vec![fp32("in", &[1, 2], &[1.0, 2.0])])
    };
    let error = served.infer(request).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::DeadlineExceeded);
    assert!(error.message().starts_with("step 0 'waiting left' of ensemble 'slow': "), "{error}");
    served.switches.barrier.open();
}

#[tokio::test]
async fn dropping_a_request_cancels_its_steps() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "slow",
        8,
        &["in FP32 [2]"],
        &["out FP32 [2]"],
        &["waiting left | x=in | y=t", "copy | x=t | y=out"],
    );
    let served = repository.serve().await;
    {
        let mut running = Box::pin(served.infer(request("slow", vec![fp32("in", &[1, 2], &[1.0, 2.0])])));
        assert!(futures::poll!(running.as_mut()).is_pending());
    }
    served.switches.barrier.open();
    served.drain().await;
    let report = |name: &str| served.statistics(Some(name), None).unwrap().remove(0).1;
    for name in ["slow", "waiting left"] {
        assert_eq!((report(name).success.count, report(name).fail.count), (0, 1), "{name}");
    }
    assert_eq!(report("copy").success.count, 0);
}

#[tokio::test]
async fn statistics_add_up() {
    let repository = Repository::new();
    models(&repository).ensemble("diamond", 8, &["in FP32 [2]"], &["out FP32 [2]"], &diamond_steps());
    let served = repository.serve_with(Switches::default()).await;
    for rows in [1_usize, 2, 5] {
        let values = vec![1.0; rows * 2];
        served.infer(request("diamond", vec![fp32("in", &[rows as i64, 2], &values)])).await.unwrap();
    }
    let report = |name: &str| served.statistics(Some(name), None).unwrap().remove(0).1;
    let diamond = report("diamond");
    assert_eq!((diamond.success.count, diamond.inference_count, diamond.execution_count), (3, 8, 3));
    let [double, copy, add] = ["double", "copy", "add"].map(report);
    assert_eq!((double.success.count, double.inference_count), (6, 16));
    assert_eq!((copy.success.count, copy.inference_count), (3, 8));
    assert_eq!((add.success.count, add.inference_count), (3, 8));
    // The ensemble's times are those of its steps together.
    let infer = [double, copy, add].map(|report| report.compute_infer.nanoseconds).iter().sum::<u64>();
    assert!(
        diamond.compute_infer.nanoseconds.abs_diff(infer) <= 12,
        "{} {infer}",
        diamond.compute_infer.nanoseconds
    );
}

#[tokio::test]
async fn an_optional_input_that_is_not_given_is_not_given_to_the_step() {
    let repository = Repository::new();
    repository.behaving("add", "adding", 0, &["a FP32 [2]", "b FP32 [2] optional:true"], Y).ensemble(
        "maybe",
        0,
        &["in FP32 [2]", "more FP32 [2] optional:true"],
        &["out FP32 [2]"],
        &["add | a=in b=more | y=out"],
    );
    let served = repository.serve().await;
    let mut inputs = vec![fp32("in", &[2], &[1.0, 2.0])];
    let response = served.infer(request("maybe", inputs.clone())).await.unwrap();
    assert_eq!(values(&response.outputs[0]), [1.0, 2.0]);
    inputs.push(fp32("more", &[2], &[10.0, 20.0]));
    let response = served.infer(request("maybe", inputs)).await.unwrap();
    assert_eq!(values(&response.outputs[0]), [11.0, 22.0]);
}

#[tokio::test]
async fn batched_steps_serve_an_ensemble_that_spells_the_batch_out() {
    let repository = Repository::new();
    models(&repository).ensemble(
        "spelled",
        0,
        &["in FP32 [-1,2]"],
        &["out FP32 [-1,2]"],
        &["double | x=in | y=out"],
    );
    let served = repository.serve().await;
    let response =
        served.infer(request("spelled", vec![fp32("in", &[2, 2], &[1.0, 2.0, 3.0, 4.0])])).await.unwrap();
    assert_eq!(values(&response.outputs[0]), [2.0, 4.0, 6.0, 8.0]);
}
