//! What a store must know before the first line: the contract's agent, and what the context says.

use crate::exit::{InvalidData, StoreUnavailable};
use crate::store;
use kernel::agent::{AgentRow, AgentStatus, Restriction};
use kernel::change::{Act, Write};
use kernel::context::Context;
use kernel::evaluator::Compiled;
use kernel::outcome::Verdict;
use kernel::world::{Entity, Row};
use runtime::{Pending, Runtime};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use values::ids::Digest;
use values::json::Json;

/// Looks at an agent that another process may be enrolling; registering and activating are two commits.
const LOOKS_MAX: u32 = 40;

/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Registers and activates an agent the store does not know; refuses a contract that is not the one in force.
pub fn enroll(
    runtime: &Runtime,
    contract: &Arc<Compiled>,
    path: &Path,
    location: &str,
    context: &Context,
) -> anyhow::Result<()> {
    let name = &contract.contract.agent;
    let stays_registered = context.agents.get(name).is_some_and(|row| row.base == AgentStatus::Registered);
    let is_new = agent(runtime, name)?.is_none();
    if is_new {
        carried_out(runtime.register(store::operator(), contract.clone(), None, None), path)?;
    }
    let mut row = agent(runtime, name)?;
    if stays_registered && row.as_ref().is_some_and(|row| row.contract.is_none()) {
        return Ok(());
    }
    if is_new && row.as_ref().is_some_and(|row| row.contract.is_none()) {
        return carried_out(runtime.activate(store::operator(), contract.clone()), path);
    }
    // Who is only registered may be on the way to this contract. Waiting puts nothing in force that an operator left.
    let on_the_way = |row: &AgentRow| row.contract.is_none() && row.offered == Some(contract.digest);
    for _ in 0..LOOKS_MAX {
        if !row.as_deref().is_some_and(on_the_way) {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
        row = agent(runtime, name)?;
    }
    if row.as_deref().is_some_and(|row| on_the_way(row) && row.session.is_none()) && began(runtime, contract)? {
        return carried_out(runtime.activate(store::operator(), contract.clone()), path);
    }
    let active = row.and_then(|row| row.contract);
    if active == Some(contract.digest) {
        Ok(())
    } else {
        Err(other_contract(runtime, contract, path, location, active)?)
    }
}

/// Whether this operator began to enroll the agent with this contract and died before it was in force. Who registers an
/// agent on purpose gives it a session; what another operator began is theirs to finish.
fn began(runtime: &Runtime, contract: &Compiled) -> anyhow::Result<bool> {
    let mut registered = None;
    let mut ledger = store::History::since(runtime, None)?;
    while let Some(body) = ledger.next_body()? {
        let said = |key: &str| body.get(key).and_then(Json::as_text);
        let of = |key: &str| body.get("command").and_then(|command| command.get(key)).and_then(Json::as_text);
        let about = of("agent") == Some(contract.contract.agent.as_str());
        if about && said("kind") == Some("register") && said("verdict") == Some(Verdict::Accept.word()) {
            registered = Some((said("actor").map(str::to_owned), of("digest").map(str::to_owned)));
        }
    }
    Ok(registered == Some((Some(store::operator().text()), Some(contract.digest.to_string()))))
}

/// Says which contract is in force and how to put this one in force.
fn other_contract(
    runtime: &Runtime,
    contract: &Compiled,
    path: &Path,
    location: &str,
    active: Option<Digest>,
) -> anyhow::Result<anyhow::Error> {
    let in_force = match active {
        Some(digest) => {
            let active = runtime.contract(digest).map_err(store::unread)?;
            format!("version {} of contract `{}`, sha256 {digest}", active.contract.version, active.contract.id)
        }
        None => "no contract yet".to_owned(),
    };
    let problem = format!(
        "agent `{}` acts under {in_force}, not under `{}`, sha256 {}; to put that in force: \
         writkeeper agents activate --contract {} --store {location}",
        contract.contract.agent,
        path.display(),
        contract.digest,
        path.display()
    );
    Ok(InvalidData(problem).into())
}

/// Writes what the context says and the store does not hold yet.
pub fn take_over(runtime: &Runtime, context: &Context) -> anyhow::Result<()> {
    let file = Path::new("--context");
    let mut writes = Vec::new();
    for (key, value) in &context.state {
        let known = match runtime.read(Entity::State(key.clone())).map_err(store::unread)? {
            Some(Row::State(row)) => Some(row.value),
            Some(_) | None => None,
        };
        if known.as_ref() != Some(value) {
            writes.push(Write { key: key.clone(), value: value.clone(), expect: None });
        }
    }
    if !writes.is_empty() {
        carried_out(runtime.change(store::operator(), Act::Merge(writes)), file)?;
    }
    for (name, snapshot) in &context.snapshots {
        let known = runtime.read(Entity::Snapshot(name.clone())).map_err(store::unread)?;
        if known.as_ref() != Some(&Row::Snapshot(snapshot.clone())) {
            let import = Act::Import { name: name.clone(), snapshot: snapshot.clone() };
            carried_out(runtime.change(store::operator(), import), file)?;
        }
    }
    for (name, wanted) in &context.agents {
        restrict(runtime, name, wanted, file)?;
    }
    Ok(())
}

/// Places what the context holds against an agent; what is already held against it is never lifted here.
fn restrict(runtime: &Runtime, name: &str, wanted: &AgentRow, file: &Path) -> anyhow::Result<()> {
    let Some(row) = agent(runtime, name)? else {
        let problem = format!("the context names agent `{name}`, which the store does not know; register it first");
        return Err(InvalidData(problem).into());
    };
    if wanted.role.is_some() {
        let problem = format!("the context gives agent `{name}` a role; in a store the role is its contract's");
        return Err(InvalidData(problem).into());
    }
    if wanted.base == AgentStatus::Retired && row.base != AgentStatus::Retired {
        let retire = Act::Retire { agent: name.to_owned(), because: String::new() };
        carried_out(runtime.change(store::operator(), retire), file)?;
    }
    for Restriction { status, because, actions, .. } in &wanted.restrictions {
        let same =
            |known: &Restriction| known.status == *status && known.because == *because && known.actions == *actions;
        if !row.restrictions.iter().any(same) {
            let restriction = Act::Restrict {
                agent: name.to_owned(),
                status: *status,
                because: because.clone(),
                actions: actions.iter().cloned().collect(),
            };
            carried_out(runtime.change(store::operator(), restriction), file)?;
        }
    }
    Ok(())
}

fn agent(runtime: &Runtime, name: &str) -> anyhow::Result<Option<Box<AgentRow>>> {
    match runtime.read(Entity::Agent(name.to_owned())).map_err(store::unread)? {
        Some(Row::Agent(row)) => Ok(Some(row)),
        Some(_) | None => Ok(None),
    }
}

/// A refusal here is a fault of the file it came from.
fn carried_out(pending: Pending, file: &Path) -> anyhow::Result<()> {
    let answered = pending.wait();
    let said = store::sentences(&answered.answer);
    match answered.answer.verdict {
        Verdict::Accept => Ok(()),
        Verdict::Reject | Verdict::Escalate if answered.at.is_none() => Err(StoreUnavailable(said).into()),
        Verdict::Reject | Verdict::Escalate => Err(InvalidData(format!("`{}`: {said}", file.display())).into()),
    }
}
