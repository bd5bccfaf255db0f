//! One thing that happened, read from its record: what timelines are made of.

use kernel::agent::Actor;
use kernel::change::read::{Contracts, act};
use kernel::change::{Act, ActKind, Asking, Inquiry, Reservation};
use kernel::consequence::{Consequence, IntentStep, QuestionEnd, QuestionNotice};
use kernel::contract::Mode;
use kernel::escalation::EscalationState;
use kernel::evaluator::Compiled;
use kernel::finding::Finding;
use kernel::flow::{FlowEvent, FlowState};
use kernel::intent::{IntentEvent, IntentState, Observed};
use kernel::outcome::{Answer, AskedQuestion, Verdict};
use kernel::proposal::Proposal;
use kernel::record::RecordKind;
use kernel::result::ResultRecord;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Instant;

/// One entry of a timeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Index of the record in the ledger: a cursor, and what a receipt can be asked for.
    pub index: u64,
    /// When.
    pub at: Instant,
    /// Who asked for it; nothing for decisions, which name their agent, and for what time did.
    pub actor: Option<Actor>,
    /// What.
    pub happened: Happening,
    /// Why nothing came of it; empty where it was carried out.
    pub refused: Vec<Finding>,
}

/// What happened in a flow or to an intent.
#[derive(Clone, PartialEq, Debug)]
pub enum Happening {
    /// A proposal was judged.
    Decided(Box<RecordedDecision>),
    /// A flow was opened, perhaps out of another.
    FlowOpened { flow: String, agent: String, parent: Option<String> },
    /// A flow was closed or broken off.
    FlowEnded { flow: String, event: FlowEvent, state: Option<FlowState> },
    /// Values joined the session of a flow.
    SessionExtended { flow: String, values: Object },
    /// State was frozen for a flow.
    SnapshotTaken { flow: Option<String>, snapshot: Option<String> },
    /// A person answered a question.
    Answered(Box<RecordedAnswer>),
    /// A worker took an intent.
    Claimed { intent: String, worker: String, lease_until: Option<Instant> },
    /// An attempt was marked before its first byte.
    Started { intent: String, epoch: u64, attempt: Digest },
    /// What an attempt observed. What is late does not count by itself.
    Observed { intent: String, observed: Observed, detail: String, is_late: bool, state: Option<IntentState> },
    /// A person said what became of an intent in doubt.
    Resolved { intent: String, question: String, decision: String, reason: String, state: Option<IntentState> },
    /// Whoever performs an intent reported what became of it.
    Settled { intent: String, event: IntentEvent, state: Option<IntentState> },
    /// What happened is to be undone by another intent.
    UndoOrdered { intent: String, undo: String, because: String },
    /// An agent asked a person of its own accord.
    Asked { question: String, inquiry: Box<Inquiry> },
    /// A flow took resources, or could not.
    Reserved(Box<Reservation>),
    /// A flow gave resources back.
    Released { flow: String, resources: Vec<String> },
    /// Something was written down in a flow.
    Noted { flow: String, name: String, details: Object },
    /// What the other side of an effect answered was recorded.
    ResultRecorded(Box<ResultRecord>),
    /// Something followed without anyone asking for it.
    Followed(Box<Consequence>),
}

/// The decision about a proposal.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedDecision {
    pub flow: String,
    pub agent: String,
    /// As the ledger shows it: secret params are withheld.
    pub proposal: Proposal,
    pub answer: Answer,
    /// Until when the intent that came of it may be started.
    pub valid_until: Option<Instant>,
    /// Whether the contract only observes, so that the verdict did not bind.
    pub is_observed: bool,
}

/// The answer of a person.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedAnswer {
    pub question: String,
    /// What was said, as it was said: a refused answer may say anything.
    pub decision: String,
    pub reason: String,
    /// The proposal that is to happen instead.
    pub instead: Option<Proposal>,
    /// Where the question stands now.
    pub state: Option<EscalationState>,
    /// The intent that came of it, and until when it may be started.
    pub intent: Option<(String, Instant)>,
}

impl Entry {
    /// What a record says; nothing where it tells of something that no timeline shows.
    pub fn from_record(index: u64, body: &Json) -> Option<Entry> {
        let at = Instant::parse(body.get("at")?.as_text()?)?;
        let happened = Happening::from_record(body)?;
        let actor = body.get("actor").and_then(Json::as_text).and_then(Actor::parse);
        let is_refused = verdict(body) == Some(Verdict::Reject) && !matches!(happened, Happening::Decided(_));
        let refused = if is_refused { findings(body) } else { Vec::new() };
        Some(Entry { index, at, actor, happened, refused })
    }

