//! The configurations of a common tutorial (a preprocessing step, a network, the ensemble of both), word for word.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{path::Path, time::Duration};

use nacre_config::{
    DynamicBatching, EnsembleStep, InstanceGroup, InstanceKind, Parsed, VersionPolicy, parse,
};
use nacre_domain::DataType;

const RESNET50: &str = r#"name: "resnet50"
platform: "pytorch_libtorch"
max_batch_size: 32
input [ { name: "input__0" data_type: TYPE_FP32 dims: [3, 224, 224] } ]
output [ { name: "output__0" data_type: TYPE_FP32 dims: [1000] label_filename: "labels.txt" } ]
instance_group [ { count: 2 kind: KIND_GPU } ]
dynamic_batching { preferred_batch_size: [8, 16, 32] max_queue_delay_microseconds: 500 }
optimization {
  execution_accelerators { gpu_execution_accelerator : [ { name : "tensorrt" } ] }
  input_pinned_memory { enable: true }
}
response_cache { enable: true }
"#;

const PIPELINE: &str = r#"name: "pipeline"
platform: "ensemble"
max_batch_size: 32
input [ { name: "raw_image", data_type: TYPE_UINT8, dims: [-1, -1, 3] } ]
output [ { name: "classification_result", data_type: TYPE_FP32, dims: [1000] } ]
ensemble_scheduling {
  step [
    {
      model_name: "preprocess"
      model_version: -1
      input_map { key: "image" value: "raw_image" }
      output_map { key: "tensor" value: "processed_tensor" }
    },
    {
      model_name: "resnet50"
      model_version: -1
      input_map { key: "input__0" value: "processed_tensor" }
      output_map { key: "output__0" value: "classification_result" }
    }
  ]
}
"#;

const PREPROCESS: &str = r#"name: "preprocess"
backend: "wasm"
max_batch_size: 32
input [ { name: "image" data_type: TYPE_UINT8 dims: [-1, -1, 3] } ]
output [ { name: "tensor" data_type: TYPE_FP32 dims: [3, 224, 224] } ]
"#;

fn parsed(name: &str, text: &str) -> Parsed {
    parse(name, Path::new("config.pbtxt"), text).unwrap()
}

#[test]
fn the_network_is_understood_and_fields_without_effect_are_named() {
    let Parsed { config, warnings } = parsed("resnet50", RESNET50);
    assert_eq!(config.backend, "pytorch");
    assert_eq!(config.platform, "pytorch_libtorch");
    assert_eq!(config.max_batch_size, 32);
    assert_eq!(config.inputs[0].spec.name, "input__0");
    assert_eq!(config.inputs[0].spec.data_type, DataType::Fp32);
    assert_eq!(config.inputs[0].spec.dims, [3, 224, 224]);
    assert_eq!(config.outputs[0].label_filename.as_deref(), Some("labels.txt"));
    let group = InstanceGroup { kind: InstanceKind::Gpu, count: Some(2), gpus: vec![] };
    assert_eq!(config.instance_groups, [group]);
    let batching = DynamicBatching {
        preferred_batch_sizes: vec![8, 16, 32],
        max_queue_delay: Duration::from_micros(500),
        max_queue_size: None,
    };
    assert_eq!(config.dynamic_batching, Some(batching));
    assert_eq!(config.version_policy, VersionPolicy::Latest(1));
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "config.pbtxt:9:3: optimization.execution_accelerators: this field has no effect here",
            "config.pbtxt:10:3: optimization.input_pinned_memory: this field has no effect here",
            "config.pbtxt:12:1: response_cache: this field has no effect here",
        ]
    );
}

#[test]
fn the_ensemble_is_understood() {
    let Parsed { config, warnings } = parsed("pipeline", PIPELINE);
    assert_eq!(config.backend, "ensemble");
    assert!(warnings.is_empty());
    assert_eq!(
        config.ensemble_steps[1],
        EnsembleStep {
            model: "resnet50".into(),
            version: None,
            input_map: [("input__0".to_owned(), "processed_tensor".to_owned())].into(),
            output_map: [("output__0".to_owned(), "classification_result".to_owned())].into(),
        }
    );
}

#[test]
fn the_step_is_understood() {
    let Parsed { config, warnings } = parsed("preprocess", PREPROCESS);
    assert_eq!((config.backend.as_str(), config.platform.as_str()), ("wasm", "wasm"));
    assert_eq!(config.inputs[0].spec.dims, [-1, -1, 3]);
    assert!(warnings.is_empty());
}
