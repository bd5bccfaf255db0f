//! What people are told about questions: a pure function of a record.
//!
//! A notice says that there is a question, for whom, by when, or how it ended. It says no more: params, reasons that were
//! typed and secrets stay in the store, where the card shows what an answer is bound to.

use crate::events::{self, CloudEvent};
use crate::happening::{findings, object};
use kernel::change::{ActKind, Asking};
use kernel::consequence::{Consequence, QuestionEnd, QuestionNotice};
use kernel::escalation::{GivenAnswer, HumanDecision, OPERATORS, QuestionKind};
use kernel::event::Event;
use kernel::handed::{HANDED, Handed};
use kernel::intent::IntentState;
use kernel::reasons::Reason;
use kernel::record::RecordKind;
use runtime::ports::store::StoredRecord;
use std::collections::BTreeSet;
use values::json::{Bounds, Json, Object};

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoticeKind {
    /// A question is asked.
    Asked,
    /// People are reminded of a question.
    Reminded,
    /// Others may answer a question too.
    Rerouted,
    /// A person handed a question to another.
    Handed,
    /// A person answered.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// The question ended with its flow.
    Aborted,
}

impl NoticeKind {
    /// All of them.
    pub const ALL: [NoticeKind; 7] = [
        NoticeKind::Asked,
        NoticeKind::Reminded,
        NoticeKind::Rerouted,
        NoticeKind::Handed,
        NoticeKind::Answered,
        NoticeKind::Expired,
        NoticeKind::Aborted,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            NoticeKind::Asked => "asked",
            NoticeKind::Reminded => "reminded",
            NoticeKind::Rerouted => "rerouted",
            NoticeKind::Handed => "handed",
            NoticeKind::Answered => "answered",
            NoticeKind::Expired => "expired",
            NoticeKind::Aborted => "aborted",
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<NoticeKind> {
        NoticeKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Something that people are told about a question.
#[derive(Clone, PartialEq, Debug)]
pub struct QuestionTold {
    /// What happened to the question.
    pub kind: NoticeKind,
    /// The question.
    pub question: String,
    /// Groups whose members may answer, where the record says so.
    pub groups: Option<Vec<String>>,
    /// The event that is sent.
    event: CloudEvent,
}

impl QuestionTold {
    /// Index of the record it comes from.
    pub fn index(&self) -> u64 {
        self.event.index
    }

    /// Whose question.
    pub fn tenant(&self) -> &str {
        &self.event.tenant
    }

    /// As CloudEvents 1.0. The id is another than that of the record's own event: it says something else.
    pub fn to_json(&self) -> Json {
        let mut json = self.event.to_json();
        if let Json::Object(members) = &mut json {
            members.insert("id".to_owned(), Json::text(format!("notice-{}", self.event.index)));
        }
        json
    }
}

/// What people are told of a record; nothing where it is not about a question, or was erased.
pub fn of(record: &StoredRecord) -> Option<QuestionTold> {
    let (body, _) = record.body.as_ref()?;
    of_body(record.index, &Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()?)
}

/// The same of a body that was read already.
pub fn of_body(index: u64, body: &Json) -> Option<QuestionTold> {
    let Said { kind, question, groups, mut data } = said(body)?;
    data.insert("question".to_owned(), Json::text(question.as_str()));
    data.insert("approvers".to_owned(), groups.clone().map_or(Json::Null, Json::texts));
    let told = events::of_body(index, body)?;
    let event = CloudEvent {
        kind: format!("question.{}", kind.word()),
        subject: Some(format!("questions/{question}")),
        data,
        ..told
    };
    Some(QuestionTold { kind, question, groups, event })
}

struct Said {
    kind: NoticeKind,
    question: String,
    groups: Option<Vec<String>>,
    data: Object,
}

fn said(body: &Json) -> Option<Said> {
    match RecordKind::of(body)? {
        RecordKind::Decision => asked(body),
        RecordKind::Consequence(_) => followed(Consequence::from_record(body)?),
        RecordKind::Change(ActKind::Answer) => {
            let Event::QuestionAnswered(end) = Event::from_record(body)? else { return None };
            Some(ended(NoticeKind::Answered, end))
        }
        RecordKind::Change(ActKind::Ask) => inquired(body),
        RecordKind::Change(ActKind::Merge) => handed(body),
        RecordKind::Change(_) => about_doubt(&Event::from_record(body)?),
        RecordKind::Refusal | RecordKind::Result | RecordKind::Discontinuity => None,
    }
}

/// A proposal that people are asked about.
fn asked(body: &Json) -> Option<Said> {
    let escalation = body.get("escalation")?;
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_text).map(str::to_owned);
    let names = escalation.get("approvers")?.as_list()?.iter();
    let names: Vec<String> = names.filter_map(|name| name.as_text().map(str::to_owned)).collect();
    let groups = if names.is_empty() { vec![OPERATORS.to_owned()] } else { names };
    let codes: BTreeSet<String> = findings(body).iter().map(|finding| finding.code.as_str().to_owned()).collect();
    let copied = |key: &str| escalation.get(key).cloned().unwrap_or_default();
    let data = object([
        ("about", Json::text(QuestionKind::Proposal.word())),
        ("agent", Json::from(text(body, "agent"))),
        ("flow", Json::from(text(body, "flow"))),
        ("proposal", Json::from(text(body, "proposal_id"))),
        ("action", Json::from(body.get("proposal").and_then(|proposal| text(proposal, "action")))),
        ("reasons", Json::texts(codes)),
        ("impact", copied("impact")),
        ("quorum", copied("quorum")),
        ("signed", copied("signed")),
        ("deadline", copied("deadline")),
    ]);
    Some(Said { kind: NoticeKind::Asked, question: text(escalation, "id")?, groups: Some(groups), data })
}

/// A question that an agent asked of its own accord. Who may answer stands in its row.
fn inquired(body: &Json) -> Option<Said> {
    let Event::QuestionAsked { question, deadline, .. } = Event::from_record(body)? else { return None };
    let (_, inquiry) = Asking::from_record(body)?;
    let kind = if inquiry.proposal.is_some() { QuestionKind::Proposal } else { QuestionKind::Request };
    let data = object([
        ("about", Json::text(kind.word())),
        ("agent", Json::text(inquiry.agent.as_str())),
        ("flow", Json::text(inquiry.flow.as_str())),
        ("action", Json::from(inquiry.proposal.as_ref().map(|proposal| proposal.action.clone()))),
        ("reasons", Json::texts([Reason::AgentAsks.code()])),
        ("impact", Json::text(inquiry.impact.word())),
        ("deadline", Json::text(deadline.to_string())),
    ]);
    Some(Said { kind: NoticeKind::Asked, question, groups: None, data })
}

/// A question that one person handed to another. Why is theirs, and who may answer stays as it was.
fn handed(body: &Json) -> Option<Said> {
    let Event::StateMerged { .. } = Event::from_record(body)? else { return None };
    let [write] = body.get("command")?.get("writes")?.as_list()? else { return None };
    let question = write.get("key")?.as_text()?.strip_prefix(HANDED)?.to_owned();
    let Handed { by, to, .. } = Handed::from_json(write.get("value")?)?;
    let data = object([("by", Json::text(by)), ("to", Json::text(to))]);
    Some(Said { kind: NoticeKind::Handed, question, groups: None, data })
}

fn followed(consequence: Consequence) -> Option<Said> {
    match consequence {
        Consequence::QuestionReminded(notice) => Some(noticed(NoticeKind::Reminded, notice)),
        Consequence::QuestionRerouted(notice) => Some(noticed(NoticeKind::Rerouted, notice)),
        Consequence::QuestionExpired(end) => Some(ended(NoticeKind::Expired, end)),
        Consequence::QuestionAborted(end) => Some(ended(NoticeKind::Aborted, end)),
        Consequence::IntentMoved { step, flow, agent } => {
            let mut said = doubted(&step.intent, step.to, step.question)?;
            said.data.extend(object([("agent", Json::text(agent)), ("flow", Json::text(flow))]));
            Some(said)
        }
        Consequence::IntentExpired { .. } | Consequence::MonitorTripped(_) => None,
    }
}

fn noticed(kind: NoticeKind, notice: QuestionNotice) -> Said {
    let QuestionNotice { question, proposal, approvers, deadline } = notice;
    let data = object([
        ("proposal", Json::text(proposal)),
        ("deadline", Json::from(deadline.map(|deadline| deadline.to_string()))),
    ]);
    Said { kind, question, groups: Some(approvers), data }
}

/// How a question ended, and by whom. What they typed is theirs.
fn ended(kind: NoticeKind, end: QuestionEnd) -> Said {
    let QuestionEnd { question, state, proposal, answer } = end;
    let by = |part: fn(&GivenAnswer) -> Option<String>| Json::from(answer.as_ref().and_then(part));
    let data = object([
        ("proposal", Json::text(proposal)),
        ("state", Json::text(state.word())),
        ("by", by(|answer| answer.person.clone())),
        ("decision", by(|answer| answer.decision.map(|decision| HumanDecision::word(decision).to_owned()))),
        ("intent", by(|answer| answer.intent.clone())),
    ]);
    Said { kind, question, groups: None, data }
}

/// A question whether something happened. What evidence ends has no record that names the question.
fn about_doubt(event: &Event) -> Option<Said> {
    if let Event::DoubtResolved { question, intent, state } = event {
        let data = object([
            ("about", Json::text(QuestionKind::Doubt.word())),
            ("intent", Json::text(intent.as_str())),
            ("state", Json::text(state.word())),
        ]);
        return Some(Said { kind: NoticeKind::Answered, question: question.clone(), groups: None, data });
    }
    let intent = event.to_json().get("intent")?.as_text()?.to_owned();
    let (state, question) = event.intent_left()?;
    doubted(&intent, state, question.map(str::to_owned))
}

fn doubted(intent: &str, state: IntentState, question: Option<String>) -> Option<Said> {
    let question = question.filter(|_| matches!(state, IntentState::InDoubt | IntentState::Unreported))?;
    let data = object([
        ("about", Json::text(QuestionKind::Doubt.word())),
        ("intent", Json::text(intent)),
        ("state", Json::text(state.word())),
    ]);
    Some(Said { kind: NoticeKind::Asked, question, groups: None, data })
}