    /// For programs: `index`, `at`, `actor`, `kind`, `refused`, and what the kind has to tell.
    pub fn to_json(&self) -> Json {
        let mut members = self.happened.members();
        let head = [
            ("index", Json::from(self.index)),
            ("at", Json::text(self.at.to_string())),
            ("actor", Json::from(self.actor.as_ref().map(Actor::text))),
            ("kind", Json::text(self.happened.kind().word())),
            ("refused", Json::List(self.refused.iter().map(finding_json).collect())),
        ];
        members.extend(head.map(|(name, value)| (name.to_owned(), value)));
        Json::Object(members)
    }
}

impl Happening {
    /// What the body of a record tells of.
    pub fn from_record(body: &Json) -> Option<Happening> {
        match RecordKind::of(body)? {
            RecordKind::Decision => Some(Happening::Decided(Box::new(RecordedDecision::from_record(body)?))),
            RecordKind::Result => Some(Happening::ResultRecorded(Box::new(ResultRecord::from_record(body)?))),
            RecordKind::Consequence(_) => Some(Happening::Followed(Box::new(Consequence::from_record(body)?))),
            RecordKind::Change(ActKind::Answer) => {
                Some(Happening::Answered(Box::new(RecordedAnswer::from_record(body)?)))
            }
            RecordKind::Change(ActKind::Ask) => {
                let (question, inquiry) = Asking::from_record(body)?;
                Some(Happening::Asked { question, inquiry: Box::new(inquiry) })
            }
            RecordKind::Change(kind) => Happening::of_act(act(kind, body.get("command")?, &mut NoContracts)?, body),
            RecordKind::Refusal | RecordKind::Discontinuity => None,
        }
    }

    /// What a change that was asked for came to.
    fn of_act(act: Act, body: &Json) -> Option<Happening> {
        let said = |key: &str| body.get("result").and_then(|result| result.get(key));
        let text = |key: &str| said(key).and_then(Json::as_text);
        let state = || text("state").and_then(IntentState::from_word);
        Some(match act {
            Act::OpenFlow { flow, agent, parent } => Happening::FlowOpened { flow, agent, parent },
            Act::EndFlow { flow, event } => {
                Happening::FlowEnded { flow, event, state: text("state").and_then(FlowState::from_word) }
            }
            Act::Remember { flow, values } => Happening::SessionExtended { flow, values },
            Act::Freeze { flow, .. } => {
                Happening::SnapshotTaken { flow, snapshot: text("snapshot").map(str::to_owned) }
            }
            Act::Claim { intent, worker, .. } => {
                Happening::Claimed { intent, worker, lease_until: text("lease_until").and_then(Instant::parse) }
            }
            Act::Start { intent, epoch, attempt } => Happening::Started { intent, epoch, attempt },
            Act::Outcome { intent, observed, detail, .. } => {
                Happening::Observed { intent, observed, detail, is_late: said("late").is_some(), state: state() }
            }
            Act::Resolve(answer) => {
                let kernel::change::DoubtAnswer { intent, question, decision, reason, .. } = *answer;
                Happening::Resolved { intent, question, decision, reason, state: state() }
            }
            Act::Settle { intent, event, .. } => Happening::Settled { intent, event, state: state() },
            Act::Undo { intent, undo, because } => Happening::UndoOrdered { intent, undo, because },
            Act::Reserve(reservation) => Happening::Reserved(Box::new(reservation)),
            Act::Release { flow, resources } => {
                let given = said("resources").and_then(Json::as_list).unwrap_or_default();
                let given: Vec<String> = given.iter().filter_map(Json::as_text).map(str::to_owned).collect();
                Happening::Released { flow, resources: if given.is_empty() { resources } else { given } }
            }
            Act::Note { flow, name, details } => Happening::Noted { flow, name, details },
            Act::Ask(_)
            | Act::Register(_)
            | Act::Activate { .. }
            | Act::Try(_)
            | Act::Restrict { .. }
            | Act::Lift { .. }
            | Act::Retire { .. }
            | Act::Amend { .. }
            | Act::Merge(_)
            | Act::Import { .. }
            | Act::Answer(_)
            | Act::ExpireQuestions(_)
            | Act::ExpireIntents
            | Act::Halt { .. }
            | Act::Resume { .. }
            | Act::Lease(_)
            | Act::Upkeep(_) => return None,
        })
    }

