//! The verbs that work on a store.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Longest reason someone can give.
const REASON_CHARS_MAX: usize = 1_000;

/// A reason is something to read.
pub(super) fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why".to_owned()),
        reason if reason.chars().count() > REASON_CHARS_MAX => {
            Err(format!("say it in at most {REASON_CHARS_MAX} characters"))
        }
        reason => Ok(reason.to_owned()),
    }
}

/// A number of rows to list; none would read as "there are none".
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("list at least one".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// An id, whole or its beginning; nothing is the beginning of everything.
pub(super) fn id(text: &str) -> Result<String, String> {
    let named = text.strip_prefix('=').unwrap_or(text);
    if named.trim().is_empty() { Err("an id must not be empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Which store, and for whom the output is.
#[derive(Debug)]
pub struct Kept {
    /// Where the store is: a file, or a server.
    pub store: String,
    pub json: bool,
}

/// What is typed for it.
#[derive(Args, Debug)]
struct KeptOptions {
    /// The store: a SQLite file, or postgres://USER@HOST:PORT/DATABASE
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "WRITKEEPER_STORE",
        hide_env_values = true,
        default_value = "writkeeper.db"
    )]
    store: String,
    /// The server that keeps the store: https://HOST, or http://127.0.0.1:PORT; see `writkeeper login`
    #[arg(long, global = true, value_name = "URL", env = "WRITKEEPER_SERVER", hide_env_values = true)]
    server: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

impl Args for Kept {
    fn augment_args(command: Command) -> Command {
        KeptOptions::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        KeptOptions::augment_args_for_update(command)
    }
}

impl FromArgMatches for Kept {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Kept, Error> {
        let KeptOptions { store, server, json } = KeptOptions::from_arg_matches(matches)?;
        let store = located(matches, Some(store), server)?.unwrap_or_default();
        Ok(Kept { store, json })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Kept::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Where decisions are kept, if they are.
#[derive(Debug)]
pub struct Keeping {
    /// Where the store is: a file, or a server.
    pub store: Option<String>,
}

/// What is typed for it.
#[derive(Args, Debug)]
#[group(id = "keeping", multiple = true)]
struct KeepingOptions {
    /// Keep the decisions in this SQLite file, or in postgres://USER@HOST:PORT/DATABASE; without it nothing is kept
    #[arg(long, value_name = "PATH", env = "WRITKEEPER_STORE", hide_env_values = true)]
    store: Option<String>,
    /// Let this server decide and keep the decisions: https://HOST, or http://127.0.0.1:PORT; see `writkeeper login`
    #[arg(long, value_name = "URL", env = "WRITKEEPER_SERVER", hide_env_values = true)]
    server: Option<String>,
}

impl Args for Keeping {
    fn augment_args(command: Command) -> Command {
        KeepingOptions::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        KeepingOptions::augment_args_for_update(command)
    }
}

impl FromArgMatches for Keeping {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Keeping, Error> {
        let KeepingOptions { store, server } = KeepingOptions::from_arg_matches(matches)?;
        Ok(Keeping { store: located(matches, store, server)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Keeping::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Where the store is: what was typed, else what the environment says. A store and a server are two places.
pub(super) fn located(
    matches: &ArgMatches,
    store: Option<String>,
    server: Option<String>,
) -> Result<Option<String>, Error> {
    let is_from = |id: &str, source: ValueSource| matches.value_source(id) == Some(source);
    let conflict = |problem: &str| Err(Error::raw(ErrorKind::ArgumentConflict, format!("{problem}\n")));
    let server = server.filter(|server| !server.is_empty());
    let (typed, told) = (ValueSource::CommandLine, ValueSource::EnvVariable);
    let Some(server) = server else { return Ok(store) };
    match (is_from("store", typed), is_from("server", typed)) {
        (true, true) => conflict("--store and --server name two places; give one of them"),
        (true, false) => Ok(store),
        (false, false) if is_from("store", told) && store.is_some_and(|store| !store.is_empty()) => {
            conflict("WRITKEEPER_STORE and WRITKEEPER_SERVER are both set; say which is meant with --store or --server")
        }
        (false, _) if !writkeeper::is_server(&server) => {
            let problem = "is no address of a server; give https://HOST, http://127.0.0.1:PORT or unix:PATH";
            conflict(&format!("--server `{}` {problem}", kernel::finding::visible(&server)))
        }
        (false, _) => Ok(Some(server)),
    }
}

/// `writkeeper agents …`
#[derive(Args, Debug)]
pub struct AgentsArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
}

/// What can be done with agents.
#[derive(Subcommand, Debug)]
pub enum AgentsCommand {
    /// Every agent with its state and contract
    List,
    /// One agent and everything that was done to it
    Show {
        /// The agent
        #[arg(value_name = "AGENT", value_parser = id)]
        agent: String,
    },
    /// Make an agent known; prints its session token, which is shown only once
    Register {
        /// Its contract
        #[arg(long, value_name = "FILE")]
        contract: PathBuf,
        /// The version the agent says it has
        #[arg(long, value_name = "SEMVER")]
        agent_version: Option<String>,
        /// The public key it signs with, as `writkeeper sign --new` printed it; from then on it must sign
        #[arg(long, value_name = "HEX")]
        key: Option<String>,
        /// How long the session token counts
        #[arg(long, value_name = "DURATION", default_value = "24h")]
        session: String,
    },
    /// Put a contract in force; says first what it would have done to the decisions of the last 30 days
    Activate(ActivateArgs),
    /// Change a bound for a while, inside what the contract marks `amendable`
    Amend(AmendArgs),
    /// Let an agent do nothing
    Suspend(RestrictArgs),
    /// Revoke actions; without --action all of them
    Degrade(DegradeArgs),
    /// Let an agent read only
    Passive(RestrictArgs),
    /// Let a person decide everything the agent wants
    EscalationOnly(RestrictArgs),
    /// Lift restrictions of one kind
    Lift {
        /// The agent
        #[arg(value_name = "AGENT", value_parser = id)]
        agent: String,
        /// Which kind
        #[arg(value_enum, value_name = "STATUS", ignore_case = true)]
        status: Liftable,
        /// Why
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        because: String,
    },
    /// End an agent for good
    Retire(RestrictArgs),
}

/// `writkeeper agents activate`
#[derive(Args, Debug)]
pub struct ActivateArgs {
    /// The contract
    #[arg(long, value_name = "FILE")]
    pub contract: PathBuf,
    /// Accept keys that do nothing yet
    #[arg(long)]
    pub allow_inert: bool,
    /// Accept a contract under which people cannot answer, or which trips again after every lift
    #[arg(long)]
    pub allow_locked: bool,
    /// Digest of the contract that must be in force now
    #[arg(long, value_name = "SHA256")]
    pub over: Option<String>,
    /// How long the backtest before it may take; 0s leaves it out
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub backtest: String,
}

/// Whom and why.
#[derive(Args, Debug)]
pub struct RestrictArgs {
    /// The agent, by its whole name
    #[arg(value_name = "AGENT", value_parser = id)]
    pub agent: String,
    /// Why; the agent and the records will say it
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub because: String,
}

/// Which bound, for how long and why.
#[derive(Args, Debug)]
pub struct AmendArgs {
    /// Whom and why.
    #[command(flatten)]
    pub whom: RestrictArgs,
    /// The action
    #[arg(value_name = "ACTION", value_parser = id)]
    pub action: String,
    /// The param whose limit changes
    #[arg(value_name = "PARAM", value_parser = id)]
    pub param: String,
    /// The minimum for that while
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, required_unless_present = "max")]
    pub min: Option<String>,
    /// The maximum for that while
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub max: Option<String>,
    /// For how long; without it, as long as the contract lets it last
    #[arg(long = "for", value_name = "DURATION")]
    pub length: Option<String>,
}

/// Whom, what and why.
#[derive(Args, Debug)]
pub struct DegradeArgs {
    /// Whom and why.
    #[command(flatten)]
    pub whom: RestrictArgs,
    /// An action to revoke; may be given several times
    #[arg(long = "action", value_name = "ACTION")]
    pub actions: Vec<String>,
}

/// Restrictions that can be lifted.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Liftable {
    Degraded,
    #[value(alias = "ESCALATION_ONLY")]
    EscalationOnly,
    Passive,
    Suspended,
}

/// `writkeeper flows …`
#[derive(Args, Debug)]
pub struct FlowsArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// Which flows are listed.
    #[command(flatten)]
    pub listed: ListedFlows,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<FlowsCommand>,
}

/// Which flows are listed.
#[derive(Args, Clone, Debug)]
pub struct ListedFlows {
    /// List only flows of this agent
    #[arg(long = "agent", value_name = "AGENT", value_parser = id, id = "listed agent")]
    pub agent: Option<String>,
    /// List at most so many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one)]
    pub limit: usize,
    /// List all of them
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

/// What can be done with flows.
#[derive(Subcommand, Debug)]
pub enum FlowsCommand {
    /// The latest flows
    List(ListedFlows),
    /// What happened in a flow, in order
    Show {
        /// The flow, or a question, an intent or a proposal of it
        #[arg(value_name = "ID", value_parser = id)]
        id: String,
        /// Begin with this entry of the ledger
        #[arg(long, value_name = "INDEX")]
        from: Option<u64>,
    },
    /// Open a flow
    Open {
        /// For which agent
        #[arg(long, value_name = "AGENT", value_parser = id)]
        agent: String,
        /// Out of which flow
        #[arg(long, value_name = "FLOW", value_parser = id)]
        parent: Option<String>,
    },
    /// Ask a person on the agent's own request, under the contract's budget and deadline
    Ask {
        /// The flow
        #[arg(value_name = "FLOW", value_parser = id)]
        flow: String,
        /// Why a person is asked
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// What a person should know: a JSON object
        #[arg(long, value_name = "JSON")]
        context: Option<String>,
        /// What the agent would do: a file with a proposal; an approval judges it again and makes an intent of it
        #[arg(long, value_name = "FILE")]
        proposal: Option<PathBuf>,
        /// How much it may hurt: LOW, MEDIUM, HIGH or CRITICAL
        #[arg(long, value_name = "IMPACT")]
        impact: Option<String>,
    },
    /// Hold amounts of resources for a flow, all or none
    Reserve {
        /// The flow
        #[arg(value_name = "FLOW", value_parser = id)]
        flow: String,
        /// How much of what
        #[arg(value_name = "RESOURCE=AMOUNT", required = true)]
        resources: Vec<String>,
        /// How much there is of it, as its provider says
        #[arg(long, value_name = "RESOURCE=AMOUNT", required = true)]
        available: Vec<String>,
        /// Let go of it after this long; without it at the end of the flow
        #[arg(long = "for", value_name = "SPAN")]
        length: Option<String>,
        /// Wait this long for what other flows hold
        #[arg(long, value_name = "SPAN")]
        wait: Option<String>,
    },
    /// Give back what a flow holds
    Release {
        /// The flow
        #[arg(value_name = "FLOW", value_parser = id)]
        flow: String,
        /// Which resources; all of them if none is named
        #[arg(value_name = "RESOURCE")]
        resources: Vec<String>,
    },
    /// Write something down in a flow
    Note {
        /// The flow
        #[arg(value_name = "FLOW", value_parser = id)]
        flow: String,
        /// What to call it
        #[arg(value_name = "NAME")]
        name: String,
        /// What there is to say: a JSON object
        #[arg(long, value_name = "JSON")]
        details: Option<String>,
    },
    /// Close a flow: it is finished
    Close {
        /// The flow
        #[arg(value_name = "FLOW", value_parser = id)]
        flow: String,
    },
    /// Break a flow off
    Abort {
        /// The flow
        #[arg(value_name = "FLOW", value_parser = id)]
        flow: String,
    },
}

/// `writkeeper context …`
#[derive(Args, Debug)]
pub struct ContextArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do.
    #[command(subcommand)]
    pub command: ContextCommand,
}

/// What can be done with state and snapshots.
#[derive(Subcommand, Debug)]
pub enum ContextCommand {
    /// Print a value of state and its version
    Get {
        /// The key
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Write a value of state
    Set {
        /// The key
        #[arg(value_name = "KEY")]
        key: String,
        /// The value
        #[arg(value_name = "JSON", allow_hyphen_values = true)]
        value: String,
        /// The version it must have now; 0 means it must not exist
        #[arg(long, value_name = "VERSION")]
        expect: Option<u64>,
    },
    /// Freeze values of state, and a flow's session, under the digest of all of it
    Snapshot {
        /// The keys
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
        /// For which flow
        #[arg(long, value_name = "FLOW", value_parser = id)]
        flow: Option<String>,
    },
    /// Print a snapshot
    Show {
        /// The snapshot
        #[arg(value_name = "SNAPSHOT", value_parser = id)]
        snapshot: String,
    },
}

/// `writkeeper escalations …`
#[derive(Args, Debug)]
pub struct EscalationsArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<EscalationsCommand>,
}

/// What can be done with questions.
#[derive(Subcommand, Debug)]
pub enum EscalationsCommand {
    /// Open questions, the riskiest and oldest first
    List(ListArgs),
    /// One question: exactly what an answer is for
    Show {
        /// The question, or its proposal, flow or intent
        #[arg(value_name = "ID", value_parser = id)]
        id: String,
    },
    /// Answer a question; it is judged again and answered once
    Answer(AnswerArgs),
    /// Hand a question to somebody else who may answer it; who may answer stays as it is
    HandOver(HandOverArgs),
    /// Put a question off for yourself; for everybody else it stays as it is
    Snooze(SnoozeArgs),
}

/// `writkeeper escalations list`
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Whose list: what they put off is not on it. With --server it is the person that the key belongs to
    #[arg(long = "as", value_name = "PERSON")]
    pub person: Option<String>,
    /// Only what that person put off
    #[arg(long)]
    pub snoozed: bool,
    /// Questions at most, up to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = at_least_one)]
    pub limit: usize,
    /// Go on where another list ended: what it said
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

impl Default for ListArgs {
    fn default() -> ListArgs {
        ListArgs { person: None, snoozed: false, limit: 1_000, after: None }
    }
}

/// `writkeeper escalations snooze`
#[derive(Args, Debug)]
pub struct SnoozeArgs {
    /// The question, or its proposal, flow or intent
    #[arg(value_name = "ID", value_parser = id)]
    pub id: String,
    /// For how long: 1m to 7d, and not past the deadline
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    pub length: values::time::Duration,
    /// Who puts it off. With --server it is the person that the key belongs to
    #[arg(long = "as", value_name = "PERSON")]
    pub person: Option<String>,
}

/// A length of time.
fn length(text: &str) -> Result<values::time::Duration, String> {
    values::time::Duration::parse(text).ok_or_else(|| "say a whole number and a unit, such as 30m, 2h or 1d".to_owned())
}

/// `writkeeper escalations hand-over`
#[derive(Args, Debug)]
pub struct HandOverArgs {
    /// The question, or its proposal, flow or intent
    #[arg(value_name = "ID", value_parser = id)]
    pub id: String,
    /// Who is to answer
    #[arg(long, value_name = "PERSON", value_parser = id)]
    pub to: String,
    /// Who hands it over. With --server it is the person that the key belongs to
    #[arg(long = "as", value_name = "PERSON")]
    pub person: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub because: String,
}

/// `writkeeper escalations answer`
#[derive(Args, Debug)]
pub struct AnswerArgs {
    /// The question, or its proposal, flow or intent
    #[arg(value_name = "ID", value_parser = id)]
    pub id: String,
    /// What to say
    #[arg(value_enum, value_name = "ANSWER", ignore_case = true)]
    pub decision: Decision,
    /// Who says it; not who proposed. With --server it is the person that the key belongs to
    #[arg(long = "as", value_name = "PERSON")]
    pub person: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub because: String,
    /// Digest of what the person was shown; without it, of what was asked: that counts until another contract is in force
    #[arg(long, value_name = "SHA256")]
    pub digest: Option<String>,
    /// With `modify`: the proposal that is to happen instead
    #[arg(long, value_name = "FILE")]
    pub instead: Option<PathBuf>,
    /// Sign the answer with this private key, which `writkeeper people enrol` made
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

/// What a person can say.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Accept it as it is
    Approve,
    /// No
    Deny,
    /// The same as `approve`, in the record's word
    Override,
    /// Accept something else instead
    Modify,
    /// The same as `deny`, in the record's word
    Abort,
}

/// `writkeeper people …`
#[derive(Args, Debug)]
pub struct PeopleArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<PeopleCommand>,
}

/// What can be done with people and their groups.
#[derive(Subcommand, Debug)]
pub enum PeopleCommand {
    /// Every group and who is in it
    List,
    /// Put a people file in force: whoever it does not name is in no group afterwards
    Set {
        /// Groups and their members: `refund-desk: [ann, { name: bob, key: "ed25519:…" }]`
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// How many questions groups take, and how many they got; with --questions, bound those of a group
    Attention {
        /// The group of approvers; every bounded group if not given
        #[arg(value_name = "GROUP", value_parser = id)]
        group: Option<String>,
        /// So many in a window, from all agents together; what is beyond is refused with ATTENTION_SPENT
        #[arg(long, value_name = "COUNT", requires = "group", conflicts_with = "unbounded")]
        questions: Option<u64>,
        /// The window, which rolls: a whole number and ms, s, m, h or d; what it was if not given, at first 8h
        #[arg(long, value_name = "DURATION", requires = "group", conflicts_with = "unbounded")]
        per: Option<String>,
        /// What else follows for the agent that would have asked; what it was if not given, at first refuse
        #[arg(long, value_name = "WORD", requires = "group", conflicts_with = "unbounded",
            value_parser = ["refuse", "escalation_only"])]
        spent: Option<String>,
        /// Take the bound away
        #[arg(long, requires = "group")]
        unbounded: bool,
    },
    /// Make a key for a person, to sign answers with; with --store it is set there, otherwise the line for the people
    /// file is printed
    Enrol {
        /// The person
        #[arg(value_name = "PERSON", value_parser = id)]
        person: String,
        /// Where to write the private key; PERSON.key if not given
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// Let the new key take the place of the one the store knows
        #[arg(long)]
        replace: bool,
    },
}

/// `writkeeper tick`
#[derive(Args, Debug)]
pub struct TickArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// Go on, with so long a pause between two passes
    #[arg(long, value_name = "DURATION")]
    pub every: Option<String>,
}

/// `writkeeper report`
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// How far back: a whole number and ms, s, m, h or d; everything if not given
    #[arg(long, value_name = "DURATION")]
    pub since: Option<String>,
    /// How long candidates that run as shadows may be judged; 0s leaves them out
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub backtest: String,
}

/// `writkeeper halt` and `writkeeper resume`
#[derive(Args, Debug)]
pub struct SwitchArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// Why; every refusal will say it
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub because: String,
    /// Only the agents whose contract says `group: NAME`, and those below them
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
}
