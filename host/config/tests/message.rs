//! The message that the configuration calls answer with: completed as Triton completes it, printed as Triton prints
//! it, and in line with the configuration that it stands for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::path::Path;

use nacre_config::{
    InstanceGroup, InstanceKind, ModelConfig, VersionPolicy, backend_of_file, parse, parse_with_backend,
    without_file,
};
use nacre_domain::{DataType, ErrorCode, TensorSpec};
use nacre_proto::inference;
use serde_json::json;

fn config(text: &str) -> ModelConfig {
    parse("m", Path::new("config.pbtxt"), text).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}")).config
}

fn spec(name: &str, data_type: DataType, dims: &[i64]) -> TensorSpec {
    TensorSpec { name: name.into(), data_type, dims: dims.into(), optional: false }
}

const MODEL: &str = r#"
platform: "pytorch_libtorch"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [3, -1] reshape { shape: [1, 3, -1] } }
output { name: "y" data_type: TYPE_STRING dims: 9007199254740993 label_filename: "labels.txt" }
instance_group [ { count: 2 kind: KIND_GPU gpus: [0] }, { } ]
dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }
parameters { key: "INFERENCE_MODE" value { string_value: "true" } }
"#;

#[test]
fn json_has_every_scalar_list_and_map_and_no_message_that_is_not_set() {
    let expected = json!({
        "name": "m",
        "platform": "pytorch_libtorch",
        "backend": "pytorch",
        "runtime": "",
        "version_policy": { "latest": { "num_versions": 1 } },
        "max_batch_size": 8,
        "input": [{
            "name": "x", "data_type": "TYPE_FP32", "format": "FORMAT_NONE", "dims": [3, -1],
            "reshape": { "shape": [1, 3, -1] },
            "is_shape_tensor": false, "allow_ragged_batch": false, "optional": false, "is_non_linear_format_io": false,
        }],
        "output": [{
            "name": "y", "data_type": "TYPE_STRING", "dims": [9_007_199_254_740_993_i64],
            "label_filename": "labels.txt", "is_shape_tensor": false, "is_non_linear_format_io": false,
        }],
        "batch_input": [],
        "batch_output": [],
        "optimization": {
            "priority": "PRIORITY_DEFAULT",
            "input_pinned_memory": { "enable": true },
            "output_pinned_memory": { "enable": true },
            "gather_kernel_buffer_threshold": 0,
            "eager_batching": false,
        },
        "dynamic_batching": {
            "preferred_batch_size": [8],
            "max_queue_delay_microseconds": 18_446_744_073_709_551_615_u64,
            "preserve_ordering": false,
            "priority_levels": 0,
            "default_priority_level": 0,
            "priority_queue_policy": {},
        },
        "instance_group": [
            {
                "name": "m_0", "kind": "KIND_GPU", "count": 2, "gpus": [0], "secondary_devices": [],
                "profile": [], "passive": false, "host_policy": "",
            },
            {
                "name": "m_1", "kind": "KIND_AUTO", "count": 1, "gpus": [], "secondary_devices": [],
                "profile": [], "passive": false, "host_policy": "",
            },
        ],
        "default_model_filename": "model.pt",
        "cc_model_filenames": {},
        "metric_tags": {},
        "parameters": { "INFERENCE_MODE": { "string_value": "true" } },
        "model_warmup": [],
    });
    assert_eq!(config(MODEL).to_json(), expected);
}

#[test]
fn an_ensemble_is_reported_by_its_platform_and_has_no_instances() {
    let json = config(
        "platform: 'ensemble' ensemble_scheduling { step { model_name: 'a' model_version: 3
         input_map { key: 'x' value: 'y' } output_map { key: 'x' value: 'z' } } }",
    )
    .to_json();
    assert_eq!(json["platform"], "ensemble");
    assert_eq!(json["backend"], "");
    assert_eq!(json["instance_group"], json!([]));
    assert_eq!(json["model_transaction_policy"], json!({ "decoupled": false }));
    assert!(json.get("optimization").is_none());
    assert_eq!(
        json["ensemble_scheduling"],
        json!({
            "max_inflight_requests": 0,
            "step": [{
                "model_name": "a", "model_version": 3, "model_namespace": "",
                "input_map": { "x": "y" }, "output_map": { "x": "z" },
            }],
        })
    );
}

