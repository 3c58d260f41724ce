//! Values, data types, modes, failures.

use std::thread;

use nacre_domain::{DataType, ErrorCode};

use crate::common::*;

#[test]
fn every_data_type_keeps_its_values() {
    // One and two, and their sums: as bytes, so that nothing here knows how to add.
    let cases: [(DataType, &[u8], &[u8]); 10] = [
        (DataType::Bool, &[1, 0], &[1, 0]),
        (DataType::Uint8, &[1, 127], &[2, 254]),
        (DataType::Int8, &[1, 0xff], &[2, 0xfe]),
        (DataType::Int16, &[1, 0, 0xff, 0xff], &[2, 0, 0xfe, 0xff]),
        (DataType::Int32, &[1, 0, 0, 0, 0, 1, 0, 0], &[2, 0, 0, 0, 0, 2, 0, 0]),
        (
            DataType::Int64,
            &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
            &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0],
        ),
        (DataType::Fp16, &[0, 0x3c, 0, 0x40], &[0, 0x40, 0, 0x44]),
        (DataType::Bf16, &[0x80, 0x3f, 0, 0x40], &[0, 0x40, 0x80, 0x40]),
        (DataType::Fp32, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40], &[0, 0, 0, 0x40, 0, 0, 0x80, 0x40]),
        (
            DataType::Fp64,
            &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40],
            &[0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0x10, 0x40],
        ),
    ];
    for (data_type, once, twice) in cases {
        let name = data_type.config_name();
        let lines = tensor_line("input", "x", name, "-1") + &tensor_line("output", "y", name, "-1");
        let x = || tensor("x", data_type, &[2], once.to_vec());
        let same = run("identity.pt", &lines, vec![x()]).unwrap();
        assert_eq!((same[0].data_type, same[0].shape.as_slice()), (data_type, [2].as_slice()));
        assert_eq!(same[0].data, once, "{data_type}");
        assert_eq!(run("double.pt", &lines, vec![x()]).unwrap()[0].data, twice, "{data_type}");
        // No elements at all.
        let none = tensor("x", data_type, &[0], Vec::new());
        for file in ["identity.pt", "double.pt"] {
            let outputs = run(file, &lines, vec![none.clone()]).unwrap();
            assert_eq!(
                (outputs[0].shape.as_slice(), outputs[0].data.len()),
                ([0].as_slice(), 0),
                "{file} {data_type}"
            );
        }
    }
}

#[test]
fn a_row_may_be_a_single_number() {
    let lines = "max_batch_size: 4\n\
                 input { name: \"x\" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } }\n\
                 output { name: \"y\" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } }\n";
    let outputs = run("double.pt", lines, vec![floats("x", &[2], &[4.0, 5.0])]).unwrap();
    assert_eq!((outputs[0].shape.as_slice(), values(&outputs[0])), ([2].as_slice(), vec![8.0, 10.0]));
}

#[test]
fn an_empty_batch_is_answered_or_refused_and_the_next_one_served() {
    let empty = || floats("input", &[0, 3], &[]);
    let model = load("linear.pt", &linear_lines()).unwrap();
    let mut linear = instance(&model);
    assert_eq!(linear.execute(vec![empty()]).unwrap().outputs[0].shape, [0, 2]);
    assert_eq!(linear.execute(vec![floats("input", &[1, 3], &[0.0; 3])]).unwrap().outputs[0].shape, [1, 2]);

    let model = load("convolution.pt", &convolution_lines("")).unwrap();
    let mut convolution = instance(&model);
    for shape in [[0_i64, 1, 8, 8], [2, 1, 0, 8], [0, 1, 0, 0]] {
        // What an operator makes of no pixels is its own affair, but it is an answer or an error.
        let _ = convolution.execute(vec![floats("image", &shape, &[])]);
    }
    let outputs = convolution.execute(vec![floats("image", &[1, 1, 4, 4], &[1.0; 16])]).unwrap().outputs;
    assert_eq!(values(&outputs[0]), [5.5; 4]);
}

#[test]
fn known_weights_give_known_values_with_and_without_optimising() {
    let switched_off = "parameters { key: \"OPTIMIZE_FOR_INFERENCE\" value { string_value: \"false\" } }";
    let unoptimized = "parameters { key: \"DISABLE_OPTIMIZED_EXECUTION\" value { string_value: \"true\" } }";
    for settings in ["", switched_off, unoptimized] {
        for file in ["convolution.pt", "traced_convolution.pt", "training_mode.pt"] {
            let model = load(file, &convolution_lines(settings)).unwrap();
            let mut instance = instance(&model);
            for rows in [1_i64, 3, 8] {
                let pixels = vec![2.0; usize::try_from(rows).unwrap() * 64];
                let outputs =
                    instance.execute(vec![floats("image", &[rows, 1, 8, 8], &pixels)]).unwrap().outputs;
                assert_eq!(outputs[0].shape, [rows, 4]);
                assert!(values(&outputs[0]).iter().all(|v| (v - 10.0).abs() < 1e-5), "{file} {settings}");
            }
        }
    }
}

