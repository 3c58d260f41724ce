/// Why texts could not be made tensors.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The file is no tokenizer.json, or one of another time.
    #[error("the tokenizer cannot be read: {reason}; expected the tokenizer.json of a Hugging Face model")]
    Tokenizer {
        /// The parser's words.
        reason: String,
    },

    /// Texts would be cut so short that nothing of them is left.
    #[error(
        "parameter 'max_length' is {max_length}: expected more than the {special_tokens} special tokens of each row"
    )]
    TooShort {
        /// As asked for.
        max_length: usize,
        /// How many the tokenizer adds.
        special_tokens: usize,
    },

    /// Texts may be longer than any length to pad to.
    #[error(
        "parameter 'pad_to_buckets' ends at {largest}: expected a bucket for texts of max_length, {max_length}"
    )]
    Buckets {
        /// The longest bucket.
        largest: usize,
        /// As in the options or in the file.
        max_length: String,
    },

    /// The tokenizer's model has no token for a text, and none for what it does not know.
    #[error("text {index} cannot be tokenised: {reason}")]
    Text {
        /// Which one, counted from 0.
        index: usize,
        /// The tokenizer's words.
        reason: String,
    },
}
