//! Events: what a change tells besides its verdict, in its answer and in its record.
//!
//! [`Event::to_json`] writes what the record says and [`Event::read`] reads it. What followed without anyone asking for it
//! is a [`Consequence`](crate::consequence::Consequence) with a record of its own.

mod agents;
mod flows;
mod inquiries;
mod intents;
mod leases;
fn switch_json(halted: bool, group: Option<&str>) -> Json {
    let mut members = Object::from_iter([("halted".to_owned(), Json::Bool(halted))]);
    members.extend(group.map(|group| ("group".to_owned(), Json::text(group))));
    Json::Object(members)
}

fn group(json: &Json) -> Option<Option<String>> {
    match json.get("group") {
        Some(group) => Some(Some(group.as_text()?.to_owned())),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests;

pub use agents::{AgentStanding, AmendedLimit, LimitBounds};
pub use flows::{AbortedFlow, ClosedFlow, OpenedFlow};
pub use intents::{AcceptedUndo, KeptEvidence};
pub use leases::{GrantedLease, LeaseEnd, LeaseTerms};

use crate::change::ActKind;
use crate::consequence::{Consequence, IntentStep, QuestionEnd};
use crate::escalation::EscalationState;
use crate::intent::IntentState;
use crate::outcome::Verdict;
use crate::record::Record;
use crate::stored::{optional_text, text_of, whole_of};
use ledger::ed25519::PublicKey;
use ledger::envelope::{key_text, read_key};
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// What a change tells.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// An agent came, was put in force, restricted, freed or let go: how it stands now.
    AgentChanged(AgentStanding),
    /// A bound changed for a while.
    Amended(AmendedLimit),
    FlowOpened(OpenedFlow),
    FlowClosed(ClosedFlow),
    FlowAborted(AbortedFlow),
    /// The versions of what was written, by key.
    StateMerged {
        versions: BTreeMap<String, u64>,
    },
    /// How many values a flow's session holds now.
    SessionKept {
        flow: String,
        values: u64,
    },
    SnapshotFrozen {
        snapshot: String,
        at: Instant,
        state: Object,
    },
    /// A snapshot made elsewhere, kept under a name.
    SnapshotImported {
        name: String,
        snapshot: String,
    },
    /// A person's answer ended a question.
    QuestionAnswered(QuestionEnd),
    /// An answer was refused, and this is how the question stands: answered before, or still open.
    AnswerRefused(QuestionEnd),
    /// A person agreed, and others must too.
    VoteCounted {
        question: String,
        state: EscalationState,
        votes: u64,
        quorum: u64,
    },
    /// What time did to questions.
    QuestionsExpired {
        expired: u64,
        reminded: u64,
        rerouted: u64,
    },
    /// A person said what became of an intent in doubt, and others must say the same.
    DoubtVoteCounted {
        question: String,
        intent: String,
        votes: u64,
        quorum: u64,
    },
    /// People said what became of an intent in doubt.
    DoubtResolved {
        question: String,
        intent: String,
        state: IntentState,
    },
    /// A worker has an intent until then.
    IntentClaimed {
        step: IntentStep,
        lease_until: Instant,
    },
    /// An intent was started, or its attempt ended.
    IntentMoved(IntentStep),
    /// Evidence of an earlier attempt ended a doubt.
    DoubtEnded(IntentStep),
    /// Evidence that came too late to move anything.
    EvidenceKept(KeptEvidence),
    /// Whoever performed an intent said what became of it.
    IntentSettled {
        intent: String,
        state: IntentState,
        /// The question that now waits for a person.
        question: Option<String>,
    },
    /// What time did to intents: those that nobody started, and those of which nobody knows whether they happened.
    IntentsExpired {
        called_off: u64,
        doubted: u64,
        /// Those that may be tried again.
        retried: u64,
    },
    UndoAccepted(AcceptedUndo),
    /// An agent asked a person of its own accord.
    QuestionAsked {
        question: String,
        /// Of what people are shown.
        digest: Digest,
        deadline: Instant,
    },
    /// What a flow holds now of the resources it asked for.
    Reserved {
        flow: String,
        held: BTreeMap<String, Decimal>,
        until: Option<Instant>,
    },
    /// Which resources a flow gave back.
    Released {
        flow: String,
        resources: Vec<String>,
    },
    Noted {
        flow: String,
        name: String,
    },
    Halted {
        group: Option<String>,
    },
    Resumed {
        group: Option<String>,
    },
    /// Regions are held: for the first time, for longer, or by an heir.
    LeaseGranted(GrantedLease),
    LeaseReleased(LeaseEnd),
    LeaseEvicted(LeaseEnd),
    /// How many keys the log has had.
    KeysRotated {
        keys: u64,
    },
    KeyEnrolled {
        agent: String,
        key: PublicKey,
    },
    /// Bodies may be removed, from one entry up to, not including, another.
    Erased {
        from: u64,
        to: u64,
    },
    HoldPlaced {
        hold: String,
    },
    HoldReleased {
        hold: String,
    },
    /// How long idempotency keys are kept from now on.
    KeysKept {
        kept: Duration,
    },
    /// Answers that were given before this are forgotten.
    KeysForgotten {
        before: Instant,
    },
}

impl Event {
    /// What its record says happened.
    pub fn to_json(&self) -> Json {
        match self {
            Event::AgentChanged(standing) => standing.to_json(),
            Event::Amended(amended) => amended.to_json(),
            Event::FlowOpened(flow) => flow.to_json(),
            Event::FlowClosed(flow) => flow.to_json(),
            Event::FlowAborted(flow) => flow.to_json(),
            Event::StateMerged { versions } => {
                let versions = versions.iter().map(|(key, version)| (key.clone(), Json::from(*version)));
                Json::object([("versions", Json::Object(versions.collect()))])
            }
            Event::SessionKept { flow, values } => {
                Json::object([("flow", text(flow)), ("values", Json::from(*values))])
            }
            Event::SnapshotFrozen { snapshot, at, state } => frozen_json(snapshot, *at, state),
            Event::SnapshotImported { name, snapshot } => {
                Json::object([("name", text(name)), ("snapshot", text(snapshot))])
            }
            Event::QuestionAnswered(end) | Event::AnswerRefused(end) => end.to_json(),
            Event::VoteCounted { question, state, votes, quorum } => {
                let state = ("state", text(state.word()));
                Json::object([("question", text(question)), state, count("votes", *votes), count("quorum", *quorum)])
            }
            Event::QuestionsExpired { expired, reminded, rerouted } => expired_json(*expired, *reminded, *rerouted),
            Event::DoubtVoteCounted { question, intent, votes, quorum } => {
                let intent = ("intent", text(intent));
                Json::object([("question", text(question)), intent, count("votes", *votes), count("quorum", *quorum)])
            }
            Event::DoubtResolved { question, intent, state } => {
                Json::object([("question", text(question)), ("intent", text(intent)), ("state", text(state.word()))])
            }
            Event::IntentClaimed { step, lease_until } => {
                with(step.members(), "lease_until", text(&lease_until.to_string()))
            }
            Event::IntentMoved(step) => Json::Object(step.members()),
            Event::DoubtEnded(step) => with(step.members(), "late", Json::Bool(true)),
            Event::EvidenceKept(evidence) => evidence.to_json(),
            Event::IntentSettled { intent, state, question } => {
                let members = [("intent".to_owned(), text(intent)), ("state".to_owned(), text(state.word()))];
                let question = question.as_ref().map(|question| ("question".to_owned(), text(question)));
                Json::Object(members.into_iter().chain(question).collect())
            }
            Event::IntentsExpired { called_off, doubted, retried } => {
                Json::object([count("called_off", *called_off), count("doubted", *doubted), count("retried", *retried)])
            }
            Event::UndoAccepted(undo) => undo.to_json(),
            Event::QuestionAsked { .. } | Event::Reserved { .. } | Event::Released { .. } | Event::Noted { .. } => {
                inquiries::to_json(self)
            }
            Event::Halted { group } => switch_json(true, group.as_deref()),
            Event::Resumed { group } => switch_json(false, group.as_deref()),
            Event::LeaseGranted(lease) => lease.to_json(),
            Event::LeaseReleased(end) => end.to_json("released"),
            Event::LeaseEvicted(end) => end.to_json("evicted"),
            Event::KeysRotated { keys } => Json::object([count("keys", *keys)]),
            Event::KeyEnrolled { agent, key } => Json::object([("agent", text(agent)), ("key", text(&key_text(key)))]),
            // A JSON number is not exact beyond 2^53.
            Event::Erased { from, to } => {
                Json::object([("from", text(&from.to_string())), ("to", text(&to.to_string()))])
            }
            Event::HoldPlaced { hold } | Event::HoldReleased { hold } => Json::object([("hold", text(hold))]),
            Event::KeysKept { kept } => Json::object([("kept", text(&kept.to_string()))]),
            Event::KeysForgotten { before } => Json::object([("before", text(&before.to_string()))]),
        }
    }

    /// Where it leaves the intent that was acted on, and which question about it is asked or answered.
    pub fn intent_left(&self) -> Option<(IntentState, Option<&str>)> {
        match self {
            Event::IntentClaimed { step, .. } | Event::IntentMoved(step) | Event::DoubtEnded(step) => {
                Some((step.to, step.question.as_deref()))
            }
            Event::EvidenceKept(evidence) => Some((evidence.state, None)),
            Event::IntentSettled { state, question, .. } => Some((*state, question.as_deref())),
            Event::DoubtResolved { state, question, .. } => Some((*state, Some(question))),
            Event::UndoAccepted(_)
            | Event::AgentChanged(_)
            | Event::Amended(_)
            | Event::FlowOpened(_)
            | Event::FlowClosed(_)
            | Event::FlowAborted(_)
            | Event::StateMerged { .. }
            | Event::SessionKept { .. }
            | Event::SnapshotFrozen { .. }
            | Event::SnapshotImported { .. }
            | Event::QuestionAnswered(_)
            | Event::AnswerRefused(_)
            | Event::VoteCounted { .. }
            | Event::QuestionsExpired { .. }
            | Event::DoubtVoteCounted { .. }
            | Event::IntentsExpired { .. }
            | Event::QuestionAsked { .. }
            | Event::Reserved { .. }
            | Event::Released { .. }
            | Event::Noted { .. }
            | Event::Halted { .. }
            | Event::Resumed { .. }
            | Event::LeaseGranted(_)
            | Event::LeaseReleased(_)
            | Event::LeaseEvicted(_)
            | Event::KeysRotated { .. }
            | Event::KeyEnrolled { .. }
            | Event::Erased { .. }
            | Event::HoldPlaced { .. }
            | Event::HoldReleased { .. }
            | Event::KeysKept { .. }
            | Event::KeysForgotten { .. } => None,
        }
    }

    /// What time did to intents, by the records of what followed.
    pub(crate) fn intents_expired(records: &[Record]) -> Event {
        let (mut called_off, mut doubted, mut retried) = (0, 0, 0);
        for record in records {
            let Record::Event(event) = record else { continue };
            match event.consequence() {
                Some(Consequence::IntentMoved { step, .. }) => match step.to {
                    IntentState::InDoubt | IntentState::Unreported => doubted += 1,
                    IntentState::Ready => retried += 1,
                    IntentState::Claimed
                    | IntentState::InFlight
                    | IntentState::HandedOut
                    | IntentState::Succeeded
                    | IntentState::Failed
                    | IntentState::Cancelled
                    | IntentState::Abandoned => called_off += 1,
                },
                Some(_) => called_off += 1,
                None => {}
            }
        }
        Event::IntentsExpired { called_off, doubted, retried }
    }

    /// What the body of a change's record tells; `None` where it tells nothing besides its verdict.
    pub fn from_record(body: &Json) -> Option<Event> {
        let kind = ActKind::from_word(body.get("kind")?.as_text()?)?;
        let verdict = Verdict::from_word(body.get("verdict")?.as_text()?)?;
        Event::read(kind, verdict, body.get("result")?)
    }

    /// Reads back what [`Event::to_json`] wrote for a change of this kind.
    pub fn read(kind: ActKind, verdict: Verdict, json: &Json) -> Option<Event> {
        match verdict {
            Verdict::Accept => Event::read_accepted(kind, json),
            Verdict::Reject if kind == ActKind::Answer => QuestionEnd::read(json).map(Event::AnswerRefused),
            Verdict::Reject | Verdict::Escalate => None,
        }
    }

    fn read_accepted(kind: ActKind, json: &Json) -> Option<Event> {
        let has = |key: &str| json.get(key).is_some();
        Some(match kind {
            ActKind::Register
            | ActKind::Activate
            | ActKind::StartCanary
            | ActKind::PromoteCanary
            | ActKind::RollBackCanary
            | ActKind::Restrict
            | ActKind::Lift
            | ActKind::Retire => Event::AgentChanged(AgentStanding::read(json)?),
            ActKind::Amend => Event::Amended(AmendedLimit::read(json)?),
            ActKind::OpenFlow => Event::FlowOpened(OpenedFlow::read(json)?),
            ActKind::EndFlow => flows::read_end(json)?,
            ActKind::Merge => Event::StateMerged { versions: versions(json.get("versions")?)? },
            ActKind::Remember => Event::SessionKept { flow: text_of(json, "flow")?, values: whole_of(json, "values")? },
            ActKind::Freeze => Event::SnapshotFrozen {
                snapshot: text_of(json, "snapshot")?,
                at: Instant::parse(json.get("at")?.as_text()?)?,
                state: json.get("state")?.as_object()?.clone(),
            },
            ActKind::Import => {
                Event::SnapshotImported { name: text_of(json, "name")?, snapshot: text_of(json, "snapshot")? }
            }
            ActKind::Answer if has("votes") => vote(json)?,
            ActKind::Answer => Event::QuestionAnswered(QuestionEnd::read(json)?),
            ActKind::ExpireQuestions => expired(json)?,
            ActKind::Resolve => resolved(json)?,
            ActKind::Settle => Event::IntentSettled {
                intent: text_of(json, "intent")?,
                state: IntentState::from_word(json.get("state")?.as_text()?)?,
                question: optional_text(json, "question"),
            },
            ActKind::ExpireIntents => Event::IntentsExpired {
                called_off: whole_of(json, "called_off")?,
                doubted: whole_of(json, "doubted")?,
                retried: whole_of(json, "retried")?,
            },
            ActKind::Claim => Event::IntentClaimed {
                step: IntentStep::read(json)?,
                lease_until: Instant::parse(json.get("lease_until")?.as_text()?)?,
            },
            ActKind::Start => Event::IntentMoved(IntentStep::read(json)?),
            ActKind::Outcome if has("contradicts") => Event::EvidenceKept(KeptEvidence::read(json)?),
            ActKind::Outcome if has("late") => Event::DoubtEnded(IntentStep::read(json)?),
            ActKind::Outcome => Event::IntentMoved(IntentStep::read(json)?),
            ActKind::Undo => Event::UndoAccepted(AcceptedUndo::read(json)?),
            ActKind::Ask | ActKind::Reserve | ActKind::Release | ActKind::Note => inquiries::read(kind, json)?,
            ActKind::Halt => Event::Halted { group: group(json)? },
            ActKind::Resume => Event::Resumed { group: group(json)? },
            ActKind::LeaseAcquire | ActKind::LeaseHeartbeat | ActKind::LeaseAdopt => {
                Event::LeaseGranted(GrantedLease::read(json)?)
            }
            ActKind::LeaseRelease => Event::LeaseReleased(LeaseEnd::read(json)?),
            ActKind::LeaseEvict => Event::LeaseEvicted(LeaseEnd::read(json)?),
            ActKind::Erase => Event::Erased { from: index(json, "from")?, to: index(json, "to")? },
            ActKind::LegalHold => Event::HoldPlaced { hold: text_of(json, "hold")? },
            ActKind::ReleaseHold => Event::HoldReleased { hold: text_of(json, "hold")? },
            ActKind::RotateKeys => Event::KeysRotated { keys: whole_of(json, "keys")? },
            ActKind::EnrolKey => {
                Event::KeyEnrolled { agent: text_of(json, "agent")?, key: read_key(json.get("key")?.as_text()?)? }
            }
            ActKind::KeepKeys => Event::KeysKept { kept: Duration::parse(json.get("kept")?.as_text()?)? },
            ActKind::ForgetKeys => Event::KeysForgotten { before: Instant::parse(json.get("before")?.as_text()?)? },
        })
    }
}

fn text(value: &str) -> Json {
    Json::text(value)
}

fn count(key: &'static str, count: u64) -> (&'static str, Json) {
    (key, Json::from(count))
}

fn with(mut members: Object, key: &str, value: Json) -> Json {
    members.insert(key.to_owned(), value);
    Json::Object(members)
}

fn frozen_json(snapshot: &str, at: Instant, state: &Object) -> Json {
    let state = Json::Object(state.clone());
    Json::object([("snapshot", text(snapshot)), ("at", text(&at.to_string())), ("state", state)])
}

fn versions(json: &Json) -> Option<BTreeMap<String, u64>> {
    json.as_object()?.keys().map(|key| Some((key.clone(), whole_of(json, key)?))).collect()
}

fn vote(json: &Json) -> Option<Event> {
    Some(Event::VoteCounted {
        question: text_of(json, "question")?,
        state: EscalationState::from_word(json.get("state")?.as_text()?)?,
        votes: whole_of(json, "votes")?,
        quorum: whole_of(json, "quorum")?,
    })
}

/// Questions mostly end, or nothing happens to them; notices are told only where there were any.
fn expired_json(expired: u64, reminded: u64, rerouted: u64) -> Json {
    let notices = [("reminded", reminded), ("rerouted", rerouted)].into_iter().filter(|(_, notices)| *notices > 0);
    let told = std::iter::once(("expired", expired)).chain(notices);
    Json::Object(told.map(|(what, number)| (what.to_owned(), Json::from(number))).collect())
}

fn expired(json: &Json) -> Option<Event> {
    let notices = |key: &str| json.get(key).map_or(Some(0), |_| whole_of(json, key));
    let (expired, reminded, rerouted) = (whole_of(json, "expired")?, notices("reminded")?, notices("rerouted")?);
    Some(Event::QuestionsExpired { expired, reminded, rerouted })
}

fn resolved(json: &Json) -> Option<Event> {
    let (question, intent) = (text_of(json, "question")?, text_of(json, "intent")?);
    Some(match json.get("state") {
        Some(state) => Event::DoubtResolved { question, intent, state: IntentState::from_word(state.as_text()?)? },
        None => Event::DoubtVoteCounted {
            question,
            intent,
            votes: whole_of(json, "votes")?,
            quorum: whole_of(json, "quorum")?,
        },
    })
}

fn index(json: &Json, key: &str) -> Option<u64> {
    json.get(key)?.as_text()?.parse().ok()
}
