//! With arrays.

use super::LANES;

/// Eight numbers of 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct I16s([i16; LANES]);

/// Four numbers of 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct I32s([i32; 4]);

impl I16s {
    #[inline(always)]
    pub(crate) fn load(source: &[i16; LANES]) -> Self {
        Self(*source)
    }

    /// Sixteen pixels of three bytes, each channel by itself.
    #[inline(always)]
    pub(crate) fn from_pixels(pixels: &[u8; 48]) -> [[Self; 2]; 3] {
        let sample = |channel: usize, x: usize| i16::from(pixels[3 * x + channel]);
        let half = |channel, half| Self(std::array::from_fn(|x| sample(channel, LANES * half + x)));
        [0, 1, 2].map(|channel| [half(channel, 0), half(channel, 1)])
    }

    /// A pair of numbers, the first in the lower half, four times.
    #[inline(always)]
    pub(crate) fn splat(pair: i32) -> Self {
        Self(std::array::from_fn(|lane| (pair >> (16 * (lane % 2))) as i16))
    }

    #[inline(always)]
    pub(crate) fn store(self, target: &mut [i16; LANES]) {
        *target = self.0;
    }

    /// For each pair: the sum of its products with the other's pair.
    #[inline(always)]
    pub(crate) fn dot(self, other: Self) -> I32s {
        let products: [i32; LANES] =
            std::array::from_fn(|index| i32::from(self.0[index]) * i32::from(other.0[index]));
        I32s(std::array::from_fn(|pair| products[2 * pair] + products[2 * pair + 1]))
    }

    /// Four times four pairs, with rows and columns exchanged.
    #[inline(always)]
    pub(crate) fn transpose(rows: [Self; 4]) -> [Self; 4] {
        std::array::from_fn(|column| {
            Self(std::array::from_fn(|lane| rows[lane / 2].0[2 * column + lane % 2]))
        })
    }
}

impl I32s {
    #[inline(always)]
    pub(crate) fn splat(value: i32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    pub(crate) fn load(source: &[i32; 4]) -> Self {
        Self(*source)
    }

    #[inline(always)]
    pub(crate) fn store(self, target: &mut [i32; 4]) {
        *target = self.0;
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].wrapping_add(other.0[lane])))
    }

    #[inline(always)]
    pub(crate) fn shl<const BITS: i32>(self) -> Self {
        Self(self.0.map(|value| value << BITS))
    }

    /// These and four others, shifted right and brought into 0 to 255.
    #[inline(always)]
    pub(crate) fn levels<const BITS: i32>(self, others: Self) -> I16s {
        let level = |value: i32| (value >> BITS).clamp(0, 255) as i16;
        I16s(std::array::from_fn(|lane| level(if lane < 4 { self.0[lane] } else { others.0[lane - 4] })))
    }
}
