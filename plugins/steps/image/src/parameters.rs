//! The options as parameters of a plugin.

use nacre_plugin::{Error, Settings};

use crate::options::{Layout, Options, Resize};

/// Largest width and height of a tensor.
const LARGEST_SIDE: usize = 16_384;

/// The parameters that [`Options::from_settings`] reads.
pub const PARAMETERS: &[&str] =
    &["width", "height", "resize", "shorter_side", "fill", "mean", "std", "layout", "max_pixels"];

#[derive(Clone, Copy)]
enum Kind {
    Straight,
    Crop,
    Letterbox,
}

impl Options {
    /// Reads config.pbtxt's `parameters`; what is not set stays as in `defaults`. A width or height that is not set is
    /// that of the output `tensor` in config.pbtxt, if it says one.
    ///
    /// # Errors
    /// `invalid-argument`, naming the parameter, what it is and what it may be.
    pub fn from_settings(settings: &Settings, tensor: &str, defaults: Self) -> Result<Self, Error> {
        let mut options = defaults;
        options.layout = settings
            .choose("layout", &[("CHW", Layout::Chw), ("HWC", Layout::Hwc)])?
            .unwrap_or(options.layout);
        let (height, width) = match options.layout {
            Layout::Chw => (1, 2),
            Layout::Hwc => (0, 1),
        };
        options.width = match side(settings, "width")? {
            Some(width) => width,
            None => side_of_output(settings, tensor, width)?.unwrap_or(options.width),
        };
        options.height = match side(settings, "height")? {
            Some(height) => height,
            None => side_of_output(settings, tensor, height)?.unwrap_or(options.height),
        };
        options.fill = triple(settings, "fill")?.unwrap_or(options.fill);
        options.mean = triple(settings, "mean")?.unwrap_or(options.mean);
        options.std = triple(settings, "std")?.unwrap_or(options.std);
        options.max_pixels = settings.parse("max_pixels")?.unwrap_or(options.max_pixels);

        let shorter_side = side(settings, "shorter_side")?;
        let kinds = [("straight", Kind::Straight), ("crop", Kind::Crop), ("letterbox", Kind::Letterbox)];
        match settings.choose("resize", &kinds)? {
            None => {}
            Some(Kind::Straight) => options.resize = Resize::Straight,
            Some(Kind::Crop) => options.resize = Resize::Crop { shorter_side },
            Some(Kind::Letterbox) => options.resize = Resize::Letterbox,
        }
        if let Some(shorter_side) = shorter_side {
            if !matches!(options.resize, Resize::Crop { .. }) {
                return Err(Error::invalid_argument(
                    "parameter 'shorter_side' has a meaning only with parameter 'resize' set to 'crop'",
                ));
            }
            if shorter_side < options.width.max(options.height) {
                return Err(Error::invalid_argument(format!(
                    "parameter 'shorter_side' is {shorter_side}: expected at least the width and the height that are cut \
                     out, {}×{}",
                    options.width, options.height
                )));
            }
        }
        if let Some(std) = options.std.iter().find(|std| !std.is_normal()) {
            return Err(Error::invalid_argument(format!(
                "parameter 'std' has {std}: it divides, so it cannot be that"
            )));
        }
        Ok(options)
    }
}

fn side(settings: &Settings, name: &str) -> Result<Option<usize>, Error> {
    let side = settings.parse(name)?;
    match side {
        Some(0) | Some(LARGEST_SIDE..) => Err(Error::invalid_argument(format!(
            "parameter '{name}' is {}: expected a whole number, 1 to {}",
            settings.get(name).unwrap_or_default(),
            LARGEST_SIDE - 1
        ))),
        _ => Ok(side),
    }
}

/// A size that the output has in config.pbtxt.
fn side_of_output(settings: &Settings, tensor: &str, dimension: usize) -> Result<Option<usize>, Error> {
    let Some(spec) = settings.output(tensor).filter(|spec| spec.dims.len() == 3) else { return Ok(None) };
    match spec.size(dimension) {
        Some(0) | Some(LARGEST_SIDE..) => Err(Error::invalid_argument(format!(
            "output '{tensor}' has the dims {:?}: expected 1 to {} pixels",
            spec.dims,
            LARGEST_SIDE - 1
        ))),
        size => Ok(size),
    }
}

/// One value for each channel, or one for all.
fn triple<T: std::str::FromStr + Copy>(settings: &Settings, name: &str) -> Result<Option<[T; 3]>, Error> {
    match settings.parse_list(name)?.as_deref() {
        None => Ok(None),
        Some(&[all]) => Ok(Some([all; 3])),
        Some(&[red, green, blue]) => Ok(Some([red, green, blue])),
        Some(values) => Err(Error::invalid_argument(format!(
            "parameter '{name}' has {} values: expected one, or three for red, green and blue",
            values.len()
        ))),
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::invalid_argument(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_plugin::{DataType, TensorSpec};

    fn settings(dims: &[i64], parameters: &[(&str, &str)]) -> Settings {
        Settings {
            model: "m".to_owned(),
            version: "1".to_owned(),
            max_batch_size: 0,
            inputs: Vec::new(),
            outputs: vec![TensorSpec::new("pixels", DataType::Fp32, dims)],
            parameters: parameters.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        }
    }

    fn shape(dims: &[i64], parameters: &[(&str, &str)]) -> [i64; 3] {
        Options::from_settings(&settings(dims, parameters), "pixels", Options::default()).unwrap().shape()
    }

    #[test]
    fn the_size_is_that_of_the_output_where_no_parameter_says_another() {
        assert_eq!(shape(&[3, 10, 20], &[]), [3, 10, 20]);
        assert_eq!(shape(&[10, 20, 3], &[("layout", "HWC")]), [10, 20, 3]);
        assert_eq!(shape(&[3, 10, 20], &[("width", "30")]), [3, 10, 30]);
        assert_eq!(shape(&[3, -1, 20], &[]), [3, 224, 20]);
        assert_eq!(shape(&[-1], &[]), [3, 224, 224]);
    }

    #[test]
    fn an_output_of_no_size_is_refused() {
        let settings = settings(&[3, 0, 20], &[]);
        let error = Options::from_settings(&settings, "pixels", Options::default()).unwrap_err();
        assert_eq!(error.message, "output 'pixels' has the dims [3, 0, 20]: expected 1 to 16383 pixels");
    }
}
