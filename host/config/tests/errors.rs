//! One test row for each kind of mistake, with the whole sentence that its author reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::path::Path;

use nacre_config::parse;

/// Diagnostics of the text as they are printed; warnings if there is no error.
fn diagnostics(text: &str) -> Vec<String> {
    let found = match parse("m", Path::new("m/config.pbtxt"), text) {
        Ok(parsed) => parsed.warnings,
        Err(errors) => errors,
    };
    found.iter().map(ToString::to_string).collect()
}

/// Each text gives just the one diagnostic, which stands behind the path of the file.
fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, expected)| (text, diagnostics(text), vec![format!("m/config.pbtxt:{expected}")]))
        .filter(|(_, found, expected)| found != expected)
        .map(|(text, found, expected)| format!("{text}\n     found {found:#?}\n  expected {expected:#?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn syntax() {
    check(&[
        ("name = \"m\"", "1:6: expected ':' after 'name', found '='; write name: …"),
        ("\"name\": \"m\"", "1:1: names of fields have no quotes: write name, not \"name\""),
        ("name:\nbackend: \"wasm\"", "1:1: 'name' has no value; 'backend' behind it is the next field"),
        ("name: \"m\nbackend: \"wasm\"\n", "1:7: this string has no closing \" on its line"),
        ("name: 'm", "1:7: this string has no closing ' on its line"),
        ("name: 'a\\qb'", "1:9: \\q is no escape in a string; write \\\\ for a backslash"),
        ("name: \"\\xzz\"", "1:8: \\x without digits in a string; write \\\\ for a backslash"),
        (
            "name: \"\\ud800\"",
            "1:8: \\u without the 4 digits of a character in a string; write \\\\ for a backslash",
        ),
        ("name: “m”", "1:7: “ is a typographic quote; write \" or '"),
        ("näme: \"m\"", "1:2: the character 'ä' may stand only inside a string"),
        ("name: \"m\" }", "1:11: '}' closes nothing that is open"),
        ("input {\n  name: \"x\"\n", "1:7: the '{' of 'input' is never closed; '}' is missing"),
        (
            "input {\n  name: \"x\"\n]",
            "3:1: expected a field of 'input' or the '}' of line 1's '{', found ']'",
        ),
        ("input { dims: [1, 2", "1:15: the '[' of 'dims' is never closed; ']' is missing"),
        ("input { dims: [1 2] }", "1:18: expected ',' or ']' in the list of 'dims', found the number 2"),
        ("input { dims: [1, 2,] }", "1:21: the list of 'dims' has a comma before its ']'; leave it out"),
        ("input { dims: [[1], [2]] }", "1:16: the list of 'dims' has another list in it"),
        ("max_batch_size: ,", "1:17: expected a value of 'max_batch_size', found ','"),
        ("max_batch_size: 089", "1:17: 089 begins with 0 and so is octal, where 8 and 9 are no digits"),
        ("max_batch_size: 0x", "1:17: 0x is followed by no hexadecimal digit"),
        ("max_batch_size: 1e", "1:17: the exponent of this number has no digits"),
        ("max_batch_size: 8name: \"m\"", "1:18: expected a space behind the number"),
        ("max_batch_size: 1.2.3", "1:17: this number has two decimal points"),
        (
            "[x.y]: 1",
            "1:1: expected the name of a field, found '['; extensions and Any in square brackets are not known",
        ),
        ("5: 1", "1:1: expected the name of a field, found the number 5"),
    ]);
}

#[test]
fn types() {
    check(&[
        (
            "max_batchsize: 8",
            "1:1: max_batchsize: ModelConfig has no field 'max_batchsize'; did you mean 'max_batch_size'?",
        ),
        ("input { dim: 1 }", "1:9: input[0].dim: ModelInput has no field 'dim'; did you mean 'dims'?"),
        (
            "preferred_batch_size: [4]",
            "1:1: preferred_batch_size: ModelConfig has no field 'preferred_batch_size'; it belongs in dynamic_batching",
        ),
        (
            "version_policy { newest { } }",
            "1:18: version_policy.newest: ModelVersionPolicy has no field 'newest'; its fields are latest, all, specific",
        ),
        (
            "input { data_type: FP32 }",
            "1:20: input[0].data_type: FP32 is no DataType; did you mean 'TYPE_FP32'? Legal are TYPE_BOOL, TYPE_UINT8, TYPE_UINT16, TYPE_UINT32, TYPE_UINT64, TYPE_INT8, TYPE_INT16, TYPE_INT32, TYPE_INT64, TYPE_FP16, TYPE_FP32, TYPE_FP64, TYPE_STRING, TYPE_BF16",
        ),
        (
            "instance_group { kind: GPU }",
            "1:24: instance_group[0].kind: GPU is no Kind; did you mean 'KIND_GPU'? Legal are KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL",
        ),
        (
            "instance_group { kind: 7 }",
            "1:24: instance_group[0].kind: 7 is no Kind; legal are KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL",
        ),
        (
            "instance_group { kind: \"KIND_CPU\" }",
            "1:24: instance_group[0].kind: expected a name without quotes: KIND_CPU, not \"KIND_CPU\"",
        ),
        (
            "instance_group { kind: 1.5 }",
            "1:24: instance_group[0].kind: expected one of KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL, found 1.5",
        ),
        (
            "platform: pytorch_libtorch",
            "1:11: platform: expected a string, found pytorch_libtorch; put it in quotes: \"pytorch_libtorch\"",
        ),
        ("platform { }", "1:1: platform: expected ':' after 'platform'"),
        ("platform: { }", "1:11: platform: expected a string, found a message { … }"),
        ("name: \"\\xff\"", "1:7: name: the string is not valid UTF-8"),
        ("max_batch_size: 8.0", "1:17: max_batch_size: expected a whole number, found 8.0"),
        ("max_batch_size: \"8\"", "1:17: max_batch_size: expected a whole number, found the string \"8\""),
        (
            "max_batch_size: 3000000000",
            "1:17: max_batch_size: 3000000000 is out of range; it goes from -2147483648 to 2147483647",
        ),
        (
            "input { dims: [1, 9223372036854775808] }",
            "1:19: input[0].dims[1]: 9223372036854775808 is out of range; it goes from -9223372036854775808 to 9223372036854775807",
        ),
        (
            "dynamic_batching { max_queue_delay_microseconds: -1 }",
            "1:50: dynamic_batching.max_queue_delay_microseconds: -1 is out of range; it goes from 0 to 18446744073709551615",
        ),
        ("response_cache { enable: yes }", "1:26: response_cache.enable: expected true or false, found yes"),
        (
            "sequence_batching { direct { minimum_slot_utilization: \"x\" } }",
            "1:56: sequence_batching.direct.minimum_slot_utilization: expected a decimal number, found the string \"x\"",
        ),
        (
            "model_transaction_policy: true",
            "1:27: model_transaction_policy: expected { … } with fields of decoupled, found true",
        ),
        ("max_batch_size: [8]", "1:17: max_batch_size: 'max_batch_size' has one value, found a list [ … ]"),
        ("name: \"m\"\nname: \"m\"", "2:1: name: 'name' is given twice, first on line 1"),
        (
            "dynamic_batching { }\nsequence_batching { }",
            "2:1: sequence_batching: 'sequence_batching' and 'dynamic_batching' exclude each other; leave one of them out",
        ),
    ]);
}

/// A whole model, to which the rows add a field.
fn with(field: &str) -> String {
    format!("backend: \"pytorch\"\nmax_batch_size: 8\n{field}\n")
}

/// As [`check`], on line 3 of a whole model.
fn check_with(rows: &[(&str, &str)]) {
    let texts: Vec<String> = rows.iter().map(|(field, _)| with(field)).collect();
    let rows: Vec<(&str, &str)> =
        texts.iter().map(String::as_str).zip(rows.iter().map(|(_, expected)| *expected)).collect();
    check(&rows);
}

#[test]
fn name_backend_and_platform() {
    check(&[
        ("name: \"n\" backend: \"wasm\"", "1:1: name: expected the name of the model's folder, 'm', got 'n'"),
        (
            "max_batch_size: 8",
            " backend: neither 'backend' nor 'platform' is given and no file of a version folder tells which is meant; write, for example, backend: \"pytorch\"",
        ),
        (
            "ensemble_scheduling { step { } }",
            " backend: expected platform: \"ensemble\", since ensemble_scheduling is given",
        ),
        (
            "platform: \"pytorch_libtroch\"",
            "1:1: platform: 'pytorch_libtroch' is no platform; did you mean 'pytorch_libtorch'?",
        ),
        (
            "platform: \"caffe2\"",
            "1:1: platform: 'caffe2' is no platform; it is one of pytorch_libtorch, libtorch, ensemble, torch_aoti, onnxruntime_onnx, tensorrt_plan, tensorflow_savedmodel, tensorflow_graphdef, and any other backend is named with 'backend'",
        ),
        (
            "backend: \"pytorch\" platform: \"onnxruntime_onnx\"",
            "1:20: platform: 'onnxruntime_onnx' is a platform of backend 'onnxruntime', not of 'pytorch'; leave one of them out",
        ),
        (
            "backend: \"pytorch\" platform: \"torch\"",
            "1:20: platform: 'torch' is no platform of backend 'pytorch'; expected 'pytorch_libtorch' or no platform",
        ),
        (
            "backend: \"ensemble\"",
            "1:1: backend: an ensemble is no backend; write platform: \"ensemble\" instead",
        ),
        (
            "max_batch_size: -1 backend: \"wasm\"",
            "1:1: max_batch_size: expected 0 (no batch dimension) or more, got -1",
        ),
        (
            "backend: \"wasm\" default_model_filename: \"../a/../../x\"",
            "1:17: default_model_filename: expected a file inside the model's folder, got '../a/../../x'",
        ),
    ]);
}

#[test]
fn tensors() {
    check_with(&[
        ("input { data_type: TYPE_FP32 dims: 1 }", "3:1: input[0].name: the name is missing"),
        (
            "input [ { name: \"x\" data_type: TYPE_FP32 dims: 1 },\n{ name: \"x\" data_type: TYPE_FP32 dims: 1 } ]",
            "4:3: input[1].name: 'x' is the name of input[0] already",
        ),
        (
            "input [ { name: \"x\" dims: 1 } ]",
            "3:9: input[0].data_type: the data type is missing; write, for example, data_type: TYPE_FP32",
        ),
        (
            "output { name: \"x\" data_type: TYPE_INVALID dims: 1 }",
            "3:20: output[0].data_type: the data type is missing; write, for example, data_type: TYPE_FP32",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 }",
            "3:1: input[0].dims: the dims are missing; write them without the batch dimension, and for a scalar dims: [1] with reshape { shape: [] }",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [1, 0] }",
            "3:50: input[0].dims[1]: expected 1 or more, or -1 for a dim that varies, got 0",
        ),
        (
            "output { name: \"x\" data_type: TYPE_FP32 dims: 1 dims: -2 }",
            "3:49: output[0].dims[1]: expected 1 or more, or -1 for a dim that varies, got -2",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [4294967296, 4294967296] }",
            "3:40: input[0].dims: a tensor of shape [4294967296,4294967296] has more elements than can exist",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [2, 3] reshape { shape: [2, 0] } }",
            "3:74: input[0].reshape.shape[1]: expected 1 or more, or -1 for a dim that varies, got 0",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [2, 3] reshape { shape: [5] } }",
            "3:63: input[0].reshape.shape: expected as many elements as the dims [2,3] have, 6, but the shape [5] has 5",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [2, -1] reshape { shape: [6] } }",
            "3:64: input[0].reshape.shape: expected as many -1 as the dims [2,-1] have, 1, but the shape [6] has 0",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [2, -1, 3] reshape { shape: [3, -1, 2] } }",
            "3:67: input[0].reshape.shape: expected as many elements between the -1 as the dims [2,-1,3] have, but the shape [3,-1,2] has others",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: [2] reshape { } }",
            "3:50: input[0].reshape.shape: expected as many elements as the dims [2] have, 2, but the shape [] has 1",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 format: FORMAT_NHWC dims: [2, 3] }",
            "3:40: input[0].format: FORMAT_NHWC is the format of 3 dims, but dims is [2,3]",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: 1 is_shape_tensor: true }",
            "3:48: input[0].is_shape_tensor: only platform 'tensorrt_plan' has such tensors; leave it out",
        ),
        (
            "output { name: \"x\" data_type: TYPE_FP32 dims: 1 label_filename: \"/etc/passwd\" }",
            "3:49: output[0].label_filename: expected a file inside the model's folder, got '/etc/passwd'",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: 1 allow_ragged_batch: true }",
            "3:48: input[0].allow_ragged_batch: this field has no effect here",
        ),
    ]);
    check(&[(
        "backend: \"wasm\" input { name: \"x\" data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }",
        "1:74: input[0].reshape.shape: an empty shape needs a batch dimension, but max_batch_size is 0",
    )]);
}

