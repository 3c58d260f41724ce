use std::path::Path;

use nacre_domain::{Error, Result};
use nacre_proto::{inference as proto, model_config_descriptor};
use prost_reflect::DynamicMessage;

use crate::{
    Diagnostic, ModelConfig,
    backends::{self, WASM, usual_platform},
    complete::complete,
    effects,
    text::{self, Document, Fault, Positions},
    validate::{self, Faults},
    validate_tensors,
};

/// A configuration that holds, and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The configuration.
    pub config: ModelConfig,
    /// One for each field that is legal but has no effect.
    pub warnings: Vec<Diagnostic>,
}

/// Parses and validates the text of a config.pbtxt.
///
/// `name` is the model's folder and `file` the path that diagnostics name; nothing is read from disk.
///
/// # Errors
/// Everything that is wrong with the text, in its order. What is no `ModelConfig` message is not validated as one.
pub fn parse(name: &str, file: &Path, text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    parse_with_backend(name, file, text, None)
}

/// [`parse`] with the backend to take where the text names none: Triton then looks at the files of the version
/// folders, for which there is [`backend_of_file`](crate::backend_of_file).
///
/// # Errors
/// As [`parse`].
pub fn parse_with_backend(
    name: &str,
    file: &Path,
    text: &str,
    backend: Option<&str>,
) -> Result<Parsed, Vec<Diagnostic>> {
    let document = text::parse(text, model_config_descriptor()).map_err(|faults| {
        faults
            .into_iter()
            .map(|Fault { at, path, message }| {
                Diagnostic::new(file, Some(at), (!path.is_empty()).then_some(path), message)
            })
            .collect::<Vec<_>>()
    })?;
    let Document { message, positions, repeated_keys } = document;
    let mut faults = Faults::default();
    let config = validate(name, backend, &message, &mut faults);
    let config = match config {
        Ok(config) if faults.0.is_empty() => config,
        Ok(_) => return Err(sorted(diagnostics(file, &positions, faults.0))),
        Err(error) => return Err(vec![Diagnostic::new(file, None, None, error.to_string())]),
    };
    let mut warnings: Vec<(String, String)> = effects::without_effect(&message)
        .into_iter()
        .map(|path| (path, "this field has no effect here".to_owned()))
        .collect();
    warnings.extend(batching_without_effect(&config));
    warnings.extend(repeated_keys.into_iter().map(|Fault { path, message, .. }| (path, message)));
    Ok(Parsed { config, warnings: sorted(diagnostics(file, &positions, warnings)) })
}

/// Dynamic batching of a model whose requests are never put together; only the bound of its queue counts then.
fn batching_without_effect(config: &ModelConfig) -> Vec<(String, String)> {
    let reason = match config {
        ModelConfig { max_batch_size: 0, .. } => "max_batch_size is 0",
        ModelConfig { backend, .. } if backend == WASM => "a plugin gets one element at a time",
        _ => return Vec::new(),
    };
    let Some(batching) = &config.dynamic_batching else { return Vec::new() };
    let fields = match batching.max_queue_size {
        None => [("dynamic_batching", true), ("", false)],
        Some(_) => [
            ("dynamic_batching.preferred_batch_size", !batching.preferred_batch_sizes.is_empty()),
            ("dynamic_batching.max_queue_delay_microseconds", !batching.max_queue_delay.is_zero()),
        ],
    };
    fields
        .into_iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(path, _)| (path.to_owned(), format!("this field has no effect, since {reason}")))
        .collect()
}

/// The configuration of a model that has no config.pbtxt, for the backend that the caller made out.
pub fn without_file(name: &str, backend: &str) -> ModelConfig {
    let mut message = proto::ModelConfig::default();
    complete(&mut message, name, backend);
    let mut faults = Faults::default();
    // A message that a type of its own was made of always fits its descriptor.
    let dynamic = to_dynamic(&message).unwrap_or_else(|_| DynamicMessage::new(model_config_descriptor()));
    let mut config = build(name, backend, &message, dynamic, &mut faults);
    config.instance_groups.clear();
    config
}

fn validate(
    name: &str,
    guess: Option<&str>,
    message: &DynamicMessage,
    faults: &mut Faults,
) -> Result<ModelConfig> {
    let mut typed: proto::ModelConfig = message
        .transcode_to()
        .map_err(|error| Error::internal("the message does not fit its own type").with_source(error))?;
    validate::name(&typed, name, faults);
    let backend = backends::resolve(&typed, guess).unwrap_or_else(|(field, message)| {
        faults.add(field, message);
        String::new()
    });
    let mut config = build(name, &backend, &typed, message.clone(), faults);
    complete(&mut typed, name, &backend);
    config.default_model_filename =
        Some(typed.default_model_filename.clone()).filter(|file_name| !file_name.is_empty());
    config.message = to_dynamic(&typed)?;
    Ok(config)
}

/// The configuration that the message stands for, with its faults; `backend` is empty if it is one of them.
fn build(
    name: &str,
    backend: &str,
    typed: &proto::ModelConfig,
    message: DynamicMessage,
    faults: &mut Faults,
) -> ModelConfig {
    let platform = match typed.platform.as_str() {
        "" => usual_platform(backend).unwrap_or(backend),
        platform => platform,
    };
    let max_batch_size = validate::max_batch_size(typed, faults);
    ModelConfig {
        name: name.to_owned(),
        backend: backend.to_owned(),
        platform: platform.to_owned(),
        max_batch_size,
        inputs: validate_tensors::inputs(typed, faults),
        outputs: validate_tensors::outputs(typed, faults),
        version_policy: validate::version_policy(typed, faults),
        default_model_filename: validate::file_name(
            "default_model_filename",
            &typed.default_model_filename,
            1,
            faults,
        ),
        instance_groups: validate::instance_groups(typed, faults),
        dynamic_batching: validate::dynamic_batching(typed, max_batch_size, faults),
        ensemble_steps: if backend.is_empty() {
            Vec::new()
        } else {
            validate::ensemble_steps(typed, backend, faults)
        },
        parameters: typed
            .parameters
            .iter()
            .map(|(key, value)| (key.clone(), value.string_value.clone()))
            .collect(),
        message,
    }
}

/// The message with reflection, which is how it is printed.
pub(crate) fn to_dynamic(message: &proto::ModelConfig) -> Result<DynamicMessage> {
    let mut dynamic = DynamicMessage::new(model_config_descriptor());
    dynamic
        .transcode_from(message)
        .map_err(|error| Error::internal("the message does not fit its own type").with_source(error))?;
    Ok(dynamic)
}

fn diagnostics(file: &Path, positions: &Positions, found: Vec<(String, String)>) -> Vec<Diagnostic> {
    found
        .into_iter()
        .map(|(path, message)| Diagnostic::new(file, positions.find(&path), Some(path), message))
        .collect()
}

fn sorted(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    diagnostics
}
