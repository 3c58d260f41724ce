use futures::stream::{FuturesUnordered, StreamExt};
use nacre_domain::{Deadline, InferenceRequest, Parameters, Result, Tensor};
use nacre_telemetry::RequestTiming;

use super::plan::{EnsemblePlan, Step};
use crate::servable::Answer;

impl EnsemblePlan {
    /// Runs the steps that the outputs asked for need, each as soon as its inputs are there. Tensors move by reference
    /// to their bytes. The timing is that of all steps together, as Triton counts it, and the first step that fails ends
    /// the request; the steps still running are then cancelled, as they are when the future is dropped.
    ///
    /// # Errors
    /// The step's, with its place and model.
    pub(crate) async fn run(&self, request: InferenceRequest) -> Result<Answer> {
        let needed = self.needed(&request);
        let mut state = State {
            plan: self,
            tensors: vec![None; self.tensor_count],
            readers: self.readers(&needed),
            awaited: self.steps.iter().map(|step| step.awaited).collect(),
            id: request.id,
            parameters: request.parameters,
            deadline: request.deadline,
        };
        for tensor in request.inputs {
            if let Some((_, number)) = self.inputs.iter().find(|(name, _)| *name == tensor.name) {
                state.put(*number, tensor);
            }
        }
        let call = |index: usize, step: &Step, request: InferenceRequest| {
            let response = step.servable.clone().infer_boxed(request);
            async move { (index, response.await) }
        };
        let mut running = FuturesUnordered::new();
        for (index, step) in self.steps.iter().enumerate().filter(|(_, step)| step.awaited == 0) {
            if needed.get(index) == Some(&true) {
                running.push(call(index, step, state.request(step)));
            }
        }
        let mut timing = RequestTiming::default();
        while let Some((index, result)) = running.next().await {
            let Some(step) = self.steps.get(index) else { continue };
            let (response, step_timing) = result
                .map_err(|error| error.context(format!("{} of ensemble '{}'", step.label, self.name)))?;
            timing += step_timing;
            for tensor in response.outputs {
                let Some((_, number)) = step.outputs.iter().find(|(name, _)| *name == tensor.name) else {
                    continue;
                };
                state.put(*number, tensor);
                for &consumer in self.consumers.get(*number).into_iter().flatten() {
                    if state.arrived(consumer)
                        && needed.get(consumer) == Some(&true)
                        && let Some(next) = self.steps.get(consumer)
                    {
                        running.push(call(consumer, next, state.request(next)));
                    }
                }
            }
        }
        Ok(Answer { outputs: state.outputs(), parameters: Parameters::new(), timing })
    }

    /// By tensor, how often it will be read.
    fn readers(&self, needed: &[bool]) -> Vec<usize> {
        let mut readers = vec![0; self.tensor_count];
        let by_steps =
            self.steps.iter().zip(needed).filter(|(_, needed)| **needed).flat_map(|(step, _)| &step.inputs);
        for (_, number) in by_steps.chain(&self.outputs) {
            if let Some(count) = readers.get_mut(*number) {
                *count += 1;
            }
        }
        readers
    }

    /// By step, whether the outputs asked for depend on it; all steps if the request asks for none in particular.
    fn needed(&self, request: &InferenceRequest) -> Vec<bool> {
        let mut needed = vec![request.outputs.is_empty(); self.steps.len()];
        let mut open: Vec<usize> = self
            .outputs
            .iter()
            .filter(|(name, _)| request.outputs.iter().any(|output| output.name == *name))
            .map(|(_, tensor)| *tensor)
            .collect();
        while let Some(tensor) = open.pop() {
            if let Some(&Some(producer)) = self.producers.get(tensor)
                && let Some(mark) = needed.get_mut(producer)
                && !std::mem::replace(mark, true)
                && let Some(step) = self.steps.get(producer)
            {
                open.extend(step.inputs.iter().map(|(_, tensor)| *tensor));
            }
        }
        needed
    }
}

/// What has arrived so far in one run.
struct State<'a> {
    plan: &'a EnsemblePlan,
    tensors: Vec<Option<Tensor>>,
    /// By tensor, how often it will still be read; with the last time it goes, and its bytes with it.
    readers: Vec<usize>,
    /// By step, how many of its inputs are still to come from other steps.
    awaited: Vec<usize>,
    id: String,
    parameters: Parameters,
    deadline: Deadline,
}

impl State<'_> {
    fn put(&mut self, number: usize, tensor: Tensor) {
        if let Some(place) = self.tensors.get_mut(number) {
            *place = Some(tensor);
        }
    }

    /// Notes that one more input of the step is there, and says whether it was the last.
    fn arrived(&mut self, step: usize) -> bool {
        self.awaited.get_mut(step).is_some_and(|awaited| {
            *awaited = awaited.saturating_sub(1);
            *awaited == 0
        })
    }

    fn read(&mut self, number: usize, name: &str) -> Option<Tensor> {
        let readers = self.readers.get_mut(number)?;
        *readers = readers.saturating_sub(1);
        let place = self.tensors.get_mut(number)?;
        let tensor = if *readers == 0 { place.take() } else { place.clone() };
        tensor.map(|tensor| Tensor { name: name.to_owned(), ..tensor })
    }

    /// The request of a step; an optional input of the ensemble that was not given is not given to the step either.
    fn request(&mut self, step: &Step) -> InferenceRequest {
        InferenceRequest {
            model: step.servable.key.name.clone(),
            version: Some(step.servable.key.version),
            id: self.id.clone(),
            parameters: self.parameters.clone(),
            inputs: step.inputs.iter().filter_map(|(name, number)| self.read(*number, name)).collect(),
            outputs: step.requested.clone(),
            deadline: self.deadline,
        }
    }

    /// The outputs that there are; one that was not asked for may be missing.
    fn outputs(&mut self) -> Vec<Tensor> {
        let plan = self.plan;
        plan.outputs.iter().filter_map(|(name, number)| self.read(*number, name)).collect()
    }
}
