//! The options as parameters of a plugin.

use nacre_plugin::{Error, Settings, files};

use crate::{Options, Padding, Tokenizer};

/// More tokens than any model takes; a number beyond is a mistake.
const MOST_TOKENS: usize = 1 << 20;

/// The parameters that [`Tokenizer::from_settings`] reads.
pub const PARAMETERS: &[&str] =
    &["tokenizer", "max_length", "padding", "pad_to_multiple_of", "pad_to_buckets", "add_special_tokens"];

#[derive(Clone, Copy, PartialEq)]
enum To {
    Longest,
    MaxLength,
}

impl Tokenizer {
    /// Reads the file that the parameter `tokenizer` names, tokenizer.json by default.
    ///
    /// # Errors
    /// `not-found` if it is not in the model's folder; `invalid-argument` naming the parameter, what it is and what it
    /// may be.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let options = Options::from_settings(settings)?;
        let path = settings.get("tokenizer").unwrap_or("tokenizer.json");
        Self::new(&files::read(path)?, &options)
            .map_err(|error| Error::invalid_argument(format!("{path}: {error}")))
    }
}

impl Options {
    /// Reads config.pbtxt's `parameters`.
    ///
    /// # Errors
    /// `invalid-argument`, naming the parameter, what it is and what it may be.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let max_length = length(settings, "max_length")?;
        let to = settings.choose("padding", &[("longest", To::Longest), ("max_length", To::MaxLength)])?;
        let multiple_of = length(settings, "pad_to_multiple_of")?;
        let buckets = settings.parse_list("pad_to_buckets")?;
        if let Some(buckets) = buckets {
            if to.is_some() || multiple_of.is_some() {
                return Err(Error::invalid_argument(
                    "parameter 'pad_to_buckets' decides how texts are padded: 'padding' and 'pad_to_multiple_of' must not \
                     be set beside it",
                ));
            }
            if let Some(wrong) = buckets.iter().find(|&&bucket| bucket == 0 || bucket > MOST_TOKENS) {
                return Err(Error::invalid_argument(format!(
                    "parameter 'pad_to_buckets' has {wrong}: expected lengths from 1 to {MOST_TOKENS}"
                )));
            }
            return Self { max_length, padding: Some(Padding::Buckets(buckets)), ..Self::default() }
                .finish(settings);
        }
        let padding = match (to, max_length) {
            (Some(To::MaxLength), None) => {
                return Err(Error::invalid_argument(
                    "parameter 'padding' is 'max_length', but 'max_length' is not set: expected it, or 'longest'",
                ));
            }
            (Some(To::MaxLength), Some(length)) => {
                Some(Padding::Fixed(length.next_multiple_of(multiple_of.unwrap_or(1))))
            }
            (Some(To::Longest), _) => Some(Padding::Longest { multiple_of: multiple_of.unwrap_or(1) }),
            (None, _) => multiple_of.map(|multiple_of| Padding::Longest { multiple_of }),
        };
        Self { max_length, padding, ..Self::default() }.finish(settings)
    }

    fn finish(self, settings: &Settings) -> Result<Self, Error> {
        Ok(Self { add_special_tokens: settings.parse("add_special_tokens")?.unwrap_or(true), ..self })
    }
}

fn length(settings: &Settings, name: &str) -> Result<Option<usize>, Error> {
    let length = settings.parse(name)?;
    match length {
        Some(length) if length == 0 || length > MOST_TOKENS => Err(Error::invalid_argument(format!(
            "parameter '{name}' is {length}: expected a whole number, 1 to {MOST_TOKENS}"
        ))),
        _ => Ok(length),
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::invalid_argument(error.to_string())
    }
}
