//! The pass along the columns.

use super::rows::{BAND_PAIRS, Band, STRIDE};
use crate::{
    filter::{Filter, Pair, Sums},
    lanes::{I16s, I32s, LANES},
};

/// Adds rows of the source up to rows of the target, of which only a few are open at once.
pub(super) struct Down {
    filter: Filter,
    length: usize,
    /// Sums of the open rows, a ring.
    sums: Vec<i32>,
    /// Rows of the target that have been given out.
    finished: usize,
}

impl Down {
    /// For rows of `length` samples, a multiple of [`STRIDE`].
    pub(super) fn new(filter: Filter, length: usize) -> Self {
        let open = filter.overlap() + 1;
        Self { filter, length, sums: vec![Sums::ROUNDING; length * open], finished: 0 }
    }

    /// How many rows of the target have been given out.
    pub(super) fn finished(&self) -> usize {
        self.finished
    }

    /// Whether any row of the target is made of these of the source.
    pub(super) fn takes(&self, band: usize) -> bool {
        let next = self.filter.windows.get(self.finished);
        next.is_some_and(|window| window.first < (band + 1) * BAND_PAIRS)
    }

    /// Adds the band of that number. Gives the rows of the target that are whole then to `finish`, each as its index
    /// and its sums, for [`round`].
    pub(super) fn add(&mut self, number: usize, band: &Band, mut finish: impl FnMut(usize, &[i32])) {
        let (start, end) = (number * BAND_PAIRS, (number + 1) * BAND_PAIRS);
        let open = self.sums.len() / self.length.max(1);
        for target in self.finished..self.filter.len() {
            let window = self.filter.windows[target];
            if window.first >= end {
                break;
            }
            let sums = &mut self.sums[target % open * self.length..][..self.length];
            let (first, last) = (window.first.max(start), window.end().min(end));
            let weights = &self.filter.weights(&window)[first - window.first..last - window.first];
            match (weights, &band.pairs[first - start..last - start]) {
                (&[a], [p]) => add_pairs(sums, [p], [a]),
                (&[a, b], [p, q]) => add_pairs(sums, [p, q], [a, b]),
                (&[a, b, c], [p, q, r]) => add_pairs(sums, [p, q, r], [a, b, c]),
                (&[a, b, c, d], [p, q, r, s]) => add_pairs(sums, [p, q, r, s], [a, b, c, d]),
                _ => {}
            }
            if window.end() <= end {
                finish(target, sums);
                sums.fill(Sums::ROUNDING);
                self.finished = target + 1;
            }
        }
    }
}

#[inline(always)]
fn add_pairs<const N: usize>(sums: &mut [i32], rows: [&Vec<i16>; N], weights: [Pair; N]) {
    let factors = weights.map(|pair| pair.factors());
    let rows = rows.map(|row| row.as_chunks::<{ 2 * STRIDE }>().0);
    for (index, sums) in sums.as_chunks_mut::<STRIDE>().0.iter_mut().enumerate() {
        let samples = rows.map(|row| row[index].as_chunks::<LANES>().0);
        for (part, sums) in sums.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mut added = Sums::new();
            for (samples, &factors) in samples.iter().zip(&factors) {
                added = added.plus(I16s::load(&samples[part]), factors);
            }
            I32s::load(sums).plus(added.total()).store(sums);
        }
    }
}

/// From sums to samples.
pub(super) fn round(sums: &[i32], samples: &mut [i16]) {
    for (sums, samples) in sums.as_chunks::<LANES>().0.iter().zip(samples.as_chunks_mut::<LANES>().0) {
        if let [first, second] = sums.as_chunks::<4>().0 {
            Sums::round(I32s::load(first), I32s::load(second)).store(samples);
        }
    }
}
