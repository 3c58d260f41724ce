//! With the instructions of `simd128`.

use core::arch::wasm32::*;

use super::LANES;

/// Eight numbers of 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct I16s(v128);

/// Four numbers of 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct I32s(v128);

impl I16s {
    #[inline(always)]
    pub(crate) fn load(source: &[i16; LANES]) -> Self {
        Self(load(source))
    }

    /// Sixteen pixels of three bytes, each channel by itself.
    #[inline(always)]
    pub(crate) fn from_pixels(pixels: &[u8; 48]) -> [[Self; 2]; 3] {
        let [a, b, c] = [0, 1, 2].map(|third| load::<u8, 16>(&pixels.as_chunks().0[third]));
        let red = u8x16_shuffle::<0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0>(a, b);
        let red = u8x16_shuffle::<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29>(red, c);
        let green = u8x16_shuffle::<1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0>(a, b);
        let green = u8x16_shuffle::<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 21, 24, 27, 30>(green, c);
        let blue = u8x16_shuffle::<2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0>(a, b);
        let blue = u8x16_shuffle::<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 19, 22, 25, 28, 31>(blue, c);
        [red, green, blue].map(|x| [Self(u16x8_extend_low_u8x16(x)), Self(u16x8_extend_high_u8x16(x))])
    }

    /// A pair of numbers, the first in the lower half, four times.
    #[inline(always)]
    pub(crate) fn splat(pair: i32) -> Self {
        Self(i32x4_splat(pair))
    }

    #[inline(always)]
    pub(crate) fn store(self, target: &mut [i16; LANES]) {
        store(self.0, target);
    }

    /// For each pair: the sum of its products with the other's pair.
    #[inline(always)]
    pub(crate) fn dot(self, other: Self) -> I32s {
        I32s(i32x4_dot_i16x8(self.0, other.0))
    }

    /// Four times four pairs, with rows and columns exchanged.
    #[inline(always)]
    pub(crate) fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let (ab_low, ab_high) =
            (i32x4_shuffle::<0, 4, 1, 5>(a.0, b.0), i32x4_shuffle::<2, 6, 3, 7>(a.0, b.0));
        let (cd_low, cd_high) =
            (i32x4_shuffle::<0, 4, 1, 5>(c.0, d.0), i32x4_shuffle::<2, 6, 3, 7>(c.0, d.0));
        [
            Self(i64x2_shuffle::<0, 2>(ab_low, cd_low)),
            Self(i64x2_shuffle::<1, 3>(ab_low, cd_low)),
            Self(i64x2_shuffle::<0, 2>(ab_high, cd_high)),
            Self(i64x2_shuffle::<1, 3>(ab_high, cd_high)),
        ]
    }
}

impl I32s {
    #[inline(always)]
    pub(crate) fn splat(value: i32) -> Self {
        Self(i32x4_splat(value))
    }

    #[inline(always)]
    pub(crate) fn load(source: &[i32; 4]) -> Self {
        Self(load(source))
    }

    #[inline(always)]
    pub(crate) fn store(self, target: &mut [i32; 4]) {
        store(self.0, target);
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(i32x4_add(self.0, other.0))
    }

    #[inline(always)]
    pub(crate) fn shl<const BITS: i32>(self) -> Self {
        Self(i32x4_shl(self.0, BITS as u32))
    }

    /// These and four others, shifted right and brought into 0 to 255.
    #[inline(always)]
    pub(crate) fn levels<const BITS: i32>(self, others: Self) -> I16s {
        let shifted = i16x8_narrow_i32x4(i32x4_shr(self.0, BITS as u32), i32x4_shr(others.0, BITS as u32));
        I16s(i16x8_min(i16x8_max(shifted, i16x8_splat(0)), i16x8_splat(255)))
    }
}

#[inline(always)]
fn load<T: Copy, const COUNT: usize>(source: &[T; COUNT]) -> v128 {
    const { assert!(size_of::<[T; COUNT]>() == size_of::<v128>()) };
    // SAFETY: the instruction reads 16 bytes at any address, which the array is. (Built of its lanes, a vector is as
    // safe, but the compiler then takes the instructions around it apart.)
    unsafe { v128_load(source.as_ptr().cast()) }
}

#[inline(always)]
fn store<T: Copy, const COUNT: usize>(vector: v128, target: &mut [T; COUNT]) {
    const { assert!(size_of::<[T; COUNT]>() == size_of::<v128>()) };
    // SAFETY: the instruction writes 16 bytes at any address, which the array is.
    unsafe { v128_store(target.as_mut_ptr().cast(), vector) }
}
