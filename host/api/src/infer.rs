//! Inference, as both protocols want it.

use nacre_domain::{InferenceResponse, Result};
use nacre_engine::Engine;

use crate::codec::{DecodedRequest, OutputPlan, classify};

/// Lets the engine answer a request, then replaces those outputs that are wanted as classes. Dropping the future cancels
/// the request.
///
/// # Errors
/// What the engine says; invalid argument for an output that has no classes.
pub async fn infer(engine: &Engine, decoded: DecodedRequest) -> Result<(InferenceResponse, OutputPlan)> {
    let DecodedRequest { request, outputs: plan } = decoded;
    let mut response = engine.infer(request).await?;
    if plan.classifies() {
        let view = engine.model(&response.model.name, Some(response.model.version))?;
        for output in &mut response.outputs {
            if let Some(classes) = plan.form(&output.name).classes {
                let labels = view.labels.get(&output.name).map(AsRef::as_ref).unwrap_or_default();
                *output = classify(output, classes, view.config.is_batched(), labels)
                    .map_err(|e| e.context(format!("model '{}'", response.model.name)))?;
            }
        }
    }
    Ok((response, plan))
}
