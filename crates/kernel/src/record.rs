//! Records: what the ledger keeps. Structured, versioned, tenant first; sentences are put together on reading.
//!
//! A record shares what was judged and is written out only when someone wants its bytes.

use crate::advice::Advice;
use crate::change::Change;
use crate::command::{Door, RefusedInput, Submission};
use crate::finding::Finding;
use crate::ids::Digest;
use crate::json::{Json, Object};
use crate::outcome::{Answer, Verdict};
use crate::request::Provenance;
use crate::snapshot::Snapshot;
use crate::time::{Duration, Instant};
use std::sync::Arc;

/// Version of the record format.
pub const VERSION: u64 = 1;

/// Version of the judging rules: two decisions under the same number and inputs are equal.
pub const SEMANTICS: u64 = 1;

/// One entry for the ledger.
#[derive(Clone, Debug)]
pub enum Record {
    /// A proposal was judged.
    Decision(Box<DecisionRecord>),
    /// Something that was no proposal was refused.
    Refusal(Box<RefusalRecord>),
    /// Something else changed, or someone tried to change it.
    Event(Box<EventRecord>),
}

/// A change other than a proposal.
#[derive(Clone, Debug)]
pub struct EventRecord {
    tenant: Arc<str>,
    kind: &'static str,
    /// Who and what was asked for; nobody asks for a consequence.
    asked: Option<(String, String, Json)>,
    /// What came of it.
    verdict: Option<Verdict>,
    findings: Vec<Json>,
    intent: Json,
    body: Json,
    at: Instant,
}

impl EventRecord {
    /// Of a change that someone asked for.
    pub fn of(change: &Change, answer: &Answer, body: Json, at: Instant) -> EventRecord {
        EventRecord {
            tenant: change.tenant.clone(),
            kind: change.act.word(),
            asked: Some((change.id.clone(), change.actor.text(), change.act.to_json())),
            verdict: Some(answer.verdict),
            findings: answer.findings.iter().map(Finding::to_record).collect(),
            intent: answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json()),
            body,
            at,
        }
    }

    /// Of something that followed from another command.
    pub fn consequence(tenant: &Arc<str>, kind: &'static str, body: Json, at: Instant) -> EventRecord {
        let (findings, intent) = (Vec::new(), Json::Null);
        EventRecord { tenant: tenant.clone(), kind, asked: None, verdict: None, findings, intent, body, at }
    }

    fn body(&self) -> Json {
        let (id, actor, command) = match &self.asked {
            Some((id, actor, command)) => (Json::text(id.as_str()), Json::text(actor.as_str()), command.clone()),
            None => (Json::Null, Json::Null, Json::Null),
        };
        headed(
            self.kind,
            &self.tenant,
            [
                ("at", Json::text(self.at.to_string())),
                ("id", id),
                ("actor", actor),
                ("command", command),
                ("verdict", Json::from(self.verdict.map(|verdict| verdict.word().to_owned()))),
                ("findings", Json::List(self.findings.clone())),
                ("intent", self.intent.clone()),
                ("result", self.body.clone()),
            ],
        )
    }
}

/// A proposal was judged.
#[derive(Clone, Debug)]
pub struct DecisionRecord {
    /// What was judged, under which contract.
    pub submission: Arc<Submission>,
    /// What was answered.
    pub answer: Answer,
    /// What the agent had seen.
    pub snapshot: Option<Snapshot>,
    /// The decision instant.
    pub at: Instant,
}

/// Something that was no proposal was refused.
#[derive(Clone, Debug)]
pub struct RefusalRecord {
    /// What is wrong with it, and its digest.
    pub refused: RefusedInput,
    /// Id of the answer.
    pub id: String,
    /// When.
    pub at: Instant,
}

/// A record ready for the ledger: what is hashed into the tree, and what may be erased from beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// Header and salted digest; kept for ever.
    pub leaf: String,
    /// The record in full, canonical.
    pub body: String,
    /// Without it nobody can guess a short body from its digest; erased with the body.
    pub salt: [u8; 16],
}

impl Sealed {
    /// Whether leaf, body and salt belong together.
    pub fn is_consistent(&self) -> bool {
        let said = Json::parse(self.leaf.as_bytes()).ok();
        let digest = said.as_ref().and_then(|leaf| leaf.get("body")).and_then(Json::as_text);
        digest == Some(body_digest(&self.salt, &self.body).as_str())
    }
}

fn body_digest(salt: &[u8; 16], body: &str) -> String {
    Digest::of_parts(&[b"writkeeper/body/v1", salt, body.as_bytes()]).to_string()
}

