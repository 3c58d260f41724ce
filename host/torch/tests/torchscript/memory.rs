//! Whose memory tensors are: nothing is copied that need not be, and nothing changes that somebody else still reads.

use bytes::Bytes;
use nacre_domain::{DataType, Tensor};

use crate::common::*;

/// Bytes that begin at an odd address.
fn misaligned(data: &[u8]) -> Bytes {
    let mut padded = vec![0_u8; data.len() + 16];
    let skip = usize::from(padded.as_ptr().addr().is_multiple_of(2));
    padded[skip..skip + data.len()].copy_from_slice(data);
    Bytes::from(padded).slice(skip..skip + data.len())
}

fn run_misaligned(file: &str, lines: &str, mut input: Tensor) -> Vec<Tensor> {
    input.data = misaligned(&input.data);
    assert!(!input.data.as_ptr().addr().is_multiple_of(2));
    run(file, lines, vec![input]).unwrap()
}

#[test]
fn bytes_reach_the_model_and_come_back_without_a_copy() {
    let x = floats("x", &[3], &[1.0, 2.0, 3.0]);
    let address = x.data.as_ptr();
    assert!(address.addr().is_multiple_of(4), "the allocator aligns");
    let outputs = run("identity.pt", &one_to_one("3"), vec![x]).unwrap();
    assert_eq!(outputs[0].data.as_ptr(), address);
}

#[test]
fn bytes_that_are_not_aligned_are_copied() {
    // The model gives back the very tensor that it got.
    let outputs = run_misaligned("identity.pt", &one_to_one("3"), floats("x", &[3], &[1.0, 2.0, 3.0]));
    assert!(outputs[0].data.as_ptr().addr().is_multiple_of(4));
    assert_eq!(values(&outputs[0]), [1.0, 2.0, 3.0]);
    let lines = tensor_line("input", "x", "TYPE_FP64", "1") + &tensor_line("output", "y", "TYPE_FP64", "1");
    let x = tensor("x", DataType::Fp64, &[1], 1.5_f64.to_le_bytes().to_vec());
    assert_eq!(run_misaligned("double.pt", &lines, x)[0].data, 3.0_f64.to_le_bytes().as_slice());
}

#[test]
fn an_output_outlives_the_instance_and_the_model() {
    let outputs =
        run("linear.pt", &linear_lines(), vec![floats("input", &[1, 3], &[1.0, 1.0, 1.0])]).unwrap();
    assert_eq!(values(&outputs[0]), [6.5, 14.5]);
    let constant = run("constant.pt", &one_to_one("3"), vec![floats("x", &[3], &[0.0; 3])]).unwrap();
    assert_eq!(values(&constant[0]), [1.0, 2.0, 3.0]);
}

#[test]
fn a_request_is_read_no_longer_than_needed() {
    let model = load("double.pt", &one_to_one("3")).unwrap();
    let mut instance = instance(&model);
    let x = floats("x", &[3], &[1.0, 2.0, 3.0]);
    let data = x.data.clone();
    let outputs = instance.execute(vec![x]).unwrap().outputs;
    assert!(data.is_unique(), "something still holds the request's bytes");
    assert_eq!(values(&outputs[0]), [2.0, 4.0, 6.0]);
}

#[test]
fn a_failed_run_gives_the_request_back_too() {
    let model = load("raising.pt", &one_to_one("3")).unwrap();
    let mut instance = instance(&model);
    let x = floats("x", &[3], &[-1.0, -2.0, -3.0]);
    let data = x.data.clone();
    assert!(instance.execute(vec![x]).is_err());
    assert!(data.is_unique(), "something still holds the request's bytes");
}

#[test]
fn a_model_that_overwrites_its_input_does_not_reach_the_request() {
    for settings in ["", "parameters { key: \"OPTIMIZE_FOR_INFERENCE\" value { string_value: \"false\" } }\n"]
    {
        let x = floats("x", &[2], &[1.0, 2.0]);
        let data = x.data.clone();
        let outputs = run("in_place.pt", &(one_to_one("2") + settings), vec![x]).unwrap();
        assert_eq!(values(&outputs[0]), [2.0, 3.0]);
        assert_eq!(data, floats("x", &[2], &[1.0, 2.0]).data);
    }
}

#[test]
fn a_later_run_does_not_change_an_earlier_output() {
    let model = load("counter.pt", &one_to_one("1")).unwrap();
    let mut instance = instance(&model);
    let mut call = || instance.execute(vec![floats("x", &[1], &[0.0])]).unwrap().outputs.remove(0);
    let first = call();
    let second = call();
    assert_eq!((values(&first), values(&second)), (vec![1.0], vec![2.0]));
}

#[test]
fn instances_of_a_model_with_memory_do_not_share_it_unless_told_to() {
    let counts = |settings: &str| {
        let model = load("counter.pt", &(one_to_one("1") + settings)).unwrap();
        let (mut first, mut second) = (instance(&model), instance(&model));
        first.execute(vec![floats("x", &[1], &[0.0])]).unwrap();
        values(&second.execute(vec![floats("x", &[1], &[0.0])]).unwrap().outputs[0])
    };
    assert_eq!(counts(""), [1.0]);
    let share = "parameters { key: \"ENABLE_WEIGHT_SHARING\" value { string_value: \"true\" } }";
    assert_eq!(counts(share), [2.0]);
}

#[test]
fn gathered_parts_are_one_batch() {
    let model = load("double.pt", &format!("max_batch_size: 8\n{}", one_to_one("1"))).unwrap();
    let mut instance = instance(&model);
    for round in 0..3_u8 {
        let parts: Vec<Bytes> = (0..3).map(|n| floats("x", &[1, 1], &[f32::from(n + round)]).data).collect();
        let data = instance.gather(&parts).unwrap();
        let outputs = instance.execute(vec![tensor("x", DataType::Fp32, &[3, 1], data)]).unwrap().outputs;
        let round = f32::from(round);
        assert_eq!(values(&outputs[0]), [2.0 * round, 2.0 * (round + 1.0), 2.0 * (round + 2.0)]);
    }
}
