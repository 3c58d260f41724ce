//! Models that take one element at a time, through [`ModelQueue`](nacre_scheduler::ModelQueue).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use common::{
    ElementFunction, Served, batching, config, echo, eventually, output, request, row, rows, tensor,
};
use nacre_backend::{ElementRequest, Execution};
use nacre_domain::{DataType, Deadline, Error, ErrorCode, RequestedOutput, Value, concat_bytes_elements};
use tokio::sync::Semaphore;

/// Gives inputs back.
fn echo_elements(concurrency: usize) -> ElementFunction {
    ElementFunction::new(concurrency, |request: ElementRequest| async move { echo(request.inputs) })
}

/// Gives inputs back, each element once the semaphore has a permit for it.
fn gated(concurrency: usize, gate: &Arc<Semaphore>, started: &Arc<AtomicUsize>) -> ElementFunction {
    let (gate, started) = (Arc::clone(gate), Arc::clone(started));
    ElementFunction::new(concurrency, move |request: ElementRequest| {
        let (gate, started) = (Arc::clone(&gate), Arc::clone(&started));
        async move {
            started.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            echo(request.inputs)
        }
    })
}

/// Fails for elements whose first byte is in the list.
fn failing(bad: &'static [u8]) -> ElementFunction {
    ElementFunction::new(4, move |request: ElementRequest| async move {
        let value = request.inputs[0].data[0];
        if bad.contains(&value) {
            Err(Error::invalid_argument(format!("{value} is bad")))
        } else {
            echo(request.inputs)
        }
    })
}

#[tokio::test]
async fn each_row_is_an_element_without_the_batch_dimension_and_comes_back_in_its_place() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let served = Served::elements(
        config(8, DataType::Uint8),
        ElementFunction::new(4, move |request: ElementRequest| {
            let input = &request.inputs[0];
            log.lock().unwrap().push((input.shape.clone(), input.data.to_vec()));
            async move { echo(request.inputs) }
        }),
    );
    let completion = served.queue.submit(rows(&[b"ab", b"cd", b"ef"])).await.unwrap();
    assert_eq!(completion.outputs[0].shape, [3, 2]);
    assert_eq!(output(&completion), b"abcdef");
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(seen, [b"ab", b"cd", b"ef"].map(|data| (vec![2], data.to_vec())));
    assert_eq!(served.batch_sizes(), [(3, 1)]);
}

#[tokio::test]
async fn bytes_are_split_by_element() {
    let served = Served::elements(config(8, DataType::Bytes), echo_elements(2));
    let data = concat_bytes_elements(&["a picture", "", "another"]);
    let input = tensor("INPUT0", DataType::Bytes, &[3, 1], data.clone());
    let completion = served.queue.submit(request(vec![input])).await.unwrap();
    assert_eq!(completion.outputs[0].shape, [3, 1]);
    assert_eq!(output(&completion), &data[..]);
}

#[tokio::test]
async fn one_row_goes_in_and_out_without_a_copy() {
    let served = Served::elements(config(8, DataType::Uint8), echo_elements(2));
    let data = Bytes::from(vec![1, 2, 3]);
    let input = tensor("INPUT0", DataType::Uint8, &[1, 3], data.clone());
    let completion = served.queue.submit(request(vec![input])).await.unwrap();
    assert_eq!(completion.outputs[0].shape, [1, 3]);
    assert_eq!(completion.outputs[0].data.as_ptr(), data.as_ptr());
}

#[tokio::test]
async fn without_a_batch_dimension_the_request_goes_in_whole() {
    let served = Served::elements(config(0, DataType::Uint8), echo_elements(2));
    let input = tensor("INPUT0", DataType::Uint8, &[2, 2], vec![1, 2, 3, 4]);
    let completion = served.queue.submit(request(vec![input])).await.unwrap();
    assert_eq!(completion.outputs[0].shape, [2, 2]);
    assert_eq!(served.batch_sizes(), [(1, 1)]);
}

