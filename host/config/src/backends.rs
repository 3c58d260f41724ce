use nacre_proto::inference as proto;

use crate::text::{did_you_mean, nearest};

/// A backend that files name, here or in Triton, and what else tells that it is meant. Whether it exists is not
/// decided here.
struct Known {
    backend: &'static str,
    /// Values of `platform` that mean it, the one to report first.
    platforms: &'static [&'static str],
    /// Usual file in the version folder.
    file: Option<&'static str>,
}

const KNOWN: [Known; 11] = [
    Known { backend: PYTORCH, platforms: &["pytorch_libtorch", "libtorch"], file: Some("model.pt") },
    Known { backend: WASM, platforms: &[], file: Some("plugin.wasm") },
    Known { backend: "identity", platforms: &[], file: None },
    Known { backend: ENSEMBLE, platforms: &[ENSEMBLE], file: None },
    Known { backend: TORCH_AOTI, platforms: &[TORCH_AOTI], file: Some("model.pt2") },
    Known { backend: "onnxruntime", platforms: &["onnxruntime_onnx"], file: Some("model.onnx") },
    Known { backend: "tensorrt", platforms: &[TENSORRT_PLAN], file: Some("model.plan") },
    Known { backend: "tensorflow", platforms: &["tensorflow_savedmodel"], file: Some("model.savedmodel") },
    Known { backend: "tensorflow", platforms: &["tensorflow_graphdef"], file: Some("model.graphdef") },
    Known { backend: "openvino", platforms: &[], file: Some("model.xml") },
    Known { backend: "python", platforms: &[], file: Some("model.py") },
];

/// The backend that may run on a GPU.
pub(crate) const PYTORCH: &str = "pytorch";
/// The backend of plugins.
pub(crate) const WASM: &str = "wasm";
const TORCH_AOTI: &str = "torch_aoti";
/// Backend and platform of ensembles.
pub(crate) const ENSEMBLE: &str = "ensemble";
/// The only platform for which some fields are legal.
pub(crate) const TENSORRT_PLAN: &str = "tensorrt_plan";

/// The backend that loads a file of this name in the version folder: `model.pt` → `pytorch`, `plugin.wasm` → `wasm`.
pub fn backend_of_file(file_name: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.file == Some(file_name)).map(|known| known.backend)
}

/// The usual file of a backend in the version folder.
pub(crate) fn usual_file(backend: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.backend == backend).and_then(|known| known.file)
}

/// The platform to report where none is given; custom backends have none.
pub(crate) fn usual_platform(backend: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.backend == backend).and_then(|known| known.platforms.first().copied())
}

/// The backend that `backend`, `platform`, the default file or, where the file says nothing, `guess` stands for; else
/// the field that is wrong and why.
pub(crate) fn resolve(
    config: &proto::ModelConfig,
    guess: Option<&str>,
) -> Result<String, (&'static str, String)> {
    let (backend, platform) = (config.backend.as_str(), config.platform.as_str());
    let of_platform =
        KNOWN.iter().find(|known| known.platforms.contains(&platform)).map(|known| known.backend);
    match (backend, of_platform) {
        ("", Some(backend)) => Ok(backend.to_owned()),
        ("", None) if platform.is_empty() => backend_of_file(&config.default_model_filename)
            .or(guess)
            .map(str::to_owned)
            .ok_or_else(|| ("backend", missing(config))),
        ("", None) if KNOWN.iter().any(|known| known.backend == platform) => Ok(platform.to_owned()),
        ("", None) => Err(("platform", unknown_platform(platform))),
        (_, Some(ENSEMBLE)) => Err(("backend", "an ensemble has no backend; leave the field out".to_owned())),
        (ENSEMBLE, _) => {
            Err(("backend", "an ensemble is no backend; write platform: \"ensemble\" instead".to_owned()))
        }
        // One backend of Triton, but another kind of file.
        (PYTORCH, Some(TORCH_AOTI)) => Ok(TORCH_AOTI.to_owned()),
        (_, Some(other)) if other != backend => Err((
            "platform",
            format!(
                "'{platform}' is a platform of backend '{other}', not of '{backend}'; leave one of them out"
            ),
        )),
        (_, None) if !platform.is_empty() && usual_platform(backend).is_some() => Err((
            "platform",
            format!(
                "'{platform}' is no platform of backend '{backend}'; expected '{}' or no platform",
                usual_platform(backend).unwrap_or_default()
            ),
        )),
        _ => Ok(backend.to_owned()),
    }
}

fn missing(config: &proto::ModelConfig) -> String {
    if matches!(config.scheduling_choice, Some(proto::model_config::SchedulingChoice::EnsembleScheduling(_)))
    {
        return "expected platform: \"ensemble\", since ensemble_scheduling is given".to_owned();
    }
    "neither 'backend' nor 'platform' is given and no file of a version folder tells which is meant; write, for \
     example, backend: \"pytorch\""
        .to_owned()
}

fn unknown_platform(platform: &str) -> String {
    let all: Vec<&str> = KNOWN.iter().flat_map(|known| known.platforms.iter().copied()).collect();
    let near = nearest(platform, all.iter().copied());
    if near.is_empty() {
        return format!(
            "'{platform}' is no platform; it is one of {}, and any other backend is named with 'backend'",
            all.join(", ")
        );
    }
    format!("'{platform}' is no platform{}", did_you_mean(&near))
}
