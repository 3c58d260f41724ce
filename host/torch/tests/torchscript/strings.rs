//! BYTES as lists of strings.

use nacre_domain::{DataType, concat_bytes_elements};

use crate::common::*;

fn strings(role: &str, name: &str, dims: &str) -> String {
    tensor_line(role, name, "TYPE_STRING", dims)
}

#[test]
fn any_bytes_go_in_and_come_out() {
    let elements: [&[u8]; 4] = [b"plain", b"", b"nul\0inside", &[0xff, 0xfe, 0x00]];
    let lines = strings("input", "text", "-1") + &strings("output", "out", "-1");
    let outputs = run("echo_strings.pt", &lines, vec![texts("text", &[4], &elements)]).unwrap();
    assert_eq!(outputs[0].shape, [4]);
    assert_eq!(outputs[0].data, concat_bytes_elements(&elements));
    let none = run("echo_strings.pt", &lines, vec![texts("text", &[0], &[])]).unwrap();
    assert_eq!((none[0].shape.as_slice(), none[0].data.len()), ([0].as_slice(), 0));
}

#[test]
fn strings_beside_numbers_and_with_a_batch() {
    let lines = "max_batch_size: 8\n".to_owned()
        + &strings("input", "text", "1")
        + "output { name: \"length\" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [ ] } }\n"
        + &strings("output", "out", "1");
    let outputs = run("string_lengths.pt", &lines, vec![texts("text", &[2, 1], &[b"a", b"bbb"])]).unwrap();
    assert_eq!(outputs[0].shape, [2]);
    assert_eq!(outputs[0].data_type, DataType::Int64);
    assert_eq!(outputs[0].data[8], 3);
    assert_eq!(outputs[1].shape, [2, 1]);
    assert_eq!(outputs[1].data, concat_bytes_elements(&["a!", "bbb!"]));
}

#[test]
fn a_number_of_strings_that_does_not_fit() {
    let lines = strings("input", "text", "-1") + &strings("output", "out", "3");
    let message = run_error("echo_strings.pt", &lines, vec![texts("text", &[2], &[b"a", b"b"])]);
    assert_contains(&message, &["output 'out'", "strings of shape [3]", "gave 2"]);
}

#[test]
fn strings_where_the_model_has_tensors_and_the_other_way_round() {
    let lines = strings("input", "x", "1") + &tensor_line("output", "y", "TYPE_FP32", "1");
    assert_contains(&load_error("identity.pt", &lines), &["input 'x' is TYPE_STRING", "List[str]"]);
    let lines = tensor_line("input", "text", "TYPE_FP32", "1") + &strings("output", "y", "1");
    assert_contains(&load_error("echo_strings.pt", &lines), &["input 'text' is TYPE_FP32", "TYPE_STRING"]);
}
