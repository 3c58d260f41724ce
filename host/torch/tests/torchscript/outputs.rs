//! How what a model gives becomes the outputs of its configuration.

use nacre_domain::DataType;

use crate::common::*;

fn outputs_of(names: &[&str]) -> String {
    names.iter().fold(tensor_line("input", "x", "TYPE_FP32", "2"), |l, name| {
        l + &tensor_line("output", name, "TYPE_FP32", "2")
    })
}

fn x() -> Vec<nacre_domain::Tensor> {
    vec![floats("x", &[2], &[1.0, 2.0])]
}

#[test]
fn a_list_by_order_and_by_index() {
    let outputs = run("list_output.pt", &outputs_of(&["same", "twice"]), x()).unwrap();
    assert_eq!((outputs[0].name.as_str(), values(&outputs[0])), ("same", vec![1.0, 2.0]));
    assert_eq!((outputs[1].name.as_str(), values(&outputs[1])), ("twice", vec![2.0, 4.0]));
    let outputs = run("list_output.pt", &outputs_of(&["output__1"]), x()).unwrap();
    assert_eq!(values(&outputs[0]), [2.0, 4.0]);
    let message = run_error("list_output.pt", &outputs_of(&["output__2"]), x());
    assert_contains(&message, &["model 'm': output 'output__2'", "number 2", "gave only 2"]);
}

#[test]
fn a_dictionary_by_name() {
    let outputs = run("dict_output.pt", &outputs_of(&["same", "twice"]), x()).unwrap();
    assert_eq!(values(&outputs[0]), [1.0, 2.0]);
    assert_eq!(values(&outputs[1]), [2.0, 4.0]);
    let message = run_error("dict_output.pt", &outputs_of(&["thrice"]), x());
    assert_contains(&message, &["output 'thrice'", "keys [twice, same]"]);
}

#[test]
fn what_is_no_tensor_is_refused_at_load() {
    assert_contains(
        &load_error("nested_output.pt", &outputs_of(&["a", "b"])),
        &["output 'b'", "List[Tensor]"],
    );
    assert_contains(&load_error("number_output.pt", &outputs_of(&["y"])), &["output 'y'", "float"]);
    assert_contains(
        &load_error(
            "add_sub.pt",
            &(outputs_of(&["s", "d", "z"]).replace("\"x\"", "\"a\"")
                + &tensor_line("input", "b", "TYPE_FP32", "2")),
        ),
        &["output 'z' would be number 2", "has only 2"],
    );
    assert_eq!(run("nested_output.pt", &outputs_of(&["a"]), x()).unwrap().len(), 1);
}

#[test]
fn another_data_type_than_configured() {
    let lines = tensor_line("input", "x", "TYPE_FP32", "2") + &tensor_line("output", "y", "TYPE_FP64", "2");
    assert_contains(
        &run_error("identity.pt", &lines, x()),
        &["model 'm': output 'y'", "expected FP64", "gave FP32"],
    );
    assert_contains(
        &run_error("complex_output.pt", &one_to_one("2"), x()),
        &["expected FP32", "gave ComplexFloat"],
    );
}

#[test]
fn another_shape_than_configured() {
    let lines =
        tensor_line("input", "x", "TYPE_FP32", "2") + &tensor_line("output", "y", "TYPE_FP32", "-1, 2");
    let message = run_error("identity.pt", &lines, x());
    assert_contains(&message, &["model 'm': output 'y'", "expected shape [-1,2]", "gave [2]"]);
    let lines = format!("max_batch_size: 8\n{}", one_to_one("2"));
    let two_rows = floats("x", &[2, 2], &[1.0, -1.0, 2.0, -2.0]);
    let message = run_error("positive.pt", &lines, vec![two_rows]);
    assert_contains(&message, &["expected shape [2,2]", "gave [2]", "batch"]);
}

#[test]
fn as_many_elements_as_the_model_likes() {
    let outputs =
        run("positive.pt", &one_to_one("-1"), vec![floats("x", &[4], &[-1.0, 3.0, 0.0, 7.0])]).unwrap();
    assert_eq!(outputs[0].shape, [2]);
    assert_eq!(values(&outputs[0]), [3.0, 7.0]);
    let outputs = run("positive.pt", &one_to_one("-1"), vec![floats("x", &[2], &[-1.0, -3.0])]).unwrap();
    assert_eq!((outputs[0].shape.as_slice(), outputs[0].data.len()), ([0].as_slice(), 0));
}

#[test]
fn an_output_that_does_not_lie_row_by_row() {
    let x = floats("x", &[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let lines = tensor_line("input", "x", "TYPE_FP32", "1, 2, 3")
        + &tensor_line("output", "y", "TYPE_FP32", "1, 3, 2");
    let outputs = run("transposed.pt", &lines, vec![x]).unwrap();
    assert_eq!(values(&outputs[0]), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn two_outputs_that_are_parts_of_one_tensor() {
    let lines = tensor_line("input", "x", "TYPE_FP32", "2, 4")
        + &tensor_line("output", "left", "TYPE_FP32", "2, 2")
        + &tensor_line("output", "right", "TYPE_FP32", "2, 2");
    let x = floats("x", &[2, 4], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let outputs = run("halves.pt", &lines, vec![x]).unwrap();
    assert_eq!(values(&outputs[0]), [1.0, 2.0, 5.0, 6.0]);
    assert_eq!(values(&outputs[1]), [3.0, 4.0, 7.0, 8.0]);
}

#[test]
fn an_output_goes_out_before_its_reshape() {
    let lines = "max_batch_size: 4\n".to_owned()
        + &tensor_line("input", "x", "TYPE_FP32", "-1, 3")
        + "output { name: \"y\" data_type: TYPE_FP32 dims: [ 3, 1, -1 ] reshape { shape: [ 3, -1 ] } }\n";
    let x = floats("x", &[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let outputs = run("transposed.pt", &lines, vec![x]).unwrap();
    assert_eq!(outputs[0].shape, [1, 3, 2]);
    assert_eq!(outputs[0].data_type, DataType::Fp32);
}
