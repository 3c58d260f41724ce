//! Whatever the text, rows are well formed, and a text's tokens do not depend on the texts beside it.
#![allow(missing_docs)]

mod common;

use std::sync::LazyLock;

use common::{Tensors, encode};
use nacre_text::{Options, Padding, Tokenizer};
use proptest::{collection::vec, prelude::*};

const MAX_LENGTH: usize = 24;
const MULTIPLE: usize = 8;

/// One of each kind.
static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let padding = Some(Padding::Longest { multiple_of: MULTIPLE });
    let options = Options { max_length: Some(MAX_LENGTH), padding, ..Options::default() };
    let read = |golden: common::Golden| Tokenizer::new(golden.tokenizer.as_bytes(), &options).unwrap();
    common::all().into_iter().map(read).collect()
});

/// Any text at all, and what tokenizers have their rules for.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[a-z' ]{0,12}",
        "(\\[MASK\\]|<mask>|</s>|▁|##| |\\x00|\u{ad}|\u{301}|\u{200d}|🇩🇪|İ|ß|ﬁ|東){0,6}",
    ];
    vec(part, 0..5).prop_map(|parts| parts.concat())
}

/// The tokens of a row, without padding; which must be all before or all behind them.
fn unpadded(tensors: &Tensors, row: usize) -> Result<Vec<(i64, i64)>, TestCaseError> {
    let mask = &tensors.attention_mask[row];
    prop_assert!(mask.iter().all(|&value| value == 0 || value == 1));
    prop_assert!(mask.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 1, "{mask:?}");
    let tokens = tensors.input_ids[row].iter().zip(&tensors.token_type_ids[row]).zip(mask);
    Ok(tokens.filter(|(_, mask)| **mask == 1).map(|((&id, &kind), _)| (id, kind)).collect())
}

proptest! {
    #[test]
    fn rows_are_well_formed_and_independent(texts in vec(text(), 1..5)) {
        for tokenizer in TOKENIZERS.iter() {
            let together = encode(tokenizer, &texts);
            let length = together.input_ids[0].len();
            prop_assert_eq!(length % MULTIPLE, 0);
            prop_assert!(length <= MAX_LENGTH);
            for (row, text) in texts.iter().enumerate() {
                let tokens = unpadded(&together, row)?;
                prop_assert_eq!(&tokens, &unpadded(&encode(tokenizer, &[text]), 0)?);
                prop_assert!(tokens.iter().all(|&(id, kind)| (0..1000).contains(&id) && kind == 0));
            }
            // As short as the longest allows.
            let longest = (0..texts.len()).map(|row| together.attention_mask[row].iter().sum::<i64>()).max();
            prop_assert!(longest.unwrap() > length as i64 - MULTIPLE as i64);
        }
    }
}
