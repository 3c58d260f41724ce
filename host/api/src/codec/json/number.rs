/// A number as it stands in the text, scanned but not yet converted: which type it becomes is the tensor's matter.
#[derive(Clone, Copy, Debug)]
pub struct Number<'a> {
    /// As written, for exact conversion and for messages.
    pub text: &'a str,
    negative: bool,
    /// All digits without the point, unless they are too many.
    mantissa: Option<u64>,
    /// Power of ten that the mantissa is to be multiplied with.
    exponent: i32,
    /// Written without point and exponent.
    integer: bool,
}

/// Powers of ten that an f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl<'a> Number<'a> {
    /// The number at the start of `input` as JSON spells it, or as far as it goes; `None` if there is none or it is
    /// misspelt (`01`, `1.`, `.5`, `+1`).
    #[inline]
    pub fn scan(input: &'a str) -> Option<Number<'a>> {
        let bytes = input.as_bytes();
        let negative = bytes.first() == Some(&b'-');
        let mut at = usize::from(negative);
        let mut digits = Digits::default();
        let whole = digits.take(bytes.get(at..)?);
        // A leading zero stands alone.
        if whole == 0 || (whole > 1 && bytes.get(at) == Some(&b'0')) {
            return None;
        }
        at += whole;
        let mut exponent = 0_i32;
        let mut integer = true;
        if bytes.get(at) == Some(&b'.') {
            let places = digits.take(bytes.get(at + 1..)?);
            if places == 0 {
                return None;
            }
            integer = false;
            exponent = i32::try_from(places).ok()?.checked_neg()?;
            at += 1 + places;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            let down = bytes.get(at) == Some(&b'-');
            if matches!(bytes.get(at), Some(b'-' | b'+')) {
                at += 1;
            }
            let mut power = Digits::default();
            let length = power.take(bytes.get(at..)?);
            if length == 0 {
                return None;
            }
            integer = false;
            at += length;
            // Beyond this everything is zero or infinite, and the conversion of the text takes over.
            let power = power.value().and_then(|power| i32::try_from(power).ok()).unwrap_or(i32::MAX / 2);
            exponent = exponent.saturating_add(if down { -power } else { power });
        }
        Some(Number { text: input.get(..at)?, negative, mantissa: digits.value(), exponent, integer })
    }

    /// The value of a number without point and exponent, if 128 bits hold it.
    pub fn as_integer(&self) -> Option<i128> {
        if !self.integer {
            return None;
        }
        match self.mantissa.map(i128::from) {
            Some(value) => Some(if self.negative { -value } else { value }),
            None => self.text.parse().ok(),
        }
    }

    /// The nearest FP64; infinite if it is out of range.
    #[inline]
    pub fn as_f64(&self) -> f64 {
        // Both factors are exact, so the one rounding of the operation is the right one (Clinger's fast path).
        self.fast().unwrap_or_else(|| self.text.parse().unwrap_or(f64::NAN))
    }

    /// The nearest FP32; infinite if it is out of range.
    #[inline]
    pub fn as_f32(&self) -> f32 {
        // Rounding twice goes wrong only if the FP64 lies exactly between two FP32, or where FP32 is subnormal.
        const BETWEEN: u64 = 1 << 28;
        const BELOW_FP32: u64 = (1 << 29) - 1;
        match self.fast() {
            Some(wide)
                if wide == 0.0
                    || (wide.to_bits() & BELOW_FP32 != BETWEEN
                        && wide.abs() >= f64::from(f32::MIN_POSITIVE)) =>
            {
                wide as f32
            }
            _ => self.text.parse().unwrap_or(f32::NAN),
        }
    }

    #[inline]
    fn fast(&self) -> Option<f64> {
        let mantissa = self.mantissa.filter(|&mantissa| mantissa <= 1 << 53)? as f64;
        let power = *POWERS.get(usize::try_from(self.exponent.unsigned_abs()).ok()?)?;
        let value = if self.exponent < 0 { mantissa / power } else { mantissa * power };
        Some(if self.negative { -value } else { value })
    }
}

