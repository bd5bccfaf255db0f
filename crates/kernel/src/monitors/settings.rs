//! Settings of a monitor by name, read once and checked.

use crate::nearest::nearest;
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::time::Duration;

/// Settings as they are written. Each kind takes those it knows; what is left over is a mistake.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

/// What is wrong with a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingFault {
    /// Which setting; empty where one is missing or they do not go together.
    pub key: String,
    /// In one sentence.
    pub problem: String,
}

impl SettingFault {
    pub(super) fn of(key: &str, problem: impl Into<String>) -> SettingFault {
        SettingFault { key: key.to_owned(), problem: problem.into() }
    }
}

/// A window: so many values, or as long a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Count(u64),
    Time(Duration),
}

impl Settings {
    /// From names and values.
    pub fn of(given: impl IntoIterator<Item = (String, String)>) -> Settings {
        Settings { given: given.into_iter().collect(), known: Vec::new() }
    }

    /// Whether it is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        self.given.remove(key)
    }

    /// A finite number that `fits`; `what` completes "must be …".
    pub(super) fn number(
        &mut self,
        key: &'static str,
        what: &str,
        fits: impl Fn(f64) -> bool,
    ) -> Result<Option<f64>, SettingFault> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && fits(*number));
        number.map(Some).ok_or_else(|| wrong(key, what, &text))
    }

    /// A number strictly between 0 and 1.
    pub(super) fn probability(&mut self, key: &'static str, unset: f64) -> Result<f64, SettingFault> {
        let fits = |number: f64| number > 0.0 && number < 1.0;
        Ok(self.number(key, "a number between 0 and 1", fits)?.unwrap_or(unset))
    }

    /// A number above 0.
    pub(super) fn positive(&mut self, key: &'static str, unset: f64) -> Result<f64, SettingFault> {
        Ok(self.number(key, "a number above 0", |number| number > 0.0)?.unwrap_or(unset))
    }

    /// A number from 0 up.
    pub(super) fn not_negative(&mut self, key: &'static str, unset: f64) -> Result<f64, SettingFault> {
        Ok(self.number(key, "a number from 0 up", |number| number >= 0.0)?.unwrap_or(unset))
    }

    /// A whole number within bounds.
    pub(super) fn count(&mut self, key: &'static str, (min, max): (u64, u64), unset: u64) -> Result<u64, SettingFault> {
        let Some(text) = self.take(key) else { return Ok(unset) };
        let count = text.parse::<u64>().ok().filter(|count| (min..=max).contains(count));
        count.ok_or_else(|| wrong(key, &format!("a whole number from {min} to {max}"), &text))
    }

    /// One of some words; the first is what it means unset.
    pub(super) fn word(
        &mut self,
        key: &'static str,
        words: &[&'static str],
        unset: &'static str,
    ) -> Result<&'static str, SettingFault> {
        let Some(text) = self.take(key) else { return Ok(unset) };
        let found = words.iter().find(|word| **word == text).copied();
        found.ok_or_else(|| wrong(key, &format!("one of {}", words.join(", ")), &text))
    }

    /// True or false.
    pub(super) fn flag(&mut self, key: &'static str) -> Result<bool, SettingFault> {
        match self.take(key).as_deref() {
            None | Some("false" | "False") => Ok(false),
            Some("true" | "True") => Ok(true),
            Some(other) => Err(wrong(key, "true or false", other)),
        }
    }

    /// An exact decimal.
    pub(super) fn decimal(&mut self, key: &'static str) -> Result<Option<Decimal>, SettingFault> {
        let Some(text) = self.take(key) else { return Ok(None) };
        Decimal::parse(&text).map(Some).ok_or_else(|| wrong(key, "a number", &text))
    }

    /// A window: a count, or a duration.
    pub(super) fn over(&mut self, max: u64, unset: u64) -> Result<Over, SettingFault> {
        let Some(text) = self.take("over") else { return Ok(Over::Count(unset)) };
        let count = text.parse::<u64>().ok().filter(|count| (1..=max).contains(count)).map(Over::Count);
        let time = || Duration::parse(&text).filter(|time| *time > Duration::from_secs(0)).map(Over::Time);
        let what = format!("a whole number from 1 to {max}, or a time such as 24h");
        count.or_else(time).ok_or_else(|| wrong("over", &what, &text))
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self, kind: &str) -> Result<(), SettingFault> {
        let Some(key) = self.given.keys().next() else { return Ok(()) };
        let meant = nearest(key, self.known.iter().copied()).map(|word| format!("; did you mean `{word}`?"));
        let known = self.known.join(", ");
        let meant = meant.unwrap_or_else(|| format!("; it has {known}"));
        Err(SettingFault::of(key, format!("`{kind}` has no setting `{key}`{meant}")))
    }
}

fn wrong(key: &str, what: &str, text: &str) -> SettingFault {
    SettingFault::of(key, format!("`{key}` must be {what}; `{text}` is not"))
}
