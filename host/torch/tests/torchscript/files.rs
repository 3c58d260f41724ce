//! Files that are no TorchScript model: each is told what it is and what to do.

use crate::common::*;

fn reason(file: &str) -> String {
    let message = load_error(file, &one_to_one("-1"));
    assert_contains(&message, &["model 'm' version 1: ", file]);
    assert!(message.len() < 500, "too long for a sentence: {message}");
    message
}

#[test]
fn a_missing_file() {
    assert_contains(&reason("no_such_file.pt"), &["cannot be read", "No such file"]);
}

#[test]
fn an_empty_file() {
    assert_contains(&reason("empty.pt"), &["is empty"]);
}

#[test]
fn a_text_file() {
    assert_contains(&reason("text.pt"), &["is a text file", "torch.jit.trace"]);
}

#[test]
fn a_file_that_was_cut_off() {
    assert_contains(&reason("cut_off.pt"), &["is cut off or damaged"]);
}

#[test]
fn weights_in_the_new_and_in_the_old_format() {
    assert_contains(&reason("state_dict.pt"), &["state_dict", "torch.jit.trace", ".save()"]);
    assert_contains(&reason("old_pickle.pt"), &["is a Python pickle", "torch.jit.trace"]);
}

#[test]
fn a_pickled_module() {
    assert_contains(&reason("pickled_module.pt"), &["pickled module", "torch.jit.trace"]);
}

#[test]
fn a_program_of_torch_export() {
    assert_contains(&reason("exported.pt2"), &["torch.export (.pt2)", "torch.jit.trace"]);
}

#[test]
fn a_zip_archive_of_something_else() {
    assert_contains(&reason("plain_zip.pt"), &["zip archive", "torch.jit.trace"]);
}

#[test]
fn a_model_that_was_saved_after_optimising() {
    assert_contains(
        &reason("optimized_then_saved.pt"),
        &["optimize_for_inference", "save the model before that"],
    );
}

#[test]
fn a_module_without_forward() {
    assert_contains(&load_error("no_forward.pt", &one_to_one("-1")), &["no method 'forward'"]);
}
