//! Text as the tensors that a language model takes: tokenised as a Hugging Face tokenizer.json says, cut, padded.
//!
//! The tokens are those of the Python package `tokenizers`, whose library this is. Nothing here knows of WebAssembly:
//! the same code runs natively in tests.

mod batch;
mod error;
mod options;
#[cfg(feature = "plugin")]
mod parameters;
mod tokenizer;

pub use batch::Batch;
pub use error::Error;
pub use options::{Options, Padding};
#[cfg(feature = "plugin")]
pub use parameters::PARAMETERS;
pub use tokenizer::Tokenizer;