/// Decimal digits gathered into an integer.
#[derive(Default)]
struct Digits {
    value: u64,
    count: usize,
}

impl Digits {
    /// As many always fit into 64 bits.
    const MOST: usize = 19;

    /// Takes the digits at the start of the input and says how many there are.
    #[inline]
    fn take(&mut self, input: &[u8]) -> usize {
        let mut count = 0;
        for &byte in input {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            // Wraps only where there are too many digits for the value to be used.
            self.value = self.value.wrapping_mul(10).wrapping_add(u64::from(digit));
            count += 1;
        }
        self.count += count;
        count
    }

    /// The integer, unless there were too many digits.
    #[inline]
    fn value(&self) -> Option<u64> {
        (self.count <= Digits::MOST).then_some(self.value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(text: &str) -> Option<Number<'_>> {
        Number::scan(text)
    }

    #[test]
    fn takes_what_json_allows_and_no_more() {
        for (text, taken) in
            [("0", "0"), ("-0,", "-0"), ("12]", "12"), ("1.5e+3 ", "1.5e+3"), ("2E-7", "2E-7")]
        {
            assert_eq!(scan(text).unwrap().text, taken);
        }
        for text in ["", "-", "01", "-01", "1.", ".5", "+1", "1e", "1e+", "x", "1.e3"] {
            assert!(scan(text).is_none(), "{text}");
        }
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(scan("18446744073709551615").unwrap().as_integer(), Some(u64::MAX.into()));
        assert_eq!(scan("-9223372036854775808").unwrap().as_integer(), Some(i64::MIN.into()));
        assert_eq!(scan("18446744073709551616").unwrap().as_integer(), Some(i128::from(u64::MAX) + 1));
        assert_eq!(scan("1.0").unwrap().as_integer(), None);
        assert_eq!(scan("1e3").unwrap().as_integer(), None);
    }

    #[test]
    fn huge_and_tiny_exponents_end_at_infinity_and_zero() {
        assert_eq!(scan("1e400").unwrap().as_f64(), f64::INFINITY);
        assert_eq!(scan("-1e99999999999999999999").unwrap().as_f32(), f32::NEG_INFINITY);
        assert_eq!(scan("1e-99999999999").unwrap().as_f64(), 0.0);
        assert!(scan("-0.0").unwrap().as_f32().is_sign_negative());
    }

    #[test]
    fn fp32_is_rounded_once() {
        // The nearest FP64 lies exactly between two FP32, the number itself just below.
        let number = scan("8.000001430511474").unwrap();
        assert_eq!(number.as_f64() as f32, 8.000002);
        assert_eq!(number.as_f32(), 8.000001);
        assert_eq!(scan("1e-45").unwrap().as_f32().to_bits(), 1);
    }

    proptest! {
        #[test]
        fn floats_are_what_the_standard_library_reads(mantissa in any::<i64>(), exponent in -60..60_i32, cut in 0..19_u32) {
            let text = format!("{}e{exponent}", mantissa / 10_i64.pow(cut));
            prop_assert_eq!(scan(&text).unwrap().as_f64().to_bits(), text.parse::<f64>().unwrap().to_bits());
            prop_assert_eq!(scan(&text).unwrap().as_f32().to_bits(), text.parse::<f32>().unwrap().to_bits());
        }

        #[test]
        fn every_float_comes_back(bits in any::<u64>()) {
            let wide = f64::from_bits(bits);
            let narrow = f32::from_bits(bits as u32);
            prop_assume!(wide.is_finite() && narrow.is_finite());
            prop_assert_eq!(scan(&format!("{wide:?}")).unwrap().as_f64().to_bits(), wide.to_bits());
            prop_assert_eq!(scan(&format!("{narrow:?}")).unwrap().as_f32().to_bits(), narrow.to_bits());
        }
    }
}
