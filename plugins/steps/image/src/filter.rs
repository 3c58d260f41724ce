//! Bicubic interpolation weights, with the numbers that Pillow's `BICUBIC` has: a = -0.5, widened when a picture
//! shrinks, fixed-point of 22 bits.

use std::ops::Range;

use crate::lanes::{I16s, I32s};

/// Bits behind the point of a weight.
const PRECISION: u32 = 22;
/// A weight is `high * 2^11 + low`, so that each half can be multiplied as 16 bits: eight at once, exactly.
const HALF: u32 = 11;

/// The weights of two neighbouring samples of the source, the first of which has an even index.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pair {
    high: [i16; 2],
    low: [i16; 2],
}

impl Pair {
    fn new(weights: [i32; 2]) -> Self {
        let high = weights.map(|weight| (weight + (1 << (HALF - 1))) >> HALF);
        let low = [weights[0] - (high[0] << HALF), weights[1] - (high[1] << HALF)];
        Self { high: high.map(|half| half as i16), low: low.map(|half| half as i16) }
    }

    /// The halves as factors of four pairs of samples.
    #[inline(always)]
    pub(crate) fn factors(self) -> (I16s, I16s) {
        (I16s::splat(self.high), I16s::splat(self.low))
    }
}

/// Weighted sums that are being added up.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    high: I32s,
    low: I32s,
}

impl Sums {
    /// What rounds a sum when its fraction is cut off.
    pub(crate) const ROUNDING: i32 = 1 << (PRECISION - 1);

    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { high: I32s::splat(0), low: I32s::splat(0) }
    }

    /// Adds four weighted pairs.
    #[inline(always)]
    pub(crate) fn add(&mut self, samples: I16s, (high, low): (I16s, I16s)) {
        self.high = self.high.plus(samples.dot(high));
        self.low = self.low.plus(samples.dot(low));
    }

    #[inline(always)]
    pub(crate) fn total(self) -> I32s {
        self.high.shl::<HALF>().plus(self.low)
    }

    /// Totals with [`Sums::ROUNDING`] in them, as samples.
    #[inline(always)]
    pub(crate) fn round(first: I32s, second: I32s) -> I16s {
        first.levels::<PRECISION>(second)
    }
}

/// The source samples that make one target sample, in pairs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The first pair of the source.
    pub(crate) first: usize,
    /// Where its weights start.
    offset: usize,
    count: usize,
}

impl Window {
    /// Behind the last pair.
    pub(crate) fn end(&self) -> usize {
        self.first + self.count
    }
}

/// How each sample of a line is made of samples of a source line, for a range of the target.
pub(crate) struct Filter {
    pub(crate) windows: Vec<Window>,
    pairs: Vec<Pair>,
}

impl Filter {
    /// Weights for a part of the target's samples when a line of `source` samples becomes one of `target`.
    pub(crate) fn new(source: usize, target: usize, part: Range<usize>) -> Self {
        let mut filter = Self { windows: Vec::with_capacity(part.len()), pairs: Vec::new() };
        if source == target {
            part.for_each(|index| filter.push(index, &[1 << PRECISION]));
            return filter;
        }
        let scale = source as f64 / target as f64;
        let stretch = scale.max(1.0);
        let support = 2.0 * stretch;
        let (mut exact, mut fixed) = (Vec::new(), Vec::new());
        for index in part {
            let center = (index as f64 + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as usize;
            let end = ((center + support + 0.5) as usize).min(source);
            exact.clear();
            exact.extend((first..end).map(|x| bicubic((x as f64 - center + 0.5) * (1.0 / stretch))));
            let sum: f64 = exact.iter().sum();
            fixed.clear();
            fixed
                .extend(exact.iter().map(|weight| (weight / sum * f64::from(1 << PRECISION)).round() as i32));
            filter.push(first, &fixed);
        }
        filter
    }

    fn push(&mut self, first: usize, weights: &[i32]) {
        let offset = self.pairs.len();
        let weight = |index: usize| index.checked_sub(first).and_then(|index| weights.get(index)).copied();
        let pairs = first / 2..(first + weights.len()).div_ceil(2);
        self.windows.push(Window { first: pairs.start, offset, count: pairs.len() });
        self.pairs.extend(
            pairs.map(|pair| Pair::new([2 * pair, 2 * pair + 1].map(|index| weight(index).unwrap_or(0)))),
        );
    }

    /// Number of target samples.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    /// The weights of a window.
    pub(crate) fn weights(&self, window: &Window) -> &[Pair] {
        &self.pairs[window.offset..][..window.count]
    }

    /// The most target samples that one pair of the source is part of.
    pub(crate) fn overlap(&self) -> usize {
        let open = |(index, window): (usize, &Window)| {
            self.windows[index..].iter().take_while(|next| next.first < window.end()).count()
        };
        self.windows.iter().enumerate().map(open).max().unwrap_or(1)
    }
}

fn bicubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}