#[test]
fn the_printed_text_is_a_config_pbtxt_of_the_same_configuration() {
    for text in
        [MODEL, "backend: 'identity'", "backend: 'wasm' version_policy { specific { versions: [3, 1] } }"]
    {
        let first = config(text);
        let again = config(&first.text());
        assert_eq!(again.message, first.message);
        let mut again = again;
        if first.instance_groups.is_empty() {
            again.instance_groups.clear();
        } else {
            // What the file left open is written out in the text.
            again.instance_groups[1].count = None;
        }
        if let Some(batching) = &mut again.dynamic_batching {
            batching.preferred_batch_sizes.clear();
        }
        assert_eq!(format!("{again:?}"), format!("{first:?}"));
    }
}

#[test]
fn the_message_becomes_the_one_of_the_grpc_service() {
    let message: inference::ModelConfig = config(MODEL).message.transcode_to().unwrap();
    assert_eq!(message.input[0].dims, [3, -1]);
    assert_eq!(message.parameters["INFERENCE_MODE"].string_value, "true");
}

#[test]
fn the_backend_is_found_by_platform_file_or_guess() {
    let backend = |text: &str, guess| {
        parse_with_backend("m", Path::new("config.pbtxt"), text, guess)
            .map(|parsed| parsed.config.backend)
            .ok()
    };
    assert_eq!(backend("platform: 'libtorch'", None).as_deref(), Some("pytorch"));
    assert_eq!(backend("platform: 'wasm'", None).as_deref(), Some("wasm"));
    assert_eq!(backend("platform: 'onnxruntime_onnx'", None).as_deref(), Some("onnxruntime"));
    assert_eq!(backend("backend: 'pytorch' platform: 'torch_aoti'", None).as_deref(), Some("torch_aoti"));
    assert_eq!(backend("backend: 'mine' platform: 'whatever'", None).as_deref(), Some("mine"));
    assert_eq!(backend("default_model_filename: 'model.pt'", None).as_deref(), Some("pytorch"));
    assert_eq!(
        backend("default_model_filename: '../shared/a.pt' backend: 'pytorch'", None).as_deref(),
        Some("pytorch")
    );
    assert_eq!(backend("max_batch_size: 4", Some("wasm")).as_deref(), Some("wasm"));
    assert_eq!(backend("backend: 'identity'", Some("wasm")).as_deref(), Some("identity"));
    assert_eq!(backend("", None), None);
    assert_eq!(backend_of_file("plugin.wasm"), Some("wasm"));
    assert_eq!(backend_of_file("readme.md"), None);
}

#[test]
fn a_model_without_a_file_has_the_defaults_of_its_backend() {
    let config = without_file("m", "pytorch");
    assert_eq!((config.name.as_str(), config.backend.as_str()), ("m", "pytorch"));
    assert_eq!(config.platform, "pytorch_libtorch");
    assert_eq!(config.version_policy, VersionPolicy::Latest(1));
    assert_eq!(config.default_model_filename.as_deref(), Some("model.pt"));
    assert!(config.inputs.is_empty() && config.instance_groups.is_empty());
    assert_eq!(config.to_json()["instance_group"][0]["name"], "m");
    assert_eq!(without_file("m", "ensemble").to_json()["platform"], "ensemble");
    assert_eq!(without_file("m", "wasm").platform, "wasm");
}

