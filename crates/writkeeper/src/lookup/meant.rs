//! What an id means: a flow, a question or an intent, found by its own id or by the id of something that belongs to it.

use super::{ambiguous, look_up, typed};
use crate::error::Error;
use crate::flow_names;
use crate::happening::findings;
use crate::history::History;
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::finding::Code;
use kernel::intent::IntentRow;
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::{Entity, FlowRow, Row};
use runtime::Runtime;
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;

/// Flows that are looked for after the first that fits; more need not be told.
const FOUND_MAX: usize = 5;

/// Questions or intents looked through at once.
const PAGE: usize = 512;

/// What an id or its beginning means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Agent(String),
    Flow(String),
    Question(String),
    Intent(String),
    /// A proposal that is known by its flow only.
    Proposal {
        flow: String,
    },
}

impl Found {
    /// The whole id.
    pub fn id(&self) -> &str {
        match self {
            Found::Agent(id) | Found::Flow(id) | Found::Question(id) | Found::Intent(id) => id,
            Found::Proposal { flow } => flow,
        }
    }
}

/// Whatever is called this or starts like this. What was minted in one moment for one flow may begin alike: then the
/// intent counts before the question, and the question before the flow.
pub fn anything(runtime: &Runtime, text: &str) -> Result<Found, Error> {
    let mut found: Vec<(Found, String)> = Vec::new();
    if let Some((id, Row::Intent(row))) = look_up(runtime, Kind::Intent, text)? {
        found.push((Found::Intent(id), row.facts.flow().to_owned()));
    }
    if let Some((id, Row::Escalation(row))) = look_up(runtime, Kind::Escalation, text)? {
        found.push((Found::Question(id), row.flow));
    }
    if let Some((id, Row::Flow(_))) = look_up(runtime, Kind::Flow, text)? {
        found.push((Found::Flow(id.clone()), id));
    }
    if found.is_empty()
        && let Some(flow) = flow_names::flow_called(runtime, text)?
    {
        return Ok(Found::Flow(flow));
    }
    let flows: BTreeSet<&String> = found.iter().map(|(_, flow)| flow).collect();
    if flows.len() > 1 {
        return Err(ambiguous(text, found.iter().map(|(found, _)| found.id())));
    }
    if let Some((first, _)) = found.into_iter().next() {
        return Ok(first);
    }
    if let Some((name, Row::Agent(_))) = look_up(runtime, Kind::Agent, text)? {
        return Ok(Found::Agent(name));
    }
    match flow_of_proposal(runtime, text)? {
        Some(flow) => Ok(Found::Proposal { flow }),
        None => Err(Error::NotFound { kind: Kind::Flow, id: text.to_owned() }),
    }
}

/// A flow by its own id or name, or by a question, an intent or a proposal of it.
pub fn flow(runtime: &Runtime, text: &str) -> Result<(String, FlowRow), Error> {
    if let Some((name, Row::Flow(row))) = look_up(runtime, Kind::Flow, text)? {
        return Ok((name, row));
    }
    let name = match look_up(runtime, Kind::Escalation, text)? {
        Some((_, Row::Escalation(row))) => Some(row.flow),
        Some(_) | None => match look_up(runtime, Kind::Intent, text)? {
            Some((_, Row::Intent(row))) => Some(row.facts.flow().to_owned()),
            Some(_) | None => match flow_names::flow_called(runtime, text)? {
                Some(flow) => Some(flow),
                None => flow_of_proposal(runtime, text)?,
            },
        },
    };
    let row = match &name {
        Some(name) => runtime.read(Entity::Flow(name.clone()))?,
        None => None,
    };
    match (name, row) {
        (Some(name), Some(Row::Flow(row))) => Ok((name, row)),
        (Some(_) | None, _) => Err(Error::NotFound { kind: Kind::Flow, id: text.to_owned() }),
    }
}

/// The one flow with a proposal that is called this or starts like this; agents choose such ids, so several may fit.
fn flow_of_proposal(runtime: &Runtime, text: &str) -> Result<Option<String>, Error> {
    let (text, is_whole) = typed(text)?;
    let mut found: BTreeMap<(String, String), ProposalFlow> = BTreeMap::new();
    let mut ledger = History::since(runtime, None)?;
    while let Some(body) = ledger.next_body()? {
        let said = |key: &str| body.get(key).and_then(Json::as_text);
        let Some((id, flow)) = said("proposal_id").zip(said("flow")) else { continue };
        if id != text && (is_whole || !id.starts_with(text)) {
            continue;
        }
        // Refused because the id was another's already: it is not what the id means.
        if findings(&body).iter().any(|finding| finding.code == Code::Known(Reason::ProposalIdReused)) {
            continue;
        }
        let sent = (said("agent").unwrap_or_default().to_owned(), id.to_owned());
        let own = ProposalFlow { flow: flow.to_owned(), came_to_something: came_to_something(&body) };
        match found.get(&sent) {
            Some(known) if known.came_to_something || !own.came_to_something => {}
            Some(_) | None => {
                found.insert(sent, own);
            }
        }
        if found.len() > FOUND_MAX {
            break;
        }
    }
    let flows: BTreeSet<&String> = found.values().map(|sent| &sent.flow).collect();
    if flows.len() > 1 {
        let names: Vec<String> =
            found.iter().map(|((agent, id), sent)| format!("{id} of {agent} in flow {}", sent.flow)).collect();
        return Err(ambiguous(text, names.iter().map(String::as_str)));
    }
    Ok(flows.into_iter().next().cloned())
}

