//! Texts to tokens.

use tokenizers::{
    EncodeInput, PaddingDirection, PaddingStrategy, PostProcessor, TruncationParams,
    utils::padding::PaddingParams,
};

use crate::{Error, Options, Padding, batch::Batch};

/// What a tokenizer.json describes: normalisation, splitting, vocabulary, special tokens.
///
/// Gives the same tokens as the Python package `tokenizers`. Making one takes a while (tens of milliseconds for a
/// vocabulary of 30,000), so it belongs into a plugin's `configure`.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    padding: Padding,
    pad: Pad,
    add_special_tokens: bool,
}

/// What fills rows up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pad {
    pub token: i64,
    pub token_type: i64,
    /// Whether it comes before the text.
    pub left: bool,
}

impl Tokenizer {
    /// Reads a tokenizer.json.
    ///
    /// # Errors
    /// If it is none, or if the options ask for what cannot be.
    pub fn new(json: &[u8], options: &Options) -> Result<Self, Error> {
        let unreadable =
            |error: Box<dyn std::error::Error + Send + Sync>| Error::Tokenizer { reason: error.to_string() };
        let mut inner = tokenizers::Tokenizer::from_bytes(json).map_err(unreadable)?;
        let of_file = inner.get_padding().cloned();
        // Padding is ours: it goes straight into the tensors.
        inner.with_padding(None);
        if let Some(max_length) = options.max_length {
            let truncation = inner.get_truncation().cloned().unwrap_or_default();
            inner
                .with_truncation(Some(TruncationParams { max_length, ..truncation }))
                .map_err(|error| Error::Tokenizer { reason: error.to_string() })?;
        }
        check_room(&inner, options.add_special_tokens, false)?;
        let max_length = inner.get_truncation().map(|truncation| truncation.max_length);
        let padding = options.padding.clone().unwrap_or_else(|| padding_of(of_file.as_ref()));
        if let Padding::Buckets(lengths) = &padding {
            let largest = lengths.iter().copied().max().unwrap_or(0);
            if max_length.is_none_or(|max_length| max_length > largest) {
                let max_length =
                    max_length.map_or("which is not set".to_owned(), |length| length.to_string());
                return Err(Error::Buckets { largest, max_length });
            }
        }
        let pad = of_file.unwrap_or_else(|| guessed_padding(&inner));
        let pad = Pad {
            token: pad.pad_id.into(),
            token_type: pad.pad_type_id.into(),
            left: matches!(pad.direction, PaddingDirection::Left),
        };
        Ok(Self { inner, padding, pad, add_special_tokens: options.add_special_tokens })
    }

    /// Tokenises each text.
    ///
    /// # Errors
    /// For a text that the vocabulary has no token for; most have a token for that.
    pub fn encode(&self, texts: &[&str]) -> Result<Batch, Error> {
        self.encode_each(texts.iter().map(|&text| text.into()))
    }

    /// Tokenises each pair of texts (question and answer, say) as one row.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; and if max_length leaves no room for text beside a pair's special tokens.
    pub fn encode_pairs(&self, pairs: &[(&str, &str)]) -> Result<Batch, Error> {
        check_room(&self.inner, self.add_special_tokens, true)?;
        self.encode_each(pairs.iter().map(|&(first, second)| (first, second).into()))
    }

    fn encode_each<'a>(&self, inputs: impl Iterator<Item = EncodeInput<'a>>) -> Result<Batch, Error> {
        let encode = |(index, input)| {
            self.inner
                .encode_fast::<EncodeInput<'a>>(input, self.add_special_tokens)
                .map_err(|error| Error::Text { index, reason: error.to_string() })
        };
        let rows = inputs.enumerate().map(encode).collect::<Result<Vec<_>, _>>()?;
        let longest = rows.iter().map(tokenizers::Encoding::len).max().unwrap_or(0);
        Ok(Batch::new(rows, self.padding.length(longest), self.pad))
    }
}

/// Refuses to cut texts to less than their special tokens.
fn check_room(
    tokenizer: &tokenizers::Tokenizer,
    add_special_tokens: bool,
    is_pair: bool,
) -> Result<(), Error> {
    let special_tokens = match tokenizer.get_post_processor() {
        Some(processor) if add_special_tokens => processor.added_tokens(is_pair),
        _ => 0,
    };
    match tokenizer.get_truncation() {
        Some(truncation) if truncation.max_length <= special_tokens => {
            Err(Error::TooShort { max_length: truncation.max_length, special_tokens })
        }
        _ => Ok(()),
    }
}

/// Padding as the file has it.
fn padding_of(file: Option<&PaddingParams>) -> Padding {
    let Some(padding) = file else { return Padding::Longest { multiple_of: 1 } };
    let multiple_of = padding.pad_to_multiple_of.unwrap_or(1).max(1);
    match padding.strategy {
        PaddingStrategy::BatchLongest => Padding::Longest { multiple_of },
        PaddingStrategy::Fixed(length) => Padding::Fixed(length.next_multiple_of(multiple_of)),
    }
}

/// For a file that says nothing of padding: the token that is usually called so.
fn guessed_padding(tokenizer: &tokenizers::Tokenizer) -> PaddingParams {
    let known = ["[PAD]", "<pad>", "<|endoftext|>", "</s>"];
    let found = known.iter().find_map(|name| tokenizer.token_to_id(name));
    PaddingParams { pad_id: found.unwrap_or(0), ..PaddingParams::default() }
}
