//! Records: what the ledger keeps. Structured, versioned, tenant first; sentences are put together on reading.
//!
//! A record shares what was judged and is written out only when someone wants its bytes.

mod kind;

pub use kind::RecordKind;

use crate::advice::Advice;
use crate::change::Change;
use crate::command::{Door, RefusedInput, Submission};
use crate::consequence::Consequence;
use crate::event::Event;
use crate::finding::Finding;
use crate::outcome::{Answer, AnsweredIntent, Verdict};
use crate::request::Provenance;
use crate::result::ResultRecord;
use crate::semantics::Semantics;
use crate::snapshot::Snapshot;
use std::sync::Arc;
use values::json::{Json, Members, Object};
use values::sealed::{Sealed, VERSION};
use values::time::{Duration, Instant};

/// One entry for the ledger.
#[derive(Clone, Debug)]
pub enum Record {
    /// A proposal was judged.
    Decision(Arc<DecisionRecord>),
    /// Something that was no proposal was refused.
    Refusal(Arc<RefusalRecord>),
    /// Something else changed, or someone tried to change it.
    Event(Arc<EventRecord>),
    /// What the other side of an effect answered; not folded.
    Result(Arc<ResultRecord>),
}

/// A change other than a proposal.
#[derive(Clone, Debug)]
pub struct EventRecord {
    tenant: Arc<str>,
    subject: EventSubject,
    at: Instant,
    semantics: Semantics,
}

/// What an event's record tells of.
#[derive(Clone, Debug)]
enum EventSubject {
    Change(RequestedChange),
    Consequence(Box<Consequence>),
}

/// A change that someone asked for, and what came of it.
#[derive(Clone, Debug)]
struct RequestedChange {
    change: Arc<Change>,
    answer: Answer,
    event: Option<Arc<Event>>,
}

impl EventRecord {
    /// Of a change that someone asked for.
    pub fn of(change: &Arc<Change>, answer: &Answer, event: Option<Arc<Event>>, at: Instant) -> EventRecord {
        let (tenant, change, answer) = (change.tenant.clone(), change.clone(), answer.clone());
        let subject = EventSubject::Change(RequestedChange { change, answer, event });
        EventRecord { tenant, subject, at, semantics: Semantics::CURRENT }
    }

    /// Of something that followed from another command.
    pub fn following(tenant: &Arc<str>, consequence: Consequence, at: Instant) -> EventRecord {
        let subject = EventSubject::Consequence(Box::new(consequence));
        EventRecord { tenant: tenant.clone(), subject, at, semantics: Semantics::CURRENT }
    }

    /// What followed, where nobody asked for it.
    pub fn consequence(&self) -> Option<&Consequence> {
        match &self.subject {
            EventSubject::Change(_) => None,
            EventSubject::Consequence(consequence) => Some(consequence),
        }
    }

    fn kind(&self) -> RecordKind {
        match &self.subject {
            EventSubject::Change(requested) => RecordKind::Change(requested.change.act.kind()),
            EventSubject::Consequence(consequence) => RecordKind::Consequence(consequence.kind()),
        }
    }

    fn body(&self) -> Json {
        let members = match &self.subject {
            EventSubject::Change(RequestedChange { change, answer, event }) => [
                ("id", Json::text(change.id.as_str())),
                ("actor", Json::text(change.actor.text())),
                ("command", change.act.to_json()),
                ("verdict", Json::text(answer.verdict.word())),
                ("findings", Json::List(answer.findings.iter().map(Finding::to_record).collect())),
                ("intent", answer.intent.as_ref().map_or(Json::Null, AnsweredIntent::to_json)),
                ("result", event.as_ref().map_or(Json::Null, |event| event.to_json())),
                ("at", Json::text(self.at.to_string())),
            ],
            EventSubject::Consequence(consequence) => [
                ("id", Json::Null),
                ("actor", Json::Null),
                ("command", Json::Null),
                ("verdict", Json::Null),
                ("findings", Json::List(Vec::new())),
                ("intent", Json::Null),
                ("result", consequence.to_json()),
                ("at", Json::text(self.at.to_string())),
            ],
        };
        headed((self.kind(), self.semantics), &self.tenant, members)
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
    /// The rules it was judged under.
    pub semantics: Semantics,
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
    /// The rules it was refused under.
    pub semantics: Semantics,
}

impl Record {
    /// Its bytes, under a salt drawn outside.
    pub fn seal(&self, salt: [u8; 16]) -> Sealed {
        let body = self.to_canonical();
        let (tenant, at, semantics) = match self {
            Record::Decision(record) => (&record.submission.tenant, record.at, record.semantics),
            Record::Refusal(record) => (&record.refused.tenant, record.at, record.semantics),
            Record::Event(record) => (&record.tenant, record.at, record.semantics),
            Record::Result(record) => (&record.tenant, record.at, record.semantics),
        };
        let mut leaf = String::with_capacity(256);
        Members::object(&mut leaf, |members| {
            members.instant("at", at);
            members.digest("body", &Sealed::digest(&salt, &body));
            members.text("kind", self.kind().word());
            members.count("semantics", semantics.number());
            members.text("tenant", tenant);
            members.count("version", VERSION);
        });
        Sealed { leaf, body, salt }
    }

