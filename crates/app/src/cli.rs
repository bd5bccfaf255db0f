//! The command line: what can be typed. Help texts live here and nowhere else.

pub mod command_line;
pub mod eval;
pub mod guard;
pub mod kept;
pub mod leases;
pub mod login;
pub mod monitors;
pub mod notifying;
pub mod performing;
pub mod proof;
pub mod relaying;
pub mod service;
pub mod top;

use ::guard::hooks::HOSTS;
use clap::{Args, Parser, Subcommand, ValueEnum};
use eval::EvalArgs;
use guard::{AlwaysArgs, BreakGlassArgs, DaemonArgs, DoctorArgs, HookArgs, InitArgs};
use kept::{
    AgentsArgs, ContextArgs, EscalationsArgs, FlowsArgs, Keeping, PeopleArgs, ReportArgs, SwitchArgs, TickArgs,
};
use leases::LeasesArgs;
use login::{LoginArgs, LogoutArgs};
use monitors::MonitorsArgs;
use notifying::NotifyArgs;
use performing::{IntentsArgs, RunArgs};
use proof::{LedgerArgs, SignArgs, VerifyArgs};
use relaying::RelayArgs;
use service::{KeysArgs, ServeArgs};
use std::path::PathBuf;
use top::TopArgs;

/// Half a screen for someone who typed nothing.
pub const WELCOME: &str = "\
Writkeeper decides what AI agents may do: agents propose, contracts judge, every verdict is exact and explained.

Next steps:
  writkeeper demo                                     see it stop six expensive mistakes
  writkeeper contract new --template refunds          start a contract of your own
  writkeeper decide --contract refunds.yaml < lines   judge proposals, one JSON object a line

`writkeeper --help` lists the commands.";

/// The first page of help.
pub fn overview() -> String {
    OVERVIEW.replace("{hosts}", &HOSTS.map(|host| host.short_title).join(", "))
}

/// The same, with a gap for the hosts that can be guarded.
const OVERVIEW: &str = "\
Decides what AI agents may do: agents propose, contracts judge, every verdict is exact and explained.

Usage: writkeeper <COMMAND>

Try
  demo         See it stop expensive mistakes; nothing to set up
  explain      What a reason code means and what to do about it

Decide
  decide       Judge proposals, one JSON object a line
  contract     Write, check, test and compare contracts

Ask people
  escalations  What waits for an answer; answer it

Prove
  report       What was decided, and why
  ledger       Seal decisions, hand them out with proofs
  verify       Check receipts and whole ledgers, offline

Run
  init         Guard a coding agent: {hosts}
  agents       Register, activate, restrict and list agents
  run, serve   Perform what was accepted; put a store behind HTTP
  halt, resume Accept nothing; judge again

Options:
  -h, --help     Print help
  -V, --version  Print version

