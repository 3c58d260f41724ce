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
    for (text, expected) in rows {
        assert_eq!(diagnostics(text), [format!("m/config.pbtxt:{expected}")], "\n{text}");
    }
}

#[test]
fn syntax() {
    check(&[
        ("name = \"m\"", "1:6: expected ':' after 'name', found '='; write name: …"),
        ("\"name\": \"m\"", "1:1: names of fields have no quotes: write name, not \"name\""),
        ("name:\nbackend: \"wasm\"", "1:1: 'name' has no value; 'backend' behind it is the next field"),
        ("name: \"m\nbackend: \"wasm\"\n", "1:7: x"),
        ("name: \"m", "1:7: this string has no closing \""),
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
        ("input { data_type: FP32 }", "1:20: input[0].data_type: x"),
        ("instance_group { kind: GPU }", "1:24: instance_group[0].kind: x"),
        (
            "instance_group { kind: 7 }",
            "1:24: instance_group[0].kind: 7 is no Kind; it is one of KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL",
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
