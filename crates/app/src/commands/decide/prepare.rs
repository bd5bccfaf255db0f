//! What a store must know before the first line: the contract's agent, and what the context says.

use crate::exit::{InvalidData, StoreUnavailable};
use crate::hint;
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
use writkeeper::{Enrolment, Error, Keeper};

/// Registers and activates an agent the store does not know; refuses a contract that is not the one in force.
pub fn enroll(keeper: &Keeper, contract: &Arc<Compiled>, path: &Path, context: &Context) -> anyhow::Result<()> {
    let name = &contract.contract.agent;
    let stays_registered = context.agents.get(name).is_some_and(|row| row.base == AgentStatus::Registered);
    let operator = store::operator();
    let enrolled =
        if stays_registered { keeper.register_only(&operator, contract) } else { keeper.enrol(&operator, contract) };
    match enrolled {
        Ok(Enrolment::InForce | Enrolment::Registered) => Ok(()),
        Err(other @ Error::OtherContract { .. }) => {
            let file = path.display();
            let command = hint::next(&format!("writkeeper agents activate --contract {file}"));
            let fix = format!("to put `{file}` in force: {command}");
            Err(InvalidData(format!("{other}; {fix}")).into())
        }
        // A refusal here is a fault of the file it came from.
        Err(Error::Refused(findings)) => {
            let said: Vec<String> = findings.iter().map(store::sentence).collect();
            Err(InvalidData(format!("`{}`: {}", path.display(), said.join("\n       "))).into())
        }
        Err(error) => Err(error.into()),
    }
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
