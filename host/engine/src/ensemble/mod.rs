//! Ensembles: a graph of steps, checked once when the ensemble loads and run for every request.

mod check;
mod plan;
mod run;

pub(crate) use check::{Checked, check};
pub(crate) use plan::EnsemblePlan;
