//! The plugin interface without the comfort of the SDK: a guest of a test must be able to break its rules.

#[allow(clippy::all)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "plugin",
        pub_export_macro: true,
        export_macro_name: "export_step",
        default_bindings_module: "nacre_guests::bindings",
    });
}

pub use bindings::{
    exports::nacre::plugin::step::{self, Description, Settings},
    nacre::plugin::{
        files, log, metrics, models,
        types::{DataType, Error, ErrorCode, Request, Response, Tensor, TensorSpec, Value},
    },
};

/// One input IN and one output OUT, bytes of any number.
pub fn description() -> Description {
    let spec = |name: &str| TensorSpec {
        name: name.into(),
        data_type: DataType::Uint8,
        dims: vec![-1],
        optional: false,
    };
    Description {
        summary: "a guest of the tests".into(),
        inputs: vec![spec("IN")],
        outputs: vec![spec("OUT")],
    }
}

/// OUT with these bytes.
pub fn answer(data: Vec<u8>) -> Response {
    Response {
        outputs: vec![Tensor {
            name: "OUT".into(),
            data_type: DataType::Uint8,
            shape: vec![data.len() as i64],
            data,
        }],
        parameters: vec![],
    }
}

/// The bytes of IN.
pub fn input(request: Request) -> Vec<u8> {
    request
        .inputs
        .into_iter()
        .find(|tensor| tensor.name == "IN")
        .map(|tensor| tensor.data)
        .unwrap_or_default()
}

/// An error of the plugin's own.
pub fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error { code, message: message.into() }
}

/// A parameter of config.pbtxt.
pub fn parameter(settings: &Settings, name: &str) -> String {
    settings
        .parameters
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.clone())
        .unwrap_or_default()
}

/// Makes a component of one function, `process`, and if need be its two companions.
///
/// Whatever the guest does otherwise, the input `behave` is answered `well`: so the tests see that the request after a
/// bad one succeeds.
#[macro_export]
macro_rules! guest {
    ($process:expr) => {
        $crate::guest!($process, |_| Ok(()));
    };
    ($process:expr, $configure:expr) => {
        $crate::guest!($process, $configure, |_| Ok($crate::description()));
    };
    ($process:expr, $configure:expr, $describe:expr) => {
        struct Guest;

        impl $crate::step::Guest for Guest {
            fn describe(settings: $crate::Settings) -> Result<$crate::Description, $crate::Error> {
                let describe: fn($crate::Settings) -> Result<$crate::Description, $crate::Error> = $describe;
                describe(settings)
            }

            fn configure(settings: $crate::Settings) -> Result<(), $crate::Error> {
                let configure: fn($crate::Settings) -> Result<(), $crate::Error> = $configure;
                configure(settings)
            }

            fn process(request: $crate::Request) -> Result<$crate::Response, $crate::Error> {
                let process: fn($crate::Request) -> Result<$crate::Response, $crate::Error> = $process;
                let asked_to_behave = request.inputs.iter().any(|tensor| tensor.data == b"behave");
                if asked_to_behave { Ok($crate::answer(b"well".to_vec())) } else { process(request) }
            }
        }

        $crate::bindings::export_step!(Guest with_types_in $crate::bindings);
    };
}
