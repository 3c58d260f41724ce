//! Photographs as tensors: decode JPEG, PNG or WebP, turn upright, resize, normalise.
//!
//! The numbers are Pillow's (12, with libjpeg-turbo and libwebp), to the bit: `exif_transpose`, 16-bit grey divided by
//! 257, `convert('RGB')` (transparency dropped), `resize(..., BICUBIC)`.
//!
//! Rows are resized while they are decoded, so that a picture of any size takes little memory: of a baseline JPEG or
//! a PNG, its file and a few rows. A progressive JPEG takes 2 bytes a sample besides, an interlaced PNG or a WebP
//! the decoded picture.
//!
//! Nothing here knows of WebAssembly: the same code runs natively in tests and benches.

mod error;
mod exif;
mod filter;
mod format;
mod geometry;
mod jpeg;
mod lanes;
mod options;
#[cfg(feature = "plugin")]
mod parameters;
mod png;
mod resample;
mod tensor;
mod webp;

use geometry::Geometry;
use resample::{Resampler, RowSink};
use tensor::TensorWriter;

pub use error::Error;
pub use format::Format;
pub use geometry::Orientation;
pub use options::{Layout, Options, Resize};
#[cfg(feature = "plugin")]
pub use parameters::PARAMETERS;

/// Makes a picture file a tensor: writes [`Options::value_count`] values.
///
/// # Errors
/// Whatever is wrong with the file; see [`Error`].
///
/// # Panics
/// If `values` has another length.
pub fn decode(bytes: &[u8], options: &Options, values: &mut [f32]) -> Result<(), Error> {
    let format = Format::of(bytes)?;
    match format {
        Format::Jpeg => {
            let headers = jpeg::read(bytes)?;
            let stored = Stored { format, width: headers.width, height: headers.height };
            let orientation = headers.notes.orientation();
            stored.resize(orientation, jpeg::channels(&headers), options, values, |sink| {
                jpeg::decode(bytes, &headers, sink)
            })
        }
        Format::Png => {
            let headers = png::read(bytes)?;
            let stored = Stored { format, width: headers.width, height: headers.height };
            stored.resize(headers.orientation, headers.channels, options, values, |sink| {
                png::decode(bytes, &headers, sink)
            })
        }
        Format::WebP => {
            let headers = webp::read(bytes)?;
            let stored = Stored { format, width: headers.width, height: headers.height };
            stored.resize(headers.orientation, 3, options, values, |sink| webp::decode(headers, sink))
        }
    }
}

/// Width and height of a picture file, upright. Reads its headers alone.
///
/// # Errors
/// Whatever is wrong with the headers.
pub fn size(bytes: &[u8]) -> Result<(usize, usize), Error> {
    Ok(match Format::of(bytes)? {
        Format::Jpeg => {
            let headers = jpeg::read(bytes)?;
            headers.notes.orientation().seen((headers.width, headers.height))
        }
        Format::Png => {
            let headers = png::read(bytes)?;
            headers.orientation.seen((headers.width, headers.height))
        }
        Format::WebP => {
            let headers = webp::read(bytes)?;
            headers.orientation.seen((headers.width, headers.height))
        }
    })
}

/// Makes an array of pixels a tensor. `pixels` is `[height, width, 3]`, red, green, blue.
///
/// # Errors
/// `Shape` if `shape` is not that, or has another number of bytes.
///
/// # Panics
/// If `values` has another length than [`Options::value_count`] says.
pub fn prepare(pixels: &[u8], shape: &[i64], options: &Options, values: &mut [f32]) -> Result<(), Error> {
    let size = match *shape {
        [height, width, 3] => usize::try_from(height).ok().zip(usize::try_from(width).ok()),
        _ => None,
    };
    let fits = |&(height, width): &(usize, usize)| {
        height.checked_mul(width).and_then(|pixels| pixels.checked_mul(3)) == Some(pixels.len())
            && !pixels.is_empty()
    };
    let (height, width) = size.filter(fits).ok_or_else(|| Error::Shape { shape: shape.to_vec() })?;
    let geometry =
        Geometry::new((width, height), Orientation::UPRIGHT, options.resize, (options.width, options.height));
    let mut tensor = TensorWriter::new(&geometry, options, values);
    if geometry.keeps_size() {
        tensor.pixels(pixels, width);
        return Ok(());
    }
    let mut resampler = Resampler::new(&geometry, 3, tensor);
    for line in pixels.chunks_exact(3 * width) {
        resampler.row().set_interleaved::<3>(line);
        resampler.push();
    }
    resampler.finish();
    Ok(())
}

/// A picture as its file describes it.
struct Stored {
    format: Format,
    width: usize,
    height: usize,
}

impl Stored {
    fn resize(
        &self,
        orientation: Orientation,
        channels: usize,
        options: &Options,
        values: &mut [f32],
        decode: impl FnOnce(&mut dyn RowSink) -> Result<(), Error>,
    ) -> Result<(), Error> {
        options.check_size(self.format, self.width, self.height)?;
        let target = (options.width, options.height);
        let geometry = Geometry::new((self.width, self.height), orientation, options.resize, target);
        let tensor = TensorWriter::new(&geometry, options, values);
        let mut resampler = Resampler::new(&geometry, channels, tensor);
        decode(&mut resampler)?;
        resampler.finish();
        Ok(())
    }
}
