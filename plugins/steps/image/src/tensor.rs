//! From pixels to the values that a network takes.

use crate::{
    geometry::Geometry,
    options::{Layout, Options},
    resample::Resized,
};

/// Writes the tensor: `(x - mean) / std`, in the chosen order of dimensions.
///
/// # Panics
/// If `values` is not as long as [`Options::value_count`] says.
pub(crate) fn write(resized: &Resized, geometry: &Geometry, options: &Options, values: &mut [f32]) {
    assert_eq!(values.len(), options.value_count(), "length of the tensor");
    let (columns, rows) = geometry.shown();
    for channel in 0..3 {
        // The value of each of the channel's levels.
        let values_of: [f32; 256] =
            std::array::from_fn(|level| (level as f32 - options.mean[channel]) / options.std[channel]);
        let filled = values_of[usize::from(options.fill[channel])];
        let source_channel = if resized.channels == 1 { 0 } else { channel };
        let place = |x, y| {
            let (column, row) = geometry.stored(x, y);
            (row * resized.width + column) * resized.channels + source_channel
        };
        let (start, step) = match options.layout {
            Layout::Chw => (channel * options.height * options.width, 1),
            Layout::Hwc => (channel, 3),
        };
        for y in 0..options.height {
            let row = &mut values[start + y * options.width * step..];
            let mut targets = row.iter_mut().step_by(step).take(options.width);
            if !rows.contains(&y) {
                targets.for_each(|target| *target = filled);
                continue;
            }
            targets.by_ref().take(columns.start).for_each(|target| *target = filled);
            // Pixels that are seen beside each other lie equally far apart where they are stored.
            let first = place(0, y - rows.start);
            let apart = if columns.len() > 1 { place(1, y - rows.start).wrapping_sub(first) } else { 0 };
            let mut at = first;
            for target in targets.by_ref().take(columns.len()) {
                *target = values_of[usize::from(resized.pixels[at])];
                at = at.wrapping_add(apart);
            }
            targets.for_each(|target| *target = filled);
        }
    }
}