#[test]
fn tensors_that_the_file_leaves_out_come_from_the_model() {
    let model =
        config("backend: 'wasm' max_batch_size: 4 output { name: 'y' data_type: TYPE_FP32 dims: [5, -1] }");
    let optional = TensorSpec { optional: true, ..spec("b", DataType::Bytes, &[1]) };
    let completed = model
        .with_tensors(
            vec![spec("a", DataType::Bf16, &[-1, 2]), optional],
            vec![spec("y", DataType::Fp32, &[-1, 7]), spec("z", DataType::Int8, &[1])],
        )
        .unwrap();
    assert_eq!(completed.inputs[0].spec, spec("a", DataType::Bf16, &[-1, 2]));
    assert!(completed.inputs[1].spec.optional);
    // An output that the file does not name is not served, and of two dims the fixed one is taken.
    assert_eq!(completed.outputs.len(), 1);
    assert_eq!(completed.outputs[0].spec.dims, [5, 7]);
    let json = completed.to_json();
    assert_eq!(json["input"][0]["data_type"], "TYPE_BF16");
    assert_eq!(json["input"][1]["data_type"], "TYPE_STRING");
    assert_eq!(json["input"][1]["optional"], true);
    assert_eq!(json["output"][0]["dims"], json!([5, 7]));
    assert_eq!(json["max_batch_size"], 4);
}

#[test]
fn completing_keeps_what_only_the_file_knows() {
    let completed = config(MODEL).with_tensors(vec![spec("x", DataType::Fp32, &[1, 3, 5])], vec![]).unwrap();
    let json = completed.to_json();
    assert_eq!(json["output"][0]["label_filename"], "labels.txt");
    assert_eq!(json["input"][0]["reshape"]["shape"], json!([1, 3, -1]));
    assert_eq!(json["input"][0]["dims"], json!([3, -1]));
}

#[test]
fn a_file_that_differs_from_the_model_is_an_error_with_every_difference() {
    let model = config(
        "backend: 'wasm' input [ { name: 'a' data_type: TYPE_FP32 dims: [2, 3] }, { name: 'b' data_type: TYPE_INT8 dims: 1 } ]
         output [ { name: 'y' data_type: TYPE_FP32 dims: [1] } ]",
    );
    let error = model
        .with_tensors(
            vec![spec("a", DataType::Fp16, &[2, 4]), spec("c", DataType::Int8, &[1])],
            vec![spec("y", DataType::Fp32, &[1, 1])],
        )
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert_eq!(
        error.message(),
        "the configuration of model 'm' is not what the model says: \
         input[0].data_type of 'a': expected TYPE_FP16, got TYPE_FP32; \
         input[0].dims of 'a': expected [2,4], got [2,3]; \
         input[1].name: expected one of 'a', 'c', got 'b'; \
         input: the model needs an input 'c', which is missing; \
         output[0].dims of 'y': expected [1,1], got [1]"
    );
    let optional = config("backend: 'wasm' input { name: 'a' data_type: TYPE_FP32 dims: 2 optional: true }");
    let error = optional.with_tensors(vec![spec("a", DataType::Fp32, &[2])], vec![]).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("input[0].optional of 'a': expected false, got true: the model needs this input")
    );
}

#[test]
fn instance_groups_are_reported_as_the_backend_made_them() {
    let group = |count, gpus: &[u32]| InstanceGroup {
        kind: InstanceKind::Gpu,
        count: Some(count),
        gpus: gpus.into(),
    };
    let made =
        without_file("m", "pytorch").with_instance_groups(vec![group(2, &[0]), group(1, &[1])]).unwrap();
    let json = made.to_json();
    assert_eq!(json["instance_group"][0]["name"], "m");
    assert_eq!(json["instance_group"][0]["count"], 2);
    assert_eq!(json["instance_group"][0]["kind"], "KIND_GPU");
    assert_eq!(json["instance_group"][1]["name"], "m_1");
    assert_eq!(json["instance_group"][1]["gpus"], json!([1]));
    assert_eq!(made.instance_groups.len(), 2);
}
