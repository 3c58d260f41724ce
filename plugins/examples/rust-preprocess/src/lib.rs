//! Makes an RGB array of any size the tensor that a network takes.
//!
//! - input `image`: UINT8 [-1, -1, 3], height, width, and red, green, blue
//! - output `tensor`: FP32 [3, height, width], or [height, width, 3] with `layout` HWC
//!
//! Parameters, all of them optional, with their defaults: `width` and `height` as `tensor` has them in config.pbtxt,
//! else 224; `resize` straight (or crop, letterbox), `shorter_side` (with crop; the smallest that covers the target),
//! `fill` 0 (with letterbox), `mean` and `std` (ImageNet's), `layout` CHW.

use nacre_image::{Options, PARAMETERS};
use nacre_plugin::{DataType, Description, Error, Plugin, Request, Response, Settings, Tensor, TensorSpec};

struct Preprocess {
    options: Options,
}

impl Plugin for Preprocess {
    fn describe(settings: &Settings) -> Result<Description, Error> {
        let options = Options::from_settings(settings, "tensor", Options::default())?;
        Ok(Description {
            summary: "resizes and normalises an RGB array".to_owned(),
            inputs: vec![TensorSpec::new("image", DataType::Uint8, &[-1, -1, 3])],
            outputs: vec![TensorSpec::new("tensor", DataType::Fp32, &options.shape())],
        })
    }

    fn configure(settings: &Settings) -> Result<Self, Error> {
        settings.warn_unknown(PARAMETERS);
        Ok(Self { options: Options::from_settings(settings, "tensor", Options::default())? })
    }

    fn process(&mut self, request: Request) -> Result<Response, Error> {
        let image = request.input("image")?;
        let pixels = image.values::<u8>()?;
        let tensor = Tensor::build("tensor", &self.options.shape(), |values| {
            Ok(nacre_image::prepare(&pixels, &image.shape, &self.options, values)?)
        })?;
        Ok(Response::new([tensor]))
    }
}

nacre_plugin::export!(Preprocess);
