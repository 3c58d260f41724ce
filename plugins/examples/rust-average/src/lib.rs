//! The mean of several FP32 tensors: of its inputs, or of what several models make of its one input.
//!
//! With `parameters { key: "NACRE_MODELS" value { string_value: "a, b" } }` it hands its input to all of these models at
//! once, under the name that `model_input` says, with a batch dimension in front if `batched` is true, and gives the mean
//! of their outputs named `model_output`. Without, it gives the mean of its inputs: the last step of an ensemble that runs
//! the models itself.
//!
//! Inputs and outputs are those of config.pbtxt: one output of FP32, and inputs of one shape.

use nacre_plugin::{
    DataType, Description, Error, Plugin, Request, Response, Settings, Tensor,
    models::{self, Call},
};

struct Average {
    /// Name of the output.
    output: String,
    asked: Option<Asked>,
}

/// Models to ask, and how they call their tensors.
struct Asked {
    models: Vec<String>,
    input: String,
    output: String,
    batched: bool,
}

impl Plugin for Average {
    fn describe(_settings: &Settings) -> Result<Description, Error> {
        let summary = "gives the mean of its inputs, or of what several models answer".to_owned();
        Ok(Description { summary, inputs: Vec::new(), outputs: Vec::new() })
    }

    fn configure(settings: &Settings) -> Result<Self, Error> {
        settings.warn_unknown(&["model_input", "model_output", "batched"]);
        let [output] = settings.outputs.as_slice() else {
            return Err(Error::invalid_argument("config.pbtxt must name one output, of TYPE_FP32"));
        };
        let asked = settings.parse_list::<String>("NACRE_MODELS")?.map(|models| {
            Ok::<_, Error>(Asked {
                models,
                input: settings.require("model_input")?,
                output: settings.require("model_output")?,
                batched: settings.parse("batched")?.unwrap_or(false),
            })
        });
        Ok(Self { output: output.name.clone(), asked: asked.transpose()? })
    }

    fn process(&mut self, request: Request) -> Result<Response, Error> {
        let tensors = match &self.asked {
            None => request.inputs,
            Some(asked) => asked.answers(request)?,
        };
        let Some((first, others)) = tensors.split_first() else {
            return Err(Error::internal("there is nothing to take the mean of"));
        };
        let share = 1.0 / tensors.len() as f32;
        let mean = Tensor::build::<f32>(&self.output, &first.shape, |mean| {
            for (mean, value) in mean.iter_mut().zip(first.values::<f32>()?.iter()) {
                *mean = value * share;
            }
            for tensor in others {
                if tensor.shape != first.shape || tensor.data_type != DataType::Fp32 {
                    return Err(Error::internal(format!(
                        "'{}' has shape {:?}, '{}' {:?}: expected one shape, of FP32",
                        first.name, first.shape, tensor.name, tensor.shape
                    )));
                }
                for (mean, value) in mean.iter_mut().zip(tensor.values::<f32>()?.iter()) {
                    *mean += value * share;
                }
            }
            Ok::<_, Error>(())
        })?;
        Ok(Response::new([mean]))
    }
}

impl Asked {
    /// What the models answer, each asked at once with the others, without the batch dimension.
    fn answers(&self, mut request: Request) -> Result<Vec<Tensor>, Error> {
        let Some(input) = request.inputs.pop() else {
            return Err(Error::invalid_argument("the request has no input"));
        };
        let mut input = input.named(&self.input);
        if self.batched {
            input = input.batch_of_one();
        }
        let call = |model: &String| Call::new(model).input(input.clone()).output(&self.output);
        let answers = models::infer_all(self.models.iter().map(call));
        let output = |answer: Result<Response, Error>| {
            let mut tensor = answer?.take_output(&self.output)?;
            if self.batched {
                tensor.shape.remove(0);
            }
            Ok(tensor)
        };
        answers.into_iter().map(output).collect()
    }
}

nacre_plugin::export!(Average);
