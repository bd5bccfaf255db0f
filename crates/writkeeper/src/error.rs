//! The one error of the library, sorted by what the caller does next.

use crate::restored::Loss;
use adapters::store_postgres::Address;
use contract::source::Diagnostic;
use kernel::contract::Contract;
use kernel::finding::{Code, Finding};
use kernel::reasons::Reason;
use kernel::stored::Kind;
use ledger::publish::SignRefusal;
use runtime::Answered;
use runtime::ports::signer::SignerFault;
use runtime::ports::store::StoreFault;
use runtime::seal::SealFault;
use std::fmt;
use values::ids::Digest;
use values::json::Json;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// The kernel refused. The findings say why, and what to do about it.
    Refused(Vec<Finding>),
    /// The call itself makes no sense, whatever the store holds.
    Usage(String),
    /// What was given cannot be used: a location, a contract, a file, a value.
    Invalid(String),
    /// The text is no contract that can be used; every diagnostic has its place.
    Contract(Vec<Diagnostic>),
    /// The agent acts under another contract than the one that was offered.
    OtherContract {
        /// The agent.
        agent: String,
        /// Digest of the contract that was offered.
        offered: Digest,
        /// The contract that counts, if one does.
        in_force: Option<Box<ContractInForce>>,
    },
    /// There is no store at a location.
    StoreMissing(String),
    /// The store cannot be reached. Nothing was decided.
    Unavailable(String),
    /// The store holds something that cannot be right.
    Damaged(String),
    /// The store lost entries that were published.
    Restored(Box<Loss>),
    /// Nothing was signed.
    Signing(SignerFault),
    /// Another log signs for this ledger, and its keys are not at hand.
    SignerUnknown(String),
    /// No log signs for this tenant's ledger, so its entries have no name outside of the store.
    LogUnnamed(String),
    /// The ledger is not the one that a receiver of events has a part of.
    OtherLedger(String),
    /// The sealed ledger has no such entry.
    EntryMissing(u64),
    /// Nothing has an id that starts like this.
    NotFound {
        /// What was looked for.
        kind: Kind,
        /// The id, or its beginning.
        id: String,
    },
    /// Several ids start like this.
    Ambiguous {
        /// The beginning of an id.
        id: String,
        /// Whole ids that start with it; not all of them, if there are many.
        candidates: Vec<String>,
    },
    /// No agent has this name.
    AgentUnknown {
        /// The name.
        agent: String,
        /// A name that is nearly the same.
        nearest: Option<String>,
    },
}

/// The contract that counts for an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContractInForce {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: Digest,
}

impl ContractInForce {
    /// Of a contract, by its digest.
    pub(crate) fn of(digest: Digest, contract: &Contract) -> ContractInForce {
        ContractInForce { id: contract.id.clone(), version: contract.version.to_string(), digest }
    }
}

/// What kind of error it is: exit codes and HTTP statuses are functions of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The call makes no sense.
    Usage,
    /// The kernel said no.
    Refused,
    /// The caller's data is wrong; the same call fails again.
    Invalid,
    /// The same call may succeed later.
    Unavailable,
}

impl Error {
    /// What kind of error it is.
    pub fn class(&self) -> Class {
        match self {
            Error::Refused(_) | Error::SignerUnknown(_) | Error::Signing(SignerFault::Refused(_)) => Class::Refused,
            Error::Usage(_) => Class::Usage,
            Error::Unavailable(_) | Error::Signing(SignerFault::NoRoom(_)) => Class::Unavailable,
            Error::Invalid(_)
            | Error::Contract(_)
            | Error::OtherContract { .. }
            | Error::StoreMissing(_)
            | Error::LogUnnamed(_)
            | Error::OtherLedger(_)
            | Error::Damaged(_)
            | Error::Restored(_)
            | Error::Signing(SignerFault::Unavailable(_))
            | Error::EntryMissing(_)
            | Error::NotFound { .. }
            | Error::Ambiguous { .. }
            | Error::AgentUnknown { .. } => Class::Invalid,
        }
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        match self {
            Error::Refused(findings) => {
                findings.first().map_or(Reason::Unavailable.code(), |found| found.code.as_str())
            }
            Error::Invalid(_)
            | Error::StoreMissing(_)
            | Error::OtherContract { .. }
            | Error::LogUnnamed(_)
            | Error::OtherLedger(_) => Reason::InvalidData.code(),
            Error::Contract(_) => Reason::ContractInvalid.code(),
            Error::Usage(_) => Reason::Usage.code(),
            Error::Unavailable(_) => Reason::Unavailable.code(),
            Error::Damaged(_) => Reason::StoreDamaged.code(),
            Error::Restored(_) => Reason::StoreBehind.code(),
            Error::SignerUnknown(_) | Error::Signing(SignerFault::Refused(SignRefusal::OtherSigner { .. })) => {
                Reason::SignerUnknown.code()
            }
            Error::Signing(SignerFault::NoRoom(_)) => Reason::Unavailable.code(),
            Error::Signing(SignerFault::Refused(_) | SignerFault::Unavailable(_)) | Error::EntryMissing(_) => {
                Reason::InvalidData.code()
            }
            Error::NotFound { kind, .. } => unknown(*kind).code(),
            Error::Ambiguous { .. } => Reason::IdAmbiguous.code(),
            Error::AgentUnknown { .. } => Reason::AgentNotRegistered.code(),
        }
    }

