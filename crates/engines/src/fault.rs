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
