//! Models that take batches, through [`ModelQueue`](nacre_scheduler::ModelQueue).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use common::{
    Function, Served, batching, config, echo, eventually, gate, instances, output, request, row, rows, tensor,
};
use futures::FutureExt;
use nacre_backend::Execution;
use nacre_domain::{DataType, Deadline, Error, ErrorCode, Tensor, concat_bytes_elements};

const HOUR: Duration = Duration::from_secs(3600);

/// Batches of UINT8 rows; the delay is so long that only other reasons start a batch.
fn batched_config(max_batch_size: u32, preferred: &[u32]) -> nacre_config::ModelConfig {
    let mut config = config(max_batch_size, DataType::Uint8);
    config.dynamic_batching = Some(batching(preferred, HOUR));
    config
}

#[tokio::test]
async fn a_single_request_goes_through_without_a_copy() {
    let served = Served::identity(config(8, DataType::Fp32));
    let data = Bytes::from(vec![7; 16]);
    let input = tensor("INPUT0", DataType::Fp32, &[2, 2], data.clone());
    let completion = served.queue.submit(request(vec![input])).await.unwrap();
    assert_eq!(completion.outputs[0].name, "OUTPUT0");
    assert_eq!(completion.outputs[0].shape, [2, 2]);
    assert_eq!(completion.outputs[0].data.as_ptr(), data.as_ptr());
    assert!(completion.parameters.is_empty());
    assert_eq!(served.batch_sizes(), [(2, 1)]);
}

#[tokio::test]
async fn without_a_batch_dimension_a_request_goes_in_whole() {
    let served = Served::identity(config(0, DataType::Uint8));
    let input = tensor("INPUT0", DataType::Uint8, &[], vec![7]);
    let completion = served.queue.submit(request(vec![input])).await.unwrap();
    assert!(completion.outputs[0].shape.is_empty());
    assert_eq!(served.batch_sizes(), [(1, 1)]);
}

#[tokio::test]
async fn requests_of_equal_shape_share_a_batch_and_get_their_own_rows_back() {
    let served = Served::identity(batched_config(4, &[]));
    let (a, b, c) = tokio::join!(
        served.queue.submit(rows(&[b"a1"])),
        served.queue.submit(rows(&[b"b1", b"b2"])),
        served.queue.submit(rows(&[b"c1"])),
    );
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert_eq!((output(&a), output(&b), output(&c)), (&b"a1"[..], &b"b1b2"[..], &b"c1"[..]));
    assert_eq!(b.outputs[0].shape, [2, 2]);
    assert_eq!(served.batch_sizes(), [(4, 1)]);
    // Slices of one buffer.
    assert_eq!(c.outputs[0].data.as_ptr() as usize - a.outputs[0].data.as_ptr() as usize, 6);
}

#[tokio::test]
async fn bytes_tensors_share_a_batch_too() {
    let mut config = config(3, DataType::Bytes);
    config.dynamic_batching = Some(batching(&[], HOUR));
    let served = Served::identity(config);
    let input = |elements: &[&str]| {
        let rows = i64::try_from(elements.len()).unwrap();
        request(vec![tensor("INPUT0", DataType::Bytes, &[rows, 1], concat_bytes_elements(elements))])
    };
    let (a, b) =
        tokio::join!(served.queue.submit(input(&["long one", ""])), served.queue.submit(input(&["x"])));
    assert_eq!(output(&a.unwrap()), &concat_bytes_elements(&["long one", ""])[..]);
    assert_eq!(output(&b.unwrap()), &concat_bytes_elements(&["x"])[..]);
    assert_eq!(served.batch_sizes(), [(3, 1)]);
}

#[tokio::test]
async fn unequal_shapes_types_and_input_sets_never_share_a_batch() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let mut config = config(2, DataType::Uint8);
    config.dynamic_batching = Some(batching(&[], HOUR));
    let served = Served::batched(
        config,
        Function::new(move |inputs| {
            log.lock()
                .unwrap()
                .push(inputs.iter().map(|i| (i.data_type, i.shape.clone())).collect::<Vec<_>>());
            echo(inputs)
        }),
    );
    let one =
        |data_type, shape: &[i64], size| request(vec![tensor("INPUT0", data_type, shape, vec![0; size])]);
    let two = || {
        let input = |name| tensor(name, DataType::Uint8, &[1, 1], vec![0]);
        request(vec![input("INPUT0"), input("INPUT1")])
    };
    // One of each kind waits, for company of its kind; the second of each kind completes the batch.
    let submit = |request| served.queue.submit(request);
    let results = futures::future::join_all([
        submit(one(DataType::Uint8, &[1, 1], 1)),
        submit(one(DataType::Uint8, &[1, 2], 2)),
        submit(one(DataType::Int8, &[1, 1], 1)),
        submit(two()),
        submit(two()),
        submit(one(DataType::Int8, &[1, 1], 1)),
        submit(one(DataType::Uint8, &[1, 2], 2)),
        submit(one(DataType::Uint8, &[1, 1], 1)),
    ])
    .await;
    assert!(results.iter().all(Result::is_ok));
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(
        seen,
        [
            vec![(DataType::Uint8, vec![2, 1])],
            vec![(DataType::Uint8, vec![2, 1]), (DataType::Uint8, vec![2, 1])],
            vec![(DataType::Uint8, vec![2, 2])],
            vec![(DataType::Int8, vec![2, 1])],
        ]
    );
}

