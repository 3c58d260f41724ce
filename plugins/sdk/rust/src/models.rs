//! Calls of other models and plugins of the same server.
//!
//! config.pbtxt names those that a plugin may call, and makes them its dependencies:
//! `parameters { key: "NACRE_MODELS" value { string_value: "detector, classifier" } }`. Calls inherit the deadline of
//! the request and end when it is cancelled. They may be made from [`Plugin::process`](crate::Plugin::process) only.
//!
//! ```no_run
//! # use nacre_plugin::{Error, Request, Response, Tensor, models::{self, Call}};
//! # fn process(request: Request) -> Result<Response, Error> {
//! let image = request.input("image")?;
//! let found = Call::new("detector").input(image.clone().named("pixels")).output("boxes").infer()?;
//! let boxes = found.output("boxes")?;
//!
//! // Several at once: they run side by side.
//! let calls = ["red", "green"].map(|colour| Call::new("classifier").input(boxes.clone()).parameter("colour", colour));
//! for answer in models::infer_all(calls) {
//!     let answer = answer?;
//! }
//! # Ok(found)
//! # }
//! ```

use crate::{Error, Request, Response, Tensor, Value, bindings::nacre::plugin::models};

pub use models::Call;

impl Call {
    /// A call of the model's highest version, without inputs yet, for all of its outputs.
    pub fn new(model: impl Into<String>) -> Self {
        let request = Request {
            id: String::new(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            requested_outputs: Vec::new(),
        };
        Self { model: model.into(), version: None, request }
    }

    /// Of this version, such as "2".
    pub fn version(self, version: impl Into<String>) -> Self {
        Self { version: Some(version.into()), ..self }
    }

    /// Adds an input, as a client would send it: with the batch dimension in front if the model has one
    /// ([`Tensor::batch_of_one`]).
    pub fn input(mut self, tensor: Tensor) -> Self {
        self.request.inputs.push(tensor);
        self
    }

    /// Adds a parameter of the request.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.parameters.push((name.into(), value.into()));
        self
    }

    /// Wants this output. Without any, all outputs come.
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.request.requested_outputs.push(name.into());
        self
    }

    /// Makes the call and waits for its answer.
    ///
    /// # Errors
    /// `invalid-argument` with the line to add, for a model that config.pbtxt does not grant; else the model's own.
    pub fn infer(&self) -> Result<Response, Error> {
        models::infer(self)
    }
}

/// Makes several calls, all running at once, and waits for every one. Answers are in the order of the calls; one that
/// fails leaves the others be.
pub fn infer_all(calls: impl IntoIterator<Item = Call>) -> Vec<Result<Response, Error>> {
    let calls: Vec<_> = calls.into_iter().collect();
    models::infer_all(&calls)
}