`writkeeper help COMMAND` explains a command, `writkeeper help --all` prints everything.
Exit codes: 0 accepted, 1 rejected, 2 escalated, 3 still open after --wait, 64 usage, 65 invalid contract or data,
70 internal fault, 75 store unavailable. With --json an error is one line {\"code\",\"message\",\"fix\"} on standard error.";

/// The release and the source it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WRITKEEPER_SOURCE"), ")");

/// Everything that can be typed.
#[derive(Parser, Debug)]
#[command(
    name = "writkeeper",
    version = VERSION,
    about = "Decides what AI agents may do",
    override_help = overview(),
    disable_help_subcommand = true,
    subcommand_required = false
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// See it stop expensive mistakes; nothing to set up
    Demo(DemoArgs),
    /// Judge proposals, one JSON object a line, and answer each with one line
    Decide(DecideArgs),
    /// Write, check, test and compare contracts
    #[command(subcommand)]
    Contract(ContractCommand),
    /// What a reason code means and what to do about it
    Explain(ExplainArgs),
    /// What waits for an answer; answer it
    Escalations(EscalationsArgs),
    /// Agents, flows, verdicts and what waits for people, live; answer on the spot
    Top(TopArgs),
    /// Who is in which group; only members of a contract's approvers answer its questions
    People(PeopleArgs),
    /// Let time act: end questions nobody answered, remind people, call off what nobody started
    Tick(TickArgs),
    /// Tell people of questions by signed webhooks
    Notify(NotifyArgs),
    /// Hand every event on to a NATS JetStream stream
    Relay(RelayArgs),
    /// What happened in a flow, in order
    Flows(FlowsArgs),
    /// What was decided, why, and what observing contracts would have stopped
    Report(ReportArgs),
    /// Seal decisions, hand them out with proofs, keep keys, erase bodies
    Ledger(LedgerArgs),
    /// Check receipts, signed intents and whole ledgers: no store, no network
    Verify(VerifyArgs),
    /// Sign proposals on the agent's side
    Sign(SignArgs),
    /// Guard a coding agent: contract, store and the host's hooks
    Init(InitArgs),
    /// What is guarded, what drifted, how long a call takes
    Doctor(DoctorArgs),
    /// Allow exactly what was asked about for a while, as a line of the contract
    Always(AlwaysArgs),
    /// Ask no questions for a short while; who and why is recorded
    BreakGlass(BreakGlassArgs),
    /// Judge one call of an agent's host; hosts run this
    Hook(HookArgs),
    /// Answer the hooks of a guard from one process, which is faster
    Daemon(DaemonArgs),
    /// Register, activate, restrict and list agents
    Agents(AgentsArgs),
    /// Put a store behind HTTP, for agents, executors and people with keys of their own
    Serve(ServeArgs),
    /// Bring a store to this version, or copy it into another kind of store
    #[command(subcommand)]
    Store(StoreCommand),
    /// Keys of the service: make, list and revoke them on the machine of the store
    Keys(KeysArgs),
    /// Perform what was accepted, each effect at most once without a person
    Run(RunArgs),
    /// What may be performed, where it stands, and what people say about a doubt
    Intents(IntentsArgs),
    /// Who holds which part of the tree, or which named thing, and until when
    Leases(LeasesArgs),
    /// What watches agents and how far each is from an alarm; try one on numbers of your own
    Monitors(MonitorsArgs),
    /// How good a gate, validator, judge, detector or monitor is, on cases that a person labelled
    Eval(EvalArgs),
    /// Read and write state; freeze it
    Context(ContextArgs),
    /// Keep the key for a server, so that verbs with --server find it
    Login(LoginArgs),
    /// Forget the key for a server
    Logout(LogoutArgs),
    /// Accept nothing until `resume`
    Halt(SwitchArgs),
    /// Judge proposals again after `halt`
    Resume(SwitchArgs),
    /// Measure how fast this machine decides
    Bench(BenchArgs),
    /// Understand shell commands without running them
    #[command(subcommand)]
    Shell(ShellCommand),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print help for a command, or for all of them
    Help(HelpArgs),
    /// The fake bank the demo talks to
    #[command(hide = true)]
    DemoBank(DemoBankArgs),
    /// The writer the benchmark kills
    #[command(hide = true)]
    BenchWriter(BenchWriterArgs),
}

