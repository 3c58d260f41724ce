//! config.pbtxt's `parameters`, parsed. Each error names the parameter, what it was and what it may be.

use std::{any::type_name, str::FromStr};

use crate::{Error, Settings, TensorSpec, log};

impl Settings {
    /// The input of that name as config.pbtxt has it; `None` if it leaves its inputs to `describe`, or has no such one.
    pub fn input(&self, name: &str) -> Option<&TensorSpec> {
        self.inputs.iter().find(|spec| spec.name == name)
    }

    /// The output of that name as config.pbtxt has it; `None` if it leaves its outputs to `describe`, or has no such
    /// one. So sizes need not be said a second time as parameters.
    pub fn output(&self, name: &str) -> Option<&TensorSpec> {
        self.outputs.iter().find(|spec| spec.name == name)
    }

    /// The text of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A parameter as a number, `bool` or anything else that text can be parsed to; `None` if it is not set.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error> {
        self.get(name).map(|text| parse_one(name, text)).transpose()
    }

    /// A parameter that must be set.
    pub fn require<T: FromStr>(&self, name: &str) -> Result<T, Error> {
        self.parse(name)?.ok_or_else(|| {
            Error::invalid_argument(format!(
                "parameter '{name}' is missing: add parameters {{ key: \"{name}\" value {{ string_value: \"…\" }} }} \
                 to config.pbtxt"
            ))
        })
    }

    /// A parameter of several values with commas between them, such as `"0.5, 0.25, 1"`.
    pub fn parse_list<T: FromStr>(&self, name: &str) -> Result<Option<Vec<T>>, Error> {
        let parse = |text: &str| text.split(',').map(|item| parse_one(name, item)).collect();
        self.get(name).map(parse).transpose()
    }

    /// A parameter that is one of a few words.
    pub fn choose<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Error> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim())) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let words: Vec<_> = choices.iter().map(|(word, _)| format!("'{word}'")).collect();
                Err(Error::invalid_argument(format!(
                    "parameter '{name}' is '{text}': expected one of {}",
                    words.join(", ")
                )))
            }
        }
    }

    /// Logs a warning for each parameter that is not in `known`: a word spelt wrong would otherwise go unnoticed. Names
    /// that start with `NACRE_` are the server's.
    pub fn warn_unknown(&self, known: &[&str]) {
        let unknown = |name: &str| !known.contains(&name) && !name.starts_with("NACRE_");
        for (name, _) in self.parameters.iter().filter(|(name, _)| unknown(name)) {
            log::write(
                log::Level::Warn,
                "parameter has no effect",
                &[("parameter", name), ("known", &known.join(", "))],
            );
        }
    }
}

fn parse_one<T: FromStr>(name: &str, text: &str) -> Result<T, Error> {
    text.trim().parse().map_err(|_| {
        Error::invalid_argument(format!(
            "parameter '{name}' is '{text}': expected {}",
            kind(type_name::<T>())
        ))
    })
}

/// A type's name in words.
fn kind(type_name: &str) -> &str {
    match type_name {
        "u8" => "a whole number, 0 to 255",
        "u16" => "a whole number, 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "bool" => "true or false",
        other => other.rsplit("::").next().unwrap_or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(parameters: &[(&str, &str)]) -> Settings {
        Settings {
            model: "m".to_owned(),
            version: "1".to_owned(),
            max_batch_size: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            parameters: parameters.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        }
    }

    #[test]
    fn sizes_are_read_off_the_outputs_of_the_configuration() {
        let outputs = vec![TensorSpec::new("y", crate::DataType::Fp32, &[3, -1])];
        let settings = Settings { outputs, ..settings(&[]) };
        let y = settings.output("y").unwrap();
        assert_eq!((y.size(0), y.size(1), y.size(2)), (Some(3), None, None));
        assert!(settings.output("z").is_none() && settings.input("y").is_none());
    }

    #[test]
    fn a_number_is_parsed_with_blanks_around_it() {
        assert_eq!(settings(&[("k", " 5 ")]).parse::<u32>("k").unwrap(), Some(5));
        assert_eq!(settings(&[]).parse::<u32>("k").unwrap(), None);
    }

    #[test]
    fn a_wrong_number_is_named_with_what_it_may_be() {
        let error = settings(&[("k", "five")]).parse::<u32>("k").unwrap_err();
        assert_eq!(error.message(), "parameter 'k' is 'five': expected a whole number, 0 or more");
        let error = settings(&[("mean", "1,two,3")]).parse_list::<f32>("mean").unwrap_err();
        assert_eq!(error.message(), "parameter 'mean' is 'two': expected a number");
    }

    #[test]
    fn a_missing_parameter_says_how_to_set_it() {
        let error = settings(&[]).require::<u32>("k").unwrap_err();
        assert!(error.message().contains("parameters { key: \"k\" value"), "{}", error.message());
    }

    #[test]
    fn a_choice_lists_its_words() {
        let choices = [("straight", 1), ("crop", 2)];
        assert_eq!(settings(&[("resize", "Crop")]).choose("resize", &choices).unwrap(), Some(2));
        let error = settings(&[("resize", "fit")]).choose("resize", &choices).unwrap_err();
        assert_eq!(error.message(), "parameter 'resize' is 'fit': expected one of 'straight', 'crop'");
    }
}
