//! Reading a change back from its record, for replay. Answers of people need the question too and are read elsewhere.

use super::inquiry::{self, Asking, Reservation};
use super::leasing::Leasing;
use super::upkeep::Upkeep;
use super::{Act, ActKind, AttachedResult, DoubtAnswer, Registration, Trial, Write};
use crate::agent::{AgentStatus, Session};
use crate::evaluator::Compiled;
use crate::flow::FlowEvent;
use crate::intent::{IntentEvent, Observed};
use crate::person::Identity;
use crate::snapshot::Snapshot;
use crate::stored::{amendment, instant_of, nullable, optional_text, text_of, texts_of, whole_of};
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use values::time::{Duration, Instant};

/// Where contracts come from: those seen before by digest, new ones by their full text.
pub trait Contracts {
    /// A contract seen before.
    fn known(&self, digest: Digest) -> Option<Arc<Compiled>>;

    /// A contract in full.
    fn compile(&mut self, contract: &Json) -> Option<Arc<Compiled>>;
}

/// The act of a record; `None` if it cannot be read, and for an answer of a person, which needs its question too.
pub fn act(kind: ActKind, command: &Json, contracts: &mut dyn Contracts) -> Option<Act> {
    Some(match kind {
        ActKind::Answer => return None,
        ActKind::Register => Act::Register(Box::new(registration(command, contracts)?)),
        ActKind::Activate => activation(command, contracts)?,
        ActKind::Amend => Act::Amend {
            contract: contracts.known(digest(command, "contract")?)?,
            amendment: amendment(command.get("amendment")?)?,
        },
        ActKind::StartCanary => Trial::read_start(command, contracts)?,
        ActKind::PromoteCanary => Trial::read_promotion(command)?,
        ActKind::RollBackCanary => Trial::read_roll_back(command)?,
        ActKind::Restrict => Act::Restrict {
            agent: text_of(command, "agent")?,
            status: AgentStatus::from_word(command.get("status")?.as_text()?)?,
            because: text_of(command, "because")?,
            actions: texts_of(command, "actions")?,
        },
        ActKind::Lift => Act::Lift {
            agent: text_of(command, "agent")?,
            status: AgentStatus::from_word(command.get("status")?.as_text()?)?,
            because: text_of(command, "because")?,
        },
        ActKind::Retire => Act::Retire { agent: text_of(command, "agent")?, because: text_of(command, "because")? },
        ActKind::OpenFlow => Act::OpenFlow {
            flow: text_of(command, "flow")?,
            agent: text_of(command, "agent")?,
            parent: optional_text(command, "parent"),
        },
        ActKind::EndFlow => Act::EndFlow {
            flow: text_of(command, "flow")?,
            event: FlowEvent::from_word(command.get("event")?.as_text()?)?,
        },
        ActKind::Merge => Act::Merge(command.get("writes")?.as_list()?.iter().map(write).collect::<Option<_>>()?),
        ActKind::Remember => {
            Act::Remember { flow: text_of(command, "flow")?, values: command.get("values")?.as_object()?.clone() }
        }
        ActKind::Freeze => Act::Freeze { flow: optional_text(command, "flow"), keys: texts_of(command, "keys")? },
        ActKind::Import => Act::Import { name: text_of(command, "name")?, snapshot: snapshot(command)? },
        ActKind::ExpireQuestions => Act::ExpireQuestions(texts_of(command, "questions")?),
        ActKind::Settle => settle(command)?,
        ActKind::ExpireIntents => Act::ExpireIntents,
        ActKind::Claim => claim(command)?,
        ActKind::Start => start(command)?,
        ActKind::Outcome => outcome(command)?,
        ActKind::Resolve => Act::Resolve(Box::new(doubt_answer(command)?)),
        ActKind::Undo => undo(command)?,
        ActKind::Halt => Act::Halt { group: group(command)?, because: text_of(command, "because")? },
        ActKind::Resume => Act::Resume { group: group(command)?, because: text_of(command, "because")? },
        ActKind::Ask => Asking::read(command, contracts.known(digest(command, "contract")?)?)?,
        ActKind::Reserve => Act::Reserve(Reservation::from_json(command)?),
        ActKind::Release => inquiry::read_release(command)?,
        ActKind::Note => inquiry::read_note(command)?,
        ActKind::LeaseAcquire => Act::Lease(Leasing::read_acquire(command)?),
        ActKind::LeaseHeartbeat => Act::Lease(Leasing::read_heartbeat(command)?),
        ActKind::LeaseRelease => Act::Lease(Leasing::read_release(command)?),
        ActKind::LeaseEvict => Act::Lease(Leasing::read_evict(command)?),
        ActKind::LeaseAdopt => Act::Lease(Leasing::read_adopt(command)?),
        ActKind::Erase => Act::Upkeep(Upkeep::read_erase(command)?),
        ActKind::LegalHold => Act::Upkeep(Upkeep::read_hold(command)?),
        ActKind::ReleaseHold => Act::Upkeep(Upkeep::read_release(command)?),
        ActKind::RotateKeys => Act::Upkeep(Upkeep::read_rotate(command)?),
        ActKind::EnrolKey => Act::Upkeep(Upkeep::read_key(command)?),
        ActKind::KeepKeys => Act::Upkeep(Upkeep::read_keep_keys(command)?),
        ActKind::ForgetKeys => Act::Upkeep(Upkeep::read_forget_keys(command)?),
    })
}

