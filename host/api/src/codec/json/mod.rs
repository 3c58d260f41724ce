//! JSON of infer requests and responses.
//!
//! A reader and a writer of our own, since they have to do what a general JSON library does not: put a million numbers
//! straight into the bytes of a tensor, keep 64-bit integers and FP64 exact, take and give `NaN` and `Infinity` as
//! Triton and its clients do, and name the element that is wrong. Everything else in JSON goes through serde.

mod data_reader;
mod data_writer;
mod number;
mod reader;

pub use data_reader::read_data;
pub use data_writer::write_data;
pub use number::Number;
pub use reader::Reader;
