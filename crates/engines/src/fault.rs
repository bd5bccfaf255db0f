//! Why a piece of a contract cannot be compiled.

use std::fmt;

/// Why a schema, an expression or a policy text cannot be compiled, and where in its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileFault {
    /// What is wrong, with the user's own words in backticks.
    pub problem: String,
    /// First byte of the offending text; 0 where the whole text is meant.
    pub offset: usize,
}

impl CompileFault {
    /// A fault at a place.
    pub fn at(offset: usize, problem: impl Into<String>) -> CompileFault {
        CompileFault { problem: problem.into(), offset }
    }

    /// A fault of the whole text.
    pub fn whole(problem: impl Into<String>) -> CompileFault {
        CompileFault::at(0, problem)
    }
}

impl fmt::Display for CompileFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem)
    }
}

impl std::error::Error for CompileFault {}
