//! Cases: what a plugin is asked in `nacre plugin test`, `run` and `bench`, and what it has to answer.
//!
//! A file in the plugin's folder `tests/`, of any name that ends in `.json`, holds one case or an array of them:
//!
//! ```json
//! {
//!   "name": "scales and shifts",
//!   "config_parameters": {"factor": "2", "offset": "0.5"},
//!   "parameters": {"round": true},
//!   "inputs": [
//!     {"name": "x", "datatype": "FP32", "shape": [3], "data": [1, 2, 3]}
//!   ],
//!   "outputs": [
//!     {"name": "y", "datatype": "FP32", "shape": [3], "data": [2.5, 4.5, 6.5]}
//!   ],
//!   "tolerance": {"absolute": 1e-6, "relative": 1e-5}
//! }
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `name` | for the report; by default the file's name, with a number if it holds several |
//! | `id` | the request's id; by default the case's name |
//! | `config_parameters` | put in place of, or beside, those of config.pbtxt; strings |
//! | `parameters` | of the request: booleans, whole numbers, numbers, strings |
//! | `requested_outputs` | names of the outputs that are asked for; all by default |
//! | `inputs` | tensors as the plugin sees them: one element, without a batch dimension |
//! | `models` | for each model that the plugin calls, what it answers instead |
//! | `outputs` | tensors that have to be in the answer; others in it are not looked at |
//! | `output_parameters` | parameters that have to be in the answer |
//! | `error` | the request, or `configure`, has to fail: `{"code": "invalid-argument", "contains": "factor"}`, both optional |
//! | `tolerance` | of floating-point outputs: by default 1e-6 absolute and 1e-5 relative. An element is right if it differs by at most `absolute + relative × abs(expected)`; NaN is right where NaN is expected |
//!
//! A case without `outputs`, `output_parameters` and `error` passes if the plugin answers.
//!
//! # Tensors
//!
//! `name`, and one of:
//!
//! - `data`: numbers, booleans or strings, flat or nested, as in KServe v2 JSON. For floats, the strings `"NaN"`,
//!   `"Infinity"` and `"-Infinity"` are numbers. `shape` may be left out: it is then that of the nesting.
//! - `file`: a path relative to the case's file. `.npy` is NumPy's (C or Fortran order, little or big endian; strings become
//!   BYTES; BF16 is stored as uint16 with `"datatype": "BF16"`). Any other file is one element if the data type is BYTES,
//!   else the raw little-endian elements of `shape`.
//! - `image`: a path relative to the case's file, of a JPEG, PNG or WebP. For an input of type UINT8 it is decoded to the
//!   pixels, upright, `[height, width, 3]`, red, green, blue; for BYTES it is the file as it is, `shape` `[1]` by default.
//!
//! `datatype` and the number of dimensions may be left out where the plugin or config.pbtxt says them.
//!
//! # Models
//!
//! `"models": {"detector": {"outputs": [tensors]}, "labels": {"error": {"code": "unavailable", "message": "busy"}}}`. An
//! array of such answers is given one after another, call by call; a call beyond its end is an error. A model that is not
//! there is an error that says so. Outputs are as the model would give them, with its batch dimension.
//!
//! Codes of errors are those of `wit/types.wit`; those of gRPC (`INVALID_ARGUMENT`) mean the same.

mod code;
pub mod compare;
mod file;
mod image;
pub mod npy;
mod numbers;
mod tensor;

pub use code::Code;
pub use file::{Answer, Case, ExpectedError, ModelError, ModelMock, Tolerance, read, read_folder};
pub use numbers::{elements, shorten};
pub use tensor::TensorSource;
