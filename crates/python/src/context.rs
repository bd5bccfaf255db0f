//! Agents, flows, state and snapshots.

use crate::faults::Fault;
use crate::store::Kept;
use kernel::agent::AgentStatus;
use kernel::change::{Act, Write};
use kernel::context::Context;
use kernel::evaluator::Compiled;
use kernel::event::Event;
use kernel::flow::FlowEvent;
use runtime::{Answered, Minted};
use std::sync::Arc;
use values::json::{Bounds, Json, Object};
use values::time::Instant;
use writkeeper::{Error, Keeper, carried_out, lookup, own_flow};

/// Puts a contract in force for a new agent; the agent's name.
pub fn enrol(kept: &Kept, contract: &str, allow_inert: bool) -> Result<String, Fault> {
    let compiled = compiled(contract, allow_inert)?;
    kept.keeper.enrol(&kept.operator, &compiled)?;
    Ok(compiled.contract.agent.clone())
}

/// Reads a contract; keys that do nothing yet are refused unless someone allows them.
pub fn compiled(contract: &str, allow_inert: bool) -> Result<Arc<Compiled>, Fault> {
    Ok(if allow_inert { Keeper::contract_with_inert(contract)? } else { Keeper::contract(contract)? })
}

/// Reads a time.
pub fn instant(text: &str) -> Result<Instant, Fault> {
    Instant::parse(text).ok_or_else(|| Fault::usage(format!("`{text}` is no RFC 3339 time with an offset")))
}

/// Tells the time.
pub fn set_clock(kept: &Kept, at: &str) -> Result<(), Fault> {
    let clock = kept.clock.as_ref().ok_or_else(|| Fault::usage("this store reads the clock of the machine"))?;
    clock.set(instant(at)?);
    Ok(())
}

/// Opens a flow for an agent, under an id of the caller's or one that is minted; its id.
pub fn open_flow(kept: &Kept, agent: &str, parent: Option<&str>, id: Option<&str>) -> Result<String, Fault> {
    let flow = id.map_or_else(Minted::id, str::to_owned);
    let (agent, parent) = (agent.to_owned(), parent.map(str::to_owned));
    change(kept, Act::OpenFlow { flow: flow.clone(), agent, parent })?;
    Ok(flow)
}

/// Closes a flow, or breaks it off.
pub fn end_flow(kept: &Kept, flow: &str, abort: bool) -> Result<(), Fault> {
    let event = if abort { FlowEvent::Abort } else { FlowEvent::Close };
    change(kept, Act::EndFlow { flow: flow.to_owned(), event }).map(|_| ())
}

/// Adds values to the session of a flow.
pub fn remember(kept: &Kept, flow: &str, values: &str) -> Result<(), Fault> {
    change(kept, Act::Remember { flow: flow.to_owned(), values: members(values)? }).map(|_| ())
}

/// Asks a person on the agent's own request; the question as JSON.
pub fn ask(kept: &Kept, agent: &str, flow: &str, said: &str) -> Result<String, Fault> {
    let inquiry = own_flow::inquiry(agent, flow, &members(said)?)?;
    Ok(told(kept.keeper.ask(&kept.operator, inquiry)?.event.as_ref()).to_canonical())
}

/// Takes resources for a flow, all or none; what it holds of them as JSON.
pub fn reserve(kept: &Kept, flow: &str, said: &str) -> Result<String, Fault> {
    let (wanted, wait) = own_flow::reservation(flow, &members(said)?, kept.keeper.now())?;
    let wait = std::time::Duration::from_micros(u64::try_from(wait.micros()).unwrap_or_default());
    Ok(told(kept.keeper.reserve(&kept.operator, &wanted, wait)?.event.as_ref()).to_canonical())
}

/// Gives resources of a flow back; which, as JSON.
pub fn release(kept: &Kept, flow: &str, resources: Vec<String>) -> Result<String, Fault> {
    Ok(told(kept.keeper.release(&kept.operator, flow, resources)?.event.as_ref()).to_canonical())
}

/// Writes something down in a flow.
pub fn note(kept: &Kept, flow: &str, name: &str, details: &str) -> Result<(), Fault> {
    kept.keeper.note(&kept.operator, flow, name, members(details)?)?;
    Ok(())
}

/// Freezes keys of the state, and the session of a flow; the snapshot as JSON.
pub fn snapshot(kept: &Kept, flow: Option<&str>, keys: &[String]) -> Result<String, Fault> {
    let answered = kept.keeper.snapshot(&kept.operator, flow, keys)?;
    Ok(answered.event.map(|event| event.to_json()).unwrap_or_default().to_canonical())
}

