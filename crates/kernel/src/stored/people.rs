//! Questions to people as a store keeps them.

use super::{instant_json, instant_of, nullable, optional_text, text_of, texts_of, whole_of};
use crate::advice::Advice;
use crate::contract::Impact;
use crate::escalation::{
    AgentRequest, EscalationRow, EscalationState, GivenAnswer, HumanDecision, QuestionKind, Reroute, Vote,
};
use crate::intent::DoubtDecision;
use crate::person::{person_key_text, read_person_key};
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

pub(super) fn to_json(row: &EscalationRow) -> Json {
    let votes = row.votes.iter().map(|vote| {
        Json::object([
            ("digest", Json::text(vote.digest.to_string())),
            ("person", Json::text(vote.person.as_str())),
            ("at", instant_json(vote.at)),
        ])
    });
    let mut json = Json::object([
        ("state", Json::text(row.state.word())),
        ("agent", Json::text(row.agent.as_str())),
        ("flow", Json::text(row.flow.as_str())),
        ("proposal_id", Json::text(row.proposal_id.as_str())),
        ("proposal", row.proposal.clone()),
        ("digest", Json::text(row.digest.to_string())),
        ("contract", Json::text(row.contract.to_string())),
        ("reasons", Json::texts(row.reasons.iter().map(String::as_str))),
        ("impact", Json::text(row.impact.word())),
        ("approvers", Json::texts(row.approvers.iter().map(String::as_str))),
        ("quorum", Json::from(row.quorum)),
        ("asked_at", instant_json(row.asked_at)),
        ("deadline", row.deadline.map_or(Json::Null, instant_json)),
        ("votes", Json::List(votes.collect())),
        ("answer", row.answer.as_ref().map_or(Json::Null, answer_json)),
        ("provenance", row.provenance.clone()),
        ("intent", Json::text(row.intent.as_str())),
    ]);
    if let Json::Object(members) = &mut json {
        let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
        if let Some(by) = &row.by {
            put("by", Json::text(by.as_str()));
        }
        if row.signed {
            put("signed", Json::Bool(true));
        }
        if row.kind != QuestionKind::Proposal {
            put("kind", Json::text(row.kind.word()));
        }
        if !row.advice.is_empty() {
            put("advice", Advice::list_to_json(&row.advice));
        }
        if let Some(request) = &row.request {
            let reason = ("reason", Json::text(request.reason.as_str()));
            put("request", Json::object([reason, ("context", Json::Object(request.context.clone()))]));
        }
        if let Some(remind) = row.remind {
            put("remind", instant_json(remind));
        }
        if let Some(reroute) = &row.reroute {
            let to = Json::text(reroute.to.as_str());
            put(
                "reroute",
                Json::object([("at", instant_json(reroute.at)), ("to", to), ("told", Json::Bool(reroute.told))]),
            );
        }
    }
    json
}

/// How a question ended, as rows and answers show it.
pub(crate) fn answer_json(answer: &GivenAnswer) -> Json {
    let mut json = Json::object([
        ("decision", Json::from(answer.decision.map(|decision| decision.word().to_owned()))),
        ("person", Json::from(answer.person.clone())),
        ("reason", Json::text(answer.reason.as_str())),
        ("at", instant_json(answer.at)),
        ("intent", Json::from(answer.intent.clone())),
    ]);
    if let Json::Object(members) = &mut json {
        let mut put = |key: &str, text: String| members.insert(key.to_owned(), Json::Text(text));
        answer.doubt.map(|doubt| put("doubt", doubt.word().to_owned()));
        answer.os_user.as_ref().map(|os_user| put("os_user", os_user.clone()));
        answer.login.as_ref().map(|login| put("login", login.clone()));
        answer.key.as_ref().map(|key| put("key", person_key_text(key)));
    }
    json
}

pub(crate) fn read_answer(given: &Json) -> Option<GivenAnswer> {
    let decision = match nullable(given, "decision")? {
        None => None,
        Some(word) => Some(HumanDecision::from_word(word.as_text()?)?),
    };
    let doubt = match given.get("doubt") {
        None => None,
        Some(word) => Some(DoubtDecision::from_word(word.as_text()?)?),
    };
    let key = match given.get("key") {
        None => None,
        Some(text) => Some(read_person_key(text.as_text()?)?),
    };
    Some(GivenAnswer {
        decision,
        doubt,
        key,
        os_user: optional_text(given, "os_user"),
        login: optional_text(given, "login"),
        person: optional_text(given, "person"),
        reason: text_of(given, "reason")?,
        at: instant_of(given, "at")?,
        intent: optional_text(given, "intent"),
    })
}

pub(super) fn from_json(json: &Json) -> Option<EscalationRow> {
    let vote = |item: &Json| {
        Some(Vote {
            digest: Digest::parse(item.get("digest")?.as_text()?)?,
            person: text_of(item, "person")?,
            at: instant_of(item, "at")?,
        })
    };
    let answer = match nullable(json, "answer")? {
        None => None,
        Some(given) => Some(read_answer(given)?),
    };
    let kind = match json.get("kind") {
        None => QuestionKind::Proposal,
        Some(word) => QuestionKind::from_word(word.as_text()?)?,
    };
    let reroute = match json.get("reroute") {
        None => None,
        Some(reroute) => Some(Reroute {
            at: instant_of(reroute, "at")?,
            to: text_of(reroute, "to")?,
            told: reroute.get("told") == Some(&Json::Bool(true)),
        }),
    };
    Some(EscalationRow {
        kind,
        state: EscalationState::from_word(json.get("state")?.as_text()?)?,
        agent: text_of(json, "agent")?,
        by: optional_text(json, "by"),
        flow: text_of(json, "flow")?,
        proposal_id: text_of(json, "proposal_id")?,
        proposal: json.get("proposal")?.clone(),
        digest: Digest::parse(json.get("digest")?.as_text()?)?,
        contract: Digest::parse(json.get("contract")?.as_text()?)?,
        reasons: texts_of(json, "reasons")?,
        impact: Impact::from_word(json.get("impact")?.as_text()?)?,
        approvers: texts_of(json, "approvers")?,
        quorum: whole_of(json, "quorum")?,
        signed: json.get("signed").is_some(),
        asked_at: instant_of(json, "asked_at")?,
        deadline: match nullable(json, "deadline")? {
            None => None,
            Some(_) => Some(instant_of(json, "deadline")?),
        },
        remind: optional_instant(json, "remind")?,
        reroute,
        votes: json.get("votes")?.as_list()?.iter().map(vote).collect::<Option<_>>()?,
        answer,
        provenance: json.get("provenance")?.clone(),
        intent: text_of(json, "intent")?,
        advice: Advice::list_from_json(json.get("advice"))?,
        request: match json.get("request") {
            None => None,
            Some(said) => {
                let context = said.get("context")?.as_object()?.clone();
                Some(AgentRequest { reason: text_of(said, "reason")?, context })
            }
        },
    })
}

/// The outer `None` says that something else stands there.
fn optional_instant(json: &Json, key: &str) -> Option<Option<Instant>> {
    if json.get(key).is_none() { Some(None) } else { instant_of(json, key).map(Some) }
}
