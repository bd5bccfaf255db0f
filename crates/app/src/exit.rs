//! Exit codes: what a script can rely on.

use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Accepted, passed, nothing wrong.
    Fine,
    /// Rejected, failed.
    Rejected,
    /// A person must look.
    Escalated,
    /// Typed wrongly.
    Usage,
    /// The contract or the data is invalid.
    Invalid,
    /// Our own fault.
    Internal,
    /// The store cannot be reached; nothing was decided.
    Unavailable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Rejected => 1,
            Exit::Escalated => 2,
            Exit::Usage => 64,
            Exit::Invalid => 65,
            Exit::Internal => 70,
            Exit::Unavailable => 75,
        })
    }
}

/// An error that is the user's data, not ours.
#[derive(Debug)]
pub struct InvalidData(pub String);

impl fmt::Display for InvalidData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidData {}

/// An error in what was typed.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// The store cannot be reached.
#[derive(Debug)]
pub struct StoreUnavailable(pub String);

impl fmt::Display for StoreUnavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for StoreUnavailable {}

/// The kernel said no to what an operator asked for.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The code an error ends with: files that cannot be read and bad data are the caller's, the rest is ours.
pub fn of_error(error: &anyhow::Error) -> Exit {
    if error.is::<UsageError>() {
        return Exit::Usage;
    }
    if error.is::<StoreUnavailable>() {
        return Exit::Unavailable;
    }
    if error.is::<Refused>() {
        return Exit::Rejected;
    }
    // An error of our own output carries no sentence about a file.
    let unwritten = error.chain().count() == 1 && error.is::<std::io::Error>();
    let theirs = error.is::<InvalidData>() || error.chain().any(|cause| cause.is::<std::io::Error>());
    if theirs && !unwritten { Exit::Invalid } else { Exit::Internal }
}

/// Whether whoever listened has left, which is their right.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(broken)
}
