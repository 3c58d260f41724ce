//! Resizes a picture while its rows arrive, so that the whole of it never lies in memory.
//!
//! Pillow works in two passes with a rounding to 8 bits between them: along the rows, then along the columns *of the
//! picture as it is seen*. A picture that is stored lying on its side therefore takes its columns first here, which
//! gives the same numbers without turning it.

mod across;
mod down;
mod rows;

use std::array;

use self::{
    across::Across,
    down::{Down, round},
    rows::Band,
};
use crate::{geometry::Geometry, tensor::TensorWriter};

pub(crate) use rows::{BAND, Row, stride};

/// Takes the rows of a picture from top to bottom.
pub(crate) trait RowSink {
    /// Where the next row belongs.
    fn row(&mut self) -> &mut Row;
    /// It is written.
    fn push(&mut self);
}

/// The resizing of one picture.
pub(crate) struct Resampler<'a> {
    rows: [Row; BAND],
    /// How many of them are there.
    filled: usize,
    /// How many times they were full.
    bands: usize,
    passes: Passes,
    tensor: TensorWriter<'a>,
}

#[expect(clippy::large_enum_variant, reason = "there is one for each picture, and it stays where it is")]
enum Passes {
    /// The picture has its size.
    None,
    RowsFirst {
        across: Across,
        band: Band,
        down: Down,
        row: Row,
    },
    /// Rows of the target's height wait until there are enough of them for the pass along them.
    ColumnsFirst {
        band: Band,
        down: Down,
        low: [Row; BAND],
        across: Across,
    },
}

impl<'a> Resampler<'a> {
    pub(crate) fn new(geometry: &Geometry, channels: usize, tensor: TensorWriter<'a>) -> Self {
        let width = geometry.source_width();
        let length = stride(width) * channels;
        let passes = if geometry.keeps_size() {
            Passes::None
        } else {
            let across = Across::new(geometry.filter_along_rows(), width, channels);
            let along_columns = geometry.filter_along_columns();
            if geometry.columns_first() {
                Passes::ColumnsFirst {
                    band: Band::new(length),
                    down: Down::new(along_columns, length),
                    low: array::from_fn(|_| Row::new(width, channels)),
                    across,
                }
            } else {
                let row = Row::new(across.width(), channels);
                let length = row.padded().len();
                Passes::RowsFirst {
                    across,
                    band: Band::new(length),
                    down: Down::new(along_columns, length),
                    row,
                }
            }
        };
        let rows = array::from_fn(|_| Row::new(width, channels));
        Self { rows, filled: 0, bands: 0, passes, tensor }
    }

    /// To be called after the last row.
    pub(crate) fn finish(mut self) {
        if self.filled > 0 {
            self.resize_band();
        }
        if let Passes::ColumnsFirst { low, across, down, .. } = &mut self.passes {
            let left = down.finished() % BAND;
            if left > 0 {
                self.tensor.lying_rows(down.finished() - left, left, across.resize(low));
            }
        }
    }

    fn resize_band(&mut self) {
        let first = self.bands * BAND;
        match &mut self.passes {
            Passes::None => {
                for (y, row) in (first..).zip(&self.rows[..self.filled]) {
                    self.tensor.whole_row(y, row);
                }
            }
            Passes::RowsFirst { across, band, down, row } => {
                if down.takes(self.bands) {
                    band.set_columns(across.resize(&self.rows));
                    down.add(self.bands, band, |y, sums| {
                        round(sums, row.padded_mut());
                        self.tensor.row(y, row);
                    });
                }
            }
            Passes::ColumnsFirst { band, down, low, across } => {
                if down.takes(self.bands) {
                    band.set_rows(&self.rows);
                    down.add(self.bands, band, |y, sums| {
                        round(sums, low[y % BAND].padded_mut());
                        if y % BAND == BAND - 1 {
                            self.tensor.lying_rows(y + 1 - BAND, BAND, across.resize(low));
                        }
                    });
                }
            }
        }
        self.filled = 0;
        self.bands += 1;
    }
}

impl RowSink for Resampler<'_> {
    fn row(&mut self) -> &mut Row {
        &mut self.rows[self.filled]
    }

    fn push(&mut self) {
        self.filled += 1;
        if self.filled == BAND {
            self.resize_band();
        }
    }
}
