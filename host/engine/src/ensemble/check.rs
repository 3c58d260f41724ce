use std::collections::{BTreeMap, BTreeSet};

use nacre_config::{EnsembleStep, ModelConfig};
use nacre_domain::{DataType, Parameters, RequestedOutput, ShapeDisplay};

use super::plan::{EnsemblePlan, Step};
use crate::snapshot::{Snapshot, list_names};

/// An ensemble that can run, and what is odd about it all the same.
pub(crate) struct Checked {
    pub(crate) plan: EnsemblePlan,
    pub(crate) warnings: Vec<String>,
}

/// Resolves and checks the graph of an ensemble against the models of the snapshot.
///
/// Shapes are compared with their batch dimension, as Triton compares them: an ensemble without max_batch_size may use
/// a batched model if it spells that dimension out itself, and a batched ensemble a model without batch dimension that
/// has a variable dim in its place.
///
/// # Errors
/// Every problem found, each a sentence that names step and tensor.
pub(crate) fn check(config: &ModelConfig, models: &Snapshot) -> Result<Checked, String> {
    let mut check = Check::new(config);
    check.resolve(models);
    check.fail_on_problems()?;
    check.map_outputs();
    check.map_inputs();
    check.map_ensemble_outputs();
    check.report_unbatched();
    // A graph with holes would only show the same problem again as a cycle.
    check.fail_on_problems()?;
    check.find_cycle();
    check.fail_on_problems()?;
    Ok(check.finish())
}

/// What one side says of a tensor.
struct Side {
    /// `output 'tensor' of step 0 'preprocess'`.
    what: String,
    data_type: DataType,
    dims: Vec<i64>,
    batched: bool,
    optional: bool,
}

/// A tensor of the ensemble, as whoever makes it describes it.
struct Made {
    name: String,
    /// `None` for an input of the ensemble.
    producer: Option<usize>,
    side: Side,
    consumers: BTreeSet<usize>,
}

struct Check<'a> {
    config: &'a ModelConfig,
    steps: Vec<(&'a EnsembleStep, Step)>,
    tensors: Vec<Made>,
    numbers: BTreeMap<String, usize>,
    outputs: Vec<(String, usize)>,
    /// Batched steps that meet tensors of an ensemble that is not.
    unbatched: BTreeSet<usize>,
    problems: Vec<String>,
}