#[test]
fn versions_instances_and_batching() {
    check_with(&[
        (
            "version_policy { latest { } }",
            "3:18: version_policy.latest.num_versions: expected 1 or more, got 0: nothing would be served",
        ),
        (
            "version_policy { specific { } }",
            "3:18: version_policy.specific.versions: no version is named, so nothing would be served",
        ),
        (
            "version_policy { specific { versions: [1, 0] } }",
            "3:43: version_policy.specific.versions[1]: a version is a number from 1, got 0",
        ),
        (
            "instance_group { count: -1 }",
            "3:18: instance_group[0].count: expected 1 or more, or 0 for the backend's default, got -1",
        ),
        (
            "instance_group { count: 100000 }",
            "3:18: instance_group[0].count: expected 1024 at most, got 100000",
        ),
        (
            "instance_group { kind: KIND_CPU gpus: [0] }",
            "3:33: instance_group[0].gpus: a group of KIND_CPU has no GPUs; leave them out or write kind: KIND_GPU",
        ),
        (
            "instance_group { kind: KIND_GPU gpus: [0, -1] }",
            "3:43: instance_group[0].gpus[1]: the index of a GPU is a number from 0, got -1",
        ),
        (
            "instance_group { profile: \"0\" }",
            "3:18: instance_group[0].profile: profiles are for platform 'tensorrt_plan' alone; leave them out",
        ),
        (
            "dynamic_batching { preferred_batch_size: [4, 16] }",
            "3:46: dynamic_batching.preferred_batch_size[1]: expected 1 to 8, which is max_batch_size, got 16",
        ),
        (
            "dynamic_batching { preferred_batch_size: 0 }",
            "3:20: dynamic_batching.preferred_batch_size[0]: expected 1 to 8, which is max_batch_size, got 0",
        ),
        ("sequence_batching { oldest { } }", "3:1: sequence_batching: this field has no effect here"),
        (
            "dynamic_batching { preserve_ordering: true }",
            "3:20: dynamic_batching.preserve_ordering: this field has no effect here",
        ),
        (
            "dynamic_batching { default_queue_policy { timeout_action: DELAY } }",
            "3:43: dynamic_batching.default_queue_policy.timeout_action: this field has no effect here",
        ),
        (
            "parameters { key: \"a\" value { string_value: \"1\" } }\nparameters { key: \"a\" value { string_value: \"2\" } }",
            "3:1: parameters[\"a\"]: this key is given twice, first on line 3; the last one counts",
        ),
    ]);
    check(&[
        (
            "backend: \"wasm\" dynamic_batching { preferred_batch_size: 4 }",
            "1:36: dynamic_batching.preferred_batch_size[0]: got 4, but max_batch_size is 0, so that requests are never put together",
        ),
        (
            "backend: \"wasm\" dynamic_batching { }",
            "1:17: dynamic_batching: this field has no effect, since max_batch_size is 0",
        ),
        (
            "backend: \"wasm\" max_batch_size: 8 dynamic_batching { preferred_batch_size: 4 }",
            "1:35: dynamic_batching: this field has no effect, since a plugin gets one element at a time",
        ),
        (
            "backend: \"wasm\" dynamic_batching { max_queue_delay_microseconds: 5 default_queue_policy { max_queue_size: 9 } }",
            "1:36: dynamic_batching.max_queue_delay_microseconds: this field has no effect, since max_batch_size is 0",
        ),
    ]);
}