/// `writkeeper decide`
#[derive(Args, Debug)]
#[command(after_help = "\
A proposal:  {\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"params\":{\"order_id\":\"AB-1\",\"amount\":12.5}}
  optional:  id, confidence, justification, flow, step, snapshot, valid_until, created_at, idempotency_key, provenance, tokens
An answer:   {\"id\",\"verdict\",\"reasons\":[codes],\"findings\":[{\"code\",\"gate\",\"field\",\"message\",\"fix\"}],\"intent\"}
  ESCALATE:  also \"question\":{\"deadline\",\"digest\",\"id\"};  --wait: also \"answer\", \"outcome\", \"result\"

What is accepted adds up over the lines: budgets, reservations and effect keys are taken.
The n-th answer belongs to the n-th line. A malformed or blank line is answered with REJECT and the run goes on; \
its id is `line-N` where it names none. Input without lines is an error.

A line may also be an envelope that `writkeeper sign` made: then the agent's registered key, the snapshot, the contract \
and the rules it signed are checked too. An agent with a registered key must sign.

With --store or --server every decision is durable before its line is printed, and what earlier runs took counts. \
An agent the store does not know is registered and activated with --contract; other agents act under their contract \
in force. What the context says and the store does not hold yet is written to the store. \
The clock is the machine's, or stands at --at; in one store it never runs backwards, and it ends with the year 2199. \
A proposal without `flow` is a flow of its own; `writkeeper flows open` makes one that several can name.

Exit codes: 0 all accepted, 1 something rejected, 2 something escalated and nothing rejected, \
3 something accepted and still open after --wait, 65 invalid contract or context, or nothing to decide, 75 store unavailable.")]
pub struct DecideArgs {
    /// The contract (YAML or JSON); with --store not needed for agents the store knows
    #[arg(long, value_name = "FILE", required_unless_present = "keeping")]
    pub contract: Option<PathBuf>,
    /// Where the decisions are kept.
    #[command(flatten)]
    pub keeping: Keeping,
    /// With --store: the session token of the agent, as `writkeeper agents register` printed it; one that is shown must
    /// be right. With --server it is shown in place of a key. A token in the environment is seen by fewer than one that is
    /// typed
    #[arg(long, value_name = "TOKEN", env = "WRITKEEPER_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Put a contract in force although it has keys that do nothing yet
    #[arg(long, requires = "keeping")]
    pub allow_inert: bool,
    /// With --store: a `flow` nobody opened is opened, as without a store; otherwise it is refused
    #[arg(long, requires = "keeping")]
    pub open_flows: bool,
    /// With --store: a line's `created_at` is its instant, as without a store
    #[arg(long, hide = true, requires = "keeping")]
    pub clock_of_lines: bool,
    /// State, snapshots and agents: {"state":{…},"snapshots":{name:{"at","data"}},"agents":{name:{"status","role"}}}
    #[arg(long, value_name = "FILE")]
    pub context: Option<PathBuf>,
    /// The instant of every line; without it a line's `created_at`, else 2026-01-01T00:00:00Z (with --store: now)
    #[arg(long, value_name = "RFC3339")]
    pub at: Option<String>,
    /// Believe the `provenance` in the lines: for tests and trusted recordings only
    #[arg(long)]
    pub trust_provenance: bool,
    /// With --store: write a receipt for every decision into this folder, see `writkeeper verify`
    #[arg(long, value_name = "DIR", requires = "keeping")]
    pub receipts: Option<PathBuf>,
    /// With --store: wait until what was accepted has happened or failed, and until a question is answered, for at most
    /// this long a line; the answer then also holds `outcome` and `result`
    #[arg(long, value_name = "DURATION", requires = "keeping", num_args = 0..=1, require_equals = true,
        default_missing_value = "30s", conflicts_with_all = ["at", "clock_of_lines"])]
    pub wait: Option<String>,
    /// Write the decision records to this file, one JSON object a line; records of an earlier run are written over,
    /// any other file is refused
    #[arg(long, value_name = "FILE")]
    pub records: Option<PathBuf>,
    /// Changes nothing: answers are JSON already; errors become JSON too
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error about the store and about keys that are not enforced yet
    #[arg(long, short)]
    pub quiet: bool,
    /// The proposals; standard input if not given
    #[arg(value_name = "PROPOSALS")]
    pub proposals: Option<PathBuf>,
}

