//! How the inputs of a configuration find their arguments.

use nacre_domain::DataType;

use crate::common::*;

/// Lines for inputs of the given names and outputs `sum`, `difference`.
fn add_sub(first: &str, second: &str) -> String {
    ["sum", "difference"].iter().fold(
        tensor_line("input", first, "TYPE_FP32", "2") + &tensor_line("input", second, "TYPE_FP32", "2"),
        |lines, name| lines + &tensor_line("output", name, "TYPE_FP32", "2"),
    )
}

/// The difference of what goes in as `first` and as `second`: it tells which was taken for which.
fn difference(lines: &str, first: &str, second: &str) -> f32 {
    let inputs = vec![floats(first, &[2], &[5.0, 5.0]), floats(second, &[2], &[3.0, 3.0])];
    let outputs = run("add_sub.pt", lines, inputs).unwrap();
    assert_eq!(outputs[0].name, "sum");
    assert_eq!(values(&outputs[0]), [8.0, 8.0]);
    values(&outputs[1])[0]
}

#[test]
fn by_argument_name_whatever_the_order() {
    assert_eq!(difference(&add_sub("b", "a"), "a", "b"), 2.0);
}

#[test]
fn by_index_at_the_end_of_the_name() {
    assert_eq!(difference(&add_sub("right__1", "left__0"), "left__0", "right__1"), 2.0);
    assert_eq!(difference(&add_sub("x__1", "a"), "a", "x__1"), 2.0);
}

#[test]
fn by_order_in_the_configuration_and_not_in_the_request() {
    assert_eq!(difference(&add_sub("left", "right"), "left", "right"), 2.0);
    assert_eq!(difference(&add_sub("left", "right"), "right", "left"), -2.0);
}

#[test]
fn a_name_that_fits_nothing_beside_one_that_does() {
    let message = load_error("add_sub.pt", &add_sub("a", "c"));
    assert_contains(&message, &["input 'c' is no argument", "forward(a: Tensor, b: Tensor)"]);
}

#[test]
fn two_names_for_one_argument() {
    let message = load_error("add_sub.pt", &add_sub("a", "x__0"));
    assert_contains(&message, &["inputs 'a' and 'x__0' are both number 0"]);
}

#[test]
fn more_and_fewer_inputs_than_arguments() {
    let message = load_error("identity.pt", &add_sub("p", "q"));
    assert_contains(&message, &["input 'q' would be number 1", "has only 1"]);
    let lines = tensor_line("input", "a", "TYPE_FP32", "2") + &tensor_line("output", "y", "TYPE_FP32", "2");
    assert_contains(&load_error("add_sub.pt", &lines), &["no input for the model's argument 'b: Tensor'"]);
}

