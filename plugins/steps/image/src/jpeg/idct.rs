//! The inverse cosine transform, to the bit as libjpeg-turbo's accurate integer method (`JDCT_ISLOW`), which is the
//! default of everyone who decodes with it.

/// Coefficients of a block of 8×8 samples, in rows.
pub(super) type Block = [i16; 64];

const CONSTANT_BITS: u32 = 13;
/// Bits that are kept between the two passes.
const PASS_BITS: u32 = 2;

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
    let mut values = [0; 64];
    for ((value, &coefficient), &step) in values.iter_mut().zip(block).zip(quantization) {
        *value = i32::from(coefficient).wrapping_mul(step);
    }
    along_columns::<{ CONSTANT_BITS - PASS_BITS }>(&mut values);
    values = transposed(&values);
    along_columns::<{ CONSTANT_BITS + PASS_BITS + 3 }>(&mut values);
    values = transposed(&values);
    for (row, values) in values.as_chunks::<8>().0.iter().enumerate() {
        let target = &mut samples[row * stride..][..8];
        for (sample, value) in target.iter_mut().zip(values) {
            *sample = value.wrapping_add(128).clamp(0, 255) as u8;
        }
    }
}

/// One dimension, of all columns; results are rounded by so many bits. Factors are those of the
/// Loeffler-Ligtenberg-Moschytz algorithm, times 2^13. Arithmetic wraps: a damaged file may hold any number.
#[inline(always)]
fn along_columns<const BITS: u32>(values: &mut [i32; 64]) {
    use std::num::Wrapping as W;
    // Columns do not depend on each other, so that the loop is done for several at once.
    for x in 0..8 {
        let input: [W<i32>; 8] = [0, 8, 16, 24, 32, 40, 48, 56].map(|row| W(values[row + x]));
        // Even part.
        let z1 = (input[2] + input[6]) * W(4433);
        let even2 = z1 - input[6] * W(15137);
        let even3 = z1 + input[2] * W(6270);
        let even0 = (input[0] + input[4]) << CONSTANT_BITS as usize;
        let even1 = (input[0] - input[4]) << CONSTANT_BITS as usize;
        let even = [even0 + even3, even1 + even2, even1 - even2, even0 - even3];
        // Odd part.
        let z5 = (input[7] + input[3] + input[5] + input[1]) * W(9633);
        let z1 = (input[7] + input[1]) * W(-7373);
        let z2 = (input[5] + input[3]) * W(-20995);
        let z3 = (input[7] + input[3]) * W(-16069) + z5;
        let z4 = (input[5] + input[1]) * W(-3196) + z5;
        let odd = [
            input[1] * W(12299) + z1 + z4,
            input[3] * W(25172) + z2 + z3,
            input[5] * W(16819) + z2 + z4,
            input[7] * W(2446) + z1 + z3,
        ];
        let half = W(1 << (BITS - 1));
        for row in 0..4 {
            values[8 * row + x] = (even[row] + odd[row] + half).0 >> BITS;
            values[8 * (7 - row) + x] = (even[row] - odd[row] + half).0 >> BITS;
        }
    }
}

#[inline(always)]
fn transposed(values: &[i32; 64]) -> [i32; 64] {
    let mut turned = [0; 64];
    for y in 0..8 {
        for x in 0..8 {
            turned[8 * y + x] = values[8 * x + y];
        }
    }
    turned
}
