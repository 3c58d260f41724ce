use std::collections::BTreeMap;

use nacre_domain::{Error, Result};

/// What `parameters` of config.pbtxt say about running a TorchScript model. Names are Triton's but for
/// `OPTIMIZE_FOR_INFERENCE`, which it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `INFERENCE_MODE`, on unless switched off: no gradients and no version counters; off: no gradients.
    pub inference_mode: bool,
    /// The opposite of `DISABLE_OPTIMIZED_EXECUTION`: the graph executor may optimise.
    pub optimized_execution: bool,
    /// `OPTIMIZE_FOR_INFERENCE`, on unless switched off: freeze and optimise while loading.
    pub optimize_for_inference: bool,
    /// `ENABLE_WEIGHT_SHARING`: instances of one device share a model even where a run may change it.
    pub weight_sharing: bool,
    /// `INTRA_OP_THREAD_COUNT`: threads inside an operator, for each instance.
    pub intra_op_threads: Option<usize>,
    /// `INTER_OP_THREAD_COUNT`: threads between operators, for the whole process.
    pub inter_op_threads: Option<usize>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            inference_mode: true,
            optimized_execution: true,
            optimize_for_inference: true,
            weight_sharing: false,
            intra_op_threads: None,
            inter_op_threads: None,
        }
    }
}

impl Settings {
    /// Reads the parameters. The second value names those in capitals, as settings are written, that mean nothing here.
    ///
    /// # Errors
    /// Invalid argument if a value is not what its setting takes.
    pub(crate) fn parse(parameters: &BTreeMap<String, String>) -> Result<(Settings, Vec<String>)> {
        let mut settings = Settings::default();
        let mut unknown = Vec::new();
        for (key, value) in parameters {
            match key.as_str() {
                "INFERENCE_MODE" => settings.inference_mode = switch(key, value)?,
                "DISABLE_OPTIMIZED_EXECUTION" => settings.optimized_execution = !switch(key, value)?,
                "OPTIMIZE_FOR_INFERENCE" => settings.optimize_for_inference = switch(key, value)?,
                "ENABLE_WEIGHT_SHARING" => settings.weight_sharing = switch(key, value)?,
                "INTRA_OP_THREAD_COUNT" => settings.intra_op_threads = Some(count(key, value)?),
                "INTER_OP_THREAD_COUNT" => settings.inter_op_threads = Some(count(key, value)?),
                _ if is_setting_name(key) => unknown.push(key.clone()),
                _ => {}
            }
        }
        Ok((settings, unknown))
    }
}

fn switch(key: &str, value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Error::invalid_argument(format!(
            "parameter {key}: expected \"true\" or \"false\", got \"{value}\""
        ))),
    }
}

fn count(key: &str, value: &str) -> Result<usize> {
    const MOST: usize = 1024;
    value.trim().parse().ok().filter(|threads| (1..=MOST).contains(threads)).ok_or_else(|| {
        Error::invalid_argument(format!(
            "parameter {key}: expected a number from 1 to {MOST}, got \"{value}\""
        ))
    })
}

fn is_setting_name(key: &str) -> bool {
    key.chars().any(|c| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<(Settings, Vec<String>)> {
        Settings::parse(&pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn reads_every_setting() {
        let (settings, unknown) = parse(&[
            ("INFERENCE_MODE", "false"),
            ("DISABLE_OPTIMIZED_EXECUTION", "True"),
            ("OPTIMIZE_FOR_INFERENCE", "0"),
            ("ENABLE_WEIGHT_SHARING", "1"),
            ("INTRA_OP_THREAD_COUNT", "3"),
            ("INTER_OP_THREAD_COUNT", "2"),
        ])
        .unwrap();
        assert_eq!(unknown, [""; 0]);
        assert_eq!(
            settings,
            Settings {
                inference_mode: false,
                optimized_execution: false,
                optimize_for_inference: false,
                weight_sharing: true,
                intra_op_threads: Some(3),
                inter_op_threads: Some(2),
            }
        );
        assert_eq!(parse(&[]).unwrap().0, Settings::default());
    }

    #[test]
    fn names_settings_that_mean_nothing_here_and_leaves_the_users_own_alone() {
        let (_, unknown) =
            parse(&[("ENABLE_NVFUSER", "true"), ("DISABLE_CUDNN", "true"), ("note", "x")]).unwrap();
        assert_eq!(unknown, ["DISABLE_CUDNN", "ENABLE_NVFUSER"]);
    }

    #[test]
    fn refuses_values_by_name() {
        let error = parse(&[("INFERENCE_MODE", "yes")]).unwrap_err();
        assert!(
            error.message().contains("INFERENCE_MODE: expected \"true\" or \"false\", got \"yes\""),
            "{error}"
        );
        let error = parse(&[("INTRA_OP_THREAD_COUNT", "0")]).unwrap_err();
        assert!(error.message().contains("INTRA_OP_THREAD_COUNT: expected a number from 1"), "{error}");
    }
}
