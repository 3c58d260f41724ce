//! Decodes a photograph and makes it the tensor that a network takes.
//!
//! - input `image`: BYTES [1], one JPEG, PNG or WebP file
//! - output `pixels`: FP32 [3, height, width], or [height, width, 3] with `layout` HWC
//!
//! Parameters, all of them optional, with their defaults: `width` and `height` as `pixels` has them in config.pbtxt,
//! else 224; `resize` straight (or crop, letterbox), `shorter_side` (with crop; the smallest that covers the target),
//! `fill` 0 (with letterbox), `mean` and `std` (ImageNet's), `layout` CHW, `max_pixels` 100000000.

use nacre_image::{Options, PARAMETERS};
use nacre_plugin::{DataType, Description, Error, Plugin, Request, Response, Settings, Tensor, TensorSpec};

struct DecodeImage {
    options: Options,
}

impl Plugin for DecodeImage {
    fn describe(settings: &Settings) -> Result<Description, Error> {
        let options = Options::from_settings(settings, "pixels", Options::default())?;
        Ok(Description {
            summary: "decodes a JPEG, PNG or WebP file, resizes and normalises it".to_owned(),
            inputs: vec![TensorSpec::new("image", DataType::Bytes, &[1])],
            outputs: vec![TensorSpec::new("pixels", DataType::Fp32, &options.shape())],
        })
    }

    fn configure(settings: &Settings) -> Result<Self, Error> {
        settings.warn_unknown(PARAMETERS);
        Ok(Self { options: Options::from_settings(settings, "pixels", Options::default())? })
    }

    fn process(&mut self, request: Request) -> Result<Response, Error> {
        let file = request.input("image")?.element()?;
        let pixels = Tensor::build("pixels", &self.options.shape(), |values| {
            Ok(nacre_image::decode(file, &self.options, values)?)
        })?;
        Ok(Response::new([pixels]))
    }
}

nacre_plugin::export!(DecodeImage);
