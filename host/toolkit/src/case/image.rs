use nacre_image::{Layout, Options, Resize};

/// A picture's pixels, upright: `[height, width, 3]` and as many bytes.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn pixels(bytes: &[u8]) -> Result<(Vec<i64>, Vec<u8>), String> {
    let (width, height) = nacre_image::size(bytes).map_err(|error| error.to_string())?;
    // At its own size nothing is resampled, and without mean and deviation the values are the pixels.
    let options = Options {
        width,
        height,
        resize: Resize::Straight,
        mean: [0.0; 3],
        std: [1.0; 3],
        layout: Layout::Hwc,
        ..Options::default()
    };
    let count = width.checked_mul(height).filter(|&pixels| pixels as u64 <= options.max_pixels);
    let count = count
        .ok_or_else(|| format!("it has {width}×{height} pixels; expected {} at most", options.max_pixels))?;
    let mut values = vec![0.0; count * 3];
    nacre_image::decode(bytes, &options, &mut values).map_err(|error| error.to_string())?;
    Ok((options.shape().to_vec(), values.into_iter().map(|value| value as u8).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2×1 pixels, red and blue, as Pillow writes them.
    const PNG: &[u8] = &[
        0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 2, 0,
        0, 0, 1, 8, 2, 0, 0, 0, 0x7b, 0x40, 0xe8, 0xdd,
    ];

    #[test]
    fn a_picture_that_is_cut_off_is_an_error() {
        assert!(pixels(PNG).is_err());
        assert!(pixels(b"GIF89a").unwrap_err().contains("GIF"));
    }
}
