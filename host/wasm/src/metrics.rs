use crate::{bindings::metrics, state::HostState};

impl metrics::Host for HostState {
    fn add(&mut self, _name: String, _amount: f64, _labels: Vec<(String, String)>) {}
    fn set(&mut self, _name: String, _value: f64, _labels: Vec<(String, String)>) {}
    fn observe(&mut self, _name: String, _value: f64, _labels: Vec<(String, String)>) {}
}
