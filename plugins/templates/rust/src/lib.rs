//! {{name}}: multiplies numbers, adds to them, and greets.
//!
//! - input `x` FP32 [-1] → output `y` FP32 [-1]: x * factor + offset
//! - input `names` BYTES [-1], optional → output `greetings` BYTES [-1], of the same shape
//!
//! Parameters of config.pbtxt: `factor` (1), `offset` (0).

use nacre_plugin::{DataType, Description, Error, Plugin, Request, Response, Settings, Tensor, TensorSpec};

/// What the parameters say.
struct Scale {
    factor: f32,
    offset: f32,
}

impl Plugin for Scale {
    fn describe(_settings: &Settings) -> Result<Description, Error> {
        Ok(Description {
            summary: "multiplies numbers, adds to them, and greets".to_owned(),
            inputs: vec![
                TensorSpec::new("x", DataType::Fp32, &[-1]),
                TensorSpec::new("names", DataType::Bytes, &[-1]).optional(),
            ],
            outputs: vec![
                TensorSpec::new("y", DataType::Fp32, &[-1]),
                TensorSpec::new("greetings", DataType::Bytes, &[-1]),
            ],
        })
    }

    fn configure(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            factor: settings.parse("factor")?.unwrap_or(1.0),
            offset: settings.parse("offset")?.unwrap_or(0.0),
        })
    }

    fn process(&mut self, request: Request) -> Result<Response, Error> {
        let input = request.input("x")?;
        let x = input.values::<f32>()?;
        let mut outputs = vec![Tensor::build::<f32>("y", &input.shape, |y| {
            for (y, x) in y.iter_mut().zip(x.iter()) {
                *y = x * self.factor + self.offset;
            }
            Ok(())
        })?];
        if let Some(names) = request.optional_input("names") {
            let greetings: Vec<_> = names.strings()?.iter().map(|name| format!("hello, {name}")).collect();
            outputs.push(Tensor::from_elements("greetings", &names.shape, &greetings)?);
        }
        Ok(Response::new(outputs))
    }
}

nacre_plugin::export!(Scale);
