//! Shares with confidence intervals, in whole numbers only: the same counts give the same digits on every machine.
//!
//! The interval is Wilson's score interval at 95 %. A share m / SCALE is in it exactly if
//! (k · SCALE − n · m)² ≤ z² · n · m · (SCALE − m), for k of n. Its ends are found by that comparison and rounded
//! outwards, so that rounding never makes it narrower.

use std::cmp::Ordering;
use values::json::Json;

/// Parts that a share is told in: four digits behind the point.
const SCALE: u128 = 10_000;

/// z² of a two-sided interval at 95 %, z = 1.959963984540054, in units of 10⁻¹⁵.
const Z_SQUARED: u128 = 3_841_458_820_694_125;
const Z_UNIT: u128 = 1_000_000_000_000_000;

/// Most cases that are counted. With more, products would leave 128 bits.
pub const CASES_MAX: u64 = 10_000_000;

/// So many of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// How many.
    pub of: u64,
    /// Of how many.
    pub all: u64,
}

/// A share in parts of 10,000 and the ends of its interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Rounded to the nearest, halves up.
    pub value: u64,
    pub low: u64,
    pub high: u64,
}

impl Share {
    /// The share with its interval; none of none is no share.
    pub fn estimate(self) -> Option<Estimate> {
        self.told_as(self, |_| SCALE)
    }

    /// The same of F1 = 2J / (1 + J) where this share is J: what was rightly flagged, of all that was flagged or should
    /// have been. F1 grows with J, and is m / SCALE exactly where J is m / (2 · SCALE − m): so its ends are found by the
    /// same comparison and rounded once.
    pub fn harmonic(self) -> Option<Estimate> {
        let harmonic = Share { of: self.of.saturating_mul(2), all: self.all.saturating_add(self.of) };
        self.told_as(harmonic, |part| 2 * SCALE - part)
    }

    /// A figure that grows with this share, and is m / SCALE exactly where the share is m / `whole_of(m)`.
    fn told_as(self, figure: Share, whole_of: impl Fn(u128) -> u128) -> Option<Estimate> {
        if self.all == 0 || self.all > CASES_MAX || self.of > self.all {
            return None;
        }
        let (of, all) = (u128::from(figure.of), u128::from(figure.all));
        let (value, below) = ((of * SCALE * 2 + all) / (all * 2), of * SCALE / all);
        let against = |part: u128| self.against(part, whole_of(part));
        // The interval holds the figure itself, so each end is where a comparison changes once.
        let low = first((0, below), |part| against(part).is_le());
        let low = if against(low).is_lt() { low.saturating_sub(1) } else { low };
        let high = first((below, SCALE), |part| part * all > of * SCALE && against(part).is_gt());
        let high = if against(high.saturating_sub(1)).is_eq() { high.saturating_sub(1) } else { high };
        Some(Estimate { value: whole(value), low: whole(low), high: whole(high) })
    }

    /// How far `part` of `whole` is from the share, compared with how far the interval goes.
    fn against(self, part: u128, whole: u128) -> Ordering {
        let (of, all) = (u128::from(self.of), u128::from(self.all));
        let distance = (of * whole).abs_diff(all * part);
        (distance * distance * Z_UNIT).cmp(&(Z_SQUARED * all * part * whole.saturating_sub(part)))
    }
}

impl Estimate {
    /// `0.9286 (0.6853 to 0.9873)`.
    pub fn to_text(self) -> String {
        format!("{} ({} to {})", digits(self.value), digits(self.low), digits(self.high))
    }

    /// For programs.
    pub fn to_json(self) -> Json {
        let text = |part: u64| Json::text(digits(part));
        Json::object([("value", text(self.value)), ("low", text(self.low)), ("high", text(self.high))])
    }
}

/// Parts of 10,000 as a decimal.
pub fn digits(parts: u64) -> String {
    let scale = whole(SCALE);
    format!("{}.{:04}", parts / scale, parts % scale)
}

/// The first number of a range for which something holds that holds for all behind it; the end where there is none.
fn first((mut low, mut high): (u128, u128), holds: impl Fn(u128) -> bool) -> u128 {
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(of: u64, all: u64, expected: &str) {
        let told = Share { of, all }.estimate().map_or_else(|| "-".to_owned(), Estimate::to_text);
        assert_eq!(told, expected, "{of} of {all}");
    }

    /// The ends were computed with 50 digits from the closed form and rounded outwards.
    #[test]
    fn intervals_are_those_of_the_closed_form() {
        check(0, 0, "-");
        check(0, 1, "0.0000 (0.0000 to 0.7935)");
        check(1, 1, "1.0000 (0.2065 to 1.0000)");
        check(1, 2, "0.5000 (0.0945 to 0.9055)");
        check(8, 10, "0.8000 (0.4901 to 0.9434)");
        check(0, 10, "0.0000 (0.0000 to 0.2776)");
        check(50, 100, "0.5000 (0.4038 to 0.5962)");
        check(14, 48_120, "0.0003 (0.0001 to 0.0005)");
        check(9_999_999, 10_000_000, "1.0000 (0.9999 to 1.0000)");
        check(2, 1, "-");
    }

    #[test]
    fn f1_follows_from_its_share() {
        let told = |of, all| Share { of, all }.harmonic().map(Estimate::to_text);
        // 8 right, 1 false alarm, 1 missed: precision and recall are 8/9, and so is F1.
        assert_eq!(told(8, 10).as_deref(), Some("0.8889 (0.6578 to 0.9709)"));
        assert_eq!(told(0, 3).as_deref(), Some("0.0000 (0.0000 to 0.7192)"));
        assert_eq!(told(3, 3).as_deref(), Some("1.0000 (0.6096 to 1.0000)"));
        // From the ends of the share itself: rounding those first would make each of these wider.
        assert_eq!(told(1, 2).as_deref(), Some("0.6667 (0.1727 to 0.9504)"));
        assert_eq!(told(5, 9).as_deref(), Some("0.7143 (0.4210 to 0.8958)"));
        assert_eq!(told(14, 48_120).as_deref(), Some("0.0006 (0.0003 to 0.0010)"));
        assert_eq!(told(9_999_999, 10_000_000).as_deref(), Some("1.0000 (0.9999 to 1.0000)"));
        assert_eq!(told(0, 0), None);
    }
}
