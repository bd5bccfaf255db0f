//! The verbs that prove: sealing, handing out and checking.

use super::kept::Kept;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `writkeeper ledger …`
#[derive(Args, Debug)]
pub struct LedgerArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// Where the keys are; beside the store, in `PATH.keys`, if not given
    #[arg(long, global = true, value_name = "DIR", env = "WRITKEEPER_KEYS", hide_env_values = true)]
    pub keys: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: LedgerCommand,
}

/// How a command that stays signs what is decided meanwhile.
#[derive(Args, Debug)]
pub struct SealArgs {
    /// Where the keys are that sign checkpoints; beside the store, in `PATH.keys`, if not given
    #[arg(long, value_name = "DIR", env = "WRITKEEPER_KEYS", hide_env_values = true)]
    pub keys: Option<PathBuf>,
    /// How often a checkpoint is signed over what is new, where there are keys; from 100ms to 1h
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub seal_every: String,
}

/// What can be done with a ledger.
#[derive(Subcommand, Debug)]
pub enum LedgerCommand {
    /// Hand everything out, for `writkeeper verify` and for tools we did not write
    #[command(after_help = "\
A name that ends with `/`, or a folder that is there, gets tiles (c2sp.org/tlog-tiles) with the bodies beside them; \
any other name becomes one file. A store that was never sealed gets a key first.")]
    Export {
        /// The file or folder to write
        #[arg(long, value_name = "FILE_OR_DIR")]
        out: PathBuf,
    },
    /// Sign a checkpoint over everything that is committed, and print it
    Checkpoint,
    /// Write the tree as tiles and entry bundles, with a checkpoint
    Tiles {
        /// The folder
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// A receipt for a decision, which verifies without the store
    Receipt {
        /// The proposal, intent, question or flow; or the index of an entry
        #[arg(value_name = "ID", required = true, value_parser = super::kept::id)]
        ids: Vec<String>,
        /// Whose proposals the whole ids name: agents choose ids, so several may have the same
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Write it to this file; with several ids to files in this folder
        #[arg(long, value_name = "FILE_OR_DIR")]
        out: Option<PathBuf>,
    },
    /// Every entry that names something, out of an export or the store
    #[command(after_help = "\
The hashes of an export are checked before anything of it is shown; `writkeeper verify` checks signatures and decides \
again. The beginning of an id will do.")]
    Find {
        /// The id of a flow, proposal, intent or question, or the name of an agent
        #[arg(value_name = "ID")]
        id: String,
        /// The export; the store if not given
        #[arg(value_name = "FILE_OR_DIR")]
        export: Option<PathBuf>,
    },
    /// The keys that sign checkpoints
    Keys {
        /// What to do; the list if nothing is said.
        #[command(subcommand)]
        command: Option<KeysCommand>,
    },
    /// Remove bodies; their proofs stay
    Erase {
        /// The proposal, intent, question or flow whose record is erased; or give --result, or --from and --to
        #[arg(value_name = "ID", value_parser = super::kept::id, required_unless_present_any = ["from", "result"], conflicts_with_all = ["from", "result"])]
        id: Option<String>,
        /// The intent whose latest result is erased; everything can be judged again without it
        #[arg(long, value_name = "INTENT", conflicts_with = "from")]
        result: Option<String>,
        /// The first entry
        #[arg(long, value_name = "INDEX", requires = "to")]
        from: Option<u64>,
        /// The entry behind the last
        #[arg(long, value_name = "INDEX")]
        to: Option<u64>,
        /// Why; it is recorded
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Erase bodies that are older than they are kept, or that name somebody; their proofs stay
    #[command(after_help = "\
Run it every day, for example from a timer. What a legal hold covers stays, and so does what tells of an intent or a question \
that is not over, and the records of erasures, holds and keys themselves. Every erasure is recorded with who asked and why, at \
most 500 entries in one record. `verify` then says \"not replayable: erased\".")]
    Retain {
        /// Erase what is older: a whole number and s, m, h or d
        #[arg(long, value_name = "DURATION", required_unless_present = "subject")]
        keep: Option<String>,
        /// Erase only entries that name this: a person, a customer, an order; exactly as it stands in them
        #[arg(long, value_name = "TEXT", value_parser = super::kept::id)]
        subject: Option<String>,
        /// Only say what would be erased
        #[arg(long)]
        dry_run: bool,
        /// Why; it is recorded
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Forget idempotency keys that are older than they are kept: 30 days, or what --keep says
    #[command(after_help = "\
A proposal that comes again with a forgotten key is judged again; what it was answered with stays in the ledger, and an \
action with `once` still happens once, because effects are never forgotten. `serve` and `tick` forget by themselves, once a day. \
What is forgotten stays forgotten if keys are kept for longer later on.")]
    Forget {
        /// From now on keep keys for so long, from 1d to 3660d: a whole number and h or d
        #[arg(long, value_name = "DURATION")]
        keep: Option<String>,
        /// Why; it is recorded
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Forbid to erase, until the hold is released
    Hold {
        /// Names the hold
        #[arg(value_name = "NAME")]
        name: String,
        /// The first entry
        #[arg(long, value_name = "INDEX", default_value_t = 0)]
        from: u64,
        /// The entry behind the last; also what is yet to come if not given
        #[arg(long, value_name = "INDEX")]
        to: Option<u64>,
        /// Why; it is recorded
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// End a hold
    Release {
        /// Which
        #[arg(value_name = "NAME")]
        name: String,
        /// Why; it is recorded
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// After entries were lost: end this log, and start another that says so
    Discontinue {
        /// Why; everyone who verifies will read it
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
}

/// What can be done with keys.
#[derive(Subcommand, Debug)]
pub enum KeysCommand {
    /// Every key and from which size to which it signs
    List,
    /// Make the first key, or another one that signs beside those in use
    New {
        /// The name of a new log; a random one if not given
        #[arg(long, value_name = "ORIGIN")]
        origin: Option<String>,
    },
    /// End a key that signed the last checkpoint beside its successor
    Retire {
        /// The key's id, as `list` shows it
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// `writkeeper verify`
#[derive(Args, Debug)]
#[command(after_help = "\
Takes exported ledgers (file or folder), receipts, signed intents and proofs, and checkpoints, in any number; what each \
is shows in its bytes. Checkpoints are compared with the exported ledger beside them.

A policy file has one statement a line: `log VKEY`, `witness VKEY`, `witnesses N`.

Exit codes: 0 clean, 1 damaged, 2 incomplete (something cannot be checked, or was left open), 64 usage, \
65 cannot be read as anything that can be verified.")]
pub struct VerifyArgs {
    /// What to verify
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// A public key to believe, `name+hash+base64` or 64 hexadecimal digits; may be given several times
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,
    /// Whom to believe: log keys, witnesses and how many of them
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Check hashes and signatures only, and make no decision again
    #[arg(long)]
    pub no_replay: bool,
    /// Call a ledger incomplete if whoever was handed an intent did not say in time what became of it
    #[arg(long, conflicts_with = "no_replay")]
    pub demand_reports: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper sign`
#[derive(Args, Debug)]
#[command(after_help = "\
For the agent's side: each line becomes a DSSE envelope over proposal, snapshot, contract and rules, which `decide \
--store` takes in place of the proposal. `writkeeper sign --new FILE` makes a key and prints its public half for \
`agents register --key`.")]
pub struct SignArgs {
    /// The agent's private key
    #[arg(long, value_name = "FILE", required_unless_present = "new")]
    pub key: Option<PathBuf>,
    /// Make a key in this file, readable by its owner only, and print its public half
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "contract", "snapshot"])]
    pub new: Option<PathBuf>,
    /// The contract the agent acts under
    #[arg(long, value_name = "FILE", required_unless_present = "new")]
    pub contract: Option<PathBuf>,
    /// The full id of the snapshot the proposals name
    #[arg(long, value_name = "ID")]
    pub snapshot: Option<String>,
    /// The proposals, one JSON object a line; standard input if not given
    #[arg(value_name = "PROPOSALS")]
    pub proposals: Option<PathBuf>,
}
