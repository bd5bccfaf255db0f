//! What the classifier answers: a class, capabilities, a footprint and the reasons.

use crate::path::Path;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// How much harm a command can do. The order is the order of caution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Changes nothing.
    Read,
    /// Ordinary mutation that a developer makes all day and can undo.
    Write,
    /// Something that decides the effect cannot be known from the text.
    Unknown,
    /// Loses data or shared state that nobody can bring back.
    Destructive,
    /// Destroys the system, a home, a disk or a history, or runs code fetched from elsewhere.
    Catastrophic,
}

impl Class {
    /// The lower-case name used in JSON and in rows of tests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Unknown => "unknown",
            Self::Destructive => "destructive",
            Self::Catastrophic => "catastrophic",
        }
    }
}

/// What else a command can do, whatever its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Runs code that the text does not show.
    Exec,
    /// Talks to other machines.
    Network,
    /// Acts, or changes what may act, with more rights than the caller has.
    Privilege,
    /// Reads or changes secrets, keys and the files that say who is who.
    Credentials,
    /// Arranges for something to run later.
    Persistence,
    /// Touches the guard's own configuration.
    GuardTampering,
}

impl Capability {
    /// The name used in JSON and in rows of tests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Network => "network",
            Self::Privilege => "privilege",
            Self::Credentials => "credentials",
            Self::Persistence => "persistence",
            Self::GuardTampering => "guard-tampering",
        }
    }
}

/// A half-open byte range of the command text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Why the answer is what it is, tied to a part of the command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// Stable identifier for programs.
    pub code: &'static str,
    /// What a person reads; names the part of the command.
    pub sentence: String,
    /// Where that part stands in the command.
    pub span: Span,
    /// The class this reason asks for.
    pub class: Class,
}

/// The whole answer for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Classification {
    /// The most cautious class that any part asks for.
    pub class: Class,
    /// Everything the command can do besides.
    pub capabilities: BTreeSet<Capability>,
    /// Why, most serious first.
    #[serde(serialize_with = "sentences")]
    pub reasons: Vec<Reason>,
    /// Paths read.
    pub reads: Vec<Path>,
    /// Paths written, created, moved or removed.
    pub writes: Vec<Path>,
    /// Paths at or below which a program writes what it decides itself: formatters, builds, programs nobody described.
    #[serde(skip)]
    pub may_write: Vec<Path>,
    /// Working trees that are changed as a whole.
    #[serde(skip)]
    pub trees: Vec<Path>,
    /// Folders, and files beside them, that are read with everything in them: searches, archives, copies, mounts.
    #[serde(skip)]
    pub sweeps: Vec<Path>,
    /// Every path that was handed to a program which is not known to only read.
    #[serde(skip)]
    pub named: Vec<Path>,
    /// Who reaches other machines: programs by name, `NAME=` of a variable that says where or how, `/dev/tcp`.
    #[serde(skip)]
    pub talkers: BTreeSet<String>,
    /// The simple commands after wrappers, quotes and substitutions are gone. Rules on argv match these.
    #[serde(skip)]
    pub argv: Vec<Vec<String>>,
    /// The same for the files on disk that are run: words in them name a path only to programs that do not only read.
    #[serde(skip)]
    pub in_files: Vec<Vec<String>>,
    /// The files of programs that were started by a path, as seen from the folder of that moment, with their words.
    #[serde(skip)]
    pub started: Vec<(Path, Vec<String>)>,
}

/// Judges read sentences; programs inside the process keep the structured form.
fn sentences<S: Serializer>(reasons: &[Reason], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(reasons.iter().map(|reason| format!("{}: {}", reason.code, reason.sentence)))
}
