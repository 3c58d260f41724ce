use std::sync::Arc;

use nacre_domain::RequestedOutput;

use crate::servable::Servable;

/// The graph of an ensemble, resolved: every step holds the servable that runs it, so that a request stays with the
/// versions that were there when it began. Tensors are numbered.
pub(crate) struct EnsemblePlan {
    /// Name of the ensemble.
    pub(crate) name: String,
    /// Number of tensors.
    pub(crate) tensor_count: usize,
    /// Steps in the order of the configuration.
    pub(crate) steps: Vec<Step>,
    /// Input of the ensemble → tensor.
    pub(crate) inputs: Vec<(String, usize)>,
    /// Output of the ensemble → tensor, in the order of the configuration.
    pub(crate) outputs: Vec<(String, usize)>,
    /// By tensor: the step that makes it; `None` for the ensemble's inputs.
    pub(crate) producers: Vec<Option<usize>>,
    /// By tensor: the steps that read it.
    pub(crate) consumers: Vec<Vec<usize>>,
}

impl EnsemblePlan {
    /// Labels of outputs, from the models of the steps that make them: an ensemble need not name their files again.
    pub(crate) fn labels_of_steps(&self) -> impl Iterator<Item = (String, Arc<[String]>)> {
        self.outputs.iter().filter_map(|(output, tensor)| {
            let step = self.steps.get(self.producers.get(*tensor).copied()??)?;
            let (name, _) = step.outputs.iter().find(|(_, made)| made == tensor)?;
            Some((output.clone(), step.servable.labels.get(name)?.clone()))
        })
    }
}

/// A step of an ensemble.
pub(crate) struct Step {
    /// `step 1 'resnet50'`: its place in the configuration, from 0, and its model.
    pub(crate) label: String,
    /// What runs it.
    pub(crate) servable: Arc<Servable>,
    /// Input of the model → tensor.
    pub(crate) inputs: Vec<(String, usize)>,
    /// Output of the model → tensor.
    pub(crate) outputs: Vec<(String, usize)>,
    /// The same outputs, as its requests ask for them.
    pub(crate) requested: Vec<RequestedOutput>,
    /// Number of its input tensors that other steps make.
    pub(crate) awaited: usize,
}
