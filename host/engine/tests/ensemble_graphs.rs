//! Ensembles that are refused when they load, each with a reason that names step and tensor.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use common::Repository;

const IN: &[&str] = &["in FP32 [2]"];
const OUT: &[&str] = &["out FP32 [2]"];

/// The reason for which an ensemble of these steps is refused; `copy` and `add` are batched up to 8, `bytes` takes and
/// gives UINT8, `wide` other dims, `flat` has no batch dimension.
async fn refused(max_batch: u32, inputs: &[&str], outputs: &[&str], steps: &[&str]) -> String {
    let repository = Repository::new();
    repository
        .step("copy", 8, &["x FP32 [2]"], &["y FP32 [2]"])
        .step("add", 8, &["a FP32 [2]", "b FP32 [2]"], &["y FP32 [2]"])
        .step("bytes", 8, &["x UINT8 [2]"], &["y UINT8 [2]"])
        .step("wide", 8, &["x FP32 [3]"], &["y FP32 [3]"])
        .step("flat", 0, &["x FP32 [2]"], &["y FP32 [2]"])
        .behaving("broken", "broken", 8, &["x FP32 [2]"], &["y FP32 [2]"])
        .ensemble("whole", max_batch, inputs, outputs, steps);
    let served = repository.serve().await;
    assert!(served.model_is_ready("copy", None));
    served.reason("whole")
}

#[tokio::test]
async fn a_step_of_an_unknown_model() {
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in | y=t", "nope | x=t | y=out"]).await,
        "step 1 'nope': unknown model 'nope'; this server has 'add', 'broken', 'bytes', 'copy', 'flat', 'whole', 'wide'"
    );
}

#[tokio::test]
async fn a_step_of_an_unavailable_model_with_its_reason() {
    assert_eq!(
        refused(8, IN, OUT, &["broken | x=in | y=out"]).await,
        "step 0 'broken': model 'broken' is unavailable: version 1: the file is broken"
    );
}

#[tokio::test]
async fn a_step_of_an_unknown_version() {
    assert_eq!(
        refused(8, IN, OUT, &["copy/3 | x=in | y=out"]).await,
        "step 0 'copy': model 'copy' has no version 3; it has 1"
    );
}

#[tokio::test]
async fn a_required_input_that_is_mapped_to_nothing() {
    assert_eq!(
        refused(8, IN, OUT, &["add | a=in | y=out"]).await,
        "step 0 'add': input 'b' of the model is mapped to no tensor (input_map)"
    );
}

#[tokio::test]
async fn names_that_the_model_does_not_have() {
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in z=in | y=out w=t"]).await,
        "step 0 'copy': output_map sends 'w' to tensor 't', but the model's outputs are 'y'; step 0 'copy': input_map \
         gives tensor 'in' to 'z', but the model's inputs are 'x'"
    );
}

#[tokio::test]
async fn a_tensor_that_nobody_makes() {
    assert_eq!(
        refused(8, IN, OUT, &["add | a=in b=ghost | y=out"]).await,
        "step 0 'add': input 'b' reads tensor 'ghost', which is neither an input of the ensemble nor an output of a step"
    );
}

#[tokio::test]
async fn a_tensor_that_is_made_twice() {
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in | y=out", "add | a=in b=in | y=out"]).await,
        "tensor 'out' is made twice: it is output 'y' of step 0 'copy' and output 'y' of step 1 'add'"
    );
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in | y=in", "copy | x=in | y=out"]).await,
        "tensor 'in' is made twice: it is the ensemble's input 'in' and output 'y' of step 0 'copy'"
    );
}

#[tokio::test]
async fn an_output_that_no_step_makes() {
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in | y=t"]).await,
        "output 'out' of the ensemble is made by no step (output_map)"
    );
}

#[tokio::test]
async fn a_cycle_of_steps() {
    let steps =
        ["copy | x=in | y=a", "add | a=a b=late | y=t", "copy | x=t | y=late", "copy | x=late | y=out"];
    assert_eq!(
        refused(8, IN, OUT, &steps).await,
        "steps wait for one another in a cycle: step 1 'add' reads tensor 'late', output 'y' of step 2 'copy'; \
         step 2 'copy' reads tensor 't', output 'y' of step 1 'add'"
    );
}

#[tokio::test]
async fn unequal_data_types() {
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in | y=t", "bytes | x=t | y=out"]).await,
        "tensor 't' is FP32 as output 'y' of step 0 'copy', but UINT8 as input 'x' of step 1 'bytes'; tensor 'out' is \
         UINT8 as output 'y' of step 1 'bytes', but FP32 as the ensemble's output 'out'"
    );
}

#[tokio::test]
async fn unequal_shapes() {
    assert_eq!(
        refused(8, IN, &["out FP32 [3]"], &["copy | x=in | y=t", "wide | x=t | y=out"]).await,
        "tensor 't' has shape [-1,2] as output 'y' of step 0 'copy', but [-1,3] as input 'x' of step 1 'wide'"
    );
}

#[tokio::test]
async fn batched_steps_in_an_ensemble_that_is_not_batched() {
    assert_eq!(
        refused(0, IN, OUT, &["copy | x=in | y=t", "copy | x=t | y=out"]).await,
        "the ensemble has no max_batch_size, but its steps are batched: step 0 'copy' (max_batch_size 8), step 1 \
         'copy' (max_batch_size 8); give the ensemble a max_batch_size of at most 8"
    );
}

#[tokio::test]
async fn a_step_that_is_not_batched_in_an_ensemble_that_is() {
    assert_eq!(
        refused(8, IN, OUT, &["copy | x=in | y=t", "flat | x=t | y=out"]).await,
        "tensor 't' has a batch dimension as output 'y' of step 0 'copy', but none (max_batch_size 0) as input 'x' of \
         step 1 'flat'; tensor 'out' has a batch dimension as the ensemble's output 'out', but none (max_batch_size 0) \
         as output 'y' of step 1 'flat'"
    );
}

#[tokio::test]
async fn batches_that_a_step_does_not_take() {
    assert_eq!(
        refused(16, IN, OUT, &["copy | x=in | y=out"]).await,
        "step 0 'copy': the ensemble allows batches of 16 (max_batch_size), but this model only of 8"
    );
}

#[tokio::test]
async fn an_optional_input_that_a_step_needs() {
    assert_eq!(
        refused(8, &["in FP32 [2] optional:true"], OUT, &["copy | x=in | y=out"]).await,
        "tensor 'in' may be left out as the ensemble's input 'in', but input 'x' of step 0 'copy' needs it"
    );
}

#[tokio::test]
async fn ensembles_that_contain_themselves_and_one_that_uses_them() {
    let repository = Repository::new();
    repository
        .ensemble("a", 8, IN, OUT, &["b | in=in | out=out"])
        .ensemble("b", 8, IN, OUT, &["c | in=in | out=out"])
        .ensemble("c", 8, IN, OUT, &["b | in=in | out=out"]);
    let served = repository.serve().await;
    assert_eq!(served.reason("b"), "it depends on itself: 'b' → 'c' → 'b'");
    assert_eq!(served.reason("c"), "it depends on itself: 'c' → 'b' → 'c'");
    assert_eq!(
        served.reason("a"),
        "step 0 'b': model 'b' is unavailable: version 1: it depends on itself: 'b' → 'c' → 'b'"
    );
}
