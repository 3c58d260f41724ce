//! Each tokenizer of golden.txt gives what Python's `tokenizers` gives.
#![allow(missing_docs)]

mod common;

use common::all;
use nacre_text::{Error, Options, Padding, Tokenizer};

fn word_piece(options: &Options) -> Result<Tokenizer, Error> {
    Tokenizer::new(all()[0].tokenizer.as_bytes(), options)
}

#[test]
fn every_text_becomes_the_tokens_of_the_reference() {
    for golden in all() {
        for case in golden.cases {
            let tokenizer = Tokenizer::new(golden.tokenizer.as_bytes(), &case.options).unwrap();
            let tensors = case.texts.encode(&tokenizer);
            assert_eq!(tensors, case.tensors, "{} {:?} {:?}", golden.name, case.options, case.texts);
        }
    }
}

#[test]
fn no_texts_are_a_tensor_without_rows() {
    let tokenizer = word_piece(&Options::default()).unwrap();
    assert_eq!(tokenizer.encode(&[]).unwrap().shape(), [0, 0]);
}

#[test]
fn a_text_without_any_token_is_an_empty_row() {
    let tokenizer = word_piece(&Options { add_special_tokens: false, ..Options::default() }).unwrap();
    let batch = tokenizer.encode(&["", " "]).unwrap();
    assert_eq!(batch.shape(), [2, 0]);
    batch.write_input_ids(&mut []);
}

#[test]
fn what_is_no_tokenizer_is_refused() {
    for json in ["", "{}", "[1]", "{\"version\":\"9.0\"}", "<html>"] {
        let error = Tokenizer::new(json.as_bytes(), &Options::default()).err().unwrap().to_string();
        assert!(error.starts_with("the tokenizer cannot be read: "), "{error}");
        assert!(error.ends_with("expected the tokenizer.json of a Hugging Face model"), "{error}");
    }
}

#[test]
fn a_length_that_leaves_no_room_for_text_is_refused() {
    let error = word_piece(&Options { max_length: Some(2), ..Options::default() }).err().unwrap();
    assert_eq!(error, Error::TooShort { max_length: 2, special_tokens: 2 });
    let three = word_piece(&Options { max_length: Some(3), ..Options::default() }).unwrap();
    let error = three.encode_pairs(&[("a", "b")]).err().unwrap();
    assert_eq!(error, Error::TooShort { max_length: 3, special_tokens: 3 });
    let bare = Options { max_length: Some(2), add_special_tokens: false, ..Options::default() };
    assert!(word_piece(&bare).is_ok());
}

#[test]
fn buckets_that_a_text_could_outgrow_are_refused() {
    let padding = Some(Padding::Buckets(vec![16, 8]));
    let options = Options { max_length: Some(17), padding: padding.clone(), ..Options::default() };
    let error = word_piece(&options).err().unwrap().to_string();
    assert_eq!(error, "parameter 'pad_to_buckets' ends at 16: expected a bucket for texts of max_length, 17");
    let golden = all().into_iter().find(|golden| golden.name == "byte_level").unwrap();
    let unlimited = Options { padding, ..Options::default() };
    assert!(Tokenizer::new(golden.tokenizer.as_bytes(), &unlimited).is_err());
}
