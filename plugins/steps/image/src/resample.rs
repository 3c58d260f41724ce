//! Resizes a picture while its rows arrive, so that the whole of it never lies in memory.
//!
//! Pillow works in two passes with a rounding to 8 bits between them: along the rows, then along the columns *of the
//! picture as it is seen*. A picture that is stored lying on its side therefore takes its columns first here, which
//! gives the same numbers without turning it.

use crate::{
    filter::{Filter, LANES, round},
    geometry::Geometry,
};

/// A row of a picture, each channel by itself: red, green, blue, or grey alone.
pub(crate) struct Row {
    width: usize,
    channels: usize,
    samples: Vec<i16>,
}

impl Row {
    pub(crate) fn new(width: usize, channels: usize) -> Self {
        Self { width, channels, samples: vec![0; (width + LANES) * channels] }
    }

    /// The samples of each channel.
    pub(crate) fn planes_mut(&mut self) -> impl Iterator<Item = &mut [i16]> {
        let width = self.width;
        self.samples.chunks_exact_mut(width + LANES).map(move |plane| &mut plane[..width])
    }

    /// Takes pixels of `N` bytes, the first of which are the channels.
    pub(crate) fn set_interleaved<const N: usize>(&mut self, pixels: &[u8]) {
        for (channel, plane) in self.planes_mut().enumerate() {
            for (sample, pixel) in plane.iter_mut().zip(pixels.as_chunks::<N>().0) {
                *sample = i16::from(pixel[channel]);
            }
        }
    }

    /// The opposite: pixels of as many bytes as there are channels.
    pub(crate) fn interleave(&mut self, pixels: &mut [u8]) {
        let channels = self.channels;
        for (channel, plane) in self.planes_mut().enumerate() {
            for (&mut sample, pixel) in plane.iter_mut().zip(pixels.chunks_exact_mut(channels)) {
                pixel[channel] = sample as u8;
            }
        }
    }

    /// The samples of each channel, with [`LANES`] more behind them.
    fn padded_planes(&self) -> impl Iterator<Item = &[i16]> {
        self.samples.chunks_exact(self.width + LANES)
    }
}

/// Takes the rows of a picture from top to bottom.
pub(crate) trait RowSink {
    fn push(&mut self, row: &Row);
}

/// A small picture, in the orientation in which the file stores it. Rows of pixels of `channels` bytes.
pub(crate) struct Resized {
    pub(crate) width: usize,
    pub(crate) channels: usize,
    pub(crate) pixels: Vec<u8>,
}

/// The resizing of one picture.
pub(crate) enum Resampler {
    RowsFirst(RowsFirst),
    ColumnsFirst(ColumnsFirst),
}

impl Resampler {
    pub(crate) fn new(geometry: &Geometry, channels: usize) -> Self {
        let along_rows = geometry.filter_along_rows();
        let along_columns = geometry.filter_along_columns();
        if geometry.columns_first() {
            Self::ColumnsFirst(ColumnsFirst::new(
                along_rows,
                along_columns,
                geometry.source_width(),
                channels,
            ))
        } else {
            Self::RowsFirst(RowsFirst { along_rows, along_columns, channels, narrow: Vec::new() })
        }
    }

    pub(crate) fn finish(self) -> Resized {
        match self {
            Self::RowsFirst(resampler) => resampler.finish(),
            Self::ColumnsFirst(resampler) => resampler.finish(),
        }
    }
}

impl RowSink for Resampler {
    fn push(&mut self, row: &Row) {
        match self {
            Self::RowsFirst(resampler) => resampler.push(row),
            Self::ColumnsFirst(resampler) => resampler.push(row),
        }
    }
}

/// Each row shrinks as it comes; the columns wait until all rows are there.
pub(crate) struct RowsFirst {
    along_rows: Filter,
    along_columns: Filter,
    channels: usize,
    /// All rows, with the width of the target.
    narrow: Vec<u8>,
}

