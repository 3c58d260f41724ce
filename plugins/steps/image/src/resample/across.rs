//! The pass along the rows.

use std::array;

use super::rows::{BAND, Row, stride};
use crate::{
    filter::{Filter, Sums},
    lanes::{I16s, I32s, LANES},
};

/// Changes the width of eight rows at once: each lane is a row.
pub(super) struct Across {
    filter: Filter,
    channels: usize,
    /// The rows, turned: for each pair of neighbours and each channel, the pair in each of the eight rows.
    turned: Vec<Pairs>,
    /// The rows in their new width, turned: for each channel its columns, as many as [`stride`] says.
    columns: Vec<[i16; BAND]>,
}

type Pairs = [i16; 2 * BAND];

impl Across {
    pub(super) fn new(filter: Filter, source_width: usize, channels: usize) -> Self {
        // The last windows may lead beyond the end, with weights of zero.
        let turned = vec![[0; 2 * BAND]; (stride(source_width) / 2 + filter.longest()) * channels];
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
        match self.filter.block() {
            1 => resize::<CHANNELS, 1>(&self.filter, turned, &mut self.columns),
            2 => resize::<CHANNELS, 2>(&self.filter, turned, &mut self.columns),
            3 => resize::<CHANNELS, 3>(&self.filter, turned, &mut self.columns),
            4 => resize::<CHANNELS, 4>(&self.filter, turned, &mut self.columns),
            5 => resize::<CHANNELS, 5>(&self.filter, turned, &mut self.columns),
            6 => resize::<CHANNELS, 6>(&self.filter, turned, &mut self.columns),
            7 => resize::<CHANNELS, 7>(&self.filter, turned, &mut self.columns),
            _ => resize::<CHANNELS, { Filter::LARGEST_BLOCK }>(&self.filter, turned, &mut self.columns),
        }
    }
}

fn turn<const CHANNELS: usize>(rows: &[Row; BAND], turned: &mut [[Pairs; CHANNELS]]) {
    let mut planes = rows.each_ref().map(Row::padded_planes);
    for channel in 0..CHANNELS {
        let rows = planes.each_mut().map(|planes| planes.next().unwrap_or_default().as_chunks::<LANES>().0);
        for (half, rows) in rows.as_chunks::<4>().0.iter().enumerate() {
            let samples = rows[0].iter().zip(rows[1]).zip(rows[2].iter().zip(rows[3]));
            for (targets, ((a, b), (c, d))) in turned.as_chunks_mut::<4>().0.iter_mut().zip(samples) {
                let pairs = I16s::transpose([a, b, c, d].map(I16s::load));
                for (target, pairs) in targets.iter_mut().zip(pairs) {
                    pairs.store(&mut target[channel].as_chunks_mut().0[half]);
                }
            }
        }
    }
}

/// With blocks of a length that is known: what a loop adds up goes through memory in each of its turns, since a
/// guest may be interrupted there.
fn resize<const CHANNELS: usize, const BLOCK: usize>(
    filter: &Filter,
    turned: &[[Pairs; CHANNELS]],
    columns: &mut [[i16; BAND]],
) {
    let stride = stride(filter.len());
    for (x, window) in filter.windows.iter().enumerate() {
        let mut sums = [[Sums::new(); 2]; CHANNELS];
        let weights = filter.padded_weights(window).as_chunks::<BLOCK>().0;
        for (weights, samples) in weights.iter().zip(turned[window.first..].as_chunks::<BLOCK>().0) {
            macro_rules! add {
                ($($index:literal)*) => {$(
                    if $index < BLOCK {
                        sums = plus(sums, &samples[$index], weights[$index].factors());
                    }
                )*};
            }
            add!(0 1 2 3 4 5 6 7);
        }
        for (channel, sums) in sums.into_iter().enumerate() {
            let [upper, lower] = sums.map(|sums| sums.total().plus(I32s::splat(Sums::ROUNDING)));
            Sums::round(upper, lower).store(&mut columns[channel * stride + x]);
        }
    }
}

#[inline(always)]
fn plus<const CHANNELS: usize>(
    sums: [[Sums; 2]; CHANNELS],
    samples: &[Pairs; CHANNELS],
    factors: (I16s, I16s),
) -> [[Sums; 2]; CHANNELS] {
    array::from_fn(|channel| {
        let samples = samples[channel].as_chunks::<LANES>().0;
        array::from_fn(|half| sums[channel][half].plus(I16s::load(&samples[half]), factors))
    })
}
