//! Entries of the ledger by the ids they tell of: proposals, intents, questions and flows, whole or by a beginning.

use crate::error::Error;
use crate::happening::findings;
use crate::lookup::{ambiguous, came_to_something, typed};
use kernel::agent::Actor;
use kernel::finding::Code;
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::Entity;
use runtime::ports::store::{Reader, StoreFault};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use values::json::{Bounds, Json};

/// Records read at once, from the end.
const PAGE: u64 = 512;

/// Agents looked at at once for who sent a proposal.
const AGENTS_PAGE: usize = 512;

/// An id of this length is meant as it is: nobody shortens to so much.
const WHOLE_CHARS: usize = 32;

/// What an id names, in the order in which a beginning is looked for: what is minted in one moment for one flow may begin
/// alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Intent,
    Question,
    Proposal,
    Flow,
    /// Ids of changes are shown nowhere but in records, so nobody shortens them.
    Change,
}

/// What came of a decision. A proposal may be sent several times; its id means the decision that most came of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CameOf {
    /// Refused because another proposal has the id.
    AnotherHasTheId,
    Nothing,
    /// A question, an intent; or it is no decision.
    Something,
}

/// An id that fits, the flow it belongs to and the entry that is meant: the latest of those that most came of.
struct Candidate {
    flow: String,
    index: u64,
    came_of: CameOf,
}

/// The latest entry that tells of an id or has this index; of a proposal that was sent several times, the one that most came
/// of. A beginning will do where it can mean one thing only; `=ID` is the whole id.
pub fn entry_of(reader: &mut dyn Reader, text: &str) -> Result<u64, Error> {
    let size = reader.size()?;
    if let Some(index) = text.parse::<u64>().ok().filter(|index| *index < size) {
        return Ok(index);
    }
    let (id, _) = typed(text)?;
    let minted = minted_as(reader, id)?;
    let senders = match minted {
        Some(_) => Some(Vec::new()),
        None => senders(reader, id)?,
    };
    if let Some(several) = senders.as_ref().filter(|senders| senders.len() > 1) {
        return Err(sent_by(id, several.iter().map(String::as_str)));
    }
    entry_among(reader, text, Meant { agent: None, only: minted, is_of_one: senders.is_some() })
}

/// What the kernel minted under exactly this id, if it did: then no agent's own name for a proposal counts beside it.
fn minted_as(reader: &mut dyn Reader, id: &str) -> Result<Option<Named>, Error> {
    if reader.get(&Entity::Intent(id.to_owned()))?.is_some() {
        return Ok(Some(Named::Intent));
    }
    Ok(reader.get(&Entity::Escalation(id.to_owned()))?.map(|_| Named::Question))
}

/// The agents that sent a proposal under exactly this id; nothing where the reader cannot tell, because a server keeps
/// stored answers to itself.
fn senders(reader: &mut dyn Reader, id: &str) -> Result<Option<Vec<String>>, Error> {
    let (mut senders, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = reader.scan(Kind::Agent, after.as_deref(), AGENTS_PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(Some(senders)) };
        after = Some(last.entity.parts().0.to_owned());
        for (key, _) in &page {
            let agent = key.entity.parts().0;
            match reader.get(&Entity::proposal_id(agent, id)) {
                Ok(None) => {}
                Ok(Some(_)) => senders.push(agent.to_owned()),
                Err(StoreFault::Refused(_)) => return Ok(None),
                Err(fault) => return Err(fault.into()),
            }
        }
    }
}

/// Several agents sent a proposal under one id: whichever came last would be taken for the one that is meant.
fn sent_by<'a>(id: &str, agents: impl Iterator<Item = &'a str>) -> Error {
    let sent: Vec<String> = agents.map(|agent| format!("{id} of {agent}")).collect();
    ambiguous(id, sent.iter().map(String::as_str))
}

