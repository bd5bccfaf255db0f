//! What stands around a question: where its values came from, whom it was put to, and what was approved before it.

use super::card::shown_proposal;
use super::contract_in_force;
use crate::error::Error;
use crate::keeper::Keeper;
use kernel::change::ActKind;
use kernel::contract::{EffectClass, Limit};
use kernel::escalation::{EscalationRow, EscalationState, QuestionKind};
use kernel::record::RecordKind;
use kernel::request::Provenance;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::collections::BTreeMap;
use values::json::{Bounds, Json, Object};
use values::time::{Duration, Instant};

/// Records looked through for what was approved before.
pub const LOOKED_BACK: u64 = 4_096;

/// Records read at once.
const PAGE: u64 = 512;

/// What a person wants to know besides the question and its card.
#[derive(Clone, PartialEq, Debug)]
pub struct Surroundings {
    /// Where the door says the values came from.
    pub provenance: Provenance,
    /// The units of its params, where the contract names one.
    pub units: BTreeMap<String, String>,
    /// What the receiving side guarantees about repeated requests; nothing where the runtime performs nothing.
    pub class: Option<EffectClass>,
    /// The name and the version of the contract it would be answered under.
    pub contract: Option<(String, String)>,
    /// The agent whose contract that one must stay inside: on whose behalf it acts.
    pub behalf: Option<String>,
    /// The flows that its flow came out of, nearest first.
    pub above: Vec<String>,
    /// Who may answer, group by group; a group without members is listed too.
    pub asked: Vec<AskedGroup>,
    /// When people are reminded; nothing once they were.
    pub remind: Option<Instant>,
    /// Whether an answer counts only with a signature, by the contract that asked or by the one in force.
    pub signed: bool,
    /// For how long what is approved may be started.
    pub valid_after: Option<Duration>,
    /// What was approved last for the same agent and action, and how this differs from it.
    pub sibling: Option<Sibling>,
}

/// A group that was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedGroup {
    /// Its name.
    pub group: String,
    /// From when on it may answer, where that is later than the question.
    pub from: Option<Instant>,
    /// Who is in it.
    pub people: Vec<String>,
}

/// A question about the same action of the same agent that was approved.
#[derive(Clone, PartialEq, Debug)]
pub struct Sibling {
    /// Which.
    pub question: String,
    /// Who approved it.
    pub person: Option<String>,
    /// When.
    pub at: Instant,
    /// What differs, by name; nothing where all params are the same.
    pub changes: Vec<Changed>,
}

/// A param that differs. What may not be shown is withheld.
#[derive(Clone, PartialEq, Debug)]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// What it was.
    pub before: Option<Json>,
    /// What it is.
    pub after: Option<Json>,
}

impl Surroundings {
    /// Of a question.
    pub fn of(keeper: &Keeper, row: &EscalationRow) -> Result<Surroundings, Error> {
        let runtime = keeper.runtime();
        let action = row.proposal.get("action").and_then(Json::as_text).unwrap_or_default();
        let contract = contract_in_force(runtime, row).and_then(|digest| Ok(runtime.contract(digest)?)).ok();
        let contract = contract.as_ref().map(|compiled| &compiled.contract);
        let rules = contract.and_then(|contract| contract.actions.get(action));
        let limits = rules.map(|action| &action.limits);
        let unit = |(name, limit): (&String, &Limit)| Some((name.clone(), limit.unit.clone()?));
        let flow = match runtime.read(Entity::Flow(row.flow.clone()))? {
            Some(Row::Flow(flow)) => flow.above,
            Some(_) | None => Vec::new(),
        };
        Ok(Surroundings {
            provenance: Provenance::from_json(&row.provenance).unwrap_or(Provenance::Unknown),
            units: limits.into_iter().flatten().filter_map(unit).collect(),
            class: rules.and_then(|action| action.run.as_ref()).map(|run| run.class),
            contract: contract.map(|contract| (contract.id.clone(), contract.version.to_string())),
            behalf: contract.and_then(|contract| contract.parent.clone()),
            above: flow,
            asked: asked(keeper, row)?,
            remind: row.remind,
            signed: row.signed || contract.is_some_and(|contract| contract.escalation.signed),
            valid_after: contract.map(|contract| contract.escalation.valid_after),
            sibling: sibling(runtime, row, action)?,
        })
    }
}

