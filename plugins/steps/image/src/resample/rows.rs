//! Rows of a picture, and eight of them at once in the orders in which the passes take them.

use crate::lanes::{I16s, LANES};

/// Rows that are resized together.
pub(crate) const BAND: usize = 8;
/// The same in pairs of rows.
pub(crate) const BAND_PAIRS: usize = BAND / 2;

/// The channels of a row are a multiple of so many samples apart, which is what one turn of a loop takes.
pub(super) const STRIDE: usize = 2 * LANES;

/// How far the channels of a row are apart.
pub(crate) fn stride(width: usize) -> usize {
    width.next_multiple_of(STRIDE)
}

/// A row of a picture, each channel by itself: red, green, blue, or grey alone.
pub(crate) struct Row {
    width: usize,
    samples: Vec<i16>,
}

impl Row {
    pub(crate) fn new(width: usize, channels: usize) -> Self {
        Self { width, samples: vec![0; stride(width) * channels] }
    }

    /// The samples of each channel.
    pub(crate) fn planes(&self) -> impl ExactSizeIterator<Item = &[i16]> {
        self.padded_planes().map(|plane| &plane[..self.width])
    }

    /// The samples of each channel.
    pub(crate) fn planes_mut(&mut self) -> impl Iterator<Item = &mut [i16]> {
        let width = self.width;
        self.samples.chunks_exact_mut(stride(width)).map(move |plane| &mut plane[..width])
    }

    /// The samples of each channel, and some more whose values do not matter.
    pub(super) fn padded_planes(&self) -> impl ExactSizeIterator<Item = &[i16]> {
        self.samples.chunks_exact(stride(self.width))
    }

    /// All of them, one channel after the other.
    pub(super) fn padded(&self) -> &[i16] {
        &self.samples
    }

    /// All of them, one channel after the other.
    pub(super) fn padded_mut(&mut self) -> &mut [i16] {
        &mut self.samples
    }

    /// Takes pixels of `N` bytes, the first of which are the channels.
    pub(crate) fn set_interleaved<const N: usize>(&mut self, pixels: &[u8]) {
        let mut planes = self.planes_mut();
        let Some(red) = planes.next() else { return };
        let (Some(green), Some(blue)) = (planes.next(), planes.next()) else {
            for (sample, pixel) in red.iter_mut().zip(pixels.as_chunks::<N>().0) {
                *sample = i16::from(pixel[0]);
            }
            return;
        };
        let mut rest = 0;
        if N == 3 {
            let targets = red.as_chunks_mut::<STRIDE>().0.iter_mut();
            let targets =
                targets.zip(green.as_chunks_mut::<STRIDE>().0).zip(blue.as_chunks_mut::<STRIDE>().0);
            for (((red, green), blue), pixels) in targets.zip(pixels.as_chunks::<{ 3 * STRIDE }>().0) {
                let channels = I16s::from_pixels(pixels);
                for (target, samples) in [red, green, blue].into_iter().zip(channels) {
                    for (target, samples) in target.as_chunks_mut().0.iter_mut().zip(samples) {
                        samples.store(target);
                    }
                }
                rest += STRIDE;
            }
        }
        let targets = red[rest..].iter_mut().zip(&mut green[rest..]).zip(&mut blue[rest..]);
        for (((red, green), blue), pixel) in targets.zip(&pixels.as_chunks::<N>().0[rest..]) {
            (*red, *green, *blue) = (i16::from(pixel[0]), i16::from(pixel[1]), i16::from(pixel[2]));
        }
    }

    /// The opposite: pixels of as many bytes as there are channels.
    pub(crate) fn interleave(&self, pixels: &mut [u8]) {
        let planes = self.planes();
        let channels = planes.len();
        for (channel, plane) in planes.enumerate() {
            for (&sample, pixel) in plane.iter().zip(pixels.chunks_exact_mut(channels)) {
                pixel[channel] = sample as u8;
            }
        }
    }
}

/// Eight rows in pairs: of each pair, the samples that lie above each other are neighbours.
pub(super) struct Band {
    pub(super) pairs: [Vec<i16>; BAND_PAIRS],
}

impl Band {
    /// For rows of so many samples, a multiple of [`STRIDE`].
    pub(super) fn new(length: usize) -> Self {
        Self { pairs: std::array::from_fn(|_| vec![0; 2 * length]) }
    }

    pub(super) fn set_rows(&mut self, rows: &[Row; BAND]) {
        for (target, rows) in self.pairs.iter_mut().zip(rows.as_chunks::<2>().0) {
            let samples = rows[0].padded().iter().zip(rows[1].padded());
            for (pair, (&upper, &lower)) in target.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
                *pair = [upper, lower];
            }
        }
    }

    /// From columns of eight samples.
    pub(super) fn set_columns(&mut self, columns: &[[i16; BAND]]) {
        let [first, second, third, fourth] = &mut self.pairs;
        let targets = first.as_chunks_mut().0.iter_mut().zip(second.as_chunks_mut().0);
        let targets = targets.zip(third.as_chunks_mut().0.iter_mut().zip(fourth.as_chunks_mut().0));
        for (columns, ((first, second), (third, fourth))) in columns.as_chunks::<4>().0.iter().zip(targets) {
            let pairs = I16s::transpose(columns.each_ref().map(I16s::load));
            for (target, pairs) in [first, second, third, fourth].into_iter().zip(pairs) {
                pairs.store(target);
            }
        }
    }
}
