//! The identity backend: gives each input back as the output of the same number. It needs no file and touches no
//! tensor byte, so what is measured with it is the server's own cost; tests use its delay.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use nacre_config::ModelConfig;
use nacre_domain::{Error, Result, ShapeDisplay, Tensor, TensorSpec};

use crate::{Backend, BatchedModel, Execution, Executor, Instance, LoadedModel, ModelSource, Placement};

/// Parameter of the model configuration: how long each execution takes, in milliseconds.
const DELAY: &str = "execute_delay_ms";

/// Backend `identity`, by the name and the rules of Triton's test backend: `INPUTn` becomes `OUTPUTn` (where names end
/// in no number, the n-th input becomes the n-th output), of every data type and shape.
///
/// Parameter `execute_delay_ms` makes each execution take so long, whatever its batch size. Triton's other parameters
/// for this backend (`instance_wise_delay_multiplier`, `creation_delay_sec`) are not read: a test that wants slower
/// instances or loads asks for them with models of its own. Instances run on the CPU, whatever their group's kind, since
/// nothing is computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdentityBackend;

impl Backend for IdentityBackend {
    fn names(&self) -> &'static [&'static str] {
        &["identity"]
    }

    fn default_filename(&self) -> Option<&'static str> {
        None
    }

    fn load(&self, source: &ModelSource) -> Result<LoadedModel> {
        let config = &source.config;
        let model = IdentityModel {
            sources: pair(config)?,
            instances: instances(config),
            delay: delay(config)?,
            interrupted: Arc::default(),
        };
        Ok(LoadedModel {
            config: Arc::clone(config),
            executor: Executor::Batched(Arc::new(model)),
            calls: Vec::new(),
        })
    }
}

struct IdentityModel {
    /// Input and output, one pair for each output of the configuration.
    sources: Arc<[(String, String)]>,
    instances: u32,
    delay: Duration,
    interrupted: Arc<Interrupt>,
}

impl BatchedModel for IdentityModel {
    fn placements(&self) -> Vec<Placement> {
        (0..self.instances).map(|i| Placement { name: format!("cpu-{i}"), gpu: None }).collect()
    }

    fn instantiate(&self, _placement: &Placement) -> Result<Box<dyn Instance>> {
        Ok(Box::new(IdentityInstance {
            sources: Arc::clone(&self.sources),
            delay: self.delay,
            interrupted: Arc::clone(&self.interrupted),
        }))
    }

    fn interrupt(&self) {
        self.interrupted.set();
    }
}

struct IdentityInstance {
    sources: Arc<[(String, String)]>,
    delay: Duration,
    interrupted: Arc<Interrupt>,
}

impl Instance for IdentityInstance {
    fn execute(&mut self, inputs: Vec<Tensor>) -> Result<Execution> {
        if !self.delay.is_zero() && self.interrupted.wait(self.delay) {
            return Err(Error::unavailable("the model is being stopped"));
        }
        // An optional input that was left out leaves its output out.
        let outputs = self.sources.iter().filter_map(|(input, output)| {
            let tensor = inputs.iter().find(|tensor| tensor.name == *input)?;
            Some(Tensor { name: output.clone(), ..tensor.clone() })
        });
        Ok(Execution { outputs: outputs.collect(), ..Execution::default() })
    }
}

/// Ends the delays of all instances when the model is stopped.
#[derive(Default)]
struct Interrupt {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Interrupt {
    fn set(&self) {
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits so long, or until set; says whether it was set.
    fn wait(&self, duration: Duration) -> bool {
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let (set, _) = self
            .changed
            .wait_timeout_while(set, duration, |set| !*set)
            .unwrap_or_else(PoisonError::into_inner);
        *set
    }
}

/// The input of each output.
fn pair(config: &ModelConfig) -> Result<Arc<[(String, String)]>> {
    let name = &config.name;
    if config.inputs.is_empty() || config.outputs.is_empty() {
        return Err(Error::invalid_argument(format!(
            "model '{name}' has {} inputs and {} outputs, but backend 'identity' takes both from config.pbtxt: add them \
             to it",
            config.inputs.len(),
            config.outputs.len()
        )));
    }
    let pairs = config.outputs.iter().enumerate().map(|(i, output)| {
        let by_number = trailing_number(&output.spec.name);
        let input = match by_number {
            Some(number) => config.inputs.iter().find(|i| trailing_number(&i.spec.name) == Some(number)),
            None => config.inputs.get(i),
        };
        let Some(input) = input else {
            return Err(Error::invalid_argument(format!(
                "model '{name}': output '{}' has no input to give back; backend 'identity' expects one that ends in the \
                 same number",
                output.spec.name
            )));
        };
        let (input_dims, output_dims) = (
            input.reshape.as_ref().unwrap_or(&input.spec.dims),
            output.reshape.as_ref().unwrap_or(&output.spec.dims),
        );
        if input.spec.data_type != output.spec.data_type || input_dims != output_dims {
            return Err(Error::invalid_argument(format!(
                "model '{name}': backend 'identity' gives input {} back as output {}, so both need the same data type \
                 and dims",
                describe(&input.spec, input_dims),
                describe(&output.spec, output_dims)
            )));
        }
        Ok((input.spec.name.clone(), output.spec.name.clone()))
    });
    pairs.collect()
}

fn describe(spec: &TensorSpec, dims: &[i64]) -> String {
    format!("'{}' ({}, {})", spec.name, spec.data_type.config_name(), ShapeDisplay(dims))
}

/// The number that a name ends in: 12 of `INPUT12`.
fn trailing_number(name: &str) -> Option<u64> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name.get(name.len() - digits..)?.parse().ok()
}

/// All groups together; at least one.
fn instances(config: &ModelConfig) -> u32 {
    let count = config.instance_groups.iter().fold(0_u32, |sum, g| sum.saturating_add(g.count.unwrap_or(1)));
    count.max(1)
}

fn delay(config: &ModelConfig) -> Result<Duration> {
    let Some(value) = config.parameters.get(DELAY) else { return Ok(Duration::ZERO) };
    value.trim().parse().map(Duration::from_millis).map_err(|_| {
        Error::invalid_argument(format!(
            "model '{}': parameters.{DELAY} is '{value}', expected a whole number of milliseconds such as '5'",
            config.name
        ))
    })
}

#[cfg(test)]
mod tests;
