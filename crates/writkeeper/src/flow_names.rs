//! Flows by the names that hosts give their sessions. A flow has an id of ours, which can serve as a trace id; the name is
//! whatever the host says.

use crate::error::Error;
use crate::lookup;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::flow_name::{flow_key, name_key};
use kernel::outcome::Verdict;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::{Minted, Runtime};
use values::json::Json;

/// The flow that an agent calls by a name; the first time it gets an id. Of two processes that name it at once, one does.
pub fn named(runtime: &Runtime, agent: &str, name: &str) -> Result<String, Error> {
    if let Some(flow) = text_at(runtime, flow_key(agent, name))? {
        return Ok(flow);
    }
    let flow = Minted::id();
    let write = |key: String, value: &str| Write { key, value: Json::text(value), expect: Some(0) };
    let act = Act::Merge(vec![write(flow_key(agent, name), &flow), write(name_key(agent, &flow), name)]);
    let answered = runtime.change_here(Actor::Agent(agent.to_owned()), act);
    if answered.at.is_some() && answered.answer.verdict == Verdict::Accept {
        return Ok(flow);
    }
    match text_at(runtime, flow_key(agent, name))? {
        Some(flow) => Ok(flow),
        None => Err(Error::Refused(answered.answer.findings.to_vec())),
    }
}

/// What an agent's flow is called, if it has a name.
pub fn name_of(runtime: &Runtime, agent: &str, flow: &str) -> Result<Option<String>, Error> {
    text_at(runtime, name_key(agent, flow))
}

/// The flow whose name this is, or the beginning of it. Names begin with their agent and a colon.
pub(crate) fn flow_called(runtime: &Runtime, text: &str) -> Result<Option<String>, Error> {
    let (typed, is_whole) = lookup::typed(text)?;
    let Some((agent, _)) = typed.split_once(':') else { return Ok(None) };
    let key = format!("{}{}", if is_whole { "=" } else { "" }, flow_key(agent, typed));
    match lookup::look_up(runtime, Kind::State, &key)? {
        Some((_, Row::State(row))) => Ok(row.value.as_text().map(str::to_owned)),
        Some(_) | None => Ok(None),
    }
}

fn text_at(runtime: &Runtime, key: String) -> Result<Option<String>, Error> {
    match runtime.read(Entity::State(key))? {
        Some(Row::State(row)) => Ok(row.value.as_text().map(str::to_owned)),
        Some(_) | None => Ok(None),
    }
}
