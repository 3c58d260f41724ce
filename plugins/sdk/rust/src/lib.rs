//! Write plugins for the Nacre inference server: preprocessing and postprocessing steps that run as WebAssembly
//! components beside its models.
//!
//! A plugin is a library of `crate-type = ["cdylib"]`, built with `cargo build --release --target wasm32-wasip2`:
//!
//! ```no_run
//! use nacre_plugin::{DataType, Description, Error, Plugin, Request, Response, Settings, Tensor, TensorSpec};
//!
//! /// Multiplies `x` by a factor from config.pbtxt.
//! struct Scale {
//!     factor: f32,
//! }
//!
//! impl Plugin for Scale {
//!     fn describe(_settings: &Settings) -> Result<Description, Error> {
//!         Ok(Description {
//!             summary: "multiplies by a factor".to_owned(),
//!             inputs: vec![TensorSpec::new("x", DataType::Fp32, &[-1])],
//!             outputs: vec![TensorSpec::new("y", DataType::Fp32, &[-1])],
//!         })
//!     }
//!
//!     fn configure(settings: &Settings) -> Result<Self, Error> {
//!         Ok(Self { factor: settings.parse("factor")?.unwrap_or(1.0) })
//!     }
//!
//!     fn process(&mut self, request: Request) -> Result<Response, Error> {
//!         let x = request.input("x")?;
//!         let y = Tensor::build::<f32>("y", &x.shape, |y| {
//!             for (y, x) in y.iter_mut().zip(x.values::<f32>()?.iter()) {
//!                 *y = x * self.factor;
//!             }
//!             Ok::<_, Error>(())
//!         })?;
//!         Ok(Response::new([y]))
//!     }
//! }
//!
//! nacre_plugin::export!(Scale);
//! ```
//!
//! The server calls `configure` once, when it loads the model, and `process` once for each element of a client's batch,
//! in an instance that starts as `configure` left it and that no other request has seen: tensors have exactly the shape of
//! `dims` in config.pbtxt, and nothing that `process` keeps in memory reaches another request. A panic is that request's error alone; its message is in the server's log.
//!
//! Build guests with `-C target-feature=+simd128`: loops over pixels are several times faster with it.

#[doc(hidden)]
pub mod bindings;
mod error;
pub mod files;
pub mod log;
pub mod metrics;
pub mod models;
mod plugin;
mod request;
mod settings;
mod tensor;
mod value;
mod view;

pub use bindings::exports::nacre::plugin::step::{Description, Settings};
pub use bindings::nacre::plugin::types::{
    DataType, Error, ErrorCode, Request, Response, Tensor, TensorSpec, Value,
};
pub use plugin::Plugin;
pub use tensor::{Element, Elements};
pub use view::View;

#[doc(hidden)]
pub mod __private {
    pub use crate::bindings::__export_plugin as export_bindings;
    pub use crate::bindings::{self, exports::nacre::plugin::step::Guest};
    pub use crate::plugin::Slot;
}