/// Takes over a context that was written elsewhere: state, snapshots and restrictions of agents.
pub fn take_over(kept: &Kept, context: &str) -> Result<(), Fault> {
    let context = Context::from_json(&parsed(context)?).map_err(|problem| Fault::usage(problem.to_string()))?;
    let write = |(key, value)| Write { key, value, expect: None };
    kept.keeper.merge(&kept.operator, context.state.into_iter().map(write).collect())?;
    for (name, snapshot) in context.snapshots {
        change(kept, Act::Import { name, snapshot })?;
    }
    for (agent, row) in context.agents {
        for restriction in row.restrictions {
            let actions = restriction.actions.into_iter().collect();
            let (agent, status, because) = (agent.clone(), restriction.status, restriction.because);
            change(kept, Act::Restrict { agent, status, because, actions })?;
        }
    }
    Ok(())
}

/// Writes state, all or nothing; the versions it has now.
pub fn merge(kept: &Kept, writes: &str) -> Result<String, Fault> {
    let list = parsed(writes)?;
    let writes = list.as_list().unwrap_or_default().iter().map(write).collect::<Result<Vec<_>, _>>()?;
    let answered = kept.keeper.merge(&kept.operator, writes)?;
    Ok(answered.event.map(|event| event.to_json()).unwrap_or_default().to_canonical())
}

fn write(json: &Json) -> Result<Write, Fault> {
    let key = json.get("key").and_then(Json::as_text).map(str::to_owned);
    let expect = json.get("expect").and_then(Json::as_number);
    let expect = expect.and_then(|version| version.to_string().parse::<u64>().ok());
    match (key, json.get("value")) {
        (Some(key), Some(value)) => Ok(Write { key, value: value.clone(), expect }),
        (Some(_) | None, Some(_) | None) => Err(Fault::usage("a write has a key and a value")),
    }
}

/// A value of the state with its version, as JSON.
pub fn state(kept: &Kept, key: &str) -> Result<Option<String>, Fault> {
    let found = kept.keeper.state(key)?;
    Ok(found.map(|(value, version)| Json::object([("value", value), ("version", Json::from(version))]).to_canonical()))
}

/// Places a restriction on an agent.
pub fn restrict(kept: &Kept, restriction: &str) -> Result<(), Fault> {
    let json = parsed(restriction)?;
    let text = |key: &str| json.get(key).and_then(Json::as_text).unwrap_or_default();
    let actions = json.get("actions").and_then(Json::as_list).unwrap_or_default();
    let act = Act::Restrict {
        agent: text("agent").to_owned(),
        status: status(text("status"))?,
        because: text("because").to_owned(),
        actions: actions.iter().filter_map(Json::as_text).map(str::to_owned).collect(),
    };
    change(kept, act).map(|_| ())
}

/// Lifts restrictions of one kind.
pub fn lift(kept: &Kept, agent: &str, word: &str, because: &str) -> Result<(), Fault> {
    let (agent, _) = lookup::agent_named(kept.keeper.runtime(), agent)?;
    if because.trim().is_empty() {
        return Err(Fault::usage("say why: lifting a restriction needs a reason"));
    }
    change(kept, Act::Lift { agent, status: status(word)?, because: because.to_owned() }).map(|_| ())
}

fn status(word: &str) -> Result<AgentStatus, Fault> {
    let upper = word.to_ascii_uppercase().replace('-', "_");
    let problem = || Fault::usage(format!("`{word}` is no state; one of {}", AgentStatus::WORDS.join(", ")));
    AgentStatus::from_word(&upper).ok_or_else(problem)
}

/// Carries out a change as the operator.
pub fn change(kept: &Kept, act: Act) -> Result<Answered, Fault> {
    Ok(carried_out(kept.keeper.runtime().change(kept.operator.clone(), act))?)
}

/// What a change tells.
pub fn told(event: Option<&Arc<Event>>) -> Json {
    event.map(|event| event.to_json()).unwrap_or_default()
}

/// JSON that Python wrote; it went through the strict door.
pub fn parsed(text: &str) -> Result<Json, Fault> {
    let refused = |refusal: values::json::Refusal| Fault::Library(Error::Invalid(refusal.to_string()));
    Json::parse_within(text.as_bytes(), &Bounds::FILE).map_err(refused)
}

fn members(text: &str) -> Result<Object, Fault> {
    parsed(text)?.as_object().cloned().ok_or_else(|| Fault::usage("values are an object"))
}
