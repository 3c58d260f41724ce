//! The few instructions on several numbers at once that the resampling is made of. On WebAssembly they are `simd128`'s,
//! which compilers find by themselves only in part; elsewhere arrays say the same.

/// Numbers of 16 bits that are worked on at once.
pub(crate) const LANES: usize = 8;

#[cfg(target_feature = "simd128")]
mod vector {
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
        pub(crate) fn load(x: &[i16; LANES]) -> Self {
            Self(i16x8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]))
        }

        /// The pair, four times.
        #[inline(always)]
        pub(crate) fn splat([even, odd]: [i16; 2]) -> Self {
            Self(i32x4_splat(i32::from(odd) << 16 | i32::from(even as u16)))
        }

        #[inline(always)]
        pub(crate) fn store(self, target: &mut [i16; LANES]) {
            *target = [
                i16x8_extract_lane::<0>(self.0),
                i16x8_extract_lane::<1>(self.0),
                i16x8_extract_lane::<2>(self.0),
                i16x8_extract_lane::<3>(self.0),
                i16x8_extract_lane::<4>(self.0),
                i16x8_extract_lane::<5>(self.0),
                i16x8_extract_lane::<6>(self.0),
                i16x8_extract_lane::<7>(self.0),
            ];
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
        pub(crate) fn load(x: &[i32; 4]) -> Self {
            Self(i32x4(x[0], x[1], x[2], x[3]))
        }

        #[inline(always)]
        pub(crate) fn store(self, target: &mut [i32; 4]) {
            *target = [
                i32x4_extract_lane::<0>(self.0),
                i32x4_extract_lane::<1>(self.0),
                i32x4_extract_lane::<2>(self.0),
                i32x4_extract_lane::<3>(self.0),
            ];
        }

        #[inline(always)]
        pub(crate) fn plus(self, other: Self) -> Self {
            Self(i32x4_add(self.0, other.0))
        }

        #[inline(always)]
        pub(crate) fn shl<const BITS: u32>(self) -> Self {
            Self(i32x4_shl(self.0, BITS))
        }

        /// These and four others, shifted right and brought into 0 to 255.
        #[inline(always)]
        pub(crate) fn levels<const BITS: u32>(self, others: Self) -> I16s {
            let shifted = i16x8_narrow_i32x4(i32x4_shr(self.0, BITS), i32x4_shr(others.0, BITS));
            I16s(i16x8_min(i16x8_max(shifted, i16x8_splat(0)), i16x8_splat(255)))
        }
    }
}

#[cfg(not(target_feature = "simd128"))]
mod vector {
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

        /// The pair, four times.
        #[inline(always)]
        pub(crate) fn splat([even, odd]: [i16; 2]) -> Self {
            Self([even, odd, even, odd, even, odd, even, odd])
        }

        #[inline(always)]
        pub(crate) fn store(self, target: &mut [i16; LANES]) {
            *target = self.0;
        }

        /// For each pair: the sum of its products with the other's pair.
        #[inline(always)]
        pub(crate) fn dot(self, other: Self) -> I32s {
            let product = |index: usize| i32::from(self.0[index]) * i32::from(other.0[index]);
            I32s(std::array::from_fn(|pair| product(2 * pair) + product(2 * pair + 1)))
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
        pub(crate) fn shl<const BITS: u32>(self) -> Self {
            Self(self.0.map(|value| value << BITS))
        }

        /// These and four others, shifted right and brought into 0 to 255.
        #[inline(always)]
        pub(crate) fn levels<const BITS: u32>(self, others: Self) -> I16s {
            let level = |value: i32| (value >> BITS).clamp(0, 255) as i16;
            I16s(std::array::from_fn(|lane| level(if lane < 4 { self.0[lane] } else { others.0[lane - 4] })))
        }
    }
}

pub(crate) use vector::{I16s, I32s};
