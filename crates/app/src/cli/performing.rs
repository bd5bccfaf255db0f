//! The verbs that perform what was accepted.

use super::kept::{Kept, at_least_one};
use super::proof::SealArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `writkeeper run`
#[derive(Args, Debug)]
#[command(after_help = "\
Each intent is claimed, marked in the store before the first byte is sent, called once, and settled by what came back. \
What nobody knows is in doubt: an effect whose provider recognises keys or fences is tried again, any other waits for a \
person (`writkeeper escalations`).

Nothing is reached that is not named here: hosts by --allow-host, addresses of the inside by --allow-private, programs \
by --allow-programs. What needs something that is missing here is not claimed: it waits, READY, for another `run` until \
its time is over, and this one says what is missing.

A store that goes away is looked for until it is back; with --once that is an error.

Exit codes: 0 everything succeeded, 1 something failed or was called off, 2 something is in doubt, in flight or waits, 75 store \
unavailable.")]
pub struct RunArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// End when nothing is due
    #[arg(long)]
    pub once: bool,
    /// A host that may be asked, with its port where that is not the usual one; may be given several times
    #[arg(long = "allow-host", value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Addresses of the inside that may be reached, such as 10.0.0.0/8; may be given several times
    #[arg(long = "allow-private", value_name = "RANGE")]
    pub ranges: Vec<String>,
    /// Believe only the certificate authorities in this file (PEM) instead of the well-known ones
    #[arg(long = "ca-file", value_name = "FILE")]
    pub authorities: Option<PathBuf>,
    /// Run the programs that contracts name
    #[arg(long)]
    pub allow_programs: bool,
    /// Calls at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub threads: u64,
    /// How long a claim counts; a call is cut off before that. Otherwise it outlives the timeout of the call, 30s at least
    #[arg(long, value_name = "DURATION")]
    pub lease: Option<String>,
    /// Who signs checkpoints meanwhile.
    #[command(flatten)]
    pub seal: SealArgs,
    /// The clock is ahead by this: for tests
    #[arg(long, hide = true, value_name = "DURATION")]
    pub clock_ahead: Option<String>,
}

/// `writkeeper intents …`
#[derive(Args, Debug)]
pub struct IntentsArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<IntentsCommand>,
}

/// What can be done with intents.
#[derive(Subcommand, Debug)]
pub enum IntentsCommand {
    /// The latest intents
    List {
        /// Only in this state, such as IN_DOUBT
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one)]
        limit: usize,
        /// All of them
        #[arg(long, conflicts_with = "limit")]
        all: bool,
    },
    /// One intent: what it permits, where it stands, everything that happened to it
    Show {
        /// The intent, or its proposal
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Say what became of an intent that was handed out
    Report(ReportArgs),
    /// Answer what became of an intent in doubt; answered once, for the bytes shown
    Resolve(ResolveArgs),
    /// Undo what happened, by an intent of its own
    Undo {
        /// The intent, or its proposal
        #[arg(value_name = "ID")]
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Hand a ready intent to an executor elsewhere, signed; it is in flight from then on
    Sign {
        /// The intent, or its proposal
        #[arg(value_name = "ID")]
        id: String,
        /// For which executor
        #[arg(long = "for", value_name = "NAME")]
        executor: String,
        /// The private key to sign with: a file with the line PRIVATE+KEY+NAME+…, such as STORE.keys/KEYID.key, which
        /// `writkeeper ledger keys new` makes; `writkeeper ledger keys` prints the public one that executors need
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// How long the executor has, at most until the proposal's own time is over; afterwards it is in doubt
        #[arg(long, value_name = "DURATION", default_value = "10m")]
        within: String,
    },
    /// Check a signed intent with public keys alone; needs no store
    Check {
        /// The signed intent
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// A public key, as one line
        #[arg(long = "key", value_name = "KEY", required = true)]
        keys: Vec<String>,
        /// Who is about to perform it
        #[arg(long = "for", value_name = "NAME")]
        executor: String,
    },
}

/// `writkeeper intents report`
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The intent, or its proposal
    #[arg(value_name = "ID")]
    pub id: String,
    /// What became of it
    #[arg(value_enum, value_name = "OUTCOME", ignore_case = true)]
    pub outcome: Reported,
    /// The epoch of a signed intent; the latest if not given
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,
    /// A file with what the other side answered; 64 KiB of it are kept, without the secret params
    #[arg(long, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// What that file is, such as application/json
    #[arg(long, value_name = "TYPE", requires = "result")]
    pub content_type: Option<String>,
}

/// `writkeeper intents resolve`
#[derive(Args, Debug)]
pub struct ResolveArgs {
    /// The intent, or its proposal
    #[arg(value_name = "ID")]
    pub id: String,
    /// What became of it
    #[arg(value_enum, value_name = "ANSWER", ignore_case = true)]
    pub decision: Resolved,
    /// Who says it; not who proposed. With --server it is the person that the key belongs to
    #[arg(long = "as", value_name = "PERSON")]
    pub person: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub because: String,
    /// Digest of what the person was shown; the one `escalations show` prints if not given
    #[arg(long, value_name = "SHA256")]
    pub digest: Option<String>,
    /// Sign the answer with this private key, which `writkeeper people enrol` made
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

/// What a performer can report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reported {
    /// It happened
    Succeeded,
    /// It did not, and will not
    Failed,
    /// Nobody knows
    Doubt,
}

/// What a person can say about a doubt.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// It happened
    Happened,
    /// It did not; what it took is returned
    DidNot,
    /// Try once more, at the risk that it happens twice
    Retry,
}