    /// The kind of its records.
    pub fn kind(&self) -> RecordKind {
        RecordKind::Change(match self {
            Happening::Decided(_) => return RecordKind::Decision,
            Happening::ResultRecorded(_) => return RecordKind::Result,
            Happening::Followed(consequence) => return RecordKind::Consequence(consequence.kind()),
            Happening::FlowOpened { .. } => ActKind::OpenFlow,
            Happening::FlowEnded { .. } => ActKind::EndFlow,
            Happening::SessionExtended { .. } => ActKind::Remember,
            Happening::SnapshotTaken { .. } => ActKind::Freeze,
            Happening::Answered(_) => ActKind::Answer,
            Happening::Claimed { .. } => ActKind::Claim,
            Happening::Started { .. } => ActKind::Start,
            Happening::Observed { .. } => ActKind::Outcome,
            Happening::Resolved { .. } => ActKind::Resolve,
            Happening::Settled { .. } => ActKind::Settle,
            Happening::UndoOrdered { .. } => ActKind::Undo,
            Happening::Asked { .. } => ActKind::Ask,
            Happening::Reserved(_) => ActKind::Reserve,
            Happening::Released { .. } => ActKind::Release,
            Happening::Noted { .. } => ActKind::Note,
        })
    }

    /// The intent that it happened to, or that came of it.
    pub fn intent(&self) -> Option<&str> {
        match self {
            Happening::Decided(decision) => decision.answer.intent.as_ref().map(|intent| intent.id()),
            Happening::Answered(answer) => answer.intent.as_ref().map(|(intent, _)| intent.as_str()),
            Happening::Claimed { intent, .. }
            | Happening::Started { intent, .. }
            | Happening::Observed { intent, .. }
            | Happening::Resolved { intent, .. }
            | Happening::Settled { intent, .. }
            | Happening::UndoOrdered { intent, .. } => Some(intent),
            Happening::ResultRecorded(result) => Some(&result.intent),
            Happening::Followed(consequence) => match consequence.as_ref() {
                Consequence::IntentMoved { step: IntentStep { intent, .. }, .. }
                | Consequence::IntentExpired { intent, .. } => Some(intent),
                Consequence::QuestionExpired(_)
                | Consequence::QuestionAborted(_)
                | Consequence::QuestionReminded(_)
                | Consequence::QuestionRerouted(_)
                | Consequence::MonitorTripped(_) => None,
            },
            Happening::FlowOpened { .. }
            | Happening::FlowEnded { .. }
            | Happening::SessionExtended { .. }
            | Happening::SnapshotTaken { .. }
            | Happening::Asked { .. }
            | Happening::Reserved(_)
            | Happening::Released { .. }
            | Happening::Noted { .. } => None,
        }
    }

    /// The question that it happened to.
    pub fn question(&self) -> Option<&str> {
        match self {
            Happening::Answered(answer) => Some(&answer.question),
            Happening::Resolved { question, .. } | Happening::Asked { question, .. } => Some(question),
            Happening::Followed(consequence) => match consequence.as_ref() {
                Consequence::QuestionExpired(QuestionEnd { question, .. })
                | Consequence::QuestionAborted(QuestionEnd { question, .. })
                | Consequence::QuestionReminded(QuestionNotice { question, .. })
                | Consequence::QuestionRerouted(QuestionNotice { question, .. }) => Some(question),
                Consequence::IntentMoved { .. }
                | Consequence::IntentExpired { .. }
                | Consequence::MonitorTripped(_) => None,
            },
            Happening::Decided(_)
            | Happening::FlowOpened { .. }
            | Happening::FlowEnded { .. }
            | Happening::SessionExtended { .. }
            | Happening::SnapshotTaken { .. }
            | Happening::Claimed { .. }
            | Happening::Started { .. }
            | Happening::Observed { .. }
            | Happening::Settled { .. }
            | Happening::UndoOrdered { .. }
            | Happening::Reserved(_)
            | Happening::Released { .. }
            | Happening::Noted { .. }
            | Happening::ResultRecorded(_) => None,
        }
    }