impl<'a> Check<'a> {
    fn new(config: &'a ModelConfig) -> Check<'a> {
        let mut check = Check {
            config,
            steps: Vec::new(),
            tensors: Vec::new(),
            numbers: BTreeMap::new(),
            outputs: Vec::new(),
            unbatched: BTreeSet::new(),
            problems: Vec::new(),
        };
        for input in &config.inputs {
            let side = Side {
                what: format!("the ensemble's input '{}'", input.spec.name),
                data_type: input.spec.data_type,
                dims: input.reshape.as_ref().unwrap_or(&input.spec.dims).clone(),
                batched: config.is_batched(),
                optional: input.spec.optional,
            };
            check.make(&input.spec.name, None, side);
        }
        check
    }

    fn fail_on_problems(&self) -> Result<(), String> {
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems.join("; ")) }
    }

    fn resolve(&mut self, models: &Snapshot) {
        if self.config.ensemble_steps.is_empty() {
            self.problems.push("the ensemble has no steps (ensemble_scheduling)".to_owned());
        }
        for (index, step) in self.config.ensemble_steps.iter().enumerate() {
            let label = format!("step {index} '{}'", step.model);
            let servable = match models.find(&step.model, step.version) {
                Ok(servable) => servable.clone(),
                Err(error) => {
                    self.problems.push(format!("{label}: {error}"));
                    continue;
                }
            };
            let (most, own) = (servable.config.max_batch_size, self.config.max_batch_size);
            if most != 0 && most < own {
                self.problems.push(format!(
                    "{label}: the ensemble allows batches of {own} (max_batch_size), but this model only of {most}"
                ));
            }
            let resolved = Step {
                label,
                servable,
                inputs: Vec::new(),
                outputs: Vec::new(),
                requested: Vec::new(),
                awaited: 0,
            };
            self.steps.push((step, resolved));
        }
    }

    /// Numbers a tensor; `None`, and a problem, if there is one of that name already.
    fn make(&mut self, name: &str, producer: Option<usize>, side: Side) -> Option<usize> {
        if let Some(made) = self.numbers.get(name).and_then(|&number| self.tensors.get(number)) {
            self.problems
                .push(format!("tensor '{name}' is made twice: it is {} and {}", made.side.what, side.what));
            return None;
        }
        let number = self.tensors.len();
        self.numbers.insert(name.to_owned(), number);
        self.tensors.push(Made { name: name.to_owned(), producer, side, consumers: BTreeSet::new() });
        Some(number)
    }

    fn map_outputs(&mut self) {
        for index in 0..self.steps.len() {
            let Some((map, label, model)) = self.step(index) else { continue };
            let mut outputs = Vec::new();
            for (name, tensor) in &map.output_map {
                let Some(output) = model.output(name) else {
                    let known = list_names(model.outputs.iter().map(|output| &output.spec.name));
                    self.problems.push(format!(
                        "{label}: output_map sends '{name}' to tensor '{tensor}', but the model's outputs are {known}"
                    ));
                    continue;
                };
                let side = Side {
                    what: format!("output '{name}' of {label}"),
                    data_type: output.spec.data_type,
                    dims: output.spec.dims.clone(),
                    batched: model.is_batched(),
                    optional: false,
                };
                outputs.extend(self.make(tensor, Some(index), side).map(|number| (name.clone(), number)));
            }
            if let Some((_, step)) = self.steps.get_mut(index) {
                step.requested = outputs
                    .iter()
                    .map(|(name, _)| RequestedOutput { name: name.clone(), parameters: Parameters::new() })
                    .collect();
                step.outputs = outputs;
            }
        }
    }

    fn map_inputs(&mut self) {
        for index in 0..self.steps.len() {
            let Some((map, label, model)) = self.step(index) else { continue };
            for input in model.inputs.iter().filter(|input| !input.spec.optional) {
                if !map.input_map.contains_key(&input.spec.name) {
                    self.problems.push(format!(
                        "{label}: input '{}' of the model is mapped to no tensor (input_map)",
                        input.spec.name
                    ));
                }
            }
            let mut inputs = Vec::new();
            for (name, tensor) in &map.input_map {
                let Some(input) = model.input(name) else {
                    let known = list_names(model.inputs.iter().map(|input| &input.spec.name));
                    self.problems.push(format!(
                        "{label}: input_map gives tensor '{tensor}' to '{name}', but the model's inputs are {known}"
                    ));
                    continue;
                };
                let Some(&number) = self.numbers.get(tensor) else {
                    self.problems.push(format!(
                        "{label}: input '{name}' reads tensor '{tensor}', which is neither an input of the ensemble \
                         nor an output of a step"
                    ));
                    continue;
                };
                let reader = Side {
                    what: format!("input '{name}' of {label}"),
                    data_type: input.spec.data_type,
                    dims: input.spec.dims.clone(),
                    batched: model.is_batched(),
                    optional: input.spec.optional,
                };
                self.compare(number, &reader, Some(index));
                inputs.push((name.clone(), number));
            }
            let numbers: BTreeSet<usize> = inputs.iter().map(|(_, number)| *number).collect();
            let mut awaited = 0;
            for number in numbers {
                if let Some(made) = self.tensors.get_mut(number) {
                    made.consumers.insert(index);
                    awaited += usize::from(made.producer.is_some());
                }
            }
            if let Some((_, step)) = self.steps.get_mut(index) {
                step.inputs = inputs;
                step.awaited = awaited;
            }
        }
    }

    fn map_ensemble_outputs(&mut self) {
        for output in &self.config.outputs {
            let name = &output.spec.name;
            let Some(&number) = self.numbers.get(name) else {
                self.problems
                    .push(format!("output '{name}' of the ensemble is made by no step (output_map)"));
                continue;
            };
            let reader = Side {
                what: format!("the ensemble's output '{name}'"),
                data_type: output.spec.data_type,
                dims: output.reshape.as_ref().unwrap_or(&output.spec.dims).clone(),
                batched: self.config.is_batched(),
                optional: false,
            };
            self.compare(number, &reader, None);
            self.outputs.push((name.clone(), number));
        }
    }

    /// Compares what makes a tensor with what reads it; `reader_step` is `None` for an output of the ensemble.
    fn compare(&mut self, number: usize, reader: &Side, reader_step: Option<usize>) {
        let Some(made) = self.tensors.get(number) else { return };
        let (name, maker, producer) = (&made.name, &made.side, made.producer);
        if maker.data_type != reader.data_type {
            self.problems.push(format!(
                "tensor '{name}' is {} as {}, but {} as {}",
                maker.data_type, maker.what, reader.data_type, reader.what
            ));
            return;
        }
        if maker.optional && !reader.optional {
            self.problems.push(format!(
                "tensor '{name}' may be left out as {}, but {} needs it",
                maker.what, reader.what
            ));
        }
        let (from, to) = (full_shape(maker), full_shape(reader));
        if compatible(&from, &to) {
            return;
        }
        if compatible(&maker.dims, &reader.dims) && maker.batched != reader.batched {
            // Steps that disagree with the ensemble about the batch all do so for one reason, told once.
            if !self.config.is_batched()
                && let Some(step) = if maker.batched { producer } else { reader_step }
            {
                self.unbatched.insert(step);
                return;
            }
            let (with, without) = if maker.batched { (maker, reader) } else { (reader, maker) };
            self.problems.push(format!(
                "tensor '{name}' has a batch dimension as {}, but none (max_batch_size 0) as {}",
                with.what, without.what
            ));
            return;
        }
        self.problems.push(format!(
            "tensor '{name}' has shape {} as {}, but {} as {}",
            ShapeDisplay(&from),
            maker.what,
            ShapeDisplay(&to),
            reader.what
        ));
    }

    fn report_unbatched(&mut self) {
        let steps: Vec<&Step> =
            self.unbatched.iter().filter_map(|&index| self.steps.get(index)).map(|(_, step)| step).collect();
        let Some(most) = steps.iter().map(|step| step.servable.config.max_batch_size).min() else { return };
        let named: Vec<String> = steps
            .iter()
            .map(|step| format!("{} (max_batch_size {})", step.label, step.servable.config.max_batch_size))
            .collect();
        self.problems.push(format!(
            "the ensemble has no max_batch_size, but its steps are batched: {}; give the ensemble a max_batch_size of \
             at most {most}",
            named.join(", ")
        ));
    }

    fn find_cycle(&mut self) {
        let mut done = vec![false; self.steps.len()];
        // The first tensor that a step still waits for, and the step that makes it.
        let blocker = |done: &[bool], index: usize| {
            let (_, step) = self.steps.get(index)?;
            step.inputs.iter().find_map(|(_, number)| {
                let made = self.tensors.get(*number)?;
                let producer = made.producer?;
                (done.get(producer) == Some(&false)).then_some((made, producer))
            })
        };
        while let Some(index) =
            (0..done.len()).find(|&index| done.get(index) == Some(&false) && blocker(&done, index).is_none())
        {
            if let Some(mark) = done.get_mut(index) {
                *mark = true;
            }
        }
        // Whoever is left waits for another that is left; following them must come round.
        let Some(mut index) = done.iter().position(|done| !done) else { return };
        let mut path: Vec<usize> = Vec::new();
        let start = loop {
            if let Some(start) = path.iter().position(|&seen| seen == index) {
                break start;
            }
            path.push(index);
            let Some((_, producer)) = blocker(&done, index) else { return };
            index = producer;
        };
        let around: Vec<String> = path
            .iter()
            .skip(start)
            .filter_map(|&index| {
                let (made, _) = blocker(&done, index)?;
                let (_, step) = self.steps.get(index)?;
                Some(format!("{} reads tensor '{}', {}", step.label, made.name, made.side.what))
            })
            .collect();
        self.problems.push(format!("steps wait for one another in a cycle: {}", around.join("; ")));
    }

    fn finish(self) -> Checked {
        let mut warnings = Vec::new();
        for (number, made) in self.tensors.iter().enumerate() {
            let is_output = self.outputs.iter().any(|(_, output)| *output == number);
            if made.consumers.is_empty() && !is_output {
                warnings.push(match made.producer {
                    Some(_) => format!(
                        "tensor '{}' ({}) is read by no step and is no output of the ensemble",
                        made.name, made.side.what
                    ),
                    None => format!("{} is read by no step", made.side.what),
                });
            }
        }
        let inputs = self.config.inputs.iter().filter_map(|input| {
            self.numbers.get(&input.spec.name).map(|&number| (input.spec.name.clone(), number))
        });
        let plan = EnsemblePlan {
            name: self.config.name.clone(),
            tensor_count: self.tensors.len(),
            inputs: inputs.collect(),
            outputs: self.outputs,
            producers: self.tensors.iter().map(|made| made.producer).collect(),
            consumers: self.tensors.into_iter().map(|made| made.consumers.into_iter().collect()).collect(),
            steps: self.steps.into_iter().map(|(_, step)| step).collect(),
        };
        Checked { plan, warnings }
    }

    fn step(&self, index: usize) -> Option<(&'a EnsembleStep, String, std::sync::Arc<ModelConfig>)> {
        self.steps.get(index).map(|(map, step)| (*map, step.label.clone(), step.servable.config.clone()))
    }
}

fn full_shape(side: &Side) -> Vec<i64> {
    let mut shape = if side.batched { vec![-1] } else { Vec::new() };
    shape.extend_from_slice(&side.dims);
    shape
}

/// Whether some shape is both; what -1 hides is checked when the request runs.
fn compatible(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a == b || a == -1 || b == -1)
}
