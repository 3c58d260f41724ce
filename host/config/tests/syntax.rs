//! What text protobuf allows beyond the plain style, as protobuf's C++ parser takes it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::path::Path;

use nacre_config::{ModelConfig, parse};

fn config(text: &str) -> ModelConfig {
    parse("m", Path::new("config.pbtxt"), text).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}")).config
}

const PLAIN: &str = r#"
backend: "wasm"
max_batch_size: 4
input { name: "a" data_type: TYPE_UINT8 dims: 2 dims: 3 }
input { name: "b" data_type: TYPE_UINT8 dims: 4 }
parameters { key: "k" value { string_value: "v" } }
"#;

#[test]
fn one_message_has_many_spellings() {
    let spellings = [
        // Lists, with and without a colon, and commas or semicolons behind fields.
        r#"backend: "wasm", max_batch_size: 4;
           input [ { name: "a", data_type: TYPE_UINT8; dims: [2, 3], }, { name: "b" data_type: TYPE_UINT8 dims: [4] } ]
           parameters: [ { key: "k", value: { string_value: "v" } } ]"#,
        // Colons before messages, spaces before colons, angle brackets.
        r#"backend :"wasm" max_batch_size : 4
           input: < name: 'a' data_type: TYPE_UINT8 dims: 2 dims: [3] >
           input < name: 'b' data_type: TYPE_UINT8 dims: 4 >
           parameters < key: "k" value: < string_value: "v" > >"#,
        // Numbers of enums, other radixes, adjacent strings, escapes.
        r#"backend: "w" 'as' "m" max_batch_size: 0x4
           input { name: "\x61" data_type: 2 dims: 02 dims: 0X3 }
           input { name: "\142" data_type: TYPE_UINT8 dims: 4 }
           parameters { key: "\u006b" value { string_value: "\U00000076" } }"#,
        // No blanks where none are needed, other line ends, comments.
        "backend:\"wasm\"max_batch_size:4 input{name:\"a\"data_type:TYPE_UINT8 dims:2 dims:3}#{\r\n\
         input{name:'b'data_type:TYPE_UINT8 dims:4}\r\nparameters{key:\"k\"value{string_value:\"v\"}}# end",
        // Fields of one list apart from one another; a byte order mark.
        "\u{feff}input { name: 'a' data_type: TYPE_UINT8 dims: [] dims: [2, 3] } backend: 'wasm'
         parameters { value { string_value: 'v' } key: 'k' }
         max_batch_size: 4 input [] input { name: 'b' data_type: TYPE_UINT8 dims: 4 }",
    ];
    let plain = config(PLAIN).message;
    for spelling in spellings {
        assert_eq!(config(spelling).message, plain, "\n{spelling}");
    }
}

#[test]
fn scalars_have_many_spellings() {
    for (text, expected) in
        [("true", true), ("True", true), ("t", true), ("1", true), ("0x0", false), ("f", false)]
    {
        let config = config(&format!(
            "backend: 'wasm' input {{ name: 'a' data_type: TYPE_BOOL dims: - 1 optional: {text} }}"
        ));
        assert_eq!(config.inputs[0].spec.optional, expected, "{text}");
        assert_eq!(config.inputs[0].spec.dims, [-1]);
    }
    for (text, expected) in [
        ("0.5", 0.5),
        (".5", 0.5),
        ("5e-1f", 0.5),
        ("1f", 1.0),
        ("-1.", -1.0),
        ("2", 2.0),
        ("-Infinity", f32::NEG_INFINITY),
    ] {
        let config = config(&format!(
            "backend: 'wasm' sequence_batching {{ direct {{ minimum_slot_utilization: {text} }} }}"
        ));
        let sequence = config.message.get_field_by_name("sequence_batching").unwrap();
        let direct = sequence.as_message().unwrap().get_field_by_name("direct").unwrap();
        let slots = direct.as_message().unwrap().get_field_by_name("minimum_slot_utilization").unwrap();
        assert_eq!(slots.as_f32(), Some(expected), "{text}");
    }
}

#[test]
fn strings_hold_anything() {
    let config = config(
        "backend: 'wasm' parameters { key: 'k' value { string_value: \"é # {\\n\\t\" '\\\"\\'\\007\\ud83d\\ude00' } }",
    );
    assert_eq!(config.parameters["k"], "é # {\n\t\"'\u{7}\u{1f600}");
}
