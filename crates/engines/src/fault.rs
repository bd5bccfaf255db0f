//! Why a piece of a contract cannot be compiled.

use std::fmt;
use std::ops::Range;

/// Why a schema, an expression or a policy text cannot be compiled, and where in its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileFault {
    /// What is wrong, with the user's own words in backticks.
    pub problem: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Bytes of the offending text; none where the whole text is meant. Empty where only its beginning is known.
    pub span: Option<Range<usize>>,
}

impl CompileFault {
    /// A fault at a place.
    pub fn at(span: Range<usize>, problem: impl Into<String>) -> CompileFault {
        CompileFault { problem: problem.into(), help: None, span: Some(span) }
    }

    /// A fault of the whole text.
    pub fn whole(problem: impl Into<String>) -> CompileFault {
        CompileFault { problem: problem.into(), help: None, span: None }
    }

    /// The same fault with what to do about it.
    #[must_use]
    pub fn with_help(self, help: Option<String>) -> CompileFault {
        CompileFault { help, ..self }
    }

    /// First byte of the offending text; 0 where the whole text is meant.
    pub fn offset(&self) -> usize {
        self.span.as_ref().map_or(0, |span| span.start)
    }
}

impl fmt::Display for CompileFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem)
    }
}

impl std::error::Error for CompileFault {}

/// Where a name stands behind a prefix; none where it could be one of several places.
pub(crate) fn only_place(text: &str, prefix: &str, name: &str) -> Option<Range<usize>> {
    let wanted = format!("{prefix}{name}");
    let in_word = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    let mut found = text.match_indices(&wanted).filter(|(start, _)| {
        let behind = text.get(start + wanted.len()..).unwrap_or_default();
        let before = text.get(..*start).unwrap_or_default();
        !in_word(behind.chars().next()) && !in_word(before.chars().next_back())
    });
    let (start, _) = found.next()?;
    found.next().is_none().then_some(start + prefix.len()..start + wanted.len())
}