    /// Where it left the intent.
    pub fn intent_state(&self) -> Option<IntentState> {
        match self {
            Happening::Observed { state, .. }
            | Happening::Resolved { state, .. }
            | Happening::Settled { state, .. } => *state,
            Happening::Followed(consequence) => match consequence.as_ref() {
                Consequence::IntentMoved { step, .. } => Some(step.to),
                Consequence::IntentExpired { .. } => Some(IntentState::Cancelled),
                Consequence::QuestionExpired(_)
                | Consequence::QuestionAborted(_)
                | Consequence::QuestionReminded(_)
                | Consequence::QuestionRerouted(_)
                | Consequence::MonitorTripped(_) => None,
            },
            Happening::Decided(_)
            | Happening::FlowOpened { .. }
            | Happening::FlowEnded { .. }
            | Happening::SessionExtended { .. }
            | Happening::SnapshotTaken { .. }
            | Happening::Answered(_)
            | Happening::Claimed { .. }
            | Happening::Started { .. }
            | Happening::UndoOrdered { .. }
            | Happening::Asked { .. }
            | Happening::Reserved(_)
            | Happening::Released { .. }
            | Happening::Noted { .. }
            | Happening::ResultRecorded(_) => None,
        }
    }

    /// What an agent did in its flow besides proposing.
    fn members_in_flow(&self) -> Object {
        let text = |value: &str| Json::text(value);
        if let Happening::Asked { question, inquiry } = self {
            let mut members = inquiry.to_json().as_object().cloned().unwrap_or_default();
            members.insert("question".to_owned(), text(question));
            return members;
        }
        if let Happening::Reserved(reservation) = self {
            return object([
                ("flow", text(&reservation.flow)),
                ("wanted", amounts(&reservation.wanted)),
                ("available", amounts(&reservation.available)),
                ("until", Json::from(reservation.until.map(|until| until.to_string()))),
            ]);
        }
        if let Happening::Released { flow, resources } = self {
            let resources = Json::texts(resources.iter().map(String::as_str));
            return object([("flow", text(flow)), ("resources", resources)]);
        }
        let Happening::Noted { flow, name, details } = self else { return Object::new() };
        object([("flow", text(flow)), ("name", text(name)), ("details", Json::Object(details.clone()))])
    }

    fn members(&self) -> Object {
        let text = |value: &str| Json::text(value);
        let state = |state: &Option<IntentState>| Json::from(state.map(|state| state.word().to_owned()));
        let intent = |intent: &String| ("intent", text(intent));
        match self {
            Happening::Decided(decision) => decision.members(),
            Happening::Answered(answer) => answer.members(),
            Happening::FlowOpened { flow, agent, parent } => {
                object([("flow", text(flow)), ("agent", text(agent)), ("parent", Json::from(parent.clone()))])
            }
            Happening::FlowEnded { flow, event, state } => object([
                ("flow", text(flow)),
                ("event", text(event.word())),
                ("state", Json::from(state.map(|state| state.word().to_owned()))),
            ]),
            Happening::SessionExtended { flow, values } => {
                object([("flow", text(flow)), ("values", Json::Object(values.clone()))])
            }
            Happening::SnapshotTaken { flow, snapshot } => {
                object([("flow", Json::from(flow.clone())), ("snapshot", Json::from(snapshot.clone()))])
            }
            Happening::Claimed { intent: id, worker, lease_until } => object([
                intent(id),
                ("worker", text(worker)),
                ("lease_until", Json::from(lease_until.map(|until| until.to_string()))),
            ]),
            Happening::Started { intent: id, epoch, attempt } => {
                object([intent(id), ("epoch", Json::from(*epoch)), ("attempt", text(&attempt.to_string()))])
            }
            Happening::Observed { intent: id, observed, detail, is_late, state: now } => object([
                intent(id),
                ("observed", text(observed.word())),
                ("detail", text(detail)),
                ("late", Json::Bool(*is_late)),
                ("state", state(now)),
            ]),
            Happening::Resolved { intent: id, question, decision, reason, state: now } => object([
                intent(id),
                ("question", text(question)),
                ("decision", text(decision)),
                ("reason", text(reason)),
                ("state", state(now)),
            ]),
            Happening::Settled { intent: id, event, state: now } => {
                object([intent(id), ("event", text(event.word())), ("state", state(now))])
            }
            Happening::UndoOrdered { intent: id, undo, because } => {
                object([intent(id), ("undo", text(undo)), ("because", text(because))])
            }
            Happening::Asked { .. } | Happening::Reserved(_) | Happening::Released { .. } | Happening::Noted { .. } => {
                self.members_in_flow()
            }
            Happening::ResultRecorded(result) => {
                object([intent(&result.intent), ("response", result.result.to_json())])
            }
            Happening::Followed(consequence) => consequence.to_json().as_object().cloned().unwrap_or_default(),
        }
    }
}