#[test]
fn ensembles() {
    let step =
        "model_name: \"a\" input_map { key: \"x\" value: \"y\" } output_map { key: \"x\" value: \"z\" }";
    let ensemble = |steps: &str| format!("platform: \"ensemble\"\nensemble_scheduling {{\n{steps}\n}}");
    let whole = |more: &str| format!("{}\n{more}", ensemble(&format!("step {{ {step} }}")));
    let rows = [
        (whole("backend: \"wasm\""), "5:1: backend: an ensemble has no backend; leave the field out"),
        (
            whole("instance_group { count: 1 }"),
            "5:1: instance_group: an ensemble runs nothing itself; give this to the models of its steps",
        ),
        (
            "platform: \"ensemble\"".to_owned(),
            " ensemble_scheduling: platform 'ensemble' needs it, with one step at least",
        ),
        (ensemble(""), "2:1: ensemble_scheduling.step: an ensemble needs one step at least"),
        (
            "backend: \"wasm\" ensemble_scheduling { }".to_owned(),
            "1:17: ensemble_scheduling: expected platform: \"ensemble\" beside it, got backend 'wasm'",
        ),
        (
            ensemble(&format!("step {{ {} }}", step.replace("\"a\"", "''"))),
            "3:8: ensemble_scheduling.step[0].model_name: the name of the step's model is missing",
        ),
        (
            ensemble(&format!("step {{ model_version: -2 {step} }}")),
            "3:8: ensemble_scheduling.step[0].model_version: expected a version from 1, or -1 for the highest, got -2",
        ),
        (
            ensemble("step { model_name: \"a\" input_map { key: \"x\" value: \"y\" } }"),
            "3:1: ensemble_scheduling.step[0].output_map: expected one entry at least: output of the step's model → tensor of the ensemble",
        ),
        (
            ensemble(&format!("step {{ {step} input_map {{ key: \"b\" }} }}")),
            "3:93: ensemble_scheduling.step[0].input_map[\"b\"]: expected a key (input of the step's model) and a value (tensor of the ensemble)",
        ),
        (
            ensemble(&format!("max_inflight_requests: 4 step {{ {step} }}")),
            "3:1: ensemble_scheduling.max_inflight_requests: this field has no effect here",
        ),
    ];
    let rows: Vec<(&str, &str)> = rows.iter().map(|(text, expected)| (text.as_str(), *expected)).collect();
    check(&rows);
}