#[test]
fn inference_mode_is_on_and_can_be_switched_off_but_gradients_never_are_recorded() {
    let modes = |settings: &str| {
        let lines = tensor_line("input", "x", "TYPE_FP32", "1")
            + &tensor_line("output", "gradients", "TYPE_BOOL", "1")
            + &tensor_line("output", "inference", "TYPE_BOOL", "1")
            + settings;
        let outputs = run("modes.pt", &lines, vec![floats("x", &[1], &[0.0])]).unwrap();
        (outputs[0].data[0], outputs[1].data[0])
    };
    assert_eq!(modes(""), (0, 1));
    assert_eq!(modes("parameters { key: \"INFERENCE_MODE\" value { string_value: \"false\" } }"), (0, 0));
}

#[test]
fn an_exception_is_an_error_with_its_own_words_and_the_instance_goes_on() {
    let model = load("raising.pt", &one_to_one("-1")).unwrap();
    let mut instance = instance(&model);
    let error = instance.execute(vec![floats("x", &[3], &[-1.0, 0.0, 0.0])]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert_contains(error.message(), &["model 'm' failed", "ValueError: the sum is negative"]);
    assert!(!error.message().contains("Traceback"), "{error}");
    let whole = std::error::Error::source(&error).unwrap().to_string();
    assert_contains(&whole, &["Traceback of TorchScript", "in forward"]);

    let error = instance.execute(vec![floats("x", &[2], &[1.0, 1.0])]).unwrap_err();
    assert_contains(error.message(), &["The size of tensor a (2) must match the size of tensor b (3)"]);
    assert!(!error.message().contains('\n'), "{error}");

    let outputs = instance.execute(vec![floats("x", &[3], &[1.0, 2.0, 3.0])]).unwrap().outputs;
    assert_eq!(values(&outputs[0]), [2.0, 3.0, 4.0]);
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    let lines = tensor_line("input", "x", "TYPE_FP32", "1") + &tensor_line("output", "y", "TYPE_FP32", "-1");
    let model = load("allocate.pt", &lines).unwrap();
    let mut instance = instance(&model);
    let error = instance.execute(vec![floats("x", &[1], &[1e15])]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ResourceExhausted);
    assert_contains(error.message(), &["model 'm' failed", "can't allocate memory"]);
    let outputs = instance.execute(vec![floats("x", &[1], &[2.0])]).unwrap().outputs;
    assert_eq!(outputs[0].shape, [2]);
}

#[test]
fn instances_that_share_a_model_run_at_once() {
    let model = load("convolution.pt", &convolution_lines("")).unwrap();
    let shared = batched(&model);
    thread::scope(|scope| {
        for worker in 1..=4_u8 {
            let shared = shared.clone();
            scope.spawn(move || {
                let mut instance = shared.instantiate(&shared.placements()[0]).unwrap();
                for round in 0..50_u8 {
                    let x = f32::from(worker) + f32::from(round);
                    let image = floats("image", &[1, 1, 8, 8], &[x; 64]);
                    let outputs = instance.execute(vec![image]).unwrap().outputs;
                    let expected = 9.0 * x / 2.0 + 1.0;
                    assert!(values(&outputs[0]).iter().all(|v| (v - expected).abs() < 1e-3));
                }
            });
        }
    });
}

#[test]
fn each_instance_has_its_share_of_the_cores_or_what_it_was_told() {
    // A thread each, as the scheduler does, because the setting is the thread's.
    let threads = |settings: &'static str| {
        thread::spawn(move || {
            let model = load("identity.pt", &(one_to_one("1") + settings)).unwrap();
            let _instance = instance(&model);
            usize::try_from(tch::get_num_threads()).unwrap()
        })
        .join()
        .unwrap()
    };
    let cores = thread::available_parallelism().unwrap().get();
    assert_eq!(threads(""), cores);
    assert_eq!(threads("instance_group { kind: KIND_CPU count: 2 }"), (cores / 2).max(1));
    assert_eq!(threads("instance_group { kind: KIND_CPU count: 1000 }"), 1);
    let three = "parameters { key: \"INTRA_OP_THREAD_COUNT\" value { string_value: \"3\" } }";
    assert_eq!(threads(three), 3);
}