impl Record {
    /// Its bytes, under a salt drawn outside.
    pub fn seal(&self, salt: [u8; 16]) -> Sealed {
        let json = self.body();
        let body = json.to_canonical();
        let header = ["at", "kind", "semantics", "tenant", "version"];
        let mut leaf: Object =
            header.iter().filter_map(|key| Some(((*key).to_owned(), json.get(key)?.clone()))).collect();
        leaf.insert("body".to_owned(), Json::text(body_digest(&salt, &body)));
        Sealed { leaf: Json::Object(leaf).to_canonical(), body, salt }
    }

    /// The record in full.
    pub fn body(&self) -> Json {
        match self {
            Record::Decision(record) => record.body(),
            Record::Refusal(record) => record.body(),
            Record::Event(record) => record.body(),
        }
    }
}

/// Puts the header in front of the members.
fn headed<const N: usize>(kind: &str, tenant: &str, members: [(&str, Json); N]) -> Json {
    let mut body: Object = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    body.insert("version".to_owned(), Json::from(VERSION));
    body.insert("semantics".to_owned(), Json::from(SEMANTICS));
    body.insert("tenant".to_owned(), Json::text(tenant));
    body.insert("kind".to_owned(), Json::text(kind));
    Json::Object(body)
}

impl RefusalRecord {
    fn body(&self) -> Json {
        let findings = self.refused.malformed.findings.iter().map(Finding::to_record).collect();
        headed(
            "refusal",
            &self.refused.tenant,
            [
                ("at", Json::text(self.at.to_string())),
                ("proposal_id", Json::text(self.id.as_str())),
                ("agent", Json::from(self.refused.malformed.agent.clone())),
                ("digest", Json::text(self.refused.digest.to_string())),
                ("findings", Json::List(findings)),
            ],
        )
    }
}

impl DecisionRecord {
    fn body(&self) -> Json {
        let DecisionRecord { submission, answer, snapshot, at } = self;
        let contract = &submission.contract.contract;
        let named = Json::object([
            ("id", Json::text(contract.id.as_str())),
            ("version", Json::text(contract.version.to_string())),
            ("digest", Json::text(submission.contract.digest.to_string())),
            ("mission", Json::text(contract.mission.as_str())),
        ]);
        let escalation = (answer.verdict == Verdict::Escalate).then(|| self.escalation());
        let mut body = headed(
            "decision",
            &submission.tenant,
            [
                ("at", Json::text(at.to_string())),
                ("proposal_id", Json::text(answer.id.as_str())),
                ("flow", Json::text(submission.flow_id())),
                ("agent", Json::text(submission.proposal.agent.as_str())),
                ("proposal", submission.proposal.to_json(submission.shown_params())),
                ("fingerprint", Json::from(submission.shown_fingerprint())),
                ("contract", named),
                ("mode", Json::text(contract.mode.word())),
                ("snapshot", Json::from(snapshot.as_ref().map(Snapshot::id))),
                ("verdict", Json::text(answer.verdict.word())),
                ("findings", Json::List(answer.findings.iter().map(Finding::to_record).collect())),
                ("intent", answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json())),
                ("escalation", escalation.unwrap_or(Json::Null)),
            ],
        );
        self.add_inputs(&mut body);
        body
    }

    /// Whatever else the judgement depended on, where it is not what it mostly is: a replay needs it.
    fn add_inputs(&self, body: &mut Json) {
        let submission = &self.submission;
        let Json::Object(members) = body else { return };
        let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
        if submission.provenance != Provenance::Unknown {
            put("provenance", submission.provenance.to_json());
        }
        if !submission.ancestors.is_empty() {
            let digests = submission.ancestors.iter().map(|contract| contract.digest.to_string());
            put("ancestors", Json::texts(digests));
        }
        if !submission.advice.is_empty() {
            put("advice", Advice::list_to_json(&submission.advice));
        }
        if submission.door != Door::PURE {
            put("door", submission.door.to_json());
        }
    }

    /// The question a person will see: who may answer, how many must, and what time does to it.
    fn escalation(&self) -> Json {
        let request = self.submission.request();
        let rules = &self.submission.contract.contract.escalation;
        let later =
            |duration: Option<Duration>| Json::from(duration.map(|duration| self.at.plus(duration).to_string()));
        Json::object([
            ("id", Json::text(self.submission.ids.escalation.as_str())),
            ("intent", Json::text(self.submission.ids.intent.as_str())),
            ("approvers", Json::texts(rules.approvers.iter().map(String::as_str))),
            ("quorum", Json::from(rules.quorum)),
            ("impact", Json::text(request.action().map_or("HIGH", |action| action.rules.impact.word()))),
            ("remind_at", later(rules.timeout.remind)),
            ("reroute_at", later(rules.timeout.reroute)),
            ("reroute_to", Json::from(rules.timeout.reroute_to.clone())),
            ("deadline", Json::text(self.at.plus(rules.timeout.after).to_string())),
            ("then", Json::text(rules.timeout.then.word())),
            ("undo", Json::text(request.action().map_or("NOOP", |action| action.rules.undo.kind.word()))),
        ])
    }
}