/// Everyone who may answer now or later, by groups.
fn asked(keeper: &Keeper, row: &EscalationRow) -> Result<Vec<AskedGroup>, Error> {
    let people = keeper.people()?;
    let members = |group: &str| {
        let own = people.iter().filter(|(_, person)| person.groups.contains(group));
        own.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let group = |group: &str, from: Option<Instant>| {
        let people = members(group);
        AskedGroup { group: group.to_owned(), from, people }
    };
    let first = row.entitled(row.asked_at).into_iter().map(|name| group(name, None));
    let later = row.reroute.iter().filter(|reroute| reroute.at > row.asked_at);
    Ok(first.chain(later.map(|reroute| group(&reroute.to, Some(reroute.at)))).collect())
}

/// The last question about the same action of the same agent that was approved as it was, if it is not too long ago.
fn sibling(runtime: &Runtime, row: &EscalationRow, action: &str) -> Result<Option<Sibling>, Error> {
    if row.kind == QuestionKind::Doubt {
        return Ok(None);
    }
    // What is over is compared with what was known when it was asked.
    let mut end = if row.due().is_some() { runtime.size()? } else { runtime.first_at(row.asked_at)? };
    let floor = end.saturating_sub(LOOKED_BACK);
    while end > floor {
        let from = end.saturating_sub(PAGE).max(floor);
        let page = runtime.records(from, usize::try_from(end - from).unwrap_or_default())?;
        for record in page.iter().rev().filter(|record| record.index < end) {
            // Most records are no answers, and reading each of them would take long.
            let body = record.body.as_ref().map(|(body, _)| body).filter(|body| body.contains("\"question\""));
            let Some(question) = body.and_then(|body| answered(body)) else { continue };
            let Some(Row::Escalation(found)) = runtime.read(Entity::Escalation(question.clone()))? else { continue };
            let is_same =
                found.agent == row.agent && found.proposal.get("action").and_then(Json::as_text) == Some(action);
            if is_same && found.state == EscalationState::Overridden {
                return Ok(Some(compared(runtime, question, &found, row)));
            }
        }
        end = from;
    }
    Ok(None)
}

/// The question that a record of an answer is about.
fn answered(body: &str) -> Option<String> {
    let body = Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()?;
    let is_answer = RecordKind::of(&body) == Some(RecordKind::Change(ActKind::Answer));
    let question = body.get("command")?.get("question")?.as_text()?.to_owned();
    is_answer.then_some(question)
}

fn compared(runtime: &Runtime, question: String, approved: &EscalationRow, row: &EscalationRow) -> Sibling {
    let params = |row: &EscalationRow| {
        let shown = shown_proposal(runtime, row);
        shown.get("params").and_then(Json::as_object).cloned().unwrap_or_default()
    };
    let answer = approved.answer.as_ref();
    Sibling {
        question,
        person: answer.and_then(|answer| answer.person.clone()),
        at: answer.map_or(approved.asked_at, |answer| answer.at),
        changes: differences(&params(approved), &params(row)),
    }
}

/// What differs between two sets of params, in the order of names.
pub fn differences(before: &Object, after: &Object) -> Vec<Changed> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let differ = names.filter(|name| before.get(*name) != after.get(*name));
    let changed = |name: &String| Changed {
        name: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    };
    let mut changes: Vec<Changed> = differ.map(changed).collect();
    changes.sort_by(|one, other| one.name.cmp(&other.name));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_listed_by_name_whichever_side_has_it() {
        let check = |before: &str, after: &str, names: &[&str]| {
            let read = |text: &str| Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone();
            let found = differences(&read(before), &read(after));
            let found: Vec<&str> = found.iter().map(|changed| changed.name.as_str()).collect();
            assert_eq!(found, names, "{before} {after}");
        };
        check(r#"{"a":1}"#, r#"{"a":1}"#, &[]);
        check(r#"{"a":1,"z":1}"#, r#"{"a":2,"m":1}"#, &["a", "m", "z"]);
        check(r#"{}"#, r#"{"b":null}"#, &["b"]);
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, &["a"]);
    }
}
