//! Tensors and parameters by name.

use crate::{Error, Request, Response, Tensor, Value};

impl Request {
    /// The input of that name. Inputs that config.pbtxt does not call optional are always there.
    ///
    /// # Errors
    /// `invalid-argument` naming the inputs that are there.
    pub fn input(&self, name: &str) -> Result<&Tensor, Error> {
        self.optional_input(name).ok_or_else(|| {
            Error::invalid_argument(format!(
                "input '{name}' is missing: the request has {}",
                names(&self.inputs)
            ))
        })
    }

    /// The input of that name, if the request has it.
    pub fn optional_input(&self, name: &str) -> Option<&Tensor> {
        self.inputs.iter().find(|tensor| tensor.name == name)
    }

    /// Takes the input of that name out of the request, to change it or hand it on without a copy.
    ///
    /// # Errors
    /// `invalid-argument` naming the inputs that are there.
    pub fn take_input(&mut self, name: &str) -> Result<Tensor, Error> {
        self.input(name)?;
        // It is there; taking it out keeps the order of the others.
        let at = self.inputs.iter().position(|tensor| tensor.name == name).unwrap_or_default();
        Ok(self.inputs.remove(at))
    }

    /// Whether the client wants the output of that name: it names it, or it names none.
    pub fn wants(&self, output: &str) -> bool {
        self.requested_outputs.is_empty() || self.requested_outputs.iter().any(|name| name == output)
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

    /// The output of that name, of an answer of another model.
    ///
    /// # Errors
    /// `internal` naming the outputs that are there.
    pub fn output(&self, name: &str) -> Result<&Tensor, Error> {
        self.outputs.iter().find(|tensor| tensor.name == name).ok_or_else(|| self.missing(name))
    }

    /// Takes the output of that name out of the response, without a copy.
    ///
    /// # Errors
    /// `internal` naming the outputs that are there.
    pub fn take_output(&mut self, name: &str) -> Result<Tensor, Error> {
        match self.outputs.iter().position(|tensor| tensor.name == name) {
            Some(at) => Ok(self.outputs.remove(at)),
            None => Err(self.missing(name)),
        }
    }

    fn missing(&self, name: &str) -> Error {
        Error::internal(format!("output '{name}' is missing: the response has {}", names(&self.outputs)))
    }
}

fn names(tensors: &[Tensor]) -> String {
    if tensors.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<_> = tensors.iter().map(|tensor| format!("'{}'", tensor.name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str) -> Tensor {
        Tensor::from_values(name, &[1], &[1.0_f32]).unwrap()
    }

    fn request(requested_outputs: &[&str]) -> Request {
        Request {
            id: String::new(),
            parameters: vec![("k".to_owned(), Value::Integer(5))],
            inputs: vec![tensor("a"), tensor("b")],
            requested_outputs: requested_outputs.iter().map(|name| name.to_string()).collect(),
        }
    }

    #[test]
    fn a_missing_input_is_an_error_that_names_those_there() {
        let mut request = request(&[]);
        assert_eq!(request.take_input("b").unwrap().name, "b");
        let error = request.input("b").unwrap_err();
        assert_eq!(error.message, "input 'b' is missing: the request has 'a'");
        assert!(request.optional_input("a").is_some());
    }

    #[test]
    fn every_output_is_wanted_unless_some_are_named() {
        assert!(request(&[]).wants("y"));
        assert!(request(&["y"]).wants("y"));
        assert!(!request(&["z"]).wants("y"));
    }

    #[test]
    fn a_whole_number_is_a_number_too() {
        let request = request(&[]);
        let value = request.parameter("k").unwrap();
        assert_eq!((value.as_i64(), value.as_f64(), value.as_str()), (Some(5), Some(5.0), None));
    }

    #[test]
    fn outputs_of_an_answer_are_found_by_name() {
        let mut response = Response::new([tensor("y")]);
        assert_eq!(response.output("z").unwrap_err().message, "output 'z' is missing: the response has 'y'");
        assert_eq!(response.take_output("y").unwrap().name, "y");
        assert_eq!(
            response.take_output("y").unwrap_err().message,
            "output 'y' is missing: the response has none"
        );
    }
}
