//! One file for each subcommand: what it does, and what it reports.

mod bench;
mod build;
mod check;
mod dev;
mod inspect;
mod new;
mod run;
mod test;

pub use bench::{BenchReport, Measured, bench};
pub use build::build;
pub use check::{CheckReport, Problem, check};
pub use dev::{DevEvent, dev};
pub use inspect::{InspectReport, inspect};
pub use new::new;
pub use run::{OutputTensor, RunReport, run};
pub use test::{CaseReport, TestReport, test};
