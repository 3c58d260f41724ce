//! Tokenises texts as the tokenizer.json of a model says, and pads them to rows of one length.
//!
//! - input `text`: BYTES [-1], UTF-8
//! - input `text_pair`, where config.pbtxt names it: BYTES [-1], as many. Each is put behind its text in one row, as models
//!   take them that compare two texts
//! - outputs `input_ids`, `attention_mask`, `token_type_ids`: INT64 [-1, -1], a row a text
//!
//! Parameters, all of them optional, with their defaults: `tokenizer` tokenizer.json (a file in the model's folder),
//! `max_length` and `padding` (longest or max_length) as in that file, `pad_to_multiple_of` 1, `pad_to_buckets` none,
//! `add_special_tokens` true.

use nacre_plugin::{DataType, Description, Error, Plugin, Request, Response, Settings, Tensor, TensorSpec};
use nacre_text::{Options, PARAMETERS, Tokenizer};

/// The second text of a pair.
const PAIR: &str = "text_pair";

struct Tokenize {
    tokenizer: Tokenizer,
}

impl Plugin for Tokenize {
    fn describe(settings: &Settings) -> Result<Description, Error> {
        Options::from_settings(settings)?;
        let tokens = |name| TensorSpec::new(name, DataType::Int64, &[-1, -1]);
        let mut inputs = vec![TensorSpec::new("text", DataType::Bytes, &[-1])];
        // Optional if config.pbtxt says so.
        inputs.extend(settings.input(PAIR).map(|spec| TensorSpec {
            optional: spec.optional,
            ..TensorSpec::new(PAIR, DataType::Bytes, &[-1])
        }));
        Ok(Description {
            summary: "tokenises texts as a Hugging Face tokenizer.json says".to_owned(),
            inputs,
            outputs: vec![tokens("input_ids"), tokens("attention_mask"), tokens("token_type_ids")],
        })
    }

    fn configure(settings: &Settings) -> Result<Self, Error> {
        settings.warn_unknown(PARAMETERS);
        Ok(Self { tokenizer: Tokenizer::from_settings(settings)? })
    }

    fn process(&mut self, request: Request) -> Result<Response, Error> {
        let texts = request.input("text")?.strings()?;
        if texts.is_empty() {
            return Err(Error::invalid_argument("input 'text' has no elements: expected at least one text"));
        }
        let batch = match request.optional_input(PAIR) {
            None => self.tokenizer.encode(&texts)?,
            Some(pair) => {
                let seconds = pair.strings()?;
                if seconds.len() != texts.len() {
                    return Err(Error::invalid_argument(format!(
                        "input '{PAIR}' has {} elements and 'text' {}: expected as many",
                        seconds.len(),
                        texts.len()
                    )));
                }
                self.tokenizer.encode_pairs(&texts.into_iter().zip(seconds).collect::<Vec<_>>())?
            }
        };
        let tensor = |name: &str, write: fn(&nacre_text::Batch, &mut [i64])| {
            Tensor::build(name, &batch.shape(), |values| {
                write(&batch, values);
                Ok(())
            })
        };
        // A model may have no use for one of them.
        let mut outputs = vec![tensor("input_ids", nacre_text::Batch::write_input_ids)?];
        if request.wants("attention_mask") {
            outputs.push(tensor("attention_mask", nacre_text::Batch::write_attention_mask)?);
        }
        if request.wants("token_type_ids") {
            outputs.push(tensor("token_type_ids", nacre_text::Batch::write_token_type_ids)?);
        }
        Ok(Response::new(outputs))
    }
}

nacre_plugin::export!(Tokenize);
