//! Bicubic interpolation weights, with the numbers that Pillow's `BICUBIC` has: a = -0.5, widened when a picture
//! shrinks, fixed-point of 22 bits.

use std::ops::Range;

use crate::lanes::{I16s, I32s};

/// Bits behind the point of a weight.
const PRECISION: i32 = 22;
/// A weight is `high * 2^11 + low`, so that each half can be multiplied as 16 bits: eight at once, exactly.
const HALF: i32 = 11;

/// The weights of two neighbouring samples of the source, the first of which has an even index.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pair {
    /// Two numbers of 16 bits, as [`I16s::splat`] takes them.
    high: i32,
    low: i32,
}

impl Pair {
    fn new(weights: [i32; 2]) -> Self {
        let high = weights.map(|weight| (weight + (1 << (HALF - 1))) >> HALF);
        let low = [weights[0] - (high[0] << HALF), weights[1] - (high[1] << HALF)];
        let pair = |[even, odd]: [i32; 2]| odd << 16 | (even & 0xFFFF);
        Self { high: pair(high), low: pair(low) }
    }

    /// The halves as factors of four pairs of samples.
    #[inline(always)]
    pub(crate) fn factors(&self) -> (I16s, I16s) {
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

    /// With four weighted pairs more.
    #[inline(always)]
    pub(crate) fn plus(self, samples: I16s, (high, low): (I16s, I16s)) -> Self {
        Self { high: self.high.plus(samples.dot(high)), low: self.low.plus(samples.dot(low)) }
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
    /// Of each window as many pairs as of the longest, and the same number of blocks.
    pairs: Vec<Pair>,
    block: usize,
    longest: usize,
}

impl Filter {
    /// The most pairs in a block.
    pub(crate) const LARGEST_BLOCK: usize = 8;

    /// Weights for a part of the target's samples when a line of `source` samples becomes one of `target`.
    pub(crate) fn new(source: usize, target: usize, part: Range<usize>) -> Self {
        let scale = source as f64 / target as f64;
        let stretch = scale.max(1.0);
        // A picture that keeps its size is not filtered.
        let support = if source == target { 0.5 } else { 2.0 * stretch };
        let span = |index: usize| {
            let center = (index as f64 + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as usize;
            (center, first..((center + support + 0.5) as usize).min(source))
        };
        let pairs_of = |span: &Range<usize>| span.start / 2..span.end.div_ceil(2);
        let longest = part.clone().map(|index| pairs_of(&span(index).1).len()).max().unwrap_or(1);
        let blocks = longest.div_ceil(Self::LARGEST_BLOCK);
        let block = longest.div_ceil(blocks);
        let longest = block * blocks;

        let mut windows = Vec::with_capacity(part.len());
        let mut pairs = vec![Pair::default(); part.len() * longest];
        let mut weights = Vec::new();
        for (index, target) in part.zip(pairs.chunks_exact_mut(longest)) {
            let (center, span) = span(index);
            let window = pairs_of(&span);
            weights.clear();
            // Each pair has two, the first of which may lie before the span.
            weights.resize(span.start % 2, 0.0);
            weights.extend(span.map(|x| bicubic((x as f64 - center + 0.5) * (1.0 / stretch))));
            let sum: f64 = weights.iter().sum();
            let fixed = |weight: f64| (weight / sum * f64::from(1 << PRECISION)).round() as i32;
            for (pair, weights) in target.iter_mut().zip(weights.chunks(2)) {
                *pair = Pair::new([fixed(weights[0]), weights.get(1).map_or(0, |&weight| fixed(weight))]);
            }
            windows.push(Window {
                first: window.start,
                offset: windows.len() * longest,
                count: window.len(),
            });
        }
        Self { windows, pairs, block, longest }
    }

    /// Number of target samples.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    /// The weights of a window.
    pub(crate) fn weights(&self, window: &Window) -> &[Pair] {
        &self.pairs[window.offset..][..window.count]
    }

    /// The weights of a window in whole blocks, with zeros behind them.
    pub(crate) fn padded_weights(&self, window: &Window) -> &[Pair] {
        &self.pairs[window.offset..][..self.longest]
    }

    /// Pairs in a block.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// Pairs in all blocks of a window.
    pub(crate) fn longest(&self) -> usize {
        self.longest
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