#[tokio::test]
async fn a_plugin_gets_id_parameters_wanted_outputs_and_deadline_and_its_parameters_come_back() {
    let served = Served::elements(
        config(2, DataType::Uint8),
        ElementFunction::new(1, |request: ElementRequest| async move {
            assert_eq!(request.id, "7");
            assert_eq!(request.outputs, ["OUTPUT0"]);
            assert!(request.deadline.moment().is_some());
            let parameters = request.parameters;
            Ok(Execution { parameters, ..echo(request.inputs)? })
        }),
    );
    let mut request = rows(&[b"a", b"b"]);
    request.id = "7".into();
    request.parameters.insert("k".into(), Value::Int(3));
    request.outputs = vec![RequestedOutput { name: "OUTPUT0".into(), parameters: Default::default() }];
    request.deadline = Deadline::after(Duration::from_secs(3600));
    let completion = served.queue.submit(request).await.unwrap();
    assert_eq!(completion.parameters.get("k"), Some(&Value::Int(3)));
}

#[tokio::test]
async fn no_more_elements_run_at_once_than_the_model_allows() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&running), Arc::clone(&most));
    let served = Served::elements(
        config(8, DataType::Uint8),
        ElementFunction::new(2, move |request: ElementRequest| {
            let (running, most) = (Arc::clone(&counts.0), Arc::clone(&counts.1));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                echo(request.inputs)
            }
        }),
    );
    let requests = (0..8).map(|_| served.queue.submit(rows(&[b"a", b"b", b"c", b"d"])));
    for completion in futures::future::join_all(requests).await {
        assert_eq!(output(&completion.unwrap()), b"abcd");
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_error_of_the_first_row_that_fails_is_the_requests() {
    let served = Served::elements(config(8, DataType::Uint8), failing(&[2, 3]));
    for _ in 0..20 {
        let error = served.queue.submit(rows(&[&[1], &[2], &[3], &[4]])).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert_eq!(error.message(), "element 1 of the batch: 2 is bad");
    }
    // With one row there is nothing to tell apart.
    assert_eq!(served.queue.submit(row(3)).await.unwrap_err().message(), "3 is bad");
    assert_eq!(output(&served.queue.submit(row(1)).await.unwrap()), [1]);
    assert_eq!(served.batch_sizes(), [(1, 1)]);
    // No permit was lost.
    assert_eq!(output(&served.queue.submit(rows(&[&[1_u8][..]; 8])).await.unwrap()), [1; 8]);
}

#[tokio::test]
async fn a_failed_row_interrupts_those_behind_it() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let served = Served::elements(
        config(8, DataType::Uint8),
        ElementFunction::new(2, move |request: ElementRequest| {
            let started = Arc::clone(&count);
            async move {
                started.fetch_add(1, Ordering::SeqCst);
                if request.inputs[0].data[0] == 0 {
                    eventually(|| started.load(Ordering::SeqCst) == 2).await;
                    return Err(Error::internal("no"));
                }
                std::future::pending().await
            }
        }),
    );
    // The second row never ends by itself, nor does the third if it starts.
    let error = served.queue.submit(rows(&[&[0], &[1], &[2]])).await.unwrap_err();
    assert_eq!(error.message(), "element 0 of the batch: no");
    served.queue.drain().await;
}

#[tokio::test]
async fn elements_with_unlike_outputs_are_an_error_that_names_them() {
    for (value, says) in [
        (
            1,
            "model 'echo': output 'OUTPUT0' is UINT8 [1] for element 0 of the batch but UINT8 [2] for element 1",
        ),
        (
            2,
            "model 'echo': output 'OUTPUT0' is UINT8 [1] for element 0 of the batch but INT8 [1] for element 1",
        ),
        (3, "model 'echo': element 0 of the batch has output 'OUTPUT0', element 1 has not"),
        (4, "model 'echo': element 1 of the batch has output 'EXTRA', element 0 has not"),
    ] {
        let served = Served::elements(
            config(8, DataType::Uint8),
            ElementFunction::new(2, |request: ElementRequest| async move {
                let one = |data_type, size: usize| {
                    tensor("OUTPUT0", data_type, &[i64::try_from(size).unwrap()], vec![0; size])
                };
                let outputs = match request.inputs[0].data[0] {
                    1 => vec![one(DataType::Uint8, 2)],
                    2 => vec![one(DataType::Int8, 1)],
                    3 => vec![],
                    4 => vec![one(DataType::Uint8, 1), tensor("EXTRA", DataType::Uint8, &[1], vec![0])],
                    _ => vec![one(DataType::Uint8, 1)],
                };
                Ok(Execution { outputs, ..Execution::default() })
            }),
        );
        let error = served.queue.submit(rows(&[&[0], &[value]])).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Internal);
        assert!(error.message().starts_with(says), "{error}");
    }
}

