//! What happened, as CloudEvents 1.0: a pure function of a record, the same for every door that tells of it.
//!
//! The id of an event is the index of its record in the ledger of its tenant, so `source` and `id` name it for ever and
//! the same record always gives the same bytes. Records hold no secrets, and neither do their events.

mod subject;

use crate::happening::{Entry, finding_json, findings, object, verdict};
use kernel::agent::Actor;
use kernel::outcome::Verdict;
use kernel::record::RecordKind;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use runtime::ports::store::StoredRecord;
use values::json::{Bounds, Json, Object};
use values::time::Instant;

/// What the type of every event begins with.
pub const TYPE_PREFIX: &str = "writkeeper.";

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub struct CloudEvent {
    /// Index of the record in the ledger; in JSON the `id`.
    pub index: u64,
    /// Whose ledger it stands in; in JSON part of `source`.
    pub tenant: String,
    /// The word of the record's kind; in JSON `type` behind [`TYPE_PREFIX`].
    pub kind: String,
    /// What it is about, such as `questions/ID`; nothing where it is about the whole tenant.
    pub subject: Option<String>,
    /// When; a declaration that a log goes on after a loss does not say.
    pub at: Option<Instant>,
    /// What there is to tell, depending on the kind.
    pub data: Object,
}

/// What a record tells. Nothing where its body was erased: the ledger has a gap there, and only its leaf is left.
pub fn of(record: &StoredRecord) -> Option<CloudEvent> {
    let (body, _) = record.body.as_ref()?;
    of_body(record.index, &Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()?)
}

/// The same of a body that was read already, such as [`History`](crate::history::History) gives.
pub fn of_body(index: u64, body: &Json) -> Option<CloudEvent> {
    let text = |key: &str| body.get(key).and_then(Json::as_text);
    Some(CloudEvent {
        index,
        tenant: text("tenant")?.to_owned(),
        kind: text("kind")?.to_owned(),
        subject: RecordKind::of(body).and_then(|kind| subject::of(kind, body)),
        at: match text("at") {
            Some(at) => Some(Instant::parse(at)?),
            None => None,
        },
        data: data(index, body),
    })
}

impl CloudEvent {
    /// The event in the JSON format of CloudEvents, media type `application/cloudevents+json`.
    pub fn to_json(&self) -> Json {
        let mut members = object([
            ("specversion", Json::text("1.0")),
            ("id", Json::text(self.index.to_string())),
            ("source", Json::text(source(&self.tenant))),
            ("type", Json::text(format!("{TYPE_PREFIX}{}", self.kind))),
            ("datacontenttype", Json::text("application/json")),
            ("data", Json::Object(self.data.clone())),
        ]);
        members.extend(self.at.map(|at| ("time".to_owned(), Json::text(at.to_string()))));
        members.extend(self.subject.clone().map(|subject| ("subject".to_owned(), Json::Text(subject))));
        Json::Object(members)
    }

    /// The agent it is about, where its data names one.
    pub fn agent(&self) -> Option<&str> {
        self.named("agent")
    }

    /// The flow it belongs to, where its data names one.
    pub fn flow(&self) -> Option<&str> {
        self.named("flow")
    }

    fn named(&self, key: &str) -> Option<&str> {
        self.data.get(key).and_then(Json::as_text)
    }
}

/// Whose an event is: its agent and its flow. Where its data names neither, what it is about does.
pub fn whose(runtime: &Runtime, event: &CloudEvent) -> (Option<String>, Option<String>) {
    let (agent, flow) = (event.agent().map(str::to_owned), event.flow().map(str::to_owned));
    let about = event.subject.as_deref().and_then(|subject| subject.split_once('/'));
    if agent.is_some() && flow.is_some() {
        return (agent, flow);
    }
    let entity = match about {
        Some(("questions", id)) => Entity::Escalation(id.to_owned()),
        Some(("intents", id)) => Entity::Intent(id.to_owned()),
        Some(("flows", id)) => Entity::Flow(id.to_owned()),
        Some(("agents", name)) => return (agent.or_else(|| Some(name.to_owned())), flow),
        Some(_) | None => return (agent, flow),
    };
    // What cannot be read now is nobody's.
    let (of, within) = match runtime.read(entity.clone()) {
        Ok(Some(Row::Escalation(row))) => (Some(row.agent), Some(row.flow)),
        Ok(Some(Row::Intent(row))) => {
            let kept = row.facts.to_kept();
            (Some(kept.agent), Some(kept.flow))
        }
        Ok(Some(Row::Flow(row))) => (Some(row.agent), Some(entity.parts().0.to_owned())),
        Ok(_) | Err(_) => (None, None),
    };
    (agent.or(of), flow.or(within))
}

/// Where the events of a tenant come from: a reference relative to whatever serves them.
pub fn source(tenant: &str) -> String {
    let mut source = "/tenants/".to_owned();
    for byte in tenant.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => source.push(char::from(byte)),
            other => source.push_str(&format!("%{other:02X}")),
        }
    }
    source
}

/// Members of a body that the event says in its own attributes.
const SAID_ELSEWHERE: [&str; 5] = ["at", "kind", "semantics", "tenant", "version"];

fn data(index: u64, body: &Json) -> Object {
    match RecordKind::of(body) {
        Some(RecordKind::Refusal) => refusal(body),
        Some(RecordKind::Discontinuity) => without(body, &SAID_ELSEWHERE),
        Some(RecordKind::Decision | RecordKind::Result | RecordKind::Change(_) | RecordKind::Consequence(_)) => {
            match Entry::from_record(index, body) {
                Some(entry) => without(&entry.to_json(), &["at", "index", "kind"]),
                None => change(body),
            }
        }
        // A later program wrote it; its own events will say more.
        None => Object::new(),
    }
}

/// A change that no timeline shows: who asked for it, why it was refused, what it tells. Its command may hold whole
/// contracts and values of state, and stays in the ledger.
fn change(body: &Json) -> Object {
    let actor = body.get("actor").and_then(Json::as_text).and_then(Actor::parse);
    let refused = if verdict(body) == Some(Verdict::Reject) { findings(body) } else { Vec::new() };
    let agent = body.get("command").and_then(|command| command.get("agent")).filter(|agent| agent.as_text().is_some());
    let mut members = object([
        ("actor", Json::from(actor.as_ref().map(Actor::text))),
        ("refused", Json::List(refused.iter().map(finding_json).collect())),
        ("result", body.get("result").cloned().unwrap_or_default()),
    ]);
    members.extend(agent.map(|agent| ("agent".to_owned(), agent.clone())));
    members
}

fn refusal(body: &Json) -> Object {
    let said = |key: &str| body.get(key).cloned().unwrap_or_default();
    object([
        ("proposal_id", said("proposal_id")),
        ("agent", said("agent")),
        ("digest", said("digest")),
        ("findings", Json::List(findings(body).iter().map(finding_json).collect())),
    ])
}

fn without(json: &Json, left_out: &[&str]) -> Object {
    let members = json.as_object().cloned().unwrap_or_default();
    members.into_iter().filter(|(key, _)| !left_out.contains(&key.as_str())).collect()
}