#[test]
fn all_faults_are_reported_in_the_order_of_the_text() {
    let text = "platform: pytorch\ninput { nam: \"x\" dims: [a] }\nmax_batch_size: 1.5\noutput {";
    let lines: Vec<String> =
        diagnostics(text).iter().map(|d| d.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(
        lines,
        [
            "m/config.pbtxt:1:11:",
            "m/config.pbtxt:2:9:",
            "m/config.pbtxt:2:25:",
            "m/config.pbtxt:3:17:",
            "m/config.pbtxt:4:8:"
        ]
    );
    let invalid = "backend: \"wasm\"\nmax_batch_size: -1\ninput { }\ninstance_group { count: -5 }";
    let lines: Vec<String> =
        diagnostics(invalid).iter().map(|d| d.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(
        lines,
        [
            "max_batch_size:",
            "input[0].name:",
            "input[0].data_type:",
            "input[0].dims:",
            "instance_group[0].count:"
        ]
    );
}

#[test]
fn places_count_characters_behind_comments_tabs_and_other_scripts() {
    check(&[
        (
            "# näme: \"x\" {\r\n\t# \u{1f600}\r\n\tmax_batch_size: x",
            "3:18: max_batch_size: expected a whole number, found x",
        ),
        ("name: \"\u{1f600}é\" max_batch_size: x", "1:28: max_batch_size: expected a whole number, found x"),
        ("\u{feff}max_batch_size: x", "1:17: max_batch_size: expected a whole number, found x"),
    ]);
}
