//! Instants and durations in whole microseconds, UTC. There is no clock here: time is an argument.

use std::fmt;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
///
/// Time ends in June 2255, at the last microsecond a JSON number holds exactly: what was written must be read back.
/// What is read or computed to lie behind that is that end.
///
/// ```
/// use values::time::Instant;
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

    /// The end of time, for what is computed and read.
    pub const END: Instant = Instant((1 << 53) - 1);

    /// No decision is taken at or after this instant, 2200-01-01T00:00:00Z: a clock that says so is wrong, and what
    /// follows from a decision (deadlines, windows) needs time behind it.
    pub const DECISIONS_END: Instant = Instant(7_258_118_400 * MICROS_PER_SECOND);

    /// Reads RFC 3339; the offset is mandatory, digits below a microsecond are cut off.
    pub fn parse(text: &str) -> Option<Instant> {
        // The library also takes looser forms: hours alone, a comma, offsets in seconds, annotations, second 60.
        if !is_rfc3339(text) {
            return None;
        }
        let timestamp: jiff::Timestamp = text.parse().ok()?;
        Some(Instant(timestamp.as_microsecond()).within_time())
    }

    /// Whether text has the form of a time and names one that is too late for a decision, be there such a day or not.
    pub fn is_too_late(text: &str) -> bool {
        let year = text.get(..4).and_then(|year| year.parse::<u32>().ok());
        is_rfc3339(text) && year.is_some_and(|year| year >= 2200)
            || Instant::parse(text).is_some_and(|at| at >= Instant::DECISIONS_END)
    }

    const fn within_time(self) -> Instant {
        let end = Instant::END.0;
        Instant(if self.0 > end {
            end
        } else if self.0 < -end {
            -end
        } else {
            self.0
        })
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
        Instant(self.0.saturating_add(duration.0)).within_time()
    }

    /// Earlier by a duration; stays at the beginning of time instead of overflowing.
    pub const fn minus(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_sub(duration.0)).within_time()
    }

    /// How long after `earlier` this is; zero if it is not later.
    pub const fn since(self, earlier: Instant) -> Duration {
        let difference = self.0.saturating_sub(earlier.0);
        Duration(if difference < 0 { 0 } else { difference })
    }
}

impl Instant {
    /// Appends what is printed. Every record holds several instants.
    pub fn write(self, text: &mut String) {
        use fmt::Write as _;
        let (days, rest) = (self.0.div_euclid(MICROS_PER_DAY), self.0.rem_euclid(MICROS_PER_DAY));
        let (year, month, day) = date(days);
        if !(1..=9_999).contains(&year) {
            let _ = write!(text, "{self}");
            return;
        }
        let (seconds, mut fraction) = (rest / MICROS_PER_SECOND, rest % MICROS_PER_SECOND);
        let parts = [
            ('-', year, 4),
            ('-', month, 2),
            ('T', day, 2),
            (':', seconds / 3_600, 2),
            (':', seconds / 60 % 60, 2),
            (if fraction == 0 { 'Z' } else { '.' }, seconds % 60, 2),
        ];
        for (behind, value, digits) in parts {
            push_digits(value, digits, text);
            text.push(behind);
        }
        if fraction == 0 {
            return;
        }
        let mut digits = 6;
        while fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        push_digits(fraction, digits, text);
        text.push('Z');
    }
}

/// Year, month and day, so many days after 1970-01-01. Years begin in March here, so that the odd day is their last.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_TO_1970: i64 = 719_468;
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let day = days.saturating_add(DAYS_TO_1970);
    let (centuries, day) = (day.div_euclid(DAYS_IN_400_YEARS), day.rem_euclid(DAYS_IN_400_YEARS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let in_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (centuries * 400 + year + later, month, in_month)
}

/// Appends so many digits of a number that is not negative.
fn push_digits(value: i64, digits: u32, text: &mut String) {
    for place in (0..digits).rev() {
        let digit = value / 10_i64.pow(place) % 10;
        text.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default()));
    }
}

/// `YYYY-MM-DDTHH:MM:SS`, perhaps a fraction, and `Z` or `±HH:MM`.
fn is_rfc3339(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let Some((moment, rest)) = text.split_at_checked(FORM.len()) else { return false };
    let fits = |form: &u8, byte: u8| match form {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        other => *other == byte,
    };
    let moment_fits = FORM.iter().zip(moment.bytes()).all(|(form, byte)| fits(form, byte));
    let offset = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let behind = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
            if behind.len() == fraction.len() || fraction.len() - behind.len() > 9 {
                return false;
            }
            behind
        }
    };
    let is_zone = |zone: &str| {
        zone.len() == 5
            && zone
                .bytes()
                .enumerate()
                .all(|(index, byte)| if index == 2 { byte == b':' } else { byte.is_ascii_digit() })
    };
    let offset_fits = matches!(offset, "Z" | "z") || offset.strip_prefix(['+', '-']).is_some_and(is_zone);
    moment_fits && offset_fits && !moment.ends_with(":60")
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
    fn what_is_appended_is_what_is_printed() {
        let day = MICROS_PER_DAY;
        let odd = [0, 1, -1, 10, 999_999, 1_000_000, 86_399_999_999, i64::MAX, i64::MIN, -day, Instant::END.0];
        // Every day for 500 years, and steps that meet every hour, minute and digit.
        let days = (-100_000..100_000).map(|number| number * day + number * 777_777);
        let far = (0..4_000).map(|number| (number - 2_000) * 97 * day * 17 + number * 100);
        for micros in odd.into_iter().chain(days).chain(far) {
            let (at, mut text) = (Instant::from_micros(micros), String::new());
            at.write(&mut text);
            assert_eq!(text, at.to_string(), "{micros}");
        }
    }

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
        for loose in [
            "2026-01-01T00Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00,5Z",
            "2026-01-01T00:00:00+00",
            "2026-01-01T00:00:00+0000",
            "2026-01-01T00:00:00+00:00:00",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00Z[UTC]",
            "2026-01-01T00:00:00.1234567890Z",
        ] {
            check(loose, None);
        }
        assert_eq!(Instant::PURE_DEFAULT.to_string(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn time_has_an_end() {
        let last = Instant::END.to_string();
        assert_eq!(last, "2255-06-05T23:47:34.740991Z");
        assert_eq!(Instant::parse("9000-01-01T00:00:00Z"), Some(Instant::END));
        assert_eq!(Instant::PURE_DEFAULT.plus(Duration::from_micros(i64::MAX)), Instant::END);
        assert_eq!(Instant::DECISIONS_END.to_string(), "2200-01-01T00:00:00Z");
        let check = |text: &str, expected: bool| assert_eq!(Instant::is_too_late(text), expected, "{text}");
        check("9999-12-31T23:59:59Z", true);
        check("2200-01-01T00:00:00Z", true);
        check("2199-12-31T23:59:59-00:01", true);
        check("2199-12-31T23:59:59Z", false);
        check("9999-12-31", false);
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
