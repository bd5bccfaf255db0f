//! Regular expressions of `matches`: linear in the text, bounded in size, and compiled no sooner than needed.

use super::When;
use regex::{Regex, RegexBuilder};
use std::fmt;
use std::sync::OnceLock;

/// Compiled patterns larger than this are refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A pattern as it is written, and as it runs.
pub(super) struct Pattern {
    source: String,
    compiled: OnceLock<Result<Regex, &'static str>>,
}

impl Pattern {
    pub(super) fn of(source: &str) -> Pattern {
        Pattern { source: source.to_owned(), compiled: OnceLock::new() }
    }

    /// What is wrong with it; one that was compiled before is not looked at until it runs.
    pub(super) fn problem(&self, when: When) -> Option<&'static str> {
        match when {
            When::Now => self.regex().as_ref().err().copied(),
            When::Asked => None,
        }
    }

    /// Compiled.
    pub(super) fn regex(&self) -> &Result<Regex, &'static str> {
        self.compiled.get_or_init(|| compiled(&self.source))
    }

    /// As written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(formatter)
    }
}

fn compiled(source: &str) -> Result<Regex, &'static str> {
    let built = RegexBuilder::new(source).size_limit(PATTERN_BYTES_MAX).build();
    built.map_err(|error| {
        let look_around = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().any(|sign| source.contains(sign));
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            "is too large"
        } else if look_around {
            "cannot be used: look-around would not run in linear time"
        } else {
            "is not a regular expression"
        }
    })
}