#[tokio::test]
async fn a_panic_is_the_elements_error_and_no_others() {
    let served = Served::elements(
        config(8, DataType::Uint8),
        ElementFunction::new(1, |request: ElementRequest| async move {
            assert_ne!(request.inputs[0].data[0], 13, "unlucky");
            echo(request.inputs)
        }),
    );
    let error = served.queue.submit(rows(&[&[1], &[13]])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert!(error.message().starts_with("element 1 of the batch: model 'echo' panicked: "), "{error}");
    assert_eq!(output(&served.queue.submit(row(1)).await.unwrap()), [1]);
}

#[tokio::test]
async fn dropping_a_request_interrupts_its_elements() {
    let (gate, started) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let served = Served::elements(config(8, DataType::Uint8), gated(2, &gate, &started));
    let running = served.spawn(rows(&[&[1_u8][..]; 8]));
    eventually(|| started.load(Ordering::SeqCst) == 2).await;
    running.abort();
    // Nothing opens the gate: only interruption ends the two elements.
    served.queue.drain().await;
    assert_eq!(started.load(Ordering::SeqCst), 2);
    gate.add_permits(1);
    assert_eq!(output(&served.queue.submit(row(1)).await.unwrap()), [1]);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_cancelled_requests_make_room() {
    let (gate, started) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut config = config(8, DataType::Uint8);
    config.dynamic_batching =
        Some(nacre_config::DynamicBatching { max_queue_size: Some(1), ..batching(&[], Duration::ZERO) });
    let served = Served::elements(config, gated(1, &gate, &started));
    let first = served.spawn(row(1));
    eventually(|| started.load(Ordering::SeqCst) == 1).await;
    let mut second = Box::pin(served.queue.submit(row(2)));
    assert!(futures::poll!(&mut second).is_pending());
    let error = served.queue.submit(row(3)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    assert!(error.message().contains("1 requests waiting"), "{error}");
    drop(second);
    let mut third = Box::pin(served.queue.submit(row(3)));
    assert!(futures::poll!(&mut third).is_pending());
    gate.add_permits(2);
    assert_eq!(output(&first.await.unwrap().unwrap()), [1]);
    assert_eq!(output(&third.await.unwrap()), [3]);
}

#[tokio::test]
async fn a_request_whose_time_runs_out_while_it_waits_is_not_run() {
    let (gate, started) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let served = Served::elements(config(8, DataType::Uint8), gated(1, &gate, &started));
    let first = served.spawn(row(1));
    eventually(|| started.load(Ordering::SeqCst) == 1).await;
    let mut late = row(2);
    late.deadline = Deadline::after(Duration::from_millis(20));
    assert_eq!(served.queue.submit(late).await.unwrap_err().code(), ErrorCode::DeadlineExceeded);
    gate.add_permits(1);
    first.await.unwrap().unwrap();
    assert_eq!(started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn stop_interrupts_what_runs_and_answers_what_waits() {
    let (gate, started) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let served = Served::elements(config(8, DataType::Uint8), gated(1, &gate, &started));
    let running = served.spawn(row(1));
    eventually(|| started.load(Ordering::SeqCst) == 1).await;
    let mut waiting = Box::pin(served.queue.submit(row(2)));
    assert!(futures::poll!(&mut waiting).is_pending());
    served.stop().await;
    let errors = [
        running.await.unwrap().unwrap_err(),
        waiting.await.unwrap_err(),
        served.queue.submit(row(3)).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), ErrorCode::Unavailable);
        assert!(error.message().contains("being unloaded"), "{error}");
    }
    served.queue.drain().await;
}

#[tokio::test]
async fn elements_side_by_side_do_not_make_the_request_take_longer_than_it_did() {
    let served = Served::elements(
        config(8, DataType::Uint8),
        ElementFunction::new(4, |request: ElementRequest| async move {
            let hour = Duration::from_secs(3600);
            Ok(Execution { input_time: hour, output_time: hour, ..echo(request.inputs)? })
        }),
    );
    let start = std::time::Instant::now();
    let timing = served.queue.submit(rows(&[&[1_u8][..]; 8])).await.unwrap().timing;
    assert!(timing.compute_infer.is_zero());
    assert!(timing.queue + timing.compute_input <= start.elapsed());
}
