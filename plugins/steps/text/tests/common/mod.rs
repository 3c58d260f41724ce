//! golden.txt, read.
#![allow(missing_docs, dead_code)]

use nacre_text::{Batch, Options, Padding, Tokenizer};
use serde_json::Value;

pub struct Golden {
    pub name: &'static str,
    pub tokenizer: &'static str,
    pub cases: Vec<Case>,
}

pub struct Case {
    pub texts: Texts,
    pub options: Options,
    pub tensors: Tensors,
}

#[derive(Debug)]
pub enum Texts {
    Single(Vec<String>),
    Pairs(Vec<(String, String)>),
}

impl Texts {
    pub fn encode(&self, tokenizer: &Tokenizer) -> Tensors {
        match self {
            Self::Single(texts) => encode(tokenizer, texts),
            Self::Pairs(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(first, second)| (&first[..], &second[..])).collect();
                Tensors::of(&tokenizer.encode_pairs(&pairs).unwrap())
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Tensors {
    pub input_ids: Vec<Vec<i64>>,
    pub attention_mask: Vec<Vec<i64>>,
    pub token_type_ids: Vec<Vec<i64>>,
}

impl Tensors {
    pub fn of(batch: &Batch) -> Self {
        let [rows, length] = batch.shape().map(|size| size as usize);
        let tensor = |write: fn(&Batch, &mut [i64])| {
            let mut values = vec![-7; rows * length];
            write(batch, &mut values);
            values.chunks(length.max(1)).map(<[i64]>::to_vec).collect()
        };
        Self {
            input_ids: tensor(Batch::write_input_ids),
            attention_mask: tensor(Batch::write_attention_mask),
            token_type_ids: tensor(Batch::write_token_type_ids),
        }
    }
}

pub fn encode(tokenizer: &Tokenizer, texts: &[impl AsRef<str>]) -> Tensors {
    let texts: Vec<_> = texts.iter().map(AsRef::as_ref).collect();
    Tensors::of(&tokenizer.encode(&texts).unwrap())
}

pub fn all() -> Vec<Golden> {
    let mut all: Vec<Golden> = Vec::new();
    for line in include_str!("../golden.txt").lines() {
        match line.strip_prefix(' ') {
            Some(case) => all.last_mut().unwrap().cases.push(read(case)),
            None => {
                let (name, tokenizer) = line.strip_prefix("tokenizer ").unwrap().split_once(' ').unwrap();
                all.push(Golden { name, tokenizer, cases: Vec::new() });
            }
        }
    }
    assert!(all.len() == 5 && all.iter().all(|golden| golden.cases.len() > 20));
    all
}

fn read(line: &str) -> Case {
    let case: Value = serde_json::from_str(line).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let size = |value: &Value| value.as_u64().unwrap() as usize;
    let digits =
        |value: &Value| value.as_str().unwrap().bytes().map(|digit| i64::from(digit - b'0')).collect();
    let options = &case["options"];
    let padding =
        options.get("padding").map(|padding| match padding.as_object().unwrap().iter().next().unwrap() {
            (kind, multiple_of) if kind == "longest" => Padding::Longest { multiple_of: size(multiple_of) },
            (kind, length) if kind == "fixed" => Padding::Fixed(size(length)),
            (_, lengths) => Padding::Buckets(list(lengths).iter().map(size).collect()),
        });
    Case {
        texts: match list(&case["texts"]) {
            pairs if pairs[0].is_array() => {
                Texts::Pairs(pairs.iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect())
            }
            texts => Texts::Single(texts.iter().map(text).collect()),
        },
        options: Options {
            max_length: options.get("max_length").map(size),
            padding,
            add_special_tokens: options
                .get("add_special_tokens")
                .is_none_or(|value| value.as_bool().unwrap()),
        },
        tensors: Tensors {
            input_ids: list(&case["input_ids"])
                .iter()
                .map(|row| list(row).iter().map(|id| id.as_i64().unwrap()).collect())
                .collect(),
            attention_mask: list(&case["attention_mask"]).iter().map(digits).collect(),
            token_type_ids: list(&case["token_type_ids"]).iter().map(digits).collect(),
        },
    }
}
