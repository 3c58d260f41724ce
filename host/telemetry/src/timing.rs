use std::{ops::AddAssign, time::Duration};

/// Where the time of one request, or of one execution, went. The parts are those of Triton's statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTiming {
    /// From being submitted to the start of the batch that the request is in.
    pub queue: Duration,
    /// Forming the batch's input and bringing it to where it is computed.
    pub compute_input: Duration,
    /// Running the model.
    pub compute_infer: Duration,
    /// Bringing the outputs back and cutting them up by request.
    pub compute_output: Duration,
}

impl RequestTiming {
    /// The three compute parts together.
    pub fn compute(&self) -> Duration {
        self.compute_input.saturating_add(self.compute_infer).saturating_add(self.compute_output)
    }
}

impl AddAssign for RequestTiming {
    fn add_assign(&mut self, other: RequestTiming) {
        self.queue = self.queue.saturating_add(other.queue);
        self.compute_input = self.compute_input.saturating_add(other.compute_input);
        self.compute_infer = self.compute_infer.saturating_add(other.compute_infer);
        self.compute_output = self.compute_output.saturating_add(other.compute_output);
    }
}
