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

#[cfg(test)]
mod tests {
    use super::*;

    fn options(parameters: &[(&str, &str)]) -> Result<Options, Error> {
        Options::from_settings(&Settings {
            model: "m".to_owned(),
            version: "1".to_owned(),
            max_batch_size: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            parameters: parameters.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        })
    }

    #[test]
    fn without_parameters_the_file_decides() {
        assert_eq!(options(&[]).unwrap(), Options::default());
    }

    #[test]
    fn parameters_decide_over_the_file() {
        let read =
            options(&[("max_length", "30"), ("padding", "max_length"), ("pad_to_multiple_of", "8")]).unwrap();
        assert_eq!((read.max_length, read.padding), (Some(30), Some(Padding::Fixed(32))));
        let read = options(&[("pad_to_multiple_of", "8"), ("add_special_tokens", "false")]).unwrap();
        assert_eq!(
            (read.padding, read.add_special_tokens),
            (Some(Padding::Longest { multiple_of: 8 }), false)
        );
        let read = options(&[("padding", "longest")]).unwrap();
        assert_eq!(read.padding, Some(Padding::Longest { multiple_of: 1 }));
        let read = options(&[("pad_to_buckets", "16, 64")]).unwrap();
        assert_eq!(read.padding, Some(Padding::Buckets(vec![16, 64])));
    }

    #[test]
    fn parameters_that_contradict_each_other_are_refused() {
        for (parameters, words) in [
            (&[("padding", "max_length")][..], "'max_length' is not set"),
            (&[("pad_to_buckets", "8"), ("padding", "longest")], "must not be set beside it"),
            (&[("pad_to_buckets", "8,0")], "'pad_to_buckets' has 0: expected lengths from 1"),
            (&[("max_length", "0")], "'max_length' is 0: expected a whole number, 1 to 1048576"),
            (&[("padding", "none")], "expected one of 'longest', 'max_length'"),
        ] {
            let error = options(parameters).unwrap_err();
            assert!(error.message.contains(words), "{}", error.message);
        }
    }
}