/// `writkeeper contract …`
#[derive(Subcommand, Debug)]
pub enum ContractCommand {
    /// Start a contract from a template
    New(NewArgs),
    /// Draft a closed contract from tool schemas
    Draft(DraftArgs),
    /// Take over rules written for something else; what cannot be carried over is refused and named
    Import(ImportArgs),
    /// Say everything that is wrong with a contract, line and column
    Check(CheckArgs),
    /// Run the tests a contract carries
    Test(TestArgs),
    /// Print the full form, whose digest counts
    Expand(ExpandArgs),
    /// What a change widens and narrows
    Diff(DiffArgs),
    /// What a candidate would have done to the decisions of a store, an export or a server
    #[command(after_help = "\
Every decision of the history is made again, once as it was and once with CANDIDATE in the place of every contract of its
agent. Budgets, windows, effect keys, reservations, state and monitors evolve under the candidate. Nothing is written.

With --json: one line per flipped decision, and at the end {\"decisions\":n,\"flipped\":n,\"unknown\":n}.

Exit codes: 0 nothing flips, 1 something flips, 2 nothing flips and of some decisions nobody can tell, 64 usage, 65
invalid candidate or history, 75 the store cannot be reached.")]
    Backtest(BacktestArgs),
    /// Judge a candidate beside the contract in force, without effect; show where they differ
    #[command(after_help = "\
Exit codes of `show`: 0 nothing differs, 1 something differs, 2 nothing differs and of some decisions nobody can tell.")]
    Shadow(ShadowArgs),
    /// Put a share of an agent's flows under a candidate for real; put it in force or take it back
    Canary(CanaryArgs),
    /// Print the JSON Schema of contracts, for editors
    Schema,
}

/// `writkeeper contract new`
#[derive(Args, Debug)]
pub struct NewArgs {
    /// Which template; without it the list is printed
    #[arg(long, value_name = "NAME")]
    pub template: Option<String>,
    /// Where to write it; NAME.yaml if not given, `-` for standard output
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}

/// `writkeeper contract draft`
#[derive(Args, Debug)]
pub struct DraftArgs {
    /// Tool schemas: a list as MCP, OpenAI or plain JSON gives them
    #[arg(long, value_name = "FILE")]
    pub tools: PathBuf,
    /// The agent the contract is for
    #[arg(long, value_name = "NAME", default_value = "my-agent")]
    pub agent: String,
}

/// `writkeeper contract import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The rules
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What they were written for
    #[arg(long, value_enum)]
    pub from: ImportedForm,
    /// For claude-code: the project that they belong to; the folder around `.claude` if not given
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// What rules can be taken over from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ImportedForm {
    /// Permission settings of Claude Code (settings.json)
    ClaudeCode,
    /// A contract of the Decision Intelligence Runtime for Python: flat, nested or stored, as JSON or YAML
    Dir,
}

/// `writkeeper contract check`
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The contract
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Prove that it stays inside this contract
    #[arg(long, value_name = "FILE")]
    pub parent: Option<PathBuf>,
    /// Accept keys that do nothing yet
    #[arg(long)]
    pub allow_inert: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper contract test`
#[derive(Args, Debug)]
pub struct TestArgs {
    /// The contracts
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Accept keys that do nothing yet
    #[arg(long)]
    pub allow_inert: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper contract expand`
#[derive(Args, Debug)]
pub struct ExpandArgs {
    /// The contract
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print canonical JSON, the bytes the digest counts over
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper contract diff`
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The contract in force
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The candidate
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper contract backtest`
#[derive(Args, Debug)]
pub struct BacktestArgs {
    /// The contract that would have been in force
    #[arg(value_name = "CANDIDATE")]
    pub candidate: PathBuf,
    /// From when on: a whole number and ms, s, m, h or d before now; from the beginning if not given
    #[arg(long, value_name = "DURATION")]
    pub since: Option<String>,
    /// An exported ledger in place of a store
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
    /// Which store.
    #[command(flatten)]
    pub kept: kept::Kept,
}

/// `writkeeper contract shadow`
#[derive(Args, Debug)]
pub struct ShadowArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: kept::Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<ShadowCommand>,
}

