//! Reading a change back from its record, for replay. Answers of people need the question too and are read elsewhere.

use super::leasing::Leasing;
use super::upkeep::Upkeep;
use super::{Act, Attached, DoubtAnswer, Registration, Write};
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

/// The act of a record; `None` if the record is not one of ours.
pub fn act(kind: &str, command: &Json, contracts: &mut dyn Contracts) -> Option<Act> {
    let digest = |key: &str| Digest::parse(command.get(key)?.as_text()?);
    Some(match kind {
        "register" => Act::Register(Box::new(registration(command, contracts)?)),
        "activate" => Act::Activate {
            contract: contracts
                .compile(command.get("text")?)
                .filter(|contract| digest("contract") == Some(contract.digest))?,
            expected: match command.get("expected") {
                Some(_) => Some(digest("expected")?),
                None => None,
            },
        },
        "amend" => Act::Amend {
            contract: contracts.known(digest("contract")?)?,
            amendment: amendment(command.get("amendment")?)?,
        },
        "restrict" => Act::Restrict {
            agent: text_of(command, "agent")?,
            status: AgentStatus::from_word(command.get("status")?.as_text()?)?,
            because: text_of(command, "because")?,
            actions: texts_of(command, "actions")?,
        },
        "lift" => Act::Lift {
            agent: text_of(command, "agent")?,
            status: AgentStatus::from_word(command.get("status")?.as_text()?)?,
            because: text_of(command, "because")?,
        },
        "retire" => Act::Retire { agent: text_of(command, "agent")?, because: text_of(command, "because")? },
        "open_flow" => Act::OpenFlow {
            flow: text_of(command, "flow")?,
            agent: text_of(command, "agent")?,
            parent: optional_text(command, "parent"),
        },
        "end_flow" => Act::EndFlow {
            flow: text_of(command, "flow")?,
            event: FlowEvent::from_word(command.get("event")?.as_text()?)?,
        },
        "merge_state" => Act::Merge(command.get("writes")?.as_list()?.iter().map(write).collect::<Option<_>>()?),
        "merge_session" => {
            Act::Remember { flow: text_of(command, "flow")?, values: command.get("values")?.as_object()?.clone() }
        }
        "snapshot" => Act::Freeze { flow: optional_text(command, "flow"), keys: texts_of(command, "keys")? },
        "import_snapshot" => Act::Import { name: text_of(command, "name")?, snapshot: snapshot(command)? },
        "expire_questions" => Act::ExpireQuestions(texts_of(command, "questions")?),
        "settle" => Act::Settle {
            intent: text_of(command, "intent")?,
            event: IntentEvent::from_word(command.get("event")?.as_text()?)?,
            result: attached(command)?,
        },
        "expire_intents" => Act::ExpireIntents,
        "claim" | "start" | "outcome" | "resolve" | "undo" => execution(kind, command)?,
        "halt" => Act::Halt { because: text_of(command, "because")? },
        "resume" => Act::Resume { because: text_of(command, "because")? },
        other => match Leasing::read(other, command) {
            Some(leasing) => Act::Lease(leasing),
            None => Act::Upkeep(Upkeep::read(other, command)?),
        },
    })
}

fn execution(kind: &str, command: &Json) -> Option<Act> {
    let digest = |key: &str| Digest::parse(command.get(key)?.as_text()?);
    let intent = text_of(command, "intent")?;
    Some(match kind {
        "claim" => {
            let lease = Duration::from_micros(command.get("lease_us")?.as_number()?.to_i64()?);
            Act::Claim { intent, worker: text_of(command, "worker")?, lease }
        }
        "start" => Act::Start { intent, epoch: whole_of(command, "epoch")?, attempt: digest("attempt")? },
        "outcome" => Act::Outcome {
            intent,
            epoch: whole_of(command, "epoch")?,
            observed: Observed::from_word(command.get("observed")?.as_text()?)?,
            detail: text_of(command, "detail")?,
            result: attached(command)?,
        },
        "resolve" => Act::Resolve(Box::new(DoubtAnswer {
            intent,
            question: text_of(command, "question")?,
            decision: text_of(command, "decision")?,
            digest: digest("digest")?,
            reason: text_of(command, "reason")?,
            identity: Identity::from_json(command)?,
        })),
        "undo" => Act::Undo { intent, undo: text_of(command, "undo")?, because: text_of(command, "because")? },
        _ => return None,
    })
}

/// Whether a result came with a report. What it said stands in a record of its own.
fn attached(command: &Json) -> Option<Option<Attached>> {
    Some(command.get("result")?.as_bool()?.then_some(Attached::Recorded))
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
