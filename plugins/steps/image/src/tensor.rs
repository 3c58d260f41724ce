//! From pixels to the values that a network takes: `(x - mean) / std`, in the chosen order of dimensions.

use std::ops::Range;

use crate::{
    geometry::Geometry,
    options::{Layout, Options},
    resample::{BAND, Row, stride},
};

/// Takes a picture in its new size, as it is stored, and writes it as it is seen.
pub(crate) struct TensorWriter<'a> {
    geometry: &'a Geometry,
    options: &'a Options,
    values: &'a mut [f32],
}

impl<'a> TensorWriter<'a> {
    /// Fills what the picture leaves free.
    ///
    /// # Panics
    /// If `values` is not as long as [`Options::value_count`] says.
    pub(crate) fn new(geometry: &'a Geometry, options: &'a Options, values: &'a mut [f32]) -> Self {
        assert_eq!(values.len(), options.value_count(), "length of the tensor");
        let mut writer = Self { geometry, options, values };
        let (columns, rows) = geometry.shown();
        for y in 0..options.height {
            let free = if rows.contains(&y) {
                [0..columns.start, columns.end..options.width]
            } else {
                [0..options.width, 0..0]
            };
            for (channel, free) in
                free.into_iter().flat_map(|free| (0..3).map(move |channel| (channel, free.clone())))
            {
                let level = i16::from(options.fill[channel]);
                writer.line(channel, y, free.clone(), free.map(|_| level));
            }
        }
        writer
    }

    /// Row `y` of the resized picture.
    pub(crate) fn row(&mut self, y: usize, row: &Row) {
        let y = self.geometry.seen_row(y);
        for (channel, samples) in channels_of(row.planes()) {
            self.row_of_channel(channel, y, samples);
        }
    }

    /// Row `y` of a picture that already has its size, of which only a part may be wanted.
    pub(crate) fn whole_row(&mut self, y: usize, row: &Row) {
        let (columns, rows) = self.geometry.kept();
        if rows.contains(&y) {
            let y = self.geometry.seen_row(y - rows.start);
            for (channel, samples) in channels_of(row.planes()) {
                self.row_of_channel(channel, y, &samples[columns.clone()]);
            }
        }
    }

    fn row_of_channel(&mut self, channel: usize, y: usize, samples: &[i16]) {
        let columns = self.geometry.shown().0;
        let samples = samples.iter().copied();
        if self.geometry.flips_x() {
            self.line(channel, y, columns, samples.rev());
        } else {
            self.line(channel, y, columns, samples);
        }
    }

    /// Pixels of red, green and blue of an upright picture that already has its size.
    pub(crate) fn pixels(&mut self, pixels: &[u8], width: usize) {
        let (kept_columns, kept_rows) = self.geometry.kept();
        let (columns, rows) = self.geometry.shown();
        for (y, row) in rows.zip(pixels.chunks_exact(3 * width).skip(kept_rows.start)) {
            let row = row.as_chunks::<3>().0[kept_columns.clone()].iter();
            let Options { mean, std, width, height, layout, .. } = *self.options;
            let normalised = |pixel: &[u8; 3]| -> [f32; 3] {
                std::array::from_fn(|channel| (f32::from(pixel[channel]) - mean[channel]) / std[channel])
            };
            match layout {
                Layout::Hwc => {
                    let targets = &mut self.values.as_chunks_mut::<3>().0[y * width..][columns.clone()];
                    for (target, pixel) in targets.iter_mut().zip(row) {
                        *target = normalised(pixel);
                    }
                }
                Layout::Chw => {
                    let (red, rest) = self.values.split_at_mut(width * height);
                    let (green, blue) = rest.split_at_mut(width * height);
                    let [red, green, blue] =
                        [red, green, blue].map(|plane| plane[y * width..][columns.clone()].iter_mut());
                    for (((red, green), blue), pixel) in red.zip(green).zip(blue).zip(row) {
                        [*red, *green, *blue] = normalised(pixel);
                    }
                }
            }
        }
    }

    /// Rows `first..first + count`, at most [`BAND`], of a resized picture that is stored lying on its side: what is seen
    /// as columns. For each channel the rows' columns.
    pub(crate) fn lying_rows(&mut self, first: usize, count: usize, columns: &[[i16; BAND]]) {
        let (seen_columns, seen_rows) = self.geometry.shown();
        let flips = self.geometry.flips_x();
        let start = seen_columns.start + if flips { seen_columns.len() - first - count } else { first };
        for (channel, columns) in channels_of(columns.chunks_exact(stride(seen_rows.len()))) {
            for (index, column) in columns[..seen_rows.len()].iter().enumerate() {
                let y = self.geometry.seen_row(index);
                let samples = column[..count].iter().copied();
                if flips {
                    self.line(channel, y, start..start + count, samples.rev());
                } else {
                    self.line(channel, y, start..start + count, samples);
                }
            }
        }
    }

    /// A part of a row of the tensor.
    #[inline(always)]
    fn line(&mut self, channel: usize, y: usize, columns: Range<usize>, samples: impl Iterator<Item = i16>) {
        let Options { width, height, layout, .. } = *self.options;
        let (mean, std) = (self.options.mean[channel], self.options.std[channel]);
        let normalised = samples.map(|level| (f32::from(level) - mean) / std);
        match layout {
            Layout::Chw => {
                let row = &mut self.values[(channel * height + y) * width..][..width];
                row[columns].iter_mut().zip(normalised).for_each(|(target, value)| *target = value);
            }
            Layout::Hwc => {
                let row = &mut self.values.as_chunks_mut::<3>().0[y * width..][..width];
                row[columns].iter_mut().zip(normalised).for_each(|(target, value)| target[channel] = value);
            }
        }
    }
}

/// A grey picture has the same in all three channels.
fn channels_of<T: Copy>(mut planes: impl ExactSizeIterator<Item = T>) -> impl Iterator<Item = (usize, T)> {
    let grey = planes.len() == 1;
    let first = planes.next();
    let others = planes.map(Some).chain(std::iter::repeat_n(first, if grey { 2 } else { 0 }));
    (0..3).zip(std::iter::once(first).chain(others).flatten())
}
