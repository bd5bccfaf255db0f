//! Exact decimal numbers: the only numbers a limit, a budget or a reservation ever sees.
//!
//! The wrapper offers checked arithmetic alone, because the operators of the library panic on overflow
//! and a kernel that panics cannot answer.

use rust_decimal::Decimal as Inner;
use std::fmt;

/// Digits beyond this cannot be held exactly.
pub const SIGNIFICANT_DIGITS_MAX: usize = 28;

/// The first mantissa with more digits than [`SIGNIFICANT_DIGITS_MAX`].
const MANTISSA_END: u128 = 10_u128.pow(28);

/// An exact decimal number with up to 28 significant digits, always in its shortest form.
///
/// INVARIANT (28 digits): every value prints as text that [`Decimal::parse`] reads back as the same value.
///
/// ```
/// use values::decimal::Decimal;
/// let price = Decimal::parse("12.50").unwrap();
/// assert_eq!(price.to_string(), "12.5");
/// assert!(price < Decimal::from(13));
/// assert_eq!(Decimal::parse("1e1"), None, "exponents are not plain decimals");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(Inner);

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal(Inner::ZERO);

    /// Reads a plain decimal: an optional minus sign, digits, optionally a point and digits.
    ///
    /// Exponents, plus signs, blanks, `NaN` and more than 28 significant digits are `None`.
    pub fn parse(text: &str) -> Option<Decimal> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = match unsigned.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (unsigned, ""),
        };
        let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits_only(whole) || !digits_only(fraction) {
            return None;
        }
        Decimal::from_parts(text.starts_with('-'), whole, fraction, 0)
    }

    /// Builds the number from the pieces of a JSON number; `None` if it is not exactly representable.
    pub fn from_parts(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Option<Decimal> {
        let fraction_kept = fraction.trim_end_matches('0');
        let all_digits = || whole.bytes().chain(fraction_kept.bytes());
        let leading = all_digits().take_while(|digit| *digit == b'0').count();
        let significant = all_digits().count() - leading;
        if significant == 0 {
            return Some(Decimal::ZERO);
        }
        let mut trailing_zeros = 0_usize;
        if fraction_kept.is_empty() {
            trailing_zeros = whole.bytes().rev().take_while(|digit| *digit == b'0').count();
        }
        let kept = significant.checked_sub(trailing_zeros)?;
        if kept > SIGNIFICANT_DIGITS_MAX {
            return None;
        }
        let mut mantissa: i128 = 0;
        for digit in all_digits().skip(leading).take(kept) {
            mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        // value = mantissa * 10^power
        let power = exponent
            .checked_sub(i64::try_from(fraction_kept.len()).ok()?)?
            .checked_add(i64::try_from(trailing_zeros).ok()?)?;
        let (mantissa, scale) = match power {
            0.. => {
                let factor = 10_i128.checked_pow(u32::try_from(power).ok()?)?;
                (mantissa.checked_mul(factor)?, 0_u32)
            }
            _ => (mantissa, u32::try_from(power.checked_neg()?).ok()?),
        };
        let signed = if negative { mantissa.checked_neg()? } else { mantissa };
        Decimal::exact(signed, scale)
    }

    /// The number `mantissa / 10^scale` in its shortest form; `None` if it needs more digits than can be held.
    fn exact(mut mantissa: i128, mut scale: u32) -> Option<Decimal> {
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        let value = Decimal(Inner::try_from_i128_with_scale(mantissa, scale).ok()?);
        value.is_within_digits().then_some(value)
    }

    /// The library holds some numbers of 29 digits; they would not survive being printed and read again.
    fn is_within_digits(self) -> bool {
        let mut digits = self.mantissa().unsigned_abs();
        while digits >= MANTISSA_END && digits.is_multiple_of(10) {
            digits /= 10;
        }
        digits < MANTISSA_END
    }

    /// Both mantissas at the larger of the two scales.
    ///
    /// `None` only where no sum could be held: the digits of one number then end too far behind the other's begin.
    fn aligned(self, other: Decimal) -> Option<(i128, i128, u32)> {
        let scale = self.fraction_digits().max(other.fraction_digits());
        let at_scale = |number: Decimal| {
            number.mantissa().checked_mul(10_i128.checked_pow(scale.checked_sub(number.fraction_digits())?)?)
        };
        Some((at_scale(self)?, at_scale(other)?, scale))
    }

    /// The exact sum, or `None` if it cannot be held.
    ///
    /// The library rounds here, which would let a small amount vanish beside a large one.
    pub fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let (left, right, scale) = self.aligned(other)?;
        Decimal::exact(left.checked_add(right)?, scale)
    }

    /// The exact difference, or `None` if it cannot be held.
    pub fn checked_sub(self, other: Decimal) -> Option<Decimal> {
        self.checked_add(other.negated())
    }

    /// The exact product, or `None` if it, or the product of the digits before shortening, cannot be held.
    ///
    /// The library rounds here, which would let a small factor become zero.
    pub fn checked_mul(self, other: Decimal) -> Option<Decimal> {
        let scale = self.fraction_digits().checked_add(other.fraction_digits())?;
        Decimal::exact(self.mantissa().checked_mul(other.mantissa())?, scale)
    }

    /// Quotient, or `None` on overflow or division by zero. Rounded to at most 28 digits where it does not end.
    pub fn checked_div(self, other: Decimal) -> Option<Decimal> {
        let quotient = Decimal(self.0.checked_div(other.0)?.normalize());
        if quotient.is_within_digits() {
            return Some(quotient);
        }
        quotient.0.round_sf(28).map(|value| Decimal(value.normalize()))
    }

    /// Remainder, or `None` on division by zero.
    pub fn checked_rem(self, other: Decimal) -> Option<Decimal> {
        self.0.checked_rem(other.0).map(|value| Decimal(value.normalize()))
    }

    /// The same number without its sign.
    pub fn abs(self) -> Decimal {
        Decimal(self.0.abs())
    }

    /// The number with the other sign.
    pub fn negated(self) -> Decimal {
        Decimal((-self.0).normalize())
    }

    /// Below zero.
    pub fn is_negative(self) -> bool {
        self.0 < Inner::ZERO
    }

    /// Exactly zero.
    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// Has no digits behind the point.
    pub fn is_integer(self) -> bool {
        self.0.is_integer()
    }

    /// The number as an integer if it is one and fits.
    pub fn to_i64(self) -> Option<i64> {
        if !self.is_integer() {
            return None;
        }
        i64::try_from(self.0.trunc().mantissa()).ok()
    }

    /// Digits behind the point in the shortest form.
    pub fn fraction_digits(self) -> u32 {
        self.0.scale()
    }

    /// Digits without point and sign; the value is `mantissa / 10^fraction_digits`.
    pub fn mantissa(self) -> i128 {
        self.0.mantissa()
    }

    /// Rounds towards negative infinity.
    pub fn floor(self) -> Decimal {
        Decimal(self.0.floor().normalize())
    }

    /// Rounds towards positive infinity.
    pub fn ceil(self) -> Decimal {
        Decimal(self.0.ceil().normalize())
    }

    /// Rounds half away from zero to a whole number.
    pub fn round(self) -> Decimal {
        Decimal(self.0.round_dp_with_strategy(0, rust_decimal::RoundingStrategy::MidpointAwayFromZero).normalize())
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal(Inner::from(value).normalize())
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Decimal {
        Decimal(Inner::from(value).normalize())
    }
}

impl From<i32> for Decimal {
    fn from(value: i32) -> Decimal {
        Decimal::from(i64::from(value))
    }
}

/// Bytes of a printed number whose digits fit 64 bits: twenty digits, or 28 places, with sign, zero and point.
const TEXT_BYTES: usize = 32;

impl Decimal {
    /// Appends what is printed.
    pub fn write(self, text: &mut String) {
        let mut buffer = [0_u8; TEXT_BYTES];
        match self.short_text(&mut buffer) {
            Some(short) => text.push_str(short),
            None => text.push_str(&self.0.to_string()),
        }
    }

    /// The text of a number whose digits fit 64 bits. Nearly all do, and the library's printer takes ten times as long.
    fn short_text(self, buffer: &mut [u8; TEXT_BYTES]) -> Option<&str> {
        let mantissa = self.mantissa();
        let mut rest = u64::try_from(mantissa.unsigned_abs()).ok()?;
        let scale = self.fraction_digits();
        let mut place = 0_u32;
        let mut free = buffer.len();
        let mut slots = buffer.iter_mut().rev();
        while rest > 0 || place <= scale {
            if place == scale && place > 0 {
                *slots.next()? = b'.';
                free -= 1;
            }
            *slots.next()? = b'0' + u8::try_from(rest % 10).ok()?;
            free -= 1;
            rest /= 10;
            place += 1;
        }
        if mantissa < 0 {
            *slots.next()? = b'-';
            free -= 1;
        }
        std::str::from_utf8(buffer.get(free..)?).ok()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0_u8; TEXT_BYTES];
        match self.short_text(&mut buffer) {
            Some(short) => formatter.pad(short),
            None => fmt::Display::fmt(&self.0, formatter),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(Decimal::parse(text).map(|value| value.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn plain_decimals_are_read_exactly() {
        check("0", Some("0"));
        check("-0", Some("0"));
        check("12.50", Some("12.5"));
        check("1000", Some("1000"));
        check("0.0000001", Some("0.0000001"));
        check("-15500.00", Some("-15500"));
        check("9999999999999999999999999999", Some("9999999999999999999999999999"));
    }

    #[test]
    fn every_number_prints_as_the_library_prints_it() {
        let mut mantissa: i128 = 1;
        for digits in 0..28 {
            for scale in 0..=28 {
                for signed in [mantissa, -mantissa, mantissa * 3 / 2] {
                    let Some(value) = Decimal::exact(signed, scale) else { continue };
                    let mut text = String::new();
                    value.write(&mut text);
                    assert_eq!(text, value.0.to_string(), "{digits} {scale}");
                    assert_eq!(value.to_string(), text);
                }
            }
            mantissa = mantissa * 10 + i128::from(digits % 10);
        }
        assert_eq!(format!("{:>6}", Decimal::from(15)), "    15");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "-", ".", "1.", ".5", "+1", "1e1", "NaN", "Infinity", " 1", "1 ", "1_000", "0x10", "1,5"] {
            check(text, None);
        }
        check("12345678901234567890123456789", None);
        check("0.00000000000000000000000000001", None);
    }

    #[test]
    fn arithmetic_is_exact_or_nothing() {
        let number = |text: &str| Decimal::parse(text).unwrap();
        let check = |result: Option<Decimal>, expected: Option<&str>| {
            assert_eq!(result.map(|value| value.to_string()).as_deref(), expected);
        };
        check(number("0.1").checked_add(number("0.2")), Some("0.3"));
        check(number("0.5").checked_sub(number("0.5")), Some("0"));
        check(number("1000000000000000000000000000").checked_add(number("0.01")), None);
        check(number("9999999999999999999999999999").checked_add(number("9999999999999999999999999999")), None);
        check(number("0.00000000000001").checked_mul(number("0.000000000000001")), None);
        check(number("0.5").checked_mul(number("0.2")), Some("0.1"));
        check(number("7").checked_div(number("0.3")), Some("23.33333333333333333333333333"));
        check(number("1").checked_div(Decimal::ZERO), None);
        check(Some(number("-0.5").ceil()), Some("0"));
        check(Some(Decimal::ZERO.negated()), Some("0"));
    }

    #[test]
    fn exponents_of_json_numbers_are_applied() {
        let from = |whole, fraction, exponent| {
            Decimal::from_parts(false, whole, fraction, exponent).map(|value| value.to_string())
        };
        assert_eq!(from("1", "5", 3).as_deref(), Some("1500"));
        assert_eq!(from("15", "", -1).as_deref(), Some("1.5"));
        assert_eq!(from("1", "", 400), None);
        assert_eq!(from("1", "", i64::MAX), None);
        assert_eq!(from("0", "000", i64::MIN).as_deref(), Some("0"));
    }
}
