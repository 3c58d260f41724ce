//! The import `models`: what a plugin may call, and how a call of it becomes a request.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use futures::future::join_all;
use nacre_backend::ModelCalls;
use nacre_domain::{Deadline, Error, InferenceRequest, InferenceResponse, RequestedOutput, Result, Tensor};

use crate::{
    bindings::{models, types},
    failure::{self, CallDeadline},
    state::HostState,
    tensors,
};

/// Parameter of config.pbtxt: names of the models that a plugin may call, with commas between them.
pub const MODELS_PARAMETER: &str = "NACRE_MODELS";

/// Calls that one `infer-all` may hold.
const CALLS_AT_ONCE: usize = 256;

/// The names that the parameter grants.
///
/// # Errors
/// Invalid argument for an empty name.
pub(crate) fn granted(parameters: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let Some(text) = parameters.get(MODELS_PARAMETER) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() {
            return Err(Error::invalid_argument(format!(
                "parameter {MODELS_PARAMETER}: expected names of models with commas between them, got '{text}'"
            )));
        }
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// What one instance may call, for whom and how long.
pub(crate) struct Models {
    granted: Arc<[String]>,
    /// `None` outside of `process`, and where nothing is granted.
    calls: Option<Arc<dyn ModelCalls>>,
    deadline: Deadline,
}

impl Models {
    pub(crate) fn new(
        granted: &Arc<[String]>,
        calls: Option<Arc<dyn ModelCalls>>,
        deadline: CallDeadline,
    ) -> Models {
        Models { granted: Arc::clone(granted), calls, deadline: Deadline::at(deadline.moment()) }
    }

    /// The callee's own answer or error, or why there was no call.
    async fn infer(&self, call: models::Call, id: &str) -> Result<InferenceResponse> {
        let model = call.model.clone();
        if !self.granted.contains(&model) {
            return Err(not_granted(&self.granted, &model));
        }
        let Some(calls) = &self.calls else {
            return Err(Error::unavailable(format!(
                "model '{model}' can be called from process alone, not from describe or configure"
            )));
        };
        let request = request_from_guest(call, id, self.deadline)?;
        calls.infer(request).await
    }
}

fn not_granted(granted: &[String], model: &str) -> Error {
    let mut names = granted.to_vec();
    names.push(model.to_owned());
    Error::invalid_argument(format!(
        "the plugin may not call model '{model}': add parameters {{ key: \"{MODELS_PARAMETER}\" value {{ string_value: \
         \"{}\" }} }} to its config.pbtxt",
        names.join(", ")
    ))
}

fn request_from_guest(call: models::Call, id: &str, deadline: Deadline) -> Result<InferenceRequest> {
    let models::Call { model, version, request } = call;
    let version = version
        .map(|text| {
            text.parse().map_err(|_| {
                Error::invalid_argument(format!(
                    "version '{text}' of model '{model}': expected a whole number such as \"2\", or none for the highest"
                ))
            })
        })
        .transpose()?;
    Ok(InferenceRequest {
        model,
        version,
        id: if request.id.is_empty() { id.to_owned() } else { request.id },
        parameters: tensors::parameters_from_guest(request.parameters),
        inputs: request.inputs.into_iter().map(tensor_from_guest).collect(),
        outputs: request
            .requested_outputs
            .into_iter()
            .map(|name| RequestedOutput { name, parameters: BTreeMap::new() })
            .collect(),
        deadline,
    })
}

/// Unchecked: the callee's validation finds what is wrong with it.
fn tensor_from_guest(tensor: types::TensorResult) -> Tensor {
    Tensor {
        name: tensor.name,
        data_type: tensors::data_type_from_guest(tensor.data_type),
        shape: tensor.shape,
        data: Bytes::from(tensor.data),
    }
}

impl models::Host for HostState {
    async fn infer(&mut self, call: models::Call) -> wasmtime::Result<Result<types::Response, types::Error>> {
        self.count_call()?;
        let answer = self.models.infer(call, &self.request).await;
        Ok(answer.map(tensors::response_to_guest).map_err(failure::error_to_guest))
    }

    async fn infer_all(
        &mut self,
        calls: Vec<models::Call>,
    ) -> wasmtime::Result<Vec<Result<types::Response, types::Error>>> {
        self.count_call()?;
        if calls.len() > CALLS_AT_ONCE {
            let error = Error::resource_exhausted(format!(
                "{} calls at once: expected {CALLS_AT_ONCE} at most",
                calls.len()
            ));
            return Ok(calls.iter().map(|_| Err(failure::error_to_guest(error.clone()))).collect());
        }
        let calls = calls.into_iter().map(|call| self.models.infer(call, &self.request));
        let answers = join_all(calls).await.into_iter();
        Ok(answers
            .map(|answer| answer.map(tensors::response_to_guest).map_err(failure::error_to_guest))
            .collect())
    }
}