    /// Its kind.
    pub fn kind(&self) -> RecordKind {
        match self {
            Record::Decision(_) => RecordKind::Decision,
            Record::Refusal(_) => RecordKind::Refusal,
            Record::Event(record) => record.kind(),
            Record::Result(_) => RecordKind::Result,
        }
    }

    /// Says which rules it came of; mostly it says so already.
    pub(crate) fn judged_under(&mut self, semantics: Semantics) {
        if semantics == Semantics::CURRENT {
            return;
        }
        match self {
            Record::Decision(record) => Arc::make_mut(record).semantics = semantics,
            Record::Refusal(record) => Arc::make_mut(record).semantics = semantics,
            Record::Event(record) => Arc::make_mut(record).semantics = semantics,
            Record::Result(record) => Arc::make_mut(record).semantics = semantics,
        }
    }

    /// The canonical text of the record in full.
    pub fn to_canonical(&self) -> String {
        let mut text = String::with_capacity(2_048);
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            Record::Decision(record) => record.write(text),
            Record::Refusal(record) => record.body().write_canonical(text),
            Record::Event(record) => record.body().write_canonical(text),
            Record::Result(record) => {
                headed((RecordKind::Result, record.semantics), &record.tenant, record.members()).write_canonical(text);
            }
        }
    }

    /// The record in full.
    pub fn body(&self) -> Json {
        Json::parse_own(&self.to_canonical())
    }
}

/// Puts the header in front of the members.
fn headed<const N: usize>(
    (kind, semantics): (RecordKind, Semantics),
    tenant: &str,
    members: [(&str, Json); N],
) -> Json {
    let mut body: Object = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    body.insert("version".to_owned(), Json::from(VERSION));
    body.insert("semantics".to_owned(), Json::from(semantics.number()));
    body.insert("tenant".to_owned(), Json::text(tenant));
    body.insert("kind".to_owned(), Json::text(kind.word()));
    Json::Object(body)
}

impl RefusalRecord {
    /// Of what was refused, under the rules of this program.
    pub(crate) fn new(refused: RefusedInput, id: String, at: Instant) -> RefusalRecord {
        RefusalRecord { refused, id, at, semantics: Semantics::CURRENT }
    }

