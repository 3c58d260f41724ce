//! Models that a plugin calls, played by a case.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use nacre_backend::ModelCalls;
use nacre_domain::{Error, InferenceRequest, InferenceResponse, ModelKey, Parameters, Result, Tensor};

use crate::{
    case::{Answer, Case, ModelMock},
    failure::Failure,
};

/// What the case says that they answer.
pub(crate) struct MockedModels {
    models: BTreeMap<String, Mocked>,
}

struct Mocked {
    answers: Vec<Result<(Vec<Tensor>, Parameters)>>,
    /// One answer for all calls.
    always: bool,
    calls: AtomicUsize,
}

impl MockedModels {
    /// Reads the tensors of the answers.
    ///
    /// # Errors
    /// Usage: one of them cannot be had.
    pub(crate) fn new(case: &Case) -> Result<Self, Failure> {
        let mut models = BTreeMap::new();
        for (name, mock) in &case.models {
            let (answers, always) = match mock {
                ModelMock::Always(answer) => (std::slice::from_ref(answer), true),
                ModelMock::InTurn(answers) => (answers.as_slice(), false),
            };
            let answers =
                answers.iter().map(|answer| resolve(case, name, answer)).collect::<Result<_, _>>()?;
            models.insert(name.clone(), Mocked { answers, always, calls: AtomicUsize::new(0) });
        }
        Ok(Self { models })
    }

    fn answer(&self, request: &InferenceRequest) -> Result<(Vec<Tensor>, Parameters)> {
        let name = &request.model;
        let mocked = self.models.get(name).ok_or_else(|| {
            Error::not_found(format!(
                "model '{name}' is called, but the case has no answer of it; add \"models\": {{\"{name}\": {{\"outputs\": \
                 […]}}}}"
            ))
        })?;
        let call = mocked.calls.fetch_add(1, Ordering::Relaxed);
        let index = if mocked.always { 0 } else { call };
        let answer = mocked.answers.get(index).cloned().ok_or_else(|| {
            Error::not_found(format!(
                "model '{name}' is called {} times, but the case has {} answers of it",
                call + 1,
                mocked.answers.len()
            ))
        })?;
        let (mut outputs, parameters) = answer?;
        if !request.outputs.is_empty() {
            outputs.retain(|tensor| request.outputs.iter().any(|output| output.name == tensor.name));
        }
        Ok((outputs, parameters))
    }
}

fn resolve(case: &Case, model: &str, answer: &Answer) -> Result<Result<(Vec<Tensor>, Parameters)>, Failure> {
    if let Some(error) = &answer.error {
        return Ok(Err(Error::new(error.code.0, error.message.clone())));
    }
    let tensors: Result<Vec<_>, Failure> = answer
        .outputs
        .iter()
        .map(|source| {
            source.load(&case.folder, None).map_err(|failure| Failure {
                message: format!("answer of model '{model}': {}", failure.message),
                ..failure
            })
        })
        .collect();
    Ok(Ok((tensors?, answer.parameters.clone())))
}

impl ModelCalls for MockedModels {
    fn infer<'a>(
        &'a self,
        request: InferenceRequest,
    ) -> Pin<Box<dyn Future<Output = Result<InferenceResponse>> + Send + 'a>> {
        Box::pin(async move {
            let (outputs, parameters) = self.answer(&request)?;
            let model = ModelKey { name: request.model, version: request.version.unwrap_or(1) };
            Ok(InferenceResponse { model, id: request.id, parameters, outputs })
        })
    }

    fn levels(&self) -> usize {
        1
    }
}