/// What can be done with a shadow.
#[derive(Subcommand, Debug)]
pub enum ShadowCommand {
    /// Start one for the agent that the candidate names
    Start {
        /// The contract that would be in force
        #[arg(value_name = "CANDIDATE")]
        candidate: PathBuf,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Stop that of an agent
    Stop {
        /// The agent
        #[arg(value_name = "AGENT")]
        agent: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Every decision since it started that the candidate would have made otherwise
    Show {
        /// The agent
        #[arg(value_name = "AGENT")]
        agent: String,
    },
}

/// `writkeeper contract canary`
#[derive(Args, Debug)]
pub struct CanaryArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: kept::Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<CanaryCommand>,
}

/// What can be done with a canary.
#[derive(Subcommand, Debug)]
pub enum CanaryCommand {
    /// Start one for the agent that the candidate names; again with another share, the same flows stay under it
    Start {
        /// The contract that is tried
        #[arg(value_name = "CANDIDATE")]
        candidate: PathBuf,
        /// How many of the flows: from 0.01% to 100%
        #[arg(long, value_name = "PERCENT")]
        share: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
        /// Accept keys that do nothing yet
        #[arg(long)]
        allow_inert: bool,
        /// Accept that the candidate closes ways out: answering, lifting, replacing the contract
        #[arg(long)]
        allow_locked: bool,
    },
    /// What was decided under each of the two contracts since it started
    Show {
        /// The agent
        #[arg(value_name = "AGENT")]
        agent: String,
    },
    /// Put the candidate in force for every flow
    Promote {
        /// The agent
        #[arg(value_name = "AGENT")]
        agent: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
        /// SHA-256 of the candidate that you looked at; whichever is tried if not given
        #[arg(long, value_name = "SHA256")]
        contract: Option<String>,
        /// Accept that the candidate closes ways out: answering, lifting, replacing
        #[arg(long)]
        allow_locked: bool,
    },
    /// Put every flow under the contract in force again
    Rollback {
        /// The agent
        #[arg(value_name = "AGENT")]
        agent: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
}

/// `writkeeper shell …`
#[derive(Subcommand, Debug)]
pub enum ShellCommand {
    /// Classify commands: {"id","command"} in, {"id","class","capabilities","reasons","reads","writes"} out
    #[command(after_help = "\
Classes:       read, write, destructive, catastrophic, unknown (what decides the effect cannot be known from the text)
Capabilities:  exec, network, privilege, credentials, persistence, guard-tampering")]
    Classify(ClassifyArgs),
}

/// `writkeeper shell classify`
#[derive(Args, Debug)]
pub struct ClassifyArgs {
    /// Where the commands would run; this directory if not given
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Whose home `~` is; yours if not given
    #[arg(long, value_name = "DIR", env = "HOME", hide_env_values = true)]
    pub home: Option<String>,
    /// The commands, one JSON object a line; standard input if not given
    #[arg(value_name = "COMMANDS")]
    pub commands: Option<PathBuf>,
}

/// `writkeeper explain`
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The reason code; without it all codes are listed
    #[arg(value_name = "CODE", conflicts_with = "shell")]
    pub code: Option<String>,
    /// Explain what a shell command would do, without running it
    #[arg(long, value_name = "COMMAND")]
    pub shell: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper demo`
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Print JSON, one object a scene
    #[arg(long)]
    pub json: bool,
    /// Play on an empty store of your own, which is kept: a file, or postgres://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Play at a server that knows no agent yet, everybody with a key of their own; needs the key of an admin
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    pub server: Option<String>,
}

/// `writkeeper store …`
#[derive(Subcommand, Debug)]
pub enum StoreCommand {
    /// Copy everything of a store into an empty one, and compare what arrived
    #[command(after_help = "\
Both are a SQLite file or postgres://USER@HOST:PORT/DATABASE. What is interrupted goes on where it was when the same command \
is run again; until then nobody can use the second store. Stop deciding on the first store before; what it decides meanwhile is not copied, \
and the exit code is then 1. Keys for proofs stay where they are: copy their folder too.")]
    Copy {
        /// The store that is copied
        from: String,
        /// The empty store that takes it; made where there is none
        to: String,
        /// Whose part of it
        #[arg(long, default_value = values::ids::TENANT_DEFAULT)]
        tenant: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write everything of a store, of all tenants, into a new file, while others decide on it
    #[command(after_help = "\
The file is a store itself: `writkeeper report --store FILE` and every other verb that only reads works on it. Keys for proofs \
stay where they are, and so do the cursors of webhooks: back up their folders too, apart from the store.")]
    Backup {
        /// The file to write
        #[arg(value_name = "FILE")]
        to: PathBuf,
        /// The store: a SQLite file, or postgres://USER@HOST:PORT/DATABASE
        #[arg(
            long,
            value_name = "STORE",
            env = "WRITKEEPER_STORE",
            hide_env_values = true,
            default_value = "writkeeper.db"
        )]
        store: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a backup into a store that is empty or not there yet
    #[command(after_help = "\
A store that comes back older than what its keys have signed decides nothing until somebody says what was lost, with \
`writkeeper ledger discontinue`: what it forgot would be done again. The exit code is then 1.")]
    Restore {
        /// The backup
        #[arg(value_name = "FILE")]
        from: PathBuf,
        /// The store: a SQLite file, or postgres://USER@HOST:PORT/DATABASE
        #[arg(
            long,
            value_name = "STORE",
            env = "WRITKEEPER_STORE",
            hide_env_values = true,
            default_value = "writkeeper.db"
        )]
        store: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring the tables of a store to this version, making them where there are none; programs do it too when they decide
    Migrate {
        /// The store: a SQLite file, or postgres://USER@HOST:PORT/DATABASE
        #[arg(
            long,
            value_name = "STORE",
            env = "WRITKEEPER_STORE",
            hide_env_values = true,
            default_value = "writkeeper.db"
        )]
        store: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// `writkeeper demo-bank`
#[derive(Args, Debug)]
pub struct DemoBankArgs {
    /// Where it logs what it was asked to do
    #[arg(long)]
    pub log: PathBuf,
}

/// `writkeeper bench`
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How long each figure may take
    #[arg(long, default_value_t = 1000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub millis: u64,
    /// Leave out what needs a disk
    #[arg(long)]
    pub pure: bool,
    /// Leave out the store with a million flows, which takes the longest
    #[arg(long)]
    pub no_growth: bool,
    /// Also start a service on loopback and measure decisions over HTTP beside decisions in this process
    #[arg(long)]
    pub serve: bool,
    /// Measure a database instead of the disk here: postgres://USER@HOST:PORT/DATABASE. It writes into a tenant of its own
    #[arg(long, value_name = "STORE", conflicts_with_all = ["pure", "serve"])]
    pub store: Option<String>,
    /// Fill a store with so many decisions and measure at every power of ten: in a file of this folder, or with --store in
    /// the database, where they stay
    #[arg(long, value_name = "N", conflicts_with_all = ["pure", "serve"], value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    pub records: Option<u64>,
    /// With --records and --store: measure small tenants by turns in this empty database, instead of in the one that grows
    #[arg(long, value_name = "STORE", requires = "records")]
    pub beside: Option<String>,
    /// Measure only what three monitors cost a decision with 512 in flight, and backtests of 50,000 watched decisions and,
    /// with --records, of so many; always JSON
    #[arg(long, conflicts_with_all = ["pure", "serve", "store"])]
    pub monitors: bool,
}

/// `writkeeper bench-writer`
#[derive(Args, Debug)]
pub struct BenchWriterArgs {
    /// The store
    pub store: String,
    /// Whose part of it
    #[arg(long, default_value = values::ids::TENANT_DEFAULT)]
    pub tenant: String,
    /// Say nothing of single decisions
    #[arg(long)]
    pub silent: bool,
    /// Decisions waiting at the same time
    #[arg(long, default_value_t = 64)]
    pub in_flight: usize,
    /// Stop after so many, for a profiler
    #[arg(long, default_value_t = u64::MAX)]
    pub count: u64,
}

/// `writkeeper completions`
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Shells with completions.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

/// `writkeeper help`
#[derive(Args, Debug)]
pub struct HelpArgs {
    /// Which command
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Help for every command
    #[arg(long)]
    pub all: bool,
}