    fn body(&self) -> Json {
        let findings = self.refused.malformed.findings.iter().map(Finding::to_record).collect();
        headed(
            (RecordKind::Refusal, self.semantics),
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
    /// What the judgement depended on stands here where it is not what it mostly is: a replay needs it.
    fn write(&self, text: &mut String) {
        let DecisionRecord { submission, answer, snapshot, at, semantics } = self;
        let contract = &submission.contract.contract;
        Members::object(text, |members| {
            if !submission.advice.is_empty() {
                members.json("advice", &Advice::list_to_json(&submission.advice));
            }
            members.text("agent", &submission.proposal.agent);
            if !submission.ancestors.is_empty() {
                let digests = submission.ancestors.iter().map(|contract| contract.digest.to_string());
                members.json("ancestors", &Json::texts(digests));
            }
            members.instant("at", *at);
            members.with("contract", |text| text.push_str(submission.contract.recorded()));
            if submission.door != Door::PURE {
                members.json("door", &submission.door.to_json());
            }
            if answer.verdict == Verdict::Escalate {
                members.json("escalation", &self.escalation());
            }
            let findings = answer.findings.iter();
            members.list("findings", findings, |finding, text| finding.to_record().write_canonical(text));
            match submission.shown_fingerprint() {
                Some(fingerprint) => members.digest("fingerprint", fingerprint),
                None => members.null("fingerprint"),
            }
            members.text("flow", submission.flow_id());
            match &answer.intent {
                // What stands in this record already is not said twice; reading an answer back puts it together.
                Some(AnsweredIntent::Made(intent)) => members.with("intent", |text| intent.write_in_record(text)),
                Some(AnsweredIntent::Recorded(json)) => members.json("intent", json),
                None => members.null("intent"),
            }
            members.text("kind", RecordKind::Decision.word());
            members.text("mode", contract.mode.word());
            members.with("proposal", |text| {
                submission.proposal.write(text, |text| submission.write_shown_params(text));
            });
            members.text("proposal_id", &answer.id);
            if let Some(proof) = &submission.proof {
                // The envelope holds every param; where one is secret, only its digest is kept.
                match submission.shown_fingerprint() {
                    Some(_) => members.json("proof", &proof.envelope().to_json()),
                    None => members.text("proof", &proof.envelope().digest().to_string()),
                }
            }
            if submission.provenance != Provenance::Unknown {
                members.json("provenance", &submission.provenance.to_json());
            }
            members.count("semantics", semantics.number());
            members.text_if_any("snapshot", snapshot.as_ref().map(Snapshot::id).as_deref());
            members.text("tenant", &submission.tenant);
            members.text("verdict", answer.verdict.word());
            members.count("version", VERSION);
        });
    }

    /// The question a person will see: who may answer, how many must, and what time does to it. Of one that was asked
    /// before only its name is said again.
    fn escalation(&self) -> Json {
        let asked = self.answer.question.as_ref();
        let mut json = match asked {
            Some(question) if question.repeated => Json::object([
                ("id", Json::text(question.id.as_str())),
                ("deadline", Json::text(question.deadline.to_string())),
                ("repeated", Json::Bool(true)),
            ]),
            Some(_) | None => self.fresh_escalation(),
        };
        if let (Json::Object(members), Some(digest)) = (&mut json, asked.and_then(|question| question.digest)) {
            members.insert("digest".to_owned(), Json::text(digest.to_string()));
        }
        json
    }

    fn fresh_escalation(&self) -> Json {
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
            ("valid_after", Json::text(rules.valid_after.to_string())),
            ("signed", Json::Bool(rules.signed)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use crate::intent::Intent;
    use crate::outcome::Answer;
    use crate::testing::case;
    use values::json::Json;

    #[test]
    fn the_deepest_proposal_leaves_a_record_that_is_read_back() {
        // Params stand two levels below the top of a proposal, which may be 32 deep.
        let deep = format!("{{\"amount\":5,\"note\":{}{}}}", "[".repeat(30), "]".repeat(30));
        let done = case().params(&deep).check("ACCEPT").last.unwrap();
        let [record] = done.records.as_slice() else { panic!("one record") };
        let body = record.body();
        assert_ne!(body, Json::Null);
        assert_eq!(body.to_canonical(), record.to_canonical(), "members stand in canonical order");
    }

    #[test]
    fn a_question_about_a_secret_is_named_without_its_digest() {
        let schema = Json::parse(br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#).unwrap();
        let case = case().contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone().into());
        let case = case.ask("amount<=50", "BIG").flow("f").params(r#"{"amount":40,"pin":"1234"}"#);
        let case = case.check("ESCALATE BIG").check("ESCALATE BIG, QUESTION_OPEN");
        let done = case.last.unwrap();
        let question = done.answer.question.clone().unwrap();
        assert_eq!((question.id.as_str(), question.digest), ("e-1", None));
        let [record] = done.records.as_slice() else { panic!("one record") };
        assert_eq!(record.body().get("escalation").and_then(|asked| asked.get("digest")), None);
    }

    #[test]
    fn an_escalation_names_its_question_and_is_read_back_with_it() {
        let done = case().ask("amount<=50", "BIG").amount(40).check("ESCALATE BIG").last.unwrap();
        let question = done.answer.question.clone().unwrap();
        let [record] = done.records.as_slice() else { panic!("one record") };
        let body = record.body();
        let recorded = body.get("escalation").unwrap();
        assert_eq!(recorded.get("id"), Some(&Json::text(question.id.as_str())));
        assert_eq!(recorded.get("deadline"), Some(&Json::text(question.deadline.to_string())));
        let line = done.answer.to_line();
        let digest = question.digest.unwrap();
        assert_eq!(recorded.get("digest"), Some(&Json::text(digest.to_string())));
        let (id, deadline) = (&question.id, question.deadline);
        let expected = format!(r#","question":{{"deadline":"{deadline}","digest":"{digest}","id":"{id}"}}}}"#);
        assert!(line.ends_with(&expected), "{line}");
        assert_eq!(Answer::from_record(&body).unwrap().to_line(), line);
        assert!(!case().amount(5).check("ACCEPT").last.unwrap().answer.to_line().contains("question"));
    }

    #[test]
    fn an_answer_read_back_has_the_bytes_that_were_given() {
        let done = case().amount(5).check("ACCEPT").last.unwrap();
        let [record] = done.records.as_slice() else { panic!("one record") };
        let body = record.body();
        assert_eq!(body.to_canonical(), record.to_canonical(), "members stand in canonical order");
        assert_eq!(Answer::from_record(&body).unwrap().to_line(), done.answer.to_line());
        let intent = Intent::from_record(&body).unwrap();
        assert_eq!(intent, done.answer.intent.unwrap().to_json());
        assert!(record.seal([7; 16]).is_consistent());
    }
}