    /// What an answer that is no acceptance amounts to.
    pub fn of_answer(answered: &Answered) -> Error {
        let findings = answered.answer.findings.to_vec();
        let message = || findings.iter().map(Finding::message).collect::<Vec<_>>().join("; ");
        let has = |reason: Reason| findings.iter().any(|finding| finding.code == Code::Known(reason));
        match answered.at {
            Some(_) => Error::Refused(findings),
            None if has(Reason::StoreDamaged) => Error::Damaged(message()),
            None if has(Reason::ServiceRefused) => Error::Invalid(message()),
            None => Error::Unavailable(message()),
        }
    }

    /// A store that cannot be opened.
    pub(crate) fn unopened(location: &str, fault: &StoreFault) -> Error {
        let location = Address::shown(location);
        match fault {
            StoreFault::Refused(problem) => Error::Invalid(format!("cannot use the store `{location}`: {problem}")),
            StoreFault::Corrupt(problem) => Error::Damaged(format!("cannot use the store `{location}`: {problem}")),
            StoreFault::Unavailable(problem) | StoreFault::Conflict(problem) | StoreFault::Ambiguous(problem) => {
                Error::Unavailable(format!("cannot open the store `{location}`: {problem}"))
            }
        }
    }
}

/// The reason that says something is not there.
fn unknown(kind: Kind) -> Reason {
    const REASONS: [(Kind, Reason); 4] = [
        (Kind::Escalation, Reason::ApprovalUnknown),
        (Kind::Flow, Reason::FlowUnknown),
        (Kind::Intent, Reason::IntentUnknown),
        (Kind::Snapshot, Reason::SnapshotUnknown),
    ];
    REASONS.into_iter().find(|(known, _)| *known == kind).map_or(Reason::InvalidData, |(_, reason)| reason)
}

/// A store that failed while it was read or written.
impl From<StoreFault> for Error {
    fn from(fault: StoreFault) -> Error {
        match fault {
            StoreFault::Refused(_) => Error::Invalid(fault.to_string()),
            StoreFault::Corrupt(_) => Error::Damaged(fault.to_string()),
            StoreFault::Unavailable(_) | StoreFault::Conflict(_) | StoreFault::Ambiguous(_) => {
                Error::Unavailable(fault.to_string())
            }
        }
    }
}

impl From<SignerFault> for Error {
    fn from(fault: SignerFault) -> Error {
        Error::Signing(fault)
    }
}

impl From<SealFault> for Error {
    fn from(fault: SealFault) -> Error {
        match fault {
            SealFault::Store(fault) => Error::from(fault),
            SealFault::Signer(fault) => Error::Signing(fault),
            SealFault::NoEntry(index) => Error::EntryMissing(index),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(findings) => {
                let sentences: Vec<String> = findings.iter().map(Finding::message).collect();
                formatter.write_str(&sentences.join("; "))
            }
            Error::Usage(message)
            | Error::Invalid(message)
            | Error::Unavailable(message)
            | Error::Damaged(message)
            | Error::OtherLedger(message) => formatter.write_str(message),
            Error::LogUnnamed(tenant) => write!(
                formatter,
                "the ledger of tenant `{}` has no log name, so its events would have the ids of another store's",
                echo(tenant)
            ),
            Error::Contract(diagnostics) => {
                let told: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
                formatter.write_str(&told.join("; "))
            }
            Error::OtherContract { agent, offered, in_force: None } => {
                write!(formatter, "agent `{agent}` acts under no contract yet, not under sha256 {offered}")
            }
            Error::OtherContract { agent, offered, in_force: Some(in_force) } => {
                let ContractInForce { id, version, digest } = in_force.as_ref();
                write!(
                    formatter,
                    "agent `{agent}` acts under version {version} of contract `{id}`, sha256 {digest}, not under sha256 \
                     {offered}"
                )
            }
            Error::StoreMissing(location) => write!(formatter, "there is no store at `{location}`"),
            Error::Restored(loss) => loss.fmt(formatter),
            Error::Signing(SignerFault::Refused(refusal @ SignRefusal::OtherSigner { .. })) => {
                write!(formatter, "nothing was signed: {refusal}")
            }
            Error::Signing(SignerFault::Refused(refusal)) => {
                write!(formatter, "the checkpoint must not be signed: {refusal}")
            }
            Error::Signing(SignerFault::Unavailable(problem) | SignerFault::NoRoom(problem)) => {
                formatter.write_str(problem)
            }
            Error::SignerUnknown(problem) => write!(formatter, "nothing was signed: {problem}"),
            Error::EntryMissing(index) => write!(formatter, "the sealed ledger has no entry {index}"),
            Error::NotFound { kind, id } => {
                write!(formatter, "no {} has an id that starts with `{}`", noun(*kind), echo(id))
            }
            Error::Ambiguous { id, candidates } => {
                let candidates: Vec<String> = candidates.iter().map(|id| echo(id)).collect();
                write!(formatter, "`{}` could mean several: {}", echo(id), candidates.join(", "))
            }
            Error::AgentUnknown { agent, .. } => write!(formatter, "agent `{}` is not registered", echo(agent)),
        }
    }
}

impl std::error::Error for Error {}

/// What a caller gave, as a sentence may repeat it: not longer than it helps, and nothing that moves a cursor.
fn echo(text: &str) -> String {
    kernel::finding::shown(&Json::text(text))
}

/// What people call an entity of a kind.
fn noun(kind: Kind) -> &'static str {
    if kind == Kind::Escalation { "question" } else { kind.word() }
}
