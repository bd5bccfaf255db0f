//! Rules that were written for something else, read into the text of a contract that judges the same. What cannot be
//! carried over is refused and named, never left out.

pub mod claude_code;
pub mod dir;

/// The text of a contract, and what a person should know about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// The contract.
    pub text: String,
    /// What it adds, or takes as given.
    pub notes: Vec<String>,
}
