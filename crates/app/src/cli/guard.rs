//! The verbs that guard coding agents.

use super::kept::Kept;
use super::proof::SealArgs;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use guard::hooks::{self, Event, HOSTS, Host};
use std::path::PathBuf;

/// The hosts there are, by their words.
fn hosts() -> impl TypedValueParser<Value = Host> {
    let parser = PossibleValuesParser::new(HOSTS.map(|host| host.word));
    parser.try_map(|word| hooks::host(&word).ok_or("no such host"))
}

/// The moments there are, by their words.
fn moments() -> impl TypedValueParser<Value = Event> {
    let parser =
        PossibleValuesParser::new(Event::ALL.map(|event| PossibleValue::new(event.word()).help(event.summary())));
    parser.try_map(|word| Event::from_word(&word).ok_or("no such moment"))
}

/// `writkeeper hook`
#[derive(Args, Debug)]
#[command(after_help = "\
Reads what the host sends from standard input and prints what the host understands. Hosts run it through the command \
line that `writkeeper init` writes into their configuration. What cannot be judged does not run: only calls that are \
proven to read pass without a decision.")]
pub struct HookArgs {
    /// The moment
    #[arg(value_parser = moments(), value_name = "EVENT")]
    pub event: Event,
    /// The host that calls
    #[arg(long, value_parser = hosts(), value_name = "HOST")]
    pub host: Host,
    /// The guard's folder; without it the nearest `.writkeeper` above where the agent works, then the one at home
    #[arg(long, value_name = "DIR")]
    pub guard: Option<PathBuf>,
    /// Print a mark before the answer, for the command line in the host's configuration
    #[arg(long, hide = true)]
    pub framed: bool,
    /// Nothing is stopped, also where nothing can be judged
    #[arg(long, hide = true)]
    pub observe: bool,
    /// Names the call, so that asking about it again gives the first answer
    #[arg(long, hide = true, value_name = "ID")]
    pub call: Option<String>,
}

/// `writkeeper daemon`
#[derive(Args, Debug)]
#[command(after_help = "\
Hooks ask it first and judge by themselves where it does not answer; what is decided is the same. It keeps the guard's \
store open, answers its owner only, and takes up a changed contract with the next call. `writkeeper init --daemon` lets \
hooks start one when there is none.")]
pub struct DaemonArgs {
    /// The guard's folder; without it the nearest `.writkeeper` above here, then the one at home
    #[arg(long, value_name = "DIR")]
    pub guard: Option<PathBuf>,
    /// End after so long without a call; without it, stay
    #[arg(long, value_name = "DURATION")]
    pub idle: Option<String>,
    /// Tell the daemon that serves to end
    #[arg(long, conflicts_with = "idle")]
    pub stop: bool,
    /// Print what the daemon that serves says of itself, as JSON; `null` where none does
    #[arg(long, conflicts_with_all = ["idle", "stop"])]
    pub status: bool,
    /// Who signs checkpoints meanwhile.
    #[command(flatten)]
    pub seal: SealArgs,
    /// Leave the session of whoever started it
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// `writkeeper init`
#[derive(Args, Debug)]
#[command(after_help = "\
Writes `.writkeeper/HOST.yaml` (the contract), `.writkeeper/guard.db` (the store) and the host's own configuration. \
Running it again changes nothing; after editing the contract it puts the new one in force. Hooks of others stay.")]
pub struct InitArgs {
    /// The host to guard; may be given several times
    #[arg(long = "host", value_parser = hosts(), value_name = "HOST", required = true)]
    pub hosts: Vec<Host>,
    /// Decide and record, stop nothing; `writkeeper report` says what would have been stopped
    #[arg(long)]
    pub observe: bool,
    /// Guard every workspace of this user instead of this one
    #[arg(long)]
    pub user: bool,
    /// The workspace; this directory if not given
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub workspace: Option<PathBuf>,
    /// Take our hooks out of the host's configuration; contract and store stay
    #[arg(long, conflicts_with = "observe")]
    pub undo: bool,
    /// Tell the host to trust our hooks, where it runs no others: what its own dialog would write is shown and written
    #[arg(long, conflicts_with = "undo")]
    pub trust: bool,
    /// Let hooks start a daemon when there is none, which answers faster
    #[arg(long, conflicts_with_all = ["no_daemon", "undo"])]
    pub daemon: bool,
    /// Let hooks start no daemon, and end the one that serves
    #[arg(long, conflicts_with = "undo")]
    pub no_daemon: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `writkeeper doctor`
#[derive(Args, Debug)]
#[command(after_help = "\
A host is `enforced` when all of this holds: the hooks are written as this version writes them, the host trusts them, a \
call of the host has arrived since they or this program last changed, and a catastrophe that nobody runs is refused by \
the very command line that the host was given. Nothing that is tried out counts as a decision.")]
pub struct DoctorArgs {
    /// For scripts of older versions: the canary that must be refused is always sent
    #[arg(long, hide = true)]
    pub live: bool,
    /// The workspace; this directory if not given
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// A store that is looked at besides those of guards: what its answers prove, and what a database can lose
    #[arg(long, value_name = "PATH", env = "WRITKEEPER_STORE", hide_env_values = true)]
    pub store: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper always`
#[derive(Args, Debug)]
pub struct AlwaysArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// The question or proposal that was asked about
    #[arg(value_name = "ID")]
    pub id: String,
    /// How long the rule counts
    #[arg(long = "for", value_name = "DURATION", default_value = "30d")]
    pub duration: String,
    /// Put it in force; without this only the change of the contract is shown
    #[arg(long)]
    pub yes: bool,
}

/// `writkeeper break-glass`
#[derive(Args, Debug)]
pub struct BreakGlassArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// How long questions are not asked: at most 4h
    #[arg(long = "for", value_name = "DURATION", default_value = "15m", conflicts_with = "end")]
    pub duration: String,
    /// Why; the record will say it
    #[arg(long, value_name = "TEXT")]
    pub because: String,
    /// Ask again from now on
    #[arg(long)]
    pub end: bool,
}
