//! What to make of a picture.

use crate::error::Error;

/// How a picture's proportions are brought to the target's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// To the target's width and height, whatever its proportions.
    Straight,
    /// To a size that covers the target, then the centre is cut out.
    Crop {
        /// The shorter side before cutting; by default the smallest that covers the target.
        shorter_side: Option<usize>,
    },
    /// To a size that fits into the target, centred; the rest is filled.
    Letterbox,
}

/// The order of the tensor's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Channels, height, width: PyTorch's.
    Chw,
    /// Height, width, channels.
    Hwc,
}

/// Everything that can be chosen. The default is 224×224, straight, ImageNet's mean and deviation, CHW.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Of the tensor, in pixels.
    pub width: usize,
    /// Of the tensor, in pixels.
    pub height: usize,
    /// What becomes of the proportions.
    pub resize: Resize,
    /// Red, green, blue where a letterbox shows nothing, 0 to 255.
    pub fill: [u8; 3],
    /// Subtracted from each channel's 0 to 255.
    pub mean: [f32; 3],
    /// Each channel is divided by it afterwards.
    pub std: [f32; 3],
    /// Order of the tensor's dimensions.
    pub layout: Layout,
    /// Pictures with more pixels are refused.
    pub max_pixels: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 224,
            height: 224,
            resize: Resize::Straight,
            fill: [0; 3],
            mean: [123.675, 116.28, 103.53],
            std: [58.395, 57.12, 57.375],
            layout: Layout::Chw,
            max_pixels: 100_000_000,
        }
    }
}

impl Options {
    /// Number of values of the tensor.
    pub fn value_count(&self) -> usize {
        3 * self.width * self.height
    }

    /// Shape of the tensor.
    pub fn shape(&self) -> [i64; 3] {
        let (width, height) = (self.width as i64, self.height as i64);
        match self.layout {
            Layout::Chw => [3, height, width],
            Layout::Hwc => [height, width, 3],
        }
    }

    pub(crate) fn check_size(&self, format: crate::Format, width: usize, height: usize) -> Result<(), Error> {
        let pixels = width as u64 * height as u64;
        if pixels == 0 {
            return Err(Error::Empty { format, width, height });
        }
        if pixels > self.max_pixels {
            return Err(Error::TooLarge { format, width, height, pixels, limit: self.max_pixels });
        }
        Ok(())
    }
}
