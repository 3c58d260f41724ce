use crate::{Error, Request, Response, Tensor, Value};

impl Request {
    /// The input of that name. Inputs that config.pbtxt does not call optional are always there.
    ///
    /// # Errors
    /// `invalid-argument` naming the inputs that are there.
    pub fn input(&self, name: &str) -> Result<&Tensor, Error> {
        self.inputs.iter().find(|tensor| tensor.name == name).ok_or_else(|| {
            let names: Vec<_> = self.inputs.iter().map(|tensor| format!("'{}'", tensor.name)).collect();
            Error::invalid_argument(format!("input '{name}' is missing: the request has {}", listing(&names)))
        })
    }

    /// The request parameter of that name, as the client sent it.
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

impl Response {
    /// A response with these outputs and no parameters.
    pub fn new(outputs: impl Into<Vec<Tensor>>) -> Self {
        Self { outputs: outputs.into(), parameters: Vec::new() }
    }
}

fn listing(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