fn digest(command: &Json, key: &str) -> Option<Digest> {
    Digest::parse(command.get(key)?.as_text()?)
}

fn activation(command: &Json, contracts: &mut dyn Contracts) -> Option<Act> {
    let contract = contracts.compile(command.get("text")?)?;
    let expected = match command.get("expected") {
        Some(_) => Some(digest(command, "expected")?),
        None => None,
    };
    (digest(command, "contract") == Some(contract.digest)).then_some(Act::Activate { contract, expected })
}

/// The group of a switch, where it has one.
fn group(command: &Json) -> Option<Option<String>> {
    match command.get("group") {
        Some(group) => Some(Some(group.as_text()?.to_owned())),
        None => Some(None),
    }
}

fn settle(command: &Json) -> Option<Act> {
    let event = IntentEvent::from_word(command.get("event")?.as_text()?)?;
    Some(Act::Settle { intent: text_of(command, "intent")?, event, result: attached(command)? })
}

fn claim(command: &Json) -> Option<Act> {
    let lease = Duration::from_micros(command.get("lease_us")?.as_number()?.to_i64()?);
    Some(Act::Claim { intent: text_of(command, "intent")?, worker: text_of(command, "worker")?, lease })
}

fn start(command: &Json) -> Option<Act> {
    let (epoch, attempt) = (whole_of(command, "epoch")?, digest(command, "attempt")?);
    Some(Act::Start { intent: text_of(command, "intent")?, epoch, attempt })
}

fn outcome(command: &Json) -> Option<Act> {
    Some(Act::Outcome {
        intent: text_of(command, "intent")?,
        epoch: whole_of(command, "epoch")?,
        observed: Observed::from_word(command.get("observed")?.as_text()?)?,
        detail: text_of(command, "detail")?,
        result: attached(command)?,
    })
}

fn doubt_answer(command: &Json) -> Option<DoubtAnswer> {
    Some(DoubtAnswer {
        intent: text_of(command, "intent")?,
        question: text_of(command, "question")?,
        decision: text_of(command, "decision")?,
        digest: digest(command, "digest")?,
        reason: text_of(command, "reason")?,
        identity: Identity::from_json(command)?,
    })
}

fn undo(command: &Json) -> Option<Act> {
    let (intent, undo) = (text_of(command, "intent")?, text_of(command, "undo")?);
    Some(Act::Undo { intent, undo, because: text_of(command, "because")? })
}

/// Whether a result came with a report. What it said stands in a record of its own.
fn attached(command: &Json) -> Option<Option<AttachedResult>> {
    Some(command.get("result")?.as_bool()?.then_some(AttachedResult::Recorded))
}

fn registration(command: &Json, contracts: &mut dyn Contracts) -> Option<Registration> {
    let parent = match nullable(command, "parent")? {
        Some(digest) => Some(contracts.known(Digest::parse(digest.as_text()?)?)?),
        None => None,
    };
    let session = match nullable(command, "session")? {
        Some(session) => Some(Session {
            token_hash: Digest::parse(session.get("token_hash")?.as_text()?)?,
            expires: instant_of(session, "expires")?,
        }),
        None => None,
    };
    let contract = contracts.compile(command.get("contract")?)?;
    Some(Registration { contract, parent, version: optional_text(command, "version"), session })
}

fn write(json: &Json) -> Option<Write> {
    let expect = match nullable(json, "expect")? {
        Some(_) => Some(whole_of(json, "expect")?),
        None => None,
    };
    Some(Write { key: text_of(json, "key")?, value: json.get("value")?.clone(), expect })
}

fn snapshot(json: &Json) -> Option<Snapshot> {
    Some(Snapshot {
        at: Instant::parse(json.get("at")?.as_text()?)?,
        source: text_of(json, "source")?,
        flow: optional_text(json, "flow"),
        state: json.get("state")?.as_object()?.clone(),
        session: json.get("session")?.as_object()?.clone(),
    })
}