/// Amounts by name.
fn amounts(amounts: &BTreeMap<String, Decimal>) -> Json {
    Json::Object(amounts.iter().map(|(name, amount)| (name.clone(), Json::from(*amount))).collect())
}

impl RecordedDecision {
    fn from_record(body: &Json) -> Option<RecordedDecision> {
        let text = |key: &str| Some(body.get(key)?.as_text()?.to_owned());
        Some(RecordedDecision {
            flow: text("flow")?,
            agent: text("agent")?,
            proposal: Proposal::from_json(body.get("proposal")?.clone()).ok()?,
            answer: Answer::from_record(body)?,
            valid_until: intent(body).map(|(_, until)| until),
            is_observed: body.get("mode").and_then(Json::as_text) == Some(Mode::Observe.word()),
        })
    }

    fn members(&self) -> Object {
        let answer = &self.answer;
        let intent = answer.intent.as_ref().map_or(Json::Null, |intent| {
            let until = self.valid_until.map(|until| until.to_string());
            Json::object([("id", Json::text(intent.id())), ("valid_until", Json::from(until))])
        });
        let question = answer.question.as_ref().map_or(Json::Null, AskedQuestion::to_json);
        object([
            ("flow", Json::text(self.flow.as_str())),
            ("agent", Json::text(self.agent.as_str())),
            ("proposal_id", Json::text(answer.id.as_str())),
            ("proposal", self.proposal.to_json(self.proposal.params.clone())),
            ("verdict", Json::text(answer.verdict.word())),
            ("reasons", Json::texts(answer.reasons())),
            ("findings", Json::List(answer.findings.iter().map(finding_json).collect())),
            ("observed", Json::Bool(self.is_observed)),
            ("intent", intent),
            ("question", question),
        ])
    }
}

impl RecordedAnswer {
    fn from_record(body: &Json) -> Option<RecordedAnswer> {
        let command = body.get("command")?;
        let said = |key: &str| Some(command.get(key)?.as_text()?.to_owned());
        let instead = command.get("modified").and_then(|modified| modified.get("proposal"));
        let state = body.get("result").and_then(|result| result.get("state")?.as_text());
        Some(RecordedAnswer {
            question: said("question")?,
            decision: said("decision")?,
            reason: said("reason")?,
            instead: instead.and_then(|instead| Proposal::from_json(instead.clone()).ok()),
            state: state.and_then(EscalationState::from_word),
            intent: intent(body),
        })
    }

    fn members(&self) -> Object {
        let instead = self.instead.as_ref().map_or(Json::Null, |instead| instead.to_json(instead.params.clone()));
        let intent = self.intent.as_ref().map_or(Json::Null, |(id, until)| {
            Json::object([("id", Json::text(id.as_str())), ("valid_until", Json::text(until.to_string()))])
        });
        object([
            ("question", Json::text(self.question.as_str())),
            ("decision", Json::text(self.decision.as_str())),
            ("reason", Json::text(self.reason.as_str())),
            ("instead", instead),
            ("state", Json::from(self.state.map(|state| state.word().to_owned()))),
            ("intent", intent),
        ])
    }
}

/// No timeline tells of contracts, so none is needed to read what it tells of.
struct NoContracts;

impl Contracts for NoContracts {
    fn known(&self, _: Digest) -> Option<Arc<Compiled>> {
        None
    }

    fn compile(&mut self, _: &Json) -> Option<Arc<Compiled>> {
        None
    }
}

/// The verdict on what was asked for.
pub(crate) fn verdict(body: &Json) -> Option<Verdict> {
    body.get("verdict").and_then(Json::as_text).and_then(Verdict::from_word)
}

/// What a record says was found.
pub(crate) fn findings(body: &Json) -> Vec<Finding> {
    let found = body.get("findings").and_then(Json::as_list).unwrap_or_default();
    found.iter().filter_map(Finding::from_record).collect()
}

/// A finding as values of the read model hold it.
pub(crate) fn finding_json(finding: &Finding) -> Json {
    Json::object([
        ("code", Json::text(finding.code.as_str())),
        ("gate", Json::text(finding.gate.word())),
        ("field", Json::from(finding.field.clone())),
        ("message", Json::text(finding.message())),
    ])
}

/// The intent a record made, and until when it may be started.
fn intent(body: &Json) -> Option<(String, Instant)> {
    let intent = body.get("intent")?;
    let until = Instant::parse(intent.get("valid_until")?.as_text()?)?;
    Some((intent.get("id")?.as_text()?.to_owned(), until))
}

pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Object {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
