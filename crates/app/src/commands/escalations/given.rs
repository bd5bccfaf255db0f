//! What people said to a question, told from the records: a vote alone only holds a digest.

use crate::store::History;
use crate::terminal::{param, param_name};
use kernel::agent::Actor;
use kernel::escalation::EscalationRow;
use runtime::Runtime;
use std::collections::BTreeMap;
use values::ids::Digest;
use values::json::{Json, Object};

/// One thing that was said, by everyone who said exactly it.
#[derive(Clone, Debug)]
pub struct Given {
    /// The word.
    pub decision: String,
    /// The proposal that is to happen instead, for MODIFY.
    pub instead: Option<Json>,
    /// Who.
    pub people: Vec<String>,
    /// Whether it was said under the contract that counts.
    pub counts: bool,
}

/// The votes of a question, gathered by what they are for.
pub fn given(runtime: &Runtime, name: &str, row: &EscalationRow, in_force: Digest) -> anyhow::Result<Vec<Given>> {
    if row.votes.is_empty() {
        return Ok(Vec::new());
    }
    let mut said: BTreeMap<String, Json> = BTreeMap::new();
    let mut ledger = History::since(runtime, Some(row.asked_at))?;
    while let Some(body) = ledger.next_body()? {
        let text = |key: &str| body.get(key).and_then(Json::as_text).unwrap_or_default();
        let of_question = body.get("command").and_then(|command| command.get("question")).and_then(Json::as_text);
        if text("kind") != "answer" || text("verdict") != "ACCEPT" || of_question != Some(name) {
            continue;
        }
        if let (Some(Actor::Operator(person)), Some(command)) = (Actor::parse(text("actor")), body.get("command")) {
            said.insert(person, command.clone());
        }
    }
    let mut gathered: Vec<(Digest, Given)> = Vec::new();
    for vote in &row.votes {
        if let Some((_, known)) = gathered.iter_mut().find(|(digest, _)| *digest == vote.digest) {
            known.people.push(vote.person.clone());
            continue;
        }
        let command = said.get(&vote.person);
        let text = |key: &str| command.and_then(|command| command.get(key)).and_then(Json::as_text);
        let instead = command.and_then(|command| command.get("modified")?.get("proposal")).cloned();
        let given = Given {
            decision: text("decision").unwrap_or("something else").to_owned(),
            instead,
            people: vec![vote.person.clone()],
            counts: text("contract") == Some(in_force.to_string().as_str()),
        };
        gathered.push((vote.digest, given));
    }
    Ok(gathered.into_iter().map(|(_, given)| given).collect())
}

/// What another proposal changes, one line each.
pub fn changes(before: &Json, after: &Json) -> Vec<String> {
    let nothing = Object::new();
    let params = |json: &Json| json.get("params").and_then(Json::as_object).cloned().unwrap_or_else(|| nothing.clone());
    let (old, new) = (params(before), params(after));
    let shown = |value: Option<&Json>| value.map_or_else(|| "nothing".to_owned(), param);
    let mut lines = Vec::new();
    if before.get("action") != after.get("action") {
        lines.push(format!("action: {} \u{2192} {}", shown(before.get("action")), shown(after.get("action"))));
    }
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names.into_iter().filter(|name| old.get(*name) != new.get(*name)) {
        lines.push(format!("{}: {} \u{2192} {}", param_name(name), shown(old.get(name)), shown(new.get(name))));
    }
    if lines.is_empty() {
        lines.push("the same params".to_owned());
    }
    lines
}