#[tokio::test]
async fn a_preferred_size_runs_without_waiting_for_the_maximum() {
    let served = Served::identity(batched_config(8, &[2]));
    let (a, b) = tokio::join!(served.queue.submit(row(1)), served.queue.submit(row(2)));
    assert!(a.is_ok() && b.is_ok());
    assert_eq!(served.batch_sizes(), [(2, 1)]);
}

#[tokio::test]
async fn a_lone_request_runs_when_its_delay_is_over() {
    let mut config = config(8, DataType::Uint8);
    config.dynamic_batching = Some(batching(&[], Duration::from_millis(20)));
    let served = Served::identity(config);
    let completion = served.queue.submit(row(1)).await.unwrap();
    assert!(completion.timing.queue >= Duration::from_millis(20));
}

#[tokio::test]
async fn without_dynamic_batching_each_request_is_a_batch_of_its_own() {
    let (gate, mut keeper) = gate();
    let served = Served::batched(
        config(8, DataType::Uint8),
        Function::new(move |inputs| {
            gate.pass();
            echo(inputs)
        }),
    );
    let running: Vec<_> = (0..3).map(|i| served.spawn(row(i))).collect();
    for (i, running) in (0..).zip(running) {
        keeper.arrival().await;
        keeper.open();
        assert_eq!(output(&running.await.unwrap().unwrap()), [i]);
    }
    assert_eq!(served.batch_sizes(), [(1, 3)]);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_says_what_raises_its_bound() {
    let (gate, mut keeper) = gate();
    let mut config = config(1, DataType::Uint8);
    config.dynamic_batching =
        Some(nacre_config::DynamicBatching { max_queue_size: Some(2), ..batching(&[], Duration::ZERO) });
    let served = Served::batched(
        config,
        Function::new(move |inputs| {
            gate.pass();
            echo(inputs)
        }),
    );
    let first = served.spawn(row(0));
    keeper.arrival().await;
    // One runs; two wait; the next is refused although this test never lets the others go on.
    let (mut second, mut third) =
        (Box::pin(served.queue.submit(row(1))), Box::pin(served.queue.submit(row(2))));
    assert!(futures::poll!(&mut second).is_pending() && futures::poll!(&mut third).is_pending());
    let error = served.queue.submit(row(3)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    for part in ["'echo'", "2 requests waiting", "dynamic_batching.default_queue_policy.max_queue_size"] {
        assert!(error.message().contains(part), "{error}");
    }
    // A request that leaves makes room.
    drop(third);
    let mut fourth = Box::pin(served.queue.submit(row(4)));
    assert!(futures::poll!(&mut fourth).is_pending());
    (0..3).for_each(|_| keeper.open());
    assert_eq!(output(&first.await.unwrap().unwrap()), [0]);
    assert_eq!(output(&second.await.unwrap()), [1]);
    assert_eq!(output(&fourth.await.unwrap()), [4]);
}

#[tokio::test]
async fn a_cancelled_request_leaves_the_queue_and_is_never_run() {
    let served = Served::identity(batched_config(2, &[]));
    let mut cancelled = Box::pin(served.queue.submit(row(1)));
    assert!(futures::poll!(&mut cancelled).is_pending());
    drop(cancelled);
    served.queue.drain().await;
    let (a, b) = tokio::join!(served.queue.submit(row(2)), served.queue.submit(row(3)));
    assert_eq!((output(&a.unwrap()), output(&b.unwrap())), (&[2][..], &[3][..]));
    assert_eq!(served.report().execution_count, 1);
}

#[tokio::test]
async fn a_request_whose_time_runs_out_in_the_queue_leaves_it() {
    let served = Served::identity(batched_config(2, &[]));
    let mut late = row(1);
    late.deadline = Deadline::after(Duration::from_millis(20));
    let error = served.queue.submit(late).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::DeadlineExceeded);
    assert!(error.message().contains("'echo'"), "{error}");
    served.queue.drain().await;
    assert_eq!(served.report().execution_count, 0);
}

#[tokio::test]
async fn an_expired_request_is_not_run_even_if_it_is_taken() {
    let served = Served::identity(config(2, DataType::Uint8));
    let mut late = row(1);
    late.deadline = Deadline::at(Instant::now());
    assert_eq!(served.queue.submit(late).await.unwrap_err().code(), ErrorCode::DeadlineExceeded);
    assert_eq!(served.report().execution_count, 0);
}

#[tokio::test]
async fn a_request_whose_time_runs_out_while_it_runs_is_answered_then() {
    let (gate, keeper) = gate();
    let served = Served::batched(
        config(1, DataType::Uint8),
        Function::new(move |inputs| {
            gate.pass();
            echo(inputs)
        }),
    );
    let mut late = row(1);
    late.deadline = Deadline::after(Duration::from_millis(20));
    assert_eq!(served.queue.submit(late).await.unwrap_err().code(), ErrorCode::DeadlineExceeded);
    keeper.open();
    served.queue.drain().await;
}

#[tokio::test]
async fn a_failed_batch_fails_its_own_requests_and_no_others() {
    let served = Served::batched(
        batched_config(2, &[]),
        Function::new(|inputs| {
            if inputs[0].data.contains(&66) { Err(Error::internal("out of luck")) } else { echo(inputs) }
        }),
    );
    let (a, b) = tokio::join!(served.queue.submit(row(66)), served.queue.submit(row(1)));
    assert_eq!(a.unwrap_err().message(), "out of luck");
    assert_eq!(b.unwrap_err().message(), "out of luck");
    let (a, b) = tokio::join!(served.queue.submit(row(2)), served.queue.submit(row(3)));
    assert_eq!((output(&a.unwrap()), output(&b.unwrap())), (&[2][..], &[3][..]));
    assert_eq!(served.batch_sizes(), [(2, 1)]);
}

#[tokio::test]
async fn an_output_with_the_wrong_rows_is_an_error_that_says_so() {
    let served = Served::batched(
        config(2, DataType::Uint8),
        Function::new(|_| {
            let outputs = vec![tensor("OUTPUT0", DataType::Uint8, &[3, 1], vec![1, 2, 3])];
            Ok(Execution { outputs, ..Execution::default() })
        }),
    );
    let error = served.queue.submit(row(1)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert_eq!(
        error.message(),
        "model 'echo': output 'OUTPUT0' has shape [3,1], expected 1 in the first (batch) dimension"
    );
}

#[tokio::test]
async fn after_a_panic_the_instance_is_made_anew() {
    let model = Function::new(|inputs: Vec<Tensor>| {
        assert_ne!(inputs[0].data[0], 13, "unlucky");
        echo(inputs)
    });
    let made = Arc::clone(&model.made);
    let served = Served::batched(config(1, DataType::Uint8), model);
    let error = served.queue.submit(row(13)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert!(
        error.message().starts_with("model 'echo' on cpu-0 panicked: ")
            && error.message().contains("unlucky")
    );
    assert_eq!(output(&served.queue.submit(row(1)).await.unwrap()), [1]);
    assert_eq!(made.load(Ordering::SeqCst), 2);
    assert!(served.queue.failure().is_none());
}

#[tokio::test]
async fn when_the_last_instance_cannot_be_made_anew_the_queue_says_why() {
    let (gate, mut keeper) = gate();
    let mut model = Function::new(move |_| {
        gate.pass();
        panic!("unlucky")
    });
    model.make_at_most = 1;
    let served = Served::batched(config(1, DataType::Uint8), model);
    let running = served.spawn(row(1));
    keeper.arrival().await;
    let mut waiting = Box::pin(served.queue.submit(row(2)));
    assert!(futures::poll!(&mut waiting).is_pending());
    keeper.open();
    assert_eq!(running.await.unwrap().unwrap_err().code(), ErrorCode::Internal);
    for error in [waiting.await.unwrap_err(), served.queue.submit(row(3)).await.unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::Unavailable);
        assert!(
            error.message().contains("no instance left") && error.message().contains("no more instances")
        );
    }
    assert!(served.queue.failure().is_some());
    served.queue.drain().await;
}

#[tokio::test]
async fn an_instance_that_cannot_be_made_fails_the_start() {
    let mut model = Function::new(echo);
    model.instances = 3;
    model.make_at_most = 2;
    let executor = nacre_backend::Executor::Batched(Arc::new(model));
    let error = Served::start(config(1, DataType::Uint8), executor).err().unwrap();
    assert_eq!(error.message(), "no more instances");
}

#[tokio::test]
async fn every_instance_has_a_thread_of_its_own_named_after_it() {
    let (gate, mut keeper) = gate();
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&names);
    let mut model = Function::new(move |inputs| {
        seen.lock().unwrap().push(thread::current().name().unwrap().to_owned());
        gate.pass();
        echo(inputs)
    });
    model.instances = 2;
    let served = Served::batched(config(1, DataType::Uint8), model);
    let running = [served.spawn(row(1)), served.spawn(row(2))];
    keeper.arrival().await;
    keeper.arrival().await;
    (0..2).for_each(|_| keeper.open());
    for running in running {
        running.await.unwrap().unwrap();
    }
    let mut names = names.lock().unwrap().clone();
    names.sort();
    assert_eq!(names, ["cpu-0 echo", "cpu-1 echo"]);
}

#[tokio::test]
async fn drain_waits_for_what_runs_even_if_nobody_waits_for_its_result() {
    let (gate, mut keeper) = gate();
    let done = Arc::new(AtomicBool::new(false));
    let finished = Arc::clone(&done);
    let served = Served::batched(
        config(1, DataType::Uint8),
        Function::new(move |inputs| {
            gate.pass();
            finished.store(true, Ordering::SeqCst);
            echo(inputs)
        }),
    );
    let running = served.spawn(row(1));
    keeper.arrival().await;
    running.abort();
    let mut drain = Box::pin(served.queue.drain());
    assert!(futures::poll!(&mut drain).is_pending());
    keeper.open();
    drain.await;
    assert!(done.load(Ordering::SeqCst));
}

#[tokio::test]
async fn stop_answers_those_that_wait_and_refuses_those_that_come() {
    let served = Served::identity(batched_config(2, &[]));
    let mut waiting = Box::pin(served.queue.submit(row(1)));
    assert!(futures::poll!(&mut waiting).is_pending());
    served.stop().await;
    for error in [waiting.await.unwrap_err(), served.queue.submit(row(2)).await.unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::Unavailable);
        assert_eq!(error.message(), "model 'echo' version 1 is being unloaded");
    }
    served.stop().await;
}

