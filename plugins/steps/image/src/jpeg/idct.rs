//! The inverse cosine transform, to the bit as libjpeg-turbo's accurate integer method (`JDCT_ISLOW`), which is the
//! default of everyone who decodes with it.

/// Coefficients of a block of 8×8 samples, in rows.
pub(super) type Block = [i16; 64];

const CONSTANT_BITS: u32 = 13;
/// Bits that are kept between the two passes.
const PASS_BITS: u32 = 2;

/// Eight numbers that are computed with at once. Arithmetic wraps: a damaged file may hold any number.
#[derive(Clone, Copy)]
struct Lanes([i32; 8]);

impl Lanes {
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = a.wrapping_add(b));
        self
    }

    #[inline(always)]
    fn sub(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = a.wrapping_sub(b));
        self
    }

    #[inline(always)]
    fn times(self, factor: i32) -> Self {
        Self(self.0.map(|a| a.wrapping_mul(factor)))
    }

    #[inline(always)]
    fn shifted_up(self, bits: u32) -> Self {
        Self(self.0.map(|a| a << bits))
    }

    /// Divided by a power of two, rounded.
    #[inline(always)]
    fn rounded(self, bits: u32) -> Self {
        Self(self.0.map(|a| a.wrapping_add(1 << (bits - 1)) >> bits))
    }
}

/// Transforms a block, times `quantization`, to samples at the start of `samples`, whose rows are `stride` apart.
///
/// # Panics
/// If `samples` has no room for eight rows of eight.
pub(super) fn transform(block: &Block, quantization: &[i32; 64], samples: &mut [u8], stride: usize) {
    if block[1..].iter().all(|&coefficient| coefficient == 0) {
        let level = i32::from(block[0]).wrapping_mul(quantization[0]);
        let sample = ((level.wrapping_add(4) >> 3).wrapping_add(128)).clamp(0, 255) as u8;
        for row in 0..8 {
            samples[row * stride..][..8].fill(sample);
        }
        return;
    }
    let mut rows = [Lanes([0; 8]); 8];
    let steps = quantization.as_chunks::<8>().0;
    for ((row, coefficients), steps) in rows.iter_mut().zip(block.as_chunks::<8>().0).zip(steps) {
        for ((value, &coefficient), step) in row.0.iter_mut().zip(coefficients).zip(steps) {
            *value = i32::from(coefficient).wrapping_mul(*step);
        }
    }
    let columns = pass(rows, CONSTANT_BITS - PASS_BITS);
    let rows = transposed(pass(transposed(columns), CONSTANT_BITS + PASS_BITS + 3));
    for (row, values) in rows.iter().enumerate() {
        let target: &mut [u8] = &mut samples[row * stride..][..8];
        for (sample, value) in target.iter_mut().zip(values.0) {
            *sample = value.wrapping_add(128).clamp(0, 255) as u8;
        }
    }
}

/// One dimension, for eight lines at once.
#[inline(always)]
fn pass(input: [Lanes; 8], bits: u32) -> [Lanes; 8] {
    // Even part. Factors are those of the Loeffler-Ligtenberg-Moschytz algorithm, times 2^13.
    let z1 = input[2].add(input[6]).times(4433);
    let even2 = z1.sub(input[6].times(15137));
    let even3 = z1.add(input[2].times(6270));
    let even0 = input[0].add(input[4]).shifted_up(CONSTANT_BITS);
    let even1 = input[0].sub(input[4]).shifted_up(CONSTANT_BITS);
    let even = [even0.add(even3), even1.add(even2), even1.sub(even2), even0.sub(even3)];

    // Odd part.
    let z5 = input[7].add(input[3]).add(input[5].add(input[1])).times(9633);
    let z1 = input[7].add(input[1]).times(-7373);
    let z2 = input[5].add(input[3]).times(-20995);
    let z3 = input[7].add(input[3]).times(-16069).add(z5);
    let z4 = input[5].add(input[1]).times(-3196).add(z5);
    let odd = [
        input[1].times(12299).add(z1).add(z4),
        input[3].times(25172).add(z2).add(z3),
        input[5].times(16819).add(z2).add(z4),
        input[7].times(2446).add(z1).add(z3),
    ];
    let mut output = input;
    for i in 0..4 {
        output[i] = even[i].add(odd[i]).rounded(bits);
        output[7 - i] = even[i].sub(odd[i]).rounded(bits);
    }
    output
}

#[inline(always)]
fn transposed(lines: [Lanes; 8]) -> [Lanes; 8] {
    let mut turned = lines;
    for (i, line) in turned.iter_mut().enumerate() {
        line.0 = [0, 1, 2, 3, 4, 5, 6, 7].map(|j: usize| lines[j].0[i]);
    }
    turned
}
