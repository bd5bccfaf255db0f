//! Intents as a store keeps them: what says nothing is left out.

use super::{decimal_json, instant_json, instant_of, optional_text, text_of, texts_of, whole_of};
use crate::contract::ResourceKind;
use crate::decimal::Decimal;
use crate::ids::Digest;
use crate::intent::{
    Evidence, Hold, IntentFacts, IntentRow, IntentState, KeptIntent, Observed, Running, Taken, hold_json,
};
use crate::json::{Json, Members, Object};

/// Appends what a store keeps.
pub(super) fn write(row: &IntentRow, text: &mut String) {
    let facts = &row.facts;
    Members::object(text, |members| {
        members.whole("accepted_at", row.accepted_at.micros());
        members.text("agent", facts.agent());
        members.text("effect_key", facts.effect_key());
        members.text("flow", facts.flow());
        members.list("holds", facts.holds(), |hold, text| hold_json(hold).write_canonical(text));
        members.text("proposal", facts.proposal());
        if let Some(running) = &row.running {
            members.json("running", &running_json(running));
        }
        members.text("state", row.state.word());
        members.list("taken", facts.taken(), |taken, text| {
            let Taken { agent, budget, amount } = taken;
            Json::List(vec![Json::text(agent.as_str()), Json::text(budget.as_str()), decimal_json(*amount)])
                .write_canonical(text);
        });
        members.whole("valid_until", facts.valid_until().micros());
    });
}

fn hold(json: &Json) -> Option<Hold> {
    let amount = json.get("amount")?;
    let amount = amount.as_number().or_else(|| Decimal::parse(amount.as_text()?))?;
    Some(Hold {
        resource: text_of(json, "resource")?,
        amount,
        kind: ResourceKind::from_word(json.get("kind")?.as_text()?)?,
        unit: optional_text(json, "unit"),
    })
}

pub(super) fn from_json(json: &Json) -> Option<IntentRow> {
    let taken = |item: &Json| {
        let [agent, budget, amount] = item.as_list()? else { return None };
        Some(Taken {
            agent: agent.as_text()?.to_owned(),
            budget: budget.as_text()?.to_owned(),
            amount: Decimal::parse(amount.as_text()?)?,
        })
    };
    let kept = KeptIntent {
        agent: text_of(json, "agent")?,
        flow: text_of(json, "flow")?,
        proposal: text_of(json, "proposal")?,
        effect_key: text_of(json, "effect_key")?,
        valid_until: instant_of(json, "valid_until")?,
        holds: json.get("holds")?.as_list()?.iter().map(hold).collect::<Option<_>>()?,
        taken: json.get("taken")?.as_list()?.iter().map(taken).collect::<Option<_>>()?,
    };
    let running = match json.get("running") {
        None => None,
        Some(json) => Some(Box::new(running(json)?)),
    };
    Some(IntentRow {
        running,
        state: IntentState::from_word(json.get("state")?.as_text()?)?,
        accepted_at: instant_of(json, "accepted_at")?,
        facts: IntentFacts::Kept(Box::new(kept)),
    })
}

fn running_json(running: &Running) -> Json {
    let mut members = Object::new();
    let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
    put("order", running.order.clone());
    if !running.secrets.is_empty() {
        put("secrets", Json::Object(running.secrets.clone()));
    }
    if running.by_host {
        put("by_host", Json::Bool(true));
    }
    for (key, names) in [("above", &running.above), ("approvers", &running.approvers)] {
        if !names.is_empty() {
            put(key, Json::texts(names.iter().map(String::as_str)));
        }
    }
    for (key, count) in [("quorum", running.quorum), ("epoch", running.epoch), ("doubts", running.doubts)] {
        if count > 0 {
            put(key, Json::from(count));
        }
    }
    if !running.owner.is_empty() {
        put("owner", Json::text(running.owner.as_str()));
    }
    let instants = [
        ("lease_until", running.lease_until),
        ("first_sent", running.first_sent),
        ("retry_at", running.retry_at),
        ("retry_until", running.retry_until),
        ("over_at", running.over_at),
    ];
    for (key, at) in instants {
        if let Some(at) = at {
            put(key, instant_json(at));
        }
    }
    if let Some(outcome) = running.outcome {
        put("outcome", Json::text(outcome.to_string()));
    }
    if !running.evidence.is_empty() {
        put("evidence", Json::List(running.evidence.iter().map(evidence_json).collect()));
    }
    let names = [("question", &running.question), ("undoes", &running.undoes), ("undone_by", &running.undone_by)];
    for (key, name) in names {
        if let Some(name) = name {
            put(key, Json::text(name.as_str()));
        }
    }
    Json::Object(members)
}

fn evidence_json(evidence: &Evidence) -> Json {
    let observed = Json::text(evidence.observed.word());
    Json::List(vec![Json::from(evidence.epoch), observed, instant_json(evidence.at)])
}

fn evidence(json: &Json) -> Option<Evidence> {
    let [epoch, observed, at] = json.as_list()? else { return None };
    Some(Evidence {
        epoch: u64::try_from(epoch.as_number()?.to_i64()?).ok()?,
        observed: Observed::from_word(observed.as_text()?)?,
        at: crate::time::Instant::from_micros(at.as_number()?.to_i64()?),
    })
}

fn running(json: &Json) -> Option<Running> {
    let names = |key: &str| json.get(key).map_or(Some(Vec::new()), |_| texts_of(json, key));
    let count = |key: &str| json.get(key).map_or(Some(0), |_| whole_of(json, key));
    let instant = |key: &str| json.get(key).map_or(Some(None), |_| instant_of(json, key).map(Some));
    let outcome = match json.get("outcome") {
        None => None,
        Some(text) => Some(Digest::parse(text.as_text()?)?),
    };
    let evidence = match json.get("evidence") {
        None => Vec::new(),
        Some(list) => list.as_list()?.iter().map(evidence).collect::<Option<_>>()?,
    };
    Some(Running {
        order: json.get("order")?.clone(),
        secrets: json.get("secrets").map_or(Some(Object::new()), |secrets| secrets.as_object().cloned())?,
        by_host: json.get("by_host").is_some(),
        above: names("above")?,
        approvers: names("approvers")?,
        quorum: count("quorum")?,
        epoch: count("epoch")?,
        owner: optional_text(json, "owner").unwrap_or_default(),
        lease_until: instant("lease_until")?,
        doubts: count("doubts")?,
        first_sent: instant("first_sent")?,
        retry_at: instant("retry_at")?,
        retry_until: instant("retry_until")?,
        outcome,
        evidence,
        question: optional_text(json, "question"),
        undoes: optional_text(json, "undoes"),
        undone_by: optional_text(json, "undone_by"),
        over_at: instant("over_at")?,
    })
}
