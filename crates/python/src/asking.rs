//! Questions, answers, and who may give them.

use crate::context::{parsed, told};
use crate::faults::Fault;
use crate::store::Kept;
use kernel::escalation::EscalationState;
use kernel::proposal::Proposal;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use values::ids::Digest;
use values::json::Json;
use writkeeper::{Error, GivenWords, lookup};

/// What waits for people, most urgent first.
pub fn questions(kept: &Kept) -> Result<String, Fault> {
    Ok(kept.keeper.inbox()?.to_json().to_canonical())
}

/// One question.
pub fn question(kept: &Kept, id: &str) -> Result<String, Fault> {
    Ok(kept.keeper.question(id)?.to_json().to_canonical())
}

/// The call that a person approved with this very intent: its agent, its action and its params.
pub fn approved(kept: &Kept, intent: &str) -> Result<Option<String>, Fault> {
    let row = match lookup::question(kept.keeper.runtime(), intent) {
        Ok((_, row)) => row,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if row.state != EscalationState::Overridden {
        return Ok(None);
    }
    let part = |key: &str| row.proposal.get(key).cloned().unwrap_or_default();
    let call = [("agent", Json::text(row.agent.as_str())), ("action", part("action")), ("params", part("params"))];
    Ok(Some(Json::object(call).to_canonical()))
}

/// Gives a person's answer; what came of it.
pub fn answer(kept: &Kept, question: &str, words: &str) -> Result<String, Fault> {
    let json = parsed(words)?;
    let text = |key: &str| json.get(key).and_then(Json::as_text);
    let digest = match text("digest") {
        Some(text) => {
            let problem = || Fault::usage("`digest` is a SHA-256 of 64 hexadecimal digits");
            Some(Digest::parse(text).ok_or_else(problem)?)
        }
        None => None,
    };
    let instead = match json.get("instead") {
        None | Some(Json::Null) => None,
        Some(instead) => Some(Proposal::from_json(instead.clone()).map_err(|malformed| {
            let said: Vec<String> = malformed.findings.iter().map(|finding| finding.message()).collect();
            Fault::Library(Error::Invalid(format!("`instead` is no proposal: {}", said.join("; "))))
        })?),
    };
    let words = GivenWords {
        person: text("by").unwrap_or_default().to_owned(),
        decision: text("decision").unwrap_or_default().to_owned(),
        digest,
        because: text("because").unwrap_or_default().to_owned(),
        instead,
    };
    let answered = kept.keeper.answer_words(question, &words)?;
    let intent = answered.answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json());
    Ok(Json::object([("result", told(answered.event.as_ref())), ("intent", intent)]).to_canonical())
}

/// Says who is in some groups; how many people changed.
pub fn people(kept: &Kept, groups: &str) -> Result<usize, Fault> {
    let json = parsed(groups)?;
    let members = json.as_object().ok_or_else(|| Fault::usage("groups are an object of lists of people"))?;
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (group, people) in members {
        let people = people.as_list().ok_or_else(|| Fault::usage(format!("group `{group}` is no list of people")))?;
        let people = people.iter().filter_map(Json::as_text).map(str::to_owned);
        groups.insert(group.clone(), people.collect());
    }
    Ok(kept.keeper.set_members(&kept.operator, &groups)?)
}

/// How a question stands, once it is answered or the time is over.
pub fn await_answer(kept: &Kept, question: &str, wait: Duration) -> Result<Option<String>, Fault> {
    let row = kept.keeper.runtime().await_answer(question, Instant::now() + wait);
    let row = row.map_err(|fault| Fault::Library(fault.into()))?;
    Ok(row.map(|row| {
        let given = row.answer.as_ref();
        let text = |text: Option<String>| Json::from(text);
        let stands = Json::object([
            ("question", Json::text(question)),
            ("state", Json::text(row.state.word())),
            ("by", text(given.and_then(|given| given.person.clone()))),
            ("because", text(given.map(|given| given.reason.clone()))),
            ("intent", text(given.and_then(|given| given.intent.clone()))),
            ("proposal", row.proposal.clone()),
        ]);
        stands.to_canonical()
    }))
}
