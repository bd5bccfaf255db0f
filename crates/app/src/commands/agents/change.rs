//! Changing what the registry knows of agents.

use crate::cli::kept::RestrictArgs;
use crate::contract_file;
use crate::exit::{Exit, Failure, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, STRONG, echo, paint, say};
use kernel::agent::{AgentRow, AgentStatus, Session};
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::event::{AgentStanding, Event};
use kernel::finding::{Finding, Gate, visible};
use kernel::reasons::Reason;
use ledger::envelope::read_key;
use runtime::{Pending, Runtime};
use std::path::Path;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use values::time::Duration;

/// An agent as it comes.
pub struct Newcomer<'a> {
    /// Its contract.
    pub path: &'a Path,
    /// The version it says it has.
    pub version: Option<&'a String>,
    /// The public key it signs with.
    pub key: Option<&'a str>,
    /// How long its session token counts.
    pub session: &'a str,
}

/// Makes an agent known. The token is printed once and kept only as a hash.
pub fn register(location: &str, json: bool, newcomer: &Newcomer<'_>) -> anyhow::Result<()> {
    let Newcomer { path, version, key, session } = newcomer;
    let unread =
        |text: &str| UsageError(format!("--key `{text}` is not the 64 digits that `writkeeper sign --new` printed"));
    let key = key.map(|text| read_key(text).ok_or_else(|| unread(text))).transpose()?;
    let problem = || UsageError(format!("--session `{session}` is no duration, such as 24h or 30d"));
    let counts = Duration::parse(session).ok_or_else(problem)?;
    let contract = Arc::new(contract_file::open(path)?.loaded.compiled);
    let runtime = store::create(location)?;
    writkeeper::overlap::demand_apart(&runtime, &contract.contract.agent)?;
    let token = writkeeper::access::token(runtime.tenant(), &contract.contract.agent);
    let session = Session { token_hash: Digest::of(&token), expires: store::now().plus(counts) };
    let expires = session.expires;
    let version = version.cloned();
    let event = store::told(runtime.register(store::operator(), contract.clone(), version, Some(session)))?;
    if let Some(key) = key {
        let upkeep = Upkeep::EnrolKey { agent: contract.contract.agent.clone(), key };
        store::done(runtime.change(store::operator(), Act::Upkeep(upkeep)))?;
    }
    let name = &contract.contract.agent;
    if json {
        let mut body = event.to_json();
        if let Json::Object(members) = &mut body {
            members.insert("token".to_owned(), Json::text(token));
            members.insert("expires".to_owned(), Json::text(expires.to_string()));
        }
        say!("{}", body.to_canonical());
        return Ok(());
    }
    say!("registered {} in {location}", paint(STRONG, name));
    say!("session token, shown only now and valid until {}: {token}", terminal::at(expires));
    say!("next: {}", hint::next(&format!("writkeeper agents activate --contract {}", hint::path(path))));
    Ok(())
}

/// The restriction as `agents lift` names it.
pub fn liftable(status: AgentStatus) -> Option<&'static str> {
    match status {
        AgentStatus::Registered | AgentStatus::Active | AgentStatus::Retired => None,
        AgentStatus::Degraded => Some("degraded"),
        AgentStatus::EscalationOnly => Some("escalation-only"),
        AgentStatus::Passive => Some("passive"),
        AgentStatus::Suspended => Some("suspended"),
    }
}

/// Places a restriction.
pub fn restrict(
    location: &str,
    json: bool,
    whom: &RestrictArgs,
    status: AgentStatus,
    actions: &[String],
) -> anyhow::Result<()> {
    let runtime = store::open(location)?;
    let (agent, row) = store::agent_named(&runtime, &whom.agent)?;
    has_actions(&runtime, &agent, &row, actions)?;
    let act = Act::Restrict { agent, status, because: whom.because.clone(), actions: actions.to_vec() };
    carry_out(runtime.change(store::operator(), act), json).map(|_| ())
}

/// Revoking what the contract does not have would look like a restriction and be none.
fn has_actions(runtime: &Runtime, agent: &str, row: &AgentRow, actions: &[String]) -> anyhow::Result<()> {
    let Some(digest) = row.contract.or(row.offered) else { return Ok(()) };
    let known = &runtime.contract(digest).map_err(store::unread)?.contract.actions;
    let Some(unknown) = actions.iter().find(|action| !known.contains_key(*action)) else { return Ok(()) };
    let finding = Finding::reject(Gate::Authority, Reason::ActionNotAllowed).field("action").with("agent", agent);
    let mut failure = Failure::of(Exit::Invalid, &finding.with("action", echo(unknown)));
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    failure.fix = format!("name one of {}", names.join(", "));
    Err(failure.into())
}

/// Lifts restrictions of one kind.
pub fn lift(location: &str, json: bool, agent: &str, status: AgentStatus, because: &str) -> anyhow::Result<()> {
    let runtime = store::open(location)?;
    let (agent, _) = store::agent_named(&runtime, agent)?;
    let act = Act::Lift { agent: agent.clone(), status, because: because.to_owned() };
    let carried_out = carry_out(runtime.change(store::operator(), act), json).map(|_| ());
    carried_out.map_err(|error| not_there(error, &agent, status))
}

/// What was to be lifted is not there: the kernel compares states, and an operator wants to know what is there.
fn not_there(error: anyhow::Error, agent: &str, status: AgentStatus) -> anyhow::Error {
    let failure = Failure::of_error(&error);
    if failure.code != Reason::StateConflict.code() {
        return error;
    }
    let message = format!("nothing holds agent `{}` in {}", visible(agent), status.word());
    let fix = format!("to see what holds it: `{}`", hint::next(&format!("writkeeper agents show {}", echo(agent))));
    Failure { message, fix, ..failure }.into()
}

/// Ends an agent.
pub fn retire(location: &str, json: bool, whom: &RestrictArgs) -> anyhow::Result<()> {
    let runtime = store::open(location)?;
    let (agent, _) = store::agent_named(&runtime, &whom.agent)?;
    let act = Act::Retire { agent, because: whom.because.clone() };
    carry_out(runtime.change(store::operator(), act), json).map(|_| ())
}

/// Waits for a change of an agent, and shows how the agent stands then.
fn carry_out(pending: Pending, json: bool) -> anyhow::Result<AgentStanding> {
    carry_out_with(pending, json, None)
}

/// The same, with something more to tell programs.
pub fn carry_out_with(pending: Pending, json: bool, beside: Option<(&str, Json)>) -> anyhow::Result<AgentStanding> {
    let event = store::told(pending)?;
    let Event::AgentChanged(standing) = event.as_ref() else { return Err(store::other_event()) };
    if json {
        let mut told = event.to_json();
        if let (Json::Object(members), Some((key, value))) = (&mut told, beside) {
            members.insert(key.to_owned(), value);
        }
        say!("{}", told.to_canonical());
        return Ok(standing.clone());
    }
    let because = standing.because.as_ref().map(|because| format!(": {}", visible(because))).unwrap_or_default();
    say!("{} is {}{because}", paint(STRONG, &standing.agent), standing.status.word());
    for monitor in &standing.restarted {
        say!("monitor {} starts anew", visible(monitor));
    }
    Ok(standing.clone())
}
