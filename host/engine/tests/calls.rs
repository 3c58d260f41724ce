//! Models that call others while they run, and models that are loaded anew while others stay.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::time::Duration;

use common::{Repository, Served, fp32, request, values};
use nacre_domain::{Deadline, ErrorCode, InferenceRequest};

const X: &[&str] = &["x FP32 [1]"];
const Y: &[&str] = &["y FP32 [1]"];

fn ask(model: &str, x: f32) -> InferenceRequest {
    request(model, vec![fp32("x", &[1], &[x])])
}

async fn answer(served: &Served, model: &str, x: f32) -> f32 {
    values(&served.infer(ask(model, x)).await.unwrap().outputs[0])[0]
}

/// `m` gives what it gets, `twice` doubles it, `all` adds what both give.
fn repository() -> Repository {
    let repository = Repository::new();
    repository.step("m", 0, X, Y).behaving("twice", "doubling", 0, X, Y).caller("all", "m,twice");
    repository
}

#[tokio::test]
async fn a_model_gets_the_answers_of_those_that_it_calls() {
    let served = repository().serve().await;
    assert_eq!(answer(&served, "all", 5.0).await, 15.0);
    let reports = served.statistics(Some("twice"), None).unwrap();
    assert_eq!(reports[0].1.success.count, 1);
}

#[tokio::test]
async fn calls_go_through_ensembles_and_ensembles_through_callers() {
    let repository = repository();
    repository
        .ensemble("steps", 0, &["x FP32 [1]"], &["y FP32 [1]"], &["all | x=x | y=t", "twice | x=t | y=y"])
        .caller("outer", "steps,m");
    let served = repository.serve().await;
    assert_eq!(answer(&served, "outer", 1.0).await, 7.0);
}

#[tokio::test]
async fn a_caller_is_served_only_with_all_that_it_calls() {
    let repository = repository();
    repository.caller("lonely", "m,nowhere").behaving("broken", "broken", 0, X, Y).caller("sad", "broken");
    let served = repository.serve().await;
    assert!(served.reason("lonely").contains("a model that it may call: unknown model 'nowhere'"));
    assert!(served.reason("sad").contains("model 'broken' is unavailable"), "{}", served.reason("sad"));
    assert!(served.model_is_ready("all", None));
}

#[tokio::test]
async fn whoever_calls_itself_is_not_served() {
    let repository = repository();
    repository.caller("self", "self").caller("a", "b").caller("b", "m,a").caller("user", "a");
    let served = repository.serve().await;
    assert_eq!(served.reason("self"), "it depends on itself: 'self' → 'self'");
    assert_eq!(served.reason("a"), "it depends on itself: 'a' → 'b' → 'a'");
    assert!(served.reason("user").contains("it depends on itself"), "{}", served.reason("user"));
}

#[tokio::test]
async fn calls_nest_eight_deep_and_no_deeper() {
    let repository = Repository::new();
    repository.step("c0", 0, X, Y);
    for level in 1..=9 {
        repository.caller(&format!("c{level}"), &format!("c{}", level - 1));
    }
    let served = repository.serve().await;
    assert_eq!(answer(&served, "c8", 3.0).await, 3.0);
    assert!(served.reason("c9").contains("nested 9 deep: expected 8 at most"), "{}", served.reason("c9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_inherits_the_deadline_and_the_cancellation() {
    let repository = Repository::new();
    repository.behaving("slow", "waiting", 0, X, Y).caller("caller", "slow");
    let served = repository.serve().await;
    let mut late = ask("caller", 1.0);
    late.deadline = Deadline::after(Duration::from_millis(20));
    // The first waits for its callee; when it is dropped, both are counted as cancelled.
    let waiting = tokio::spawn({
        let engine = served.engine.clone();
        async move { engine.infer(ask("caller", 1.0)).await }
    });
    served.switches.barrier.wait_for(1);
    let error = served.infer(late).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::DeadlineExceeded, "{error}");
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    served.switches.barrier.open();
}

#[tokio::test]
async fn loading_anew_takes_the_folder_as_it_is_now_and_leaves_the_others() {
    let repository = repository();
    let served = repository.serve().await;
    assert_eq!(answer(&served, "all", 1.0).await, 3.0);
    repository.behaving("m", "doubling", 0, X, Y);
    assert_eq!(answer(&served, "m", 1.0).await, 1.0);
    served.load_model("m").await.unwrap();
    assert_eq!(answer(&served, "m", 1.0).await, 2.0);
    // Whoever calls it has it too, and keeps its own counts.
    assert_eq!(answer(&served, "all", 1.0).await, 4.0);
    assert_eq!(served.statistics(Some("all"), None).unwrap()[0].1.success.count, 2);
    repository.caller("new", "m");
    served.load_model("new").await.unwrap();
    assert_eq!(answer(&served, "new", 1.0).await, 2.0);
}

#[tokio::test]
async fn a_model_that_does_not_load_anew_stays_as_it_was() {
    let repository = repository();
    let served = repository.serve().await;
    repository.behaving("m", "broken", 0, X, Y);
    let error = served.load_model("m").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    assert!(error.message().contains("the file is broken"), "{error}");
    assert_eq!(answer(&served, "all", 1.0).await, 3.0);
    let error = served.load_model("nowhere").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert!(error.message().contains("no repository has a folder of model 'nowhere'"), "{error}");
}
