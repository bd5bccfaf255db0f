//! Instants and durations in whole microseconds, UTC. There is no clock here: time is an argument.

use std::fmt;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
///
/// ```
/// use kernel::time::Instant;
/// let noon = Instant::parse("2026-01-01T12:00:00Z").unwrap();
/// assert_eq!(noon.to_string(), "2026-01-01T12:00:00Z");
/// assert_eq!(Instant::parse("2026-01-01T12:00:00"), None, "a time without an offset is ambiguous");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

/// A length of time in whole microseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

impl Instant {
    /// The instant of pure runs in which nobody names one.
    pub const PURE_DEFAULT: Instant = Instant(1_767_225_600 * MICROS_PER_SECOND);

    /// Reads RFC 3339; the offset is mandatory, digits below a microsecond are cut off.
    pub fn parse(text: &str) -> Option<Instant> {
        // The library also takes looser forms (blank instead of `T`, annotations in brackets).
        let strict = text.len() <= 40
            && text.as_bytes().get(10).is_some_and(|byte| matches!(byte, b'T' | b't'))
            && !text.contains(['[', '_']);
        if !strict {
            return None;
        }
        let timestamp: jiff::Timestamp = text.parse().ok()?;
        Some(Instant(timestamp.as_microsecond()))
    }

    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Instant {
        Instant(micros)
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Later by a duration; stays at the end of time instead of overflowing.
    pub const fn plus(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(duration.0))
    }

    /// Earlier by a duration; stays at the beginning of time instead of overflowing.
    pub const fn minus(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_sub(duration.0))
    }

    /// How long after `earlier` this is; zero if it is not later.
    pub const fn since(self, earlier: Instant) -> Duration {
        let difference = self.0.saturating_sub(earlier.0);
        Duration(if difference < 0 { 0 } else { difference })
    }
}

impl Duration {
    /// From whole seconds.
    pub const fn from_secs(seconds: i64) -> Duration {
        Duration(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// From microseconds; negative becomes zero.
    pub const fn from_micros(micros: i64) -> Duration {
        Duration(if micros < 0 { 0 } else { micros })
    }

    /// Microseconds.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Reads a contract's duration: a whole number and one of `ms`, `s`, `m`, `h`, `d`. Zero is refused.
    pub fn parse(text: &str) -> Option<Duration> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits)?;
        let number: i64 = number.parse().ok()?;
        let unit_micros = match unit {
            "ms" => 1_000,
            "s" => MICROS_PER_SECOND,
            "m" => 60 * MICROS_PER_SECOND,
            "h" => 3_600 * MICROS_PER_SECOND,
            "d" => 86_400 * MICROS_PER_SECOND,
            _ => return None,
        };
        let micros = number.checked_mul(unit_micros)?;
        (micros > 0).then_some(Duration(micros))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => fmt::Display::fmt(&timestamp, formatter),
            Err(_) => write!(formatter, "{}us", self.0),
        }
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(i64, &str); 4] =
            [(86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s")];
        // One day is more often thought of as 24 hours.
        let reads_well = |micros: i64, unit: &str| self.0 >= micros * if unit == "d" { 2 } else { 1 };
        let exact = UNITS.iter().find(|(micros, unit)| reads_well(*micros, unit) && self.0 % micros == 0);
        match exact {
            Some((micros, unit)) => write!(formatter, "{}{unit}", self.0 / micros),
            None if self.0 % 1_000 == 0 => write!(formatter, "{}ms", self.0 / 1_000),
            None => write!(formatter, "{}us", self.0),
        }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_need_an_offset_and_keep_microseconds() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(Instant::parse(text).map(|instant| instant.to_string()).as_deref(), expected, "{text}");
        };
        check("2026-01-01T00:00:00Z", Some("2026-01-01T00:00:00Z"));
        check("2026-01-01T02:00:00+02:00", Some("2026-01-01T00:00:00Z"));
        check("2026-01-01T00:00:00.123456789Z", Some("2026-01-01T00:00:00.123456Z"));
        check("2026-01-01T00:00:00", None);
        check("2026-01-01 00:00:00Z", None);
        check("2026-01-01", None);
        check("now", None);
        check("2026-13-01T00:00:00Z", None);
        assert_eq!(Instant::PURE_DEFAULT.to_string(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn durations_are_whole_numbers_with_a_unit() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(Duration::parse(text).map(|duration| duration.to_string()).as_deref(), expected, "{text}");
        };
        check("30s", Some("30s"));
        check("90m", Some("90m"));
        check("24h", Some("24h"));
        check("7d", Some("7d"));
        check("250ms", Some("250ms"));
        for text in ["", "0s", "5", "-5s", "1.5h", "1y", "h", "99999999999999999d", "5 s"] {
            check(text, None);
        }
    }
}