/// The same for a whole id, among what one agent sent or did itself: agents choose ids, so another one may have the same.
pub fn entry_of_agent(reader: &mut dyn Reader, agent: &str, id: &str) -> Result<u64, Error> {
    entry_among(reader, &format!("={id}"), Meant { agent: Some(agent), only: None, is_of_one: true })
}

/// Among which entries one is looked for.
struct Meant<'m> {
    /// What this agent sent or did itself.
    agent: Option<&'m str>,
    /// What has the id as a thing of this kind.
    only: Option<Named>,
    /// Whether it is known that at most one agent sent a proposal under it; else all of the ledger is looked through.
    is_of_one: bool,
}

fn entry_among(reader: &mut dyn Reader, text: &str, meant: Meant<'_>) -> Result<u64, Error> {
    let size = reader.size()?;
    let (id, is_whole) = typed(text)?;
    let is_whole = is_whole || id.chars().count() >= WHOLE_CHARS;
    let mut found: BTreeMap<(Named, String), Candidate> = BTreeMap::new();
    let mut senders: BTreeSet<String> = BTreeSet::new();
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(PAGE);
        let records = reader.records(start, usize::try_from(end - start).unwrap_or_default())?;
        for record in records.iter().rev() {
            let body = record.body.as_ref().filter(|(body, _)| body.contains(id));
            let Some(body) = body.and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()) else {
                continue;
            };
            if meant.agent.is_some_and(|agent| !is_by(&body, agent)) {
                continue;
            }
            for (named, known) in ids(&body).filter(|(named, _)| meant.only.is_none_or(|only| only == *named)) {
                let came_of = if named == Named::Proposal { came_of(&body) } else { CameOf::Something };
                let is_sent = named == Named::Proposal && known == id && !meant.is_of_one;
                if is_sent {
                    senders.extend(body.get("agent").and_then(Json::as_text).map(str::to_owned));
                }
                if is_whole && known == id && named != Named::Flow && came_of == CameOf::Something && !is_sent {
                    return Ok(record.index);
                }
                let is_short = !is_whole && named != Named::Change && known.starts_with(id);
                if known == id || is_short {
                    let flow = flow_of(&body).unwrap_or_default().to_owned();
                    let candidate = Candidate { flow, index: record.index, came_of };
                    match found.entry((named, known.to_owned())) {
                        Entry::Vacant(entry) => {
                            entry.insert(candidate);
                        }
                        Entry::Occupied(mut entry) if entry.get().came_of < came_of => {
                            entry.insert(candidate);
                        }
                        Entry::Occupied(_) => {}
                    }
                }
            }
        }
        end = start;
    }
    if senders.len() > 1 {
        return Err(sent_by(id, senders.iter().map(String::as_str)));
    }
    chosen(text, &found)
}

/// Every entry that tells of the id which is meant, in order: a proposal that was sent again has several.
pub fn all_entries_of(reader: &mut dyn Reader, text: &str) -> Result<Vec<u64>, Error> {
    let latest = entry_of(reader, text)?;
    if text.parse::<u64>() == Ok(latest) {
        return Ok(vec![latest]);
    }
    let (beginning, _) = typed(text)?;
    let body = reader.records(latest, 1)?.pop().and_then(|record| record.body);
    let Some(body) = body.and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()) else {
        return Ok(vec![latest]);
    };
    let meant = ids(&body).filter(|(_, id)| id.starts_with(beginning)).min_by_key(|(named, _)| *named);
    let Some(meant) = meant.map(|(_, id)| id.to_owned()) else { return Ok(vec![latest]) };
    let mut found = Vec::new();
    let (mut next, size) = (0, reader.size()?);
    while next < size {
        let records = reader.records(next, usize::try_from(PAGE).unwrap_or_default())?;
        let Some(last) = records.last() else { break };
        next = last.index + 1;
        for record in &records {
            let body = record.body.as_ref().filter(|(body, _)| body.contains(&meant));
            let body = body.and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok());
            if body.is_some_and(|body| ids(&body).any(|(_, id)| id == meant)) {
                found.push(record.index);
            }
        }
    }
    Ok(found)
}

