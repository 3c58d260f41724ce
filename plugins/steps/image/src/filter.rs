//! Bicubic interpolation weights, with the numbers that Pillow's `BICUBIC` has: a = -0.5, widened when a picture
//! shrinks, fixed-point of 22 bits.

/// Bits behind the point of a weight.
const PRECISION: u32 = 22;
/// A weight is `high * 2^11 + low`, so that each half can be multiplied as 16 bits: eight at once, exactly.
const HALF: u32 = 11;
/// Weights are padded with zeros to a multiple of this many, which is what one SIMD instruction takes.
pub(crate) const LANES: usize = 8;

/// The source samples that make one target sample.
struct Window {
    /// First source sample.
    first: usize,
    /// Number of source samples.
    count: usize,
    /// Where its weights start.
    offset: usize,
}

/// How each sample of a line is made of samples of a source line, for a range of the target.
pub(crate) struct Filter {
    windows: Vec<Window>,
    weights: Vec<i32>,
    high: Vec<i16>,
    low: Vec<i16>,
}

impl Filter {
    /// Weights for the target samples `start..start + count` when a line of `source` samples becomes one of `target`.
    pub(crate) fn new(source: usize, target: usize, start: usize, count: usize) -> Self {
        let scale = source as f64 / target as f64;
        let stretch = scale.max(1.0);
        let support = 2.0 * stretch;
        let mut filter =
            Self { windows: Vec::with_capacity(count), weights: vec![], high: vec![], low: vec![] };
        let mut exact = Vec::new();
        for index in start..start + count {
            let center = (index as f64 + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as usize;
            let end = ((center + support + 0.5) as usize).min(source);
            exact.clear();
            exact.extend((first..end).map(|x| bicubic((x as f64 - center + 0.5) * (1.0 / stretch))));
            let sum: f64 = exact.iter().sum();
            filter.windows.push(Window { first, count: exact.len(), offset: filter.weights.len() });
            let fixed = exact.iter().map(|weight| (weight / sum * f64::from(1 << PRECISION)).round() as i32);
            filter.weights.extend(fixed);
            filter.weights.resize(filter.weights.len().next_multiple_of(LANES), 0);
        }
        let halves = filter.weights.iter().map(|&weight| {
            let high = (weight + (1 << (HALF - 1))) >> HALF;
            (high as i16, (weight - (high << HALF)) as i16)
        });
        (filter.high, filter.low) = halves.unzip();
        filter
    }

    /// Number of target samples.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    /// One line: `target[i * stride]` for each target sample. `source` is padded with [`LANES`] samples more than
    /// the line has, whose values do not matter.
    pub(crate) fn apply(&self, source: &[i16], target: &mut [u8], stride: usize) {
        for (window, target) in self.windows.iter().zip(target.iter_mut().step_by(stride)) {
            let length = window.count.next_multiple_of(LANES);
            let samples = &source[window.first..window.first + length];
            let high = &self.high[window.offset..window.offset + length];
            let low = &self.low[window.offset..window.offset + length];
            let (high, low) = dots(samples, high, low);
            *target = round((high << HALF) + low);
        }
    }

    /// For the other direction: the target samples that source sample `index` is part of, with its weight in each.
    pub(crate) fn targets_of(&self, index: usize) -> impl Iterator<Item = (usize, i32)> + '_ {
        // Windows start and end in ascending order.
        let from = self.windows.partition_point(|window| window.first + window.count <= index);
        let to = self.windows.partition_point(|window| window.first <= index);
        (from..to.max(from)).map(move |target| {
            let window = &self.windows[target];
            (target, self.weights[window.offset + index - window.first])
        })
    }

    /// How many target samples are finished once the source samples up to and without `count` have been seen.
    pub(crate) fn finished(&self, count: usize) -> usize {
        self.windows.partition_point(|window| window.first + window.count <= count)
    }

    /// The most target samples that one source sample is part of at once.
    pub(crate) fn overlap(&self) -> usize {
        let open = |(index, window): (usize, &Window)| {
            self.windows[index..].iter().take_while(|next| next.first < window.first + window.count).count()
        };
        self.windows.iter().enumerate().map(open).max().unwrap_or(1)
    }
}

/// From fixed-point to a sample.
pub(crate) fn round(sum: i32) -> u8 {
    ((sum + (1 << (PRECISION - 1))) >> PRECISION).clamp(0, 255) as u8
}

/// Sums of the products with both halves of the weights; all have the same multiple of [`LANES`] values.
#[cfg(not(target_feature = "simd128"))]
fn dots(samples: &[i16], high: &[i16], low: &[i16]) -> (i32, i32) {
    let dot = |weights: &[i16]| {
        let mut sums = [0_i32; LANES];
        for (samples, weights) in samples.as_chunks::<LANES>().0.iter().zip(weights.as_chunks::<LANES>().0) {
            for ((sum, &sample), &weight) in sums.iter_mut().zip(samples).zip(weights) {
                *sum += i32::from(sample) * i32::from(weight);
            }
        }
        sums.iter().sum()
    };
    (dot(high), dot(low))
}

/// The same with the instruction that multiplies and adds neighbours, which the compiler does not find by itself.
#[cfg(target_feature = "simd128")]
fn dots(samples: &[i16], high: &[i16], low: &[i16]) -> (i32, i32) {
    use core::arch::wasm32::{i16x8, i32x4_add, i32x4_dot_i16x8, i32x4_extract_lane, i32x4_splat};
    let vector = |x: &[i16; LANES]| i16x8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
    let (mut highs, mut lows) = (i32x4_splat(0), i32x4_splat(0));
    let weights = high.as_chunks().0.iter().zip(low.as_chunks().0);
    for (samples, (high, low)) in samples.as_chunks().0.iter().zip(weights) {
        let samples = vector(samples);
        highs = i32x4_add(highs, i32x4_dot_i16x8(samples, vector(high)));
        lows = i32x4_add(lows, i32x4_dot_i16x8(samples, vector(low)));
    }
    let sum = |v| {
        i32x4_extract_lane::<0>(v)
            + i32x4_extract_lane::<1>(v)
            + i32x4_extract_lane::<2>(v)
            + i32x4_extract_lane::<3>(v)
    };
    (sum(highs), sum(lows))
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
