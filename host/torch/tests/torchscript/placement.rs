//! Instance groups; what a GPU does is shown where there is one.

use nacre_torch::{TorchBackend, TorchOptions};

use crate::common::*;

fn gpus() -> u32 {
    TorchBackend::new(TorchOptions::default()).unwrap().description().gpus
}

#[test]
fn as_many_instances_as_the_groups_say() {
    let model =
        load("identity.pt", &(one_to_one("1") + "instance_group { kind: KIND_CPU count: 3 }")).unwrap();
    let names: Vec<String> = batched(&model).placements().into_iter().map(|place| place.name).collect();
    assert_eq!(names, ["cpu-0", "cpu-1", "cpu-2"]);
}

#[test]
fn a_gpu_model_without_a_gpu_is_refused_or_falls_back() {
    if gpus() > 0 {
        return;
    }
    let lines = one_to_one("1") + "instance_group { kind: KIND_GPU count: 2 gpus: [ 0 ] }";
    let message = load_error("identity.pt", &lines);
    assert_contains(&message, &["model 'm' version 1", "asks for a GPU", "--gpu-fallback=cpu"]);
    let model = load_with(TorchOptions { gpu_fallback_cpu: true }, "identity.pt", &lines).unwrap();
    assert!(batched(&model).placements().iter().all(|place| place.gpu.is_none()));
    let outputs = instance(&model).execute(vec![floats("x", &[1], &[7.0])]).unwrap().outputs;
    assert_eq!(values(&outputs[0]), [7.0]);
}

#[test]
fn a_gpu_serves_batches() {
    if gpus() == 0 {
        return;
    }
    let model = load("convolution.pt", &convolution_lines("instance_group { kind: KIND_GPU }")).unwrap();
    let mut instance = instance(&model);
    for rows in [1_u8, 4, 8] {
        let parts: Vec<_> =
            (0..rows).map(|n| floats("image", &[1, 1, 8, 8], &[f32::from(n); 64]).data).collect();
        let data = instance.gather(&parts).unwrap();
        let input = tensor("image", nacre_domain::DataType::Fp32, &[i64::from(rows), 1, 8, 8], data);
        let execution = instance.execute(vec![input]).unwrap();
        let expected: Vec<f32> = (0..rows).flat_map(|n| [9.0 * f32::from(n) / 2.0 + 1.0; 4]).collect();
        let got = values(&execution.outputs[0]);
        assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-2), "{got:?}");
        assert!(!execution.input_time.is_zero() && !execution.output_time.is_zero());
    }
}