/// Where one proposal of an agent was judged. Sent again it may be judged in another flow; it means the first in which
/// something came of it.
struct ProposalFlow {
    flow: String,
    came_to_something: bool,
}

/// Whether a decision made an intent or asked a question.
pub(crate) fn came_to_something(body: &Json) -> bool {
    let intent = body.get("intent").is_some_and(|intent| *intent != Json::Null);
    intent || body.get("escalation").is_some_and(|question| question.get("repeated").is_none())
}

/// A question by its own id, or by its proposal, flow or intent.
pub fn question(runtime: &Runtime, text: &str) -> Result<(String, EscalationRow), Error> {
    if let Some((name, Row::Escalation(row))) = look_up(runtime, Kind::Escalation, text)? {
        return Ok((name, *row));
    }
    let (text, is_whole) = typed(text)?;
    let fits = |id: &str| id == text || !is_whole && id.starts_with(text);
    let mut found: Vec<(String, EscalationRow)> = Vec::new();
    each(runtime, Kind::Escalation, |name, row| {
        if let Row::Escalation(row) = row
            && [&row.proposal_id, &row.flow, &row.intent].into_iter().any(|id| fits(id))
        {
            found.push((name, *row));
        }
    })?;
    // A proposal that was sent again is one proposal, and its id means the question that waits, or the last one.
    let agent = found.first().map(|(_, row)| row.agent.clone());
    let of_one = |(_, row): &(String, EscalationRow)| row.proposal_id == text && Some(&row.agent) == agent.as_ref();
    if found.len() > 1 && found.iter().all(of_one) {
        found.sort_by_key(|(_, row)| (row.state == EscalationState::Open, row.asked_at));
        return found.pop().ok_or_else(|| Error::NotFound { kind: Kind::Escalation, id: text.to_owned() });
    }
    if found.len() > 1 {
        let names = found.iter().map(|(name, row)| {
            let ids = [&row.proposal_id, &row.flow, &row.intent];
            let id = ids.into_iter().find(|id| id.starts_with(text)).map_or("", String::as_str);
            format!("question {name} of {id}")
        });
        let names: Vec<String> = names.collect();
        return Err(ambiguous(text, names.iter().map(String::as_str)));
    }
    found.pop().ok_or_else(|| Error::NotFound { kind: Kind::Escalation, id: text.to_owned() })
}

/// An intent by its own id, or by its proposal, its flow or the question about it. An undoing has the proposal of what it
/// undoes, and is meant by its own id only.
pub fn intent(runtime: &Runtime, text: &str) -> Result<(String, Box<IntentRow>), Error> {
    if let Some((name, Row::Intent(row))) = look_up(runtime, Kind::Intent, text)? {
        return Ok((name, row));
    }
    let (typed, is_whole) = typed(text)?;
    let is_meant = |id: &str| id == typed || !is_whole && id.starts_with(typed);
    let mut found: Vec<(String, Box<IntentRow>)> = Vec::new();
    each(runtime, Kind::Intent, |name, row| {
        let Row::Intent(row) = row else { return };
        let running = row.running.as_deref();
        let question = running.and_then(|running| running.question.as_deref());
        let undoes = running.is_some_and(|running| running.undoes.is_some());
        let ids = [Some(row.facts.proposal()), Some(row.facts.flow()), question];
        if !undoes && ids.into_iter().flatten().any(is_meant) {
            found.push((name, row));
        }
    })?;
    let agent = found.first().map(|(_, row)| row.facts.agent().to_owned());
    let of_one = |(_, row): &(String, Box<IntentRow>)| {
        row.facts.proposal() == typed && Some(row.facts.agent()) == agent.as_deref()
    };
    if found.len() > 1 && found.iter().all(of_one) {
        // A proposal that was sent again is one proposal, and its id means what came of it last.
        found.sort_by_key(|(_, row)| row.accepted_at);
        return found.pop().ok_or_else(|| Error::NotFound { kind: Kind::Intent, id: text.to_owned() });
    }
    if found.len() > 1 {
        return Err(ambiguous(text, found.iter().map(|(name, _)| name.as_str())));
    }
    found.pop().ok_or_else(|| Error::NotFound { kind: Kind::Intent, id: text.to_owned() })
}

/// Every entity of a kind, in the order of ids.
pub fn each(runtime: &Runtime, kind: Kind, mut look: impl FnMut(String, Row)) -> Result<(), Error> {
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(kind, after.as_deref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in page {
            look(key.entity.parts().0.to_owned(), row);
        }
    }
}
