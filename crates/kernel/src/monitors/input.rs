//! One value of a series.

use values::decimal::Decimal;
use values::time::Instant;

/// Larger numbers would overflow when they are squared and summed.
const MAGNITUDE_MAX: f64 = 1e100;

/// One value of a series: exact where sums are exact, and as the float that statistics are computed with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Input {
    pub(super) float: f64,
    /// Nothing where it has more digits than a decimal holds.
    pub(super) exact: Option<Decimal>,
    pub(super) at: Instant,
}

impl Input {
    /// Of a decimal.
    pub fn exact(value: Decimal, at: Instant) -> Input {
        // The nearest float of the text, as every language reads it.
        let float = value.to_string().parse().unwrap_or(0.0);
        Input { float, exact: Some(value), at }
    }

    /// Of a written number; `None` if it is none, or not a finite one that can be squared.
    pub fn parse(text: &str, at: Instant) -> Option<Input> {
        let float: f64 = text.parse().ok()?;
        (float.is_finite() && float.abs() <= MAGNITUDE_MAX).then(|| Input { float, exact: Decimal::parse(text), at })
    }
}