#[tokio::test]
async fn stop_interrupts_the_delay_of_an_identity_model() {
    let mut config = config(1, DataType::Uint8);
    config.parameters.insert("execute_delay_ms".into(), "3600000".into());
    config.dynamic_batching =
        Some(nacre_config::DynamicBatching { max_queue_size: Some(1), ..batching(&[], Duration::ZERO) });
    let served = Served::identity(config);
    let running = served.spawn(row(1));
    // There is room for a second one as soon as the first has left the queue.
    eventually(|| served.queue.submit(row(2)).now_or_never().is_none()).await;
    served.stop().await;
    assert_eq!(running.await.unwrap().unwrap_err().code(), ErrorCode::Unavailable);
}

#[tokio::test]
async fn a_batch_of_no_rows_is_refused() {
    let served = Served::identity(config(4, DataType::Uint8));
    let error = served
        .queue
        .submit(request(vec![tensor("INPUT0", DataType::Uint8, &[0, 1], vec![])]))
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("batches of 1 to 4 rows"), "{error}");
}

#[tokio::test]
async fn times_add_up_to_no_more_than_the_request_took() {
    let served = Served::batched(
        config(1, DataType::Uint8),
        Function::new(|inputs| {
            let part = Duration::from_nanos(10);
            Ok(Execution { input_time: part, output_time: part, ..echo(inputs)? })
        }),
    );
    let start = Instant::now();
    let timing = served.queue.submit(row(1)).await.unwrap().timing;
    assert!(timing.queue + timing.compute() <= start.elapsed());
    assert!(
        timing.compute_input >= Duration::from_nanos(10) && timing.compute_output >= Duration::from_nanos(10)
    );
    assert_eq!(served.report().batches[0].compute_infer.nanoseconds, timing.compute_infer.as_nanos() as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_at_once_all_get_their_own_answers() {
    let mut config = config(8, DataType::Uint8);
    config.dynamic_batching = Some(batching(&[4], Duration::from_micros(100)));
    config.instance_groups = instances(3);
    let served = Served::identity(config);
    let clients: Vec<_> = (0..50_u8)
        .map(|client| {
            let queue = Arc::clone(&served.queue);
            tokio::spawn(async move {
                for i in 0..40_u8 {
                    let values = [client, i];
                    let of_client = [&values[..]].repeat(usize::from(i % 3 + 1));
                    let completion = queue.submit(rows(&of_client)).await.unwrap();
                    assert_eq!(output(&completion), of_client.concat());
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    served.queue.drain().await;
    let rows: u64 = served.batch_sizes().iter().map(|(size, count)| size * count).sum();
    assert_eq!(rows, 50 * (0..40).map(|i| i % 3 + 1).sum::<u64>());
}