impl RowsFirst {
    fn push(&mut self, row: &Row) {
        let start = self.narrow.len();
        self.narrow.resize(start + self.along_rows.len() * self.channels, 0);
        for (channel, plane) in row.padded_planes().enumerate() {
            self.along_rows.apply(plane, &mut self.narrow[start + channel..], self.channels);
        }
    }

    fn finish(self) -> Resized {
        let width = self.along_rows.len();
        let length = width * self.channels;
        let mut sums = Accumulator::new(&self.along_columns, length);
        let mut pixels = Vec::with_capacity(self.along_columns.len() * length);
        for (y, row) in self.narrow.chunks_exact(length).enumerate() {
            sums.add(&self.along_columns, y, row.iter().map(|&sample| i32::from(sample)));
            sums.take_finished(&self.along_columns, y, |row| {
                pixels.extend(row.iter().map(|&sum| round(sum)))
            });
        }
        Resized { width, channels: self.channels, pixels }
    }
}

/// Rows are added up as they come; a finished row of the target's height then shrinks in width.
pub(crate) struct ColumnsFirst {
    along_rows: Filter,
    along_columns: Filter,
    sums: Accumulator,
    rows: usize,
    /// A finished row.
    low: Row,
    pixels: Vec<u8>,
}

impl ColumnsFirst {
    fn new(along_rows: Filter, along_columns: Filter, source_width: usize, channels: usize) -> Self {
        let low = Row::new(source_width, channels);
        let sums = Accumulator::new(&along_columns, low.samples.len());
        Self { along_rows, along_columns, sums, rows: 0, low, pixels: Vec::new() }
    }

    fn push(&mut self, row: &Row) {
        self.sums.add(&self.along_columns, self.rows, row.samples.iter().map(|&sample| i32::from(sample)));
        let Self { along_rows, low, pixels, .. } = self;
        self.sums.take_finished(&self.along_columns, self.rows, |sums| {
            for (sample, &sum) in low.samples.iter_mut().zip(sums) {
                *sample = i16::from(round(sum));
            }
            let start = pixels.len();
            pixels.resize(start + along_rows.len() * low.channels, 0);
            for (channel, plane) in low.padded_planes().enumerate() {
                along_rows.apply(plane, &mut pixels[start + channel..], low.channels);
            }
        });
        self.rows += 1;
    }

    fn finish(self) -> Resized {
        Resized { width: self.along_rows.len(), channels: self.low.channels, pixels: self.pixels }
    }
}

/// Weighted sums of rows, for the few rows of the target that are open at once.
struct Accumulator {
    length: usize,
    /// A ring of rows.
    sums: Vec<i32>,
    finished: usize,
}

impl Accumulator {
    fn new(along_columns: &Filter, length: usize) -> Self {
        Self { length, sums: vec![0; length * (along_columns.overlap() + 1)], finished: 0 }
    }

    /// Adds row `y` of the source wherever it belongs.
    fn add(&mut self, filter: &Filter, y: usize, row: impl Iterator<Item = i32> + Clone) {
        let slots = self.sums.len() / self.length.max(1);
        for (target, weight) in filter.targets_of(y) {
            let slot = target % slots * self.length;
            for (sum, sample) in self.sums[slot..slot + self.length].iter_mut().zip(row.clone()) {
                *sum += weight * sample;
            }
        }
    }

    /// Hands out the rows of the target that are whole now that row `y` has been added.
    fn take_finished(&mut self, filter: &Filter, y: usize, mut take: impl FnMut(&[i32])) {
        let slots = self.sums.len() / self.length.max(1);
        for target in self.finished..filter.finished(y + 1) {
            let slot = target % slots * self.length;
            let sums = &mut self.sums[slot..slot + self.length];
            take(sums);
            sums.fill(0);
            self.finished = target + 1;
        }
    }
}