/// The same for many ids. Whole ids, as programs give them, are found in one pass over the ledger from its end; the other
/// ones are looked for one by one.
pub fn entries_of(reader: &mut dyn Reader, texts: &[String]) -> Result<Vec<u64>, Error> {
    let whole = texts.iter().filter_map(|text| text.strip_prefix('=')).filter(|id| !id.trim().is_empty());
    let mut wanted: BTreeSet<&str> = whole.collect();
    let mut known: BTreeMap<&str, u64> = BTreeMap::new();
    let mut end = reader.size()?;
    while end > 0 && !wanted.is_empty() {
        let start = end.saturating_sub(PAGE);
        let records = reader.records(start, usize::try_from(end - start).unwrap_or_default())?;
        for record in records.iter().rev() {
            let body = record.body.as_ref();
            let Some(body) = body.and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()) else {
                continue;
            };
            for (_, id) in ids(&body).filter(|(named, _)| *named != Named::Flow) {
                if let Some(id) = wanted.take(id) {
                    known.insert(id, record.index);
                }
            }
        }
        end = start;
    }
    let found = texts.iter().map(|text| {
        let known = text.strip_prefix('=').and_then(|id| known.get(id));
        known.map_or_else(|| entry_of(reader, text), |index| Ok(*index))
    });
    found.collect()
}

/// The one that is meant. Ids of one flow may begin alike, and the first kind counts; those of several flows are told.
fn chosen(text: &str, found: &BTreeMap<(Named, String), Candidate>) -> Result<u64, Error> {
    let Some(((kind, _), first)) = found.first_key_value() else {
        return Err(Error::Invalid(format!(
            "no record tells of `{}`; give the id of a proposal, an intent, a question or a flow, or an index",
            kernel::finding::shown(&Json::text(text))
        )));
    };
    let of_kind = found.keys().filter(|(named, _)| named == kind).count();
    let one_flow = found.values().all(|candidate| candidate.flow == first.flow);
    if of_kind == 1 && one_flow {
        return Ok(first.index);
    }
    Err(ambiguous(text, found.keys().map(|(_, id)| id.as_str())))
}

/// Everything a record tells of by its id. A record of something else than a decision names its flow only in passing.
fn ids(body: &Json) -> impl Iterator<Item = (Named, &str)> {
    let inner = |key: &str| body.get(key).and_then(|inner| inner.get("id"));
    let is_decision = body.get("proposal_id").is_some();
    let named = [
        (Named::Intent, inner("intent")),
        (Named::Question, inner("escalation")),
        (Named::Proposal, body.get("proposal_id")),
        (Named::Flow, body.get("flow").filter(|_| is_decision)),
        (Named::Change, body.get("id")),
    ];
    named.into_iter().filter_map(|(named, id)| Some((named, id?.as_text()?)))
}

/// Whether a record is of what an agent sent or did itself.
fn is_by(body: &Json, agent: &str) -> bool {
    let said = |key: &str| body.get(key).and_then(Json::as_text);
    match said("actor") {
        Some(actor) => Actor::parse(actor) == Some(Actor::Agent(agent.to_owned())),
        None => said("agent") == Some(agent),
    }
}

fn flow_of(body: &Json) -> Option<&str> {
    let own = body.get("flow").and_then(Json::as_text);
    own.or_else(|| body.get("intent").and_then(|intent| intent.get("flow")).and_then(Json::as_text))
}

fn came_of(body: &Json) -> CameOf {
    if findings(body).iter().any(|finding| finding.code == Code::Known(Reason::ProposalIdReused)) {
        return CameOf::AnotherHasTheId;
    }
    if came_to_something(body) { CameOf::Something } else { CameOf::Nothing }
}