#[test]
fn many_inputs() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let lines =
        names.iter().rev().fold(String::new(), |l, name| l + &tensor_line("input", name, "TYPE_FP32", "1"));
    let lines = lines + &tensor_line("output", "y", "TYPE_FP32", "1, 9");
    let inputs = names.iter().zip(1_u8..).map(|(name, n)| floats(name, &[1], &[f32::from(n)])).collect();
    let outputs = run("many_arguments.pt", &lines, inputs).unwrap();
    assert_eq!(values(&outputs[0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
}

#[test]
fn an_optional_input_may_be_left_out() {
    let lines =
        one_to_one("-1") + "input { name: \"scale\" data_type: TYPE_FP32 dims: [ 1 ] optional: true }";
    let x = || floats("x", &[2], &[1.0, 2.0]);
    assert_eq!(values(&run("optional_scale.pt", &lines, vec![x()]).unwrap()[0]), [2.0, 3.0]);
    let scaled = run("optional_scale.pt", &lines, vec![floats("scale", &[1], &[10.0]), x()]).unwrap();
    assert_eq!(values(&scaled[0]), [11.0, 21.0]);
    let message = run_error("optional_scale.pt", &lines, vec![floats("scale", &[1], &[10.0])]);
    assert_contains(&message, &["model 'm': input 'x' is missing"]);
    let message = load_error("identity.pt", &(one_to_one("-1").replacen("dims", "optional: true dims", 1)));
    assert_contains(&message, &["input 'x' is optional", "has no default"]);
}

#[test]
fn a_dictionary_and_a_list_of_tensors_in_place_of_arguments() {
    let output = tensor_line("output", "y", "TYPE_FP32", "1");
    let lines = |first: &str, second: &str| {
        tensor_line("input", first, "TYPE_FP32", "1")
            + &tensor_line("input", second, "TYPE_FP32", "1")
            + &output
    };
    let inputs = |first: &str, second: &str| vec![floats(first, &[1], &[9.0]), floats(second, &[1], &[4.0])];
    let outputs = run("dict_input.pt", &lines("right", "left"), inputs("left", "right")).unwrap();
    assert_eq!(values(&outputs[0]), [5.0]);
    let outputs = run("list_input.pt", &lines("f__1", "f__0"), inputs("f__0", "f__1")).unwrap();
    assert_eq!(values(&outputs[0]), [5.0]);
}

#[test]
fn an_argument_that_no_tensor_can_be() {
    let lines = one_to_one("1") + &tensor_line("input", "n", "TYPE_INT64", "1");
    assert_contains(
        &load_error("number_argument.pt", &lines),
        &["input 'n' is TYPE_INT64", "belongs to int"],
    );
    assert_contains(&load_error("number_argument.pt", &one_to_one("1")), &["no input for", "'n: int'"]);
}

#[test]
fn unsigned_types_that_torchscript_does_not_have() {
    for (data_type, instead) in [("UINT16", "INT32"), ("UINT32", "INT64"), ("UINT64", "INT64")] {
        let lines = |input: &str, output: &str| {
            tensor_line("input", "x", input, "1") + &tensor_line("output", "y", output, "1")
        };
        let name = format!("TYPE_{data_type}");
        let message = load_error("identity.pt", &lines(&name, "TYPE_FP32"));
        assert_contains(&message, &["input 'x'", &name, &format!("use TYPE_{instead}")]);
        assert_contains(&load_error("identity.pt", &lines("TYPE_FP32", &name)), &["output 'y'", &name]);
    }
}

#[test]
fn an_input_comes_reshaped_already() {
    let lines = "max_batch_size: 4\n".to_owned()
        + "input { name: \"x\" data_type: TYPE_FP32 dims: [ 6 ] reshape { shape: [ 2, 3 ] } }\n"
        + &tensor_line("output", "y", "TYPE_FP32", "3, 2");
    let x = floats("x", &[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let outputs = run("transposed.pt", &lines, vec![x]).unwrap();
    assert_eq!(outputs[0].shape, [1, 3, 2]);
    assert_eq!(values(&outputs[0]), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn what_the_configuration_leaves_out() {
    let message = load_error("add_sub.pt", "");
    assert_contains(
        &message,
        &["does not name inputs and outputs", "forward(a: Tensor, b: Tensor)", "name: \"a\""],
    );
    let message = load_error("add_sub.pt", &tensor_line("output", "sum", "TYPE_FP32", "2"));
    assert_contains(&message, &["does not name inputs,", "name: \"b\""]);
    let model = load("echo_strings.pt", "").unwrap();
    assert_eq!(model.config.inputs[0].spec.name, "text");
    assert_eq!(model.config.inputs[0].spec.data_type, DataType::Bytes);
    assert_eq!(model.config.outputs[0].spec.name, "output__0");
}

#[test]
fn a_request_that_does_not_fit_is_refused_and_not_read() {
    let mut short = floats("x", &[4], &[1.0]);
    assert_contains(
        &run_error("identity.pt", &one_to_one("-1"), vec![short.clone()]),
        &["takes 16 bytes, got 4"],
    );
    short.name = "z".to_owned();
    assert_contains(&run_error("identity.pt", &one_to_one("-1"), vec![short]), &["input 'z'"]);
    let other = tensor("x", DataType::Fp64, &[1], vec![0; 8]);
    assert_contains(&run_error("identity.pt", &one_to_one("-1"), vec![other]), &["expected FP32, got FP64"]);
    let lines = tensor_line("input", "x", "TYPE_BOOL", "1") + &tensor_line("output", "y", "TYPE_BOOL", "1");
    let odd = tensor("x", DataType::Bool, &[1], vec![2]);
    assert_contains(&run_error("identity.pt", &lines, vec![odd]), &["BOOL is neither 0 nor 1"]);
}
