//! What to do with texts besides what their tokenizer.json says.

/// How long the rows of a tensor become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Padding {
    /// As long as the longest text, rounded up to a multiple. Few lengths let requests of several clients run in one
    /// batch of the model behind.
    Longest {
        /// 1 rounds nothing; nor does 0.
        multiple_of: usize,
    },
    /// Always this long, or as long as the longest text if that is more.
    Fixed(usize),
    /// The shortest of these lengths that fits the longest text. In any order; the longest must be max_length at least.
    Buckets(Vec<usize>),
}

/// Everything that can be chosen. The default is what tokenizer.json says, special tokens added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Most tokens of a text, special ones included; what is beyond is cut off. By default as in the file, where no limit
    /// is a possibility.
    pub max_length: Option<usize>,
    /// By default as in the file; if it says nothing, to the longest.
    pub padding: Option<Padding>,
    /// Whether tokens such as `[CLS]` and `[SEP]` are put around each text.
    pub add_special_tokens: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_length: None, padding: None, add_special_tokens: true }
    }
}

impl Padding {
    /// How long rows become, the longest text being of `longest` tokens.
    pub(crate) fn length(&self, longest: usize) -> usize {
        match self {
            Self::Longest { multiple_of } => longest.next_multiple_of((*multiple_of).max(1)),
            Self::Fixed(length) => longest.max(*length),
            Self::Buckets(lengths) => {
                let fitting = lengths.iter().copied().filter(|&length| length >= longest);
                fitting.min().unwrap_or(longest)
            }
        }
    }
}
