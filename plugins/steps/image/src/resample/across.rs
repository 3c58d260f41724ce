//! The pass along the rows.

use super::rows::{BAND, Row, stride};
use crate::{
    filter::{Filter, Sums},
    lanes::{I16s, I32s, LANES},
};

/// Changes the width of eight rows at once: each lane is a row.
pub(super) struct Across {
    filter: Filter,
    channels: usize,
    /// The rows, turned. For each pair of neighbours in them and each channel: the pair in each of the eight rows.
    turned: Vec<[i16; 2 * BAND]>,
    /// The rows in their new width, turned: for each channel its columns, as many as [`stride`] says.
    columns: Vec<[i16; BAND]>,
}

impl Across {
    pub(super) fn new(filter: Filter, source_width: usize, channels: usize) -> Self {
        let turned = vec![[0; 2 * BAND]; stride(source_width) / 2 * channels];
        let columns = vec![[0; BAND]; stride(filter.len()) * channels];
        Self { filter, channels, turned, columns }
    }

    /// Width of the rows that [`Across::resize`] gives.
    pub(super) fn width(&self) -> usize {
        self.filter.len()
    }

    /// Gives the columns of each channel, [`stride`] of them.
    pub(super) fn resize(&mut self, rows: &[Row; BAND]) -> &[[i16; BAND]] {
        match self.channels {
            1 => self.resize_channels::<1>(rows),
            _ => self.resize_channels::<3>(rows),
        }
        &self.columns
    }

    fn resize_channels<const CHANNELS: usize>(&mut self, rows: &[Row; BAND]) {
        let turned = self.turned.as_chunks_mut::<CHANNELS>().0;
        turn(rows, turned);
        let stride = stride(self.filter.len());
        for (x, window) in self.filter.windows.iter().enumerate() {
            let mut sums = [[Sums::new(); 2]; CHANNELS];
            for (weights, samples) in self.filter.weights(window).iter().zip(&turned[window.first..]) {
                let factors = weights.factors();
                for (sums, samples) in sums.iter_mut().zip(samples) {
                    for (sums, samples) in sums.iter_mut().zip(samples.as_chunks().0) {
                        sums.add(I16s::load(samples), factors);
                    }
                }
            }
            for (channel, sums) in sums.iter().enumerate() {
                let [upper, lower] = sums.map(|sums| sums.total().plus(I32s::splat(Sums::ROUNDING)));
                Sums::round(upper, lower).store(&mut self.columns[channel * stride + x]);
            }
        }
    }
}

fn turn<const CHANNELS: usize>(rows: &[Row; BAND], turned: &mut [[[i16; 2 * BAND]; CHANNELS]]) {
    let mut planes = rows.each_ref().map(Row::padded_planes);
    for channel in 0..CHANNELS {
        let lines = planes.each_mut().map(|planes| planes.next().unwrap_or_default().as_chunks::<LANES>().0);
        let (upper, lower) = lines.split_at(BAND / 2);
        for (half, lines) in [upper, lower].into_iter().enumerate() {
            let [a, b, c, d] = lines else { continue };
            let lines = a.iter().zip(*b).zip(c.iter().zip(*d));
            for (targets, ((a, b), (c, d))) in turned.as_chunks_mut::<4>().0.iter_mut().zip(lines) {
                let pairs = I16s::transpose([a, b, c, d].map(I16s::load));
                for (target, pairs) in targets.iter_mut().zip(pairs) {
                    if let Some(target) = target[channel].as_chunks_mut().0.get_mut(half) {
                        pairs.store(target);
                    }
                }
            }
        }
    }
}
