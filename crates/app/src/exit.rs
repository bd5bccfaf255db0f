//! Exit codes: what a script can rely on.

use crate::contract_file::InvalidContract;
use crate::diagnostics;
use crate::hint;
use kernel::finding::Finding;
use kernel::reasons::Reason;
use runtime::ports::signer::SignerFault;
use runtime::ports::store::StoreFault;
use runtime::seal::SealFault;
use std::fmt;
use std::process::ExitCode;
use values::json::Json;
use writkeeper::Class;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Accepted, passed, nothing wrong.
    Fine,
    /// Rejected, failed.
    Rejected,
    /// A person must look.
    Escalated,
    /// A setting or number that a monitor cannot use.
    Unusable,
    /// What was accepted is not over yet: the time to wait was.
    StillOpen,
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
            Exit::Escalated | Exit::Unusable => 2,
            Exit::StillOpen => 3,
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

/// A command that was understood and not carried out.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// An error with a code of the registry, one sentence, and what to do.
#[derive(Debug)]
pub struct Failure {
    /// How the command ends.
    pub exit: Exit,
    /// The stable code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

impl Failure {
    /// What a finding says, for the operator who reads it.
    pub fn of(exit: Exit, finding: &Finding) -> Failure {
        let (code, message, fix) = (finding.code.as_str().to_owned(), finding.message(), hint::operator(finding));
        Failure { exit, code, message, fix }
    }

    /// Any error as one: those without a code of their own are known by how they end.
    pub fn of_error(error: &anyhow::Error) -> Failure {
        if let Some(Failure { exit, code, message, fix }) = error.downcast_ref() {
            return Failure { exit: *exit, code: code.clone(), message: message.clone(), fix: fix.clone() };
        }
        let exit = of_error(error);
        if let Some(error) = of_library(error) {
            let (code, message, fix) = (error.code().to_owned(), error.to_string(), hint::fix(&error));
            return Failure { exit, code, message, fix };
        }
        let reason = match exit {
            Exit::Usage => Reason::Usage,
            Exit::Unavailable => Reason::Unavailable,
            Exit::Internal => Reason::KernelFault,
            Exit::Invalid if error.is::<InvalidContract>() => Reason::ContractInvalid,
            Exit::Fine | Exit::Rejected | Exit::Escalated | Exit::Unusable | Exit::StillOpen | Exit::Invalid => {
                Reason::InvalidData
            }
        };
        let (code, fix) = (reason.code().to_owned(), hint::about(reason));
        Failure { exit, code, message: format!("{error:#}"), fix }
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("code", Json::text(self.code.as_str())),
            ("message", Json::text(self.message.as_str())),
            ("fix", Json::text(self.fix.as_str())),
        ])
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.code, self.message, self.fix)
    }
}

impl std::error::Error for Failure {}

/// The code an error ends with: files that cannot be read and bad data are the caller's, the rest is ours.
pub fn of_error(error: &anyhow::Error) -> Exit {
    if error.is::<UsageError>() {
        return Exit::Usage;
    }
    if let Some(error) = of_library(error) {
        return match error.class() {
            Class::Usage => Exit::Usage,
            Class::Refused => Exit::Rejected,
            Class::Invalid => Exit::Invalid,
            Class::Unavailable => Exit::Unavailable,
        };
    }
    if error.is::<StoreUnavailable>() {
        return Exit::Unavailable;
    }
    if error.is::<Refused>() {
        return Exit::Rejected;
    }
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.exit;
    }
    // An error of our own output carries no sentence about a file.
    let unwritten = error.chain().count() == 1 && error.is::<std::io::Error>();
    // Nothing is wrong with what was asked for; there is no room for it.
    let full = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::StorageFull;
    if !unwritten && error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(full) {
        return Exit::Unavailable;
    }
    let theirs = error.is::<InvalidData>()
        || error.is::<InvalidContract>()
        || error.chain().any(|cause| cause.is::<std::io::Error>());
    if theirs && !unwritten { Exit::Invalid } else { Exit::Internal }
}

/// An error for programs: one object on one line. A contract's errors are in it, each with its place.
pub fn to_json(error: &anyhow::Error) -> Json {
    let told = Failure::of_error(error).to_json();
    match (told, error.downcast_ref::<InvalidContract>()) {
        (Json::Object(mut members), Some(invalid)) => {
            members.insert("diagnostics".into(), diagnostics::to_json(&invalid.diagnostics));
            Json::Object(members)
        }
        (told, _) => told,
    }
}

/// An error of the library, lent or made.
enum Shared<'a> {
    Borrowed(&'a writkeeper::Error),
    Owned(writkeeper::Error),
}

impl std::ops::Deref for Shared<'_> {
    type Target = writkeeper::Error;

    fn deref(&self) -> &writkeeper::Error {
        match self {
            Shared::Borrowed(error) => error,
            Shared::Owned(error) => error,
        }
    }
}

/// What the library says, also where a part of it was called without its handle.
fn of_library(error: &anyhow::Error) -> Option<Shared<'_>> {
    if let Some(error) = error.downcast_ref::<writkeeper::Error>() {
        return Some(Shared::Borrowed(error));
    }
    let signer = error.downcast_ref::<SignerFault>().cloned().map(writkeeper::Error::from);
    let seal = || error.downcast_ref::<SealFault>().cloned().map(writkeeper::Error::from);
    let store = || error.downcast_ref::<StoreFault>().cloned().map(writkeeper::Error::from);
    signer.or_else(seal).or_else(store).map(Shared::Owned)
}

/// An error as a person reads it: what the library says gets its code and what to type, where it has them.
pub fn sentence(error: &anyhow::Error) -> String {
    use writkeeper::Error;
    match of_library(error).as_deref() {
        None
        | Some(
            Error::Usage(_)
            | Error::Invalid(_)
            | Error::Contract(_)
            | Error::Unavailable(_)
            | Error::EntryMissing(_)
            | Error::Signing(SignerFault::Unavailable(_)),
        ) => format!("{error:#}"),
        Some(error @ (Error::StoreMissing(_) | Error::OtherContract { .. })) => {
            format!("{error}; {}", hint::fix(error))
        }
        Some(
            Error::Refused(_)
            | Error::Damaged(_)
            | Error::Restored(_)
            | Error::SignerUnknown(_)
            | Error::LogUnnamed(_)
            | Error::OtherLedger(_)
            | Error::Signing(_)
            | Error::NotFound { .. }
            | Error::Ambiguous { .. }
            | Error::AgentUnknown { .. },
        ) => Failure::of_error(error).to_string(),
    }
}

/// Whether whoever listened has left, which is their right.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(broken)
}
