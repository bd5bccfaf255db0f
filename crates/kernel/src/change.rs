//! Changes other than proposals: who, what, and everything needed to carry it out and to replay it.

use crate::advice::Advice;
use crate::agent::{Actor, AgentStatus, Session};
use crate::command::Submission;
use crate::contract::amend::Amendment;
use crate::escalation::PEOPLE;
use crate::evaluator::Compiled;
use crate::flow::FlowEvent;
use crate::intent::{IntentEvent, Observed};
use crate::person::{Identity, Person};
use crate::result::EffectResult;
use crate::snapshot::Snapshot;
use crate::stored::{amendment_json, instant_json};
use leasing::Leasing;
use std::sync::Arc;
use upkeep::Upkeep;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Duration;

pub mod inquiry;
mod kind;
pub mod leasing;
pub mod read;
mod trial;
pub mod upkeep;

pub use inquiry::{Asking, Inquiry, Reservation};
pub use kind::ActKind;
pub use trial::Trial;

/// One change of the world by someone.
#[derive(Clone, Debug)]
pub struct Change {
    /// Whose world.
    pub tenant: Arc<str>,
    /// Names the change in its answer and record.
    pub id: String,
    /// Who asks for it.
    pub actor: Actor,
    /// What.
    pub act: Act,
}

/// What can be asked for.
#[derive(Clone, Debug)]
pub enum Act {
    /// An agent comes with a contract. This never changes its state, widens its contract or resets a budget.
    Register(Box<Registration>),
    /// An operator puts a contract in force.
    Activate {
        /// The contract.
        contract: Arc<Compiled>,
        /// The one that must be in force now; absent means any or none.
        expected: Option<Digest>,
    },
    /// A candidate is tried on a share of an agent's flows.
    Try(Box<Trial>),
    /// A restriction is placed.
    Restrict {
        /// The agent.
        agent: String,
        /// Which state it demands.
        status: AgentStatus,
        /// Why.
        because: String,
        /// For DEGRADED: the revoked actions; empty means all.
        actions: Vec<String>,
    },
    /// Restrictions of one kind are lifted.
    Lift {
        /// The agent.
        agent: String,
        /// Which.
        status: AgentStatus,
        /// Why.
        because: String,
    },
    /// It is over with an agent.
    Retire {
        /// The agent.
        agent: String,
        /// Why.
        because: String,
    },
    /// A bound changes for a while.
    Amend {
        /// The contract it belongs to.
        contract: Arc<Compiled>,
        /// The change.
        amendment: Amendment,
    },
    /// A flow is opened.
    OpenFlow {
        /// Its id, minted outside.
        flow: String,
        /// For which agent.
        agent: String,
        /// Out of which flow.
        parent: Option<String>,
    },
    /// A flow is closed or broken off.
    EndFlow {
        /// The flow.
        flow: String,
        /// How.
        event: FlowEvent,
    },
    /// Values of state are written, all or none.
    Merge(Vec<Write>),
    /// Values join a flow's session.
    Remember {
        /// The flow.
        flow: String,
        /// The values.
        values: Object,
    },
    /// State and session are frozen.
    Freeze {
        /// For which flow.
        flow: Option<String>,
        /// Which keys of state.
        keys: Vec<String>,
    },
    /// A snapshot made elsewhere is kept under a name.
    Import {
        /// The name.
        name: String,
        /// The snapshot.
        snapshot: Snapshot,
    },
    /// A person answers a question.
    Answer(Box<HumanAnswer>),
    /// Time answers questions.
    ExpireQuestions(Vec<String>),
    /// Whoever performed an intent says what became of it.
    Settle {
        /// The intent.
        intent: String,
        /// What became of it.
        event: IntentEvent,
        /// What the other side answered.
        result: Option<AttachedResult>,
    },
    /// What time does to intents: what nobody started is called off, what a dead worker sent is doubted.
    ExpireIntents,
    /// A worker takes an intent that is ready.
    Claim {
        /// The intent.
        intent: String,
        /// Who takes it.
        worker: String,
        /// For how long.
        lease: Duration,
    },
    /// The mark before the first byte is sent.
    Start {
        /// The intent.
        intent: String,
        /// The epoch of the claim.
        epoch: u64,
        /// Digest of what is about to be performed.
        attempt: Digest,
    },
    /// What an attempt observed; under an epoch that no longer counts it is late evidence.
    Outcome {
        /// The intent.
        intent: String,
        /// The epoch of the attempt.
        epoch: u64,
        /// What was observed.
        observed: Observed,
        /// In a few words; never a secret.
        detail: String,
        /// What the other side answered.
        result: Option<AttachedResult>,
    },
    /// A person says what became of an intent in doubt.
    Resolve(Box<DoubtAnswer>),
    /// What happened is undone, by an intent of its own.
    Undo {
        /// What happened.
        intent: String,
        /// Id of the intent that undoes it, minted outside.
        undo: String,
        /// Why.
        because: String,
    },
    /// The kill switch is pulled.
    Halt {
        /// The group it stops; without one it stops everything.
        group: Option<String>,
        /// Why.
        because: String,
    },
    /// The kill switch is lifted.
    Resume {
        /// The group whose switch it is.
        group: Option<String>,
        /// Why.
        because: String,
    },
    /// An agent asks a person of its own accord.
    Ask(Box<Asking>),
    /// A flow holds resources, all or none.
    Reserve(Reservation),
    /// A flow gives resources back.
    Release {
        /// The flow.
        flow: String,
        /// Which; empty means all it holds.
        resources: Vec<String>,
    },
    /// Something is written down in a flow under a name. Nothing follows from it.
    Note {
        /// The flow.
        flow: String,
        /// Its name.
        name: String,
        /// What there is to say.
        details: Object,
    },
    /// Somebody asks for a region, keeps it or gives it back.
    Lease(Leasing),
    /// The ledger is looked after.
    Upkeep(Upkeep),
}

/// What the other side of an effect answered, on its way into a record of its own. Nothing is decided by it.
#[derive(Clone, PartialEq, Debug)]
pub enum AttachedResult {
    /// To be recorded with the report.
    Given(Box<EffectResult>),
    /// It was recorded when the report was first judged, and may have been erased since.
    Recorded,
}

/// An agent comes with a contract.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Its contract.
    pub contract: Arc<Compiled>,
    /// The contract in force above it, where it names a parent.
    pub parent: Option<Arc<Compiled>>,
    /// Its version.
    pub version: Option<String>,
    /// The token it will show, hashed.
    pub session: Option<Session>,
}

/// One value of state.
#[derive(Clone, PartialEq, Debug)]
pub struct Write {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Json,
    /// The version it must have; 0 means it must not exist; absent means any.
    pub expect: Option<u64>,
}

/// A person's answer to a question.
#[derive(Clone, Debug)]
pub struct HumanAnswer {
    /// Which question.
    pub escalation: String,
    /// What was said, as it was said.
    pub decision: String,
    /// Digest of what the person was shown.
    pub digest: Digest,
    /// Why.
    pub reason: String,
    /// The proposal in question, formed again under the contract in force.
    pub original: Option<Arc<Submission>>,
    /// What is to happen instead.
    pub modified: Option<Arc<Submission>>,
    /// How the door knows who answers.
    pub identity: Identity,
}

/// A person's answer to the question whether something happened.
#[derive(Clone, PartialEq, Debug)]
pub struct DoubtAnswer {
    /// The intent in doubt.
    pub intent: String,
    /// The question about it.
    pub question: String,
    /// What was said, as it was said.
    pub decision: String,
    /// Digest of what the person was shown.
    pub digest: Digest,
    /// Why.
    pub reason: String,
    /// How the door knows who answers.
    pub identity: Identity,
}

impl Act {
    /// The result that a report brings: of which intent, and under which claim.
    pub fn attached(&self) -> Option<(&str, Option<u64>, &AttachedResult)> {
        if let Act::Outcome { intent, epoch, result: Some(attached), .. } = self {
            return Some((intent, Some(*epoch), attached));
        }
        if let Act::Settle { intent, result: Some(attached), .. } = self {
            return Some((intent, None, attached));
        }
        None
    }

    /// Everything needed to carry it out again; contracts in full where they are new, by digest elsewhere.
    pub fn to_json(&self) -> Json {
        let text = |value: &str| Json::text(value);
        match self {
            Act::Register(registration) => registration.to_json(),
            Act::Activate { contract, expected } => activation_json(contract, *expected),
            Act::Try(trial) => trial.to_json(),
            Act::Restrict { agent, status, because, actions } => Json::object([
                ("agent", text(agent)),
                ("status", text(status.word())),
                ("because", text(because)),
                ("actions", Json::texts(actions.iter().map(String::as_str))),
            ]),
            Act::Lift { agent, status, because } => {
                Json::object([("agent", text(agent)), ("status", text(status.word())), ("because", text(because))])
            }
            Act::Retire { agent, because } => Json::object([("agent", text(agent)), ("because", text(because))]),
            Act::Amend { contract, amendment } => Json::object([
                ("agent", text(&contract.contract.agent)),
                ("contract", Json::text(contract.digest.to_string())),
                ("amendment", amendment_json(amendment)),
            ]),
            Act::OpenFlow { flow, agent, parent } => {
                Json::object([("flow", text(flow)), ("agent", text(agent)), ("parent", Json::from(parent.clone()))])
            }
            Act::EndFlow { flow, event } => Json::object([("flow", text(flow)), ("event", text(event.word()))]),
            Act::Merge(writes) => Json::object([("writes", Json::List(writes.iter().map(Write::to_json).collect()))]),
            Act::Remember { flow, values } => {
                Json::object([("flow", text(flow)), ("values", Json::Object(values.clone()))])
            }
            Act::Ask(_) | Act::Reserve(_) | Act::Release { .. } | Act::Note { .. } => inquiry::to_json(self),
            Act::Freeze { flow, keys } => freeze_json(flow, keys),
            Act::Import { name, snapshot } => Json::object([
                ("name", text(name)),
                ("at", Json::text(snapshot.at.to_string())),
                ("source", text(&snapshot.source)),
                ("flow", Json::from(snapshot.flow.clone())),
                ("state", Json::Object(snapshot.state.clone())),
                ("session", Json::Object(snapshot.session.clone())),
            ]),
            Act::Answer(answer) => answer.to_json(),
            Act::ExpireQuestions(names) => Json::object([("questions", Json::texts(names.iter().map(String::as_str)))]),
            Act::Settle { intent, event, result } => Json::object([
                ("intent", text(intent)),
                ("event", text(event.word())),
                ("result", Json::Bool(result.is_some())),
            ]),
            Act::ExpireIntents => Json::Object(Object::new()),
            Act::Claim { intent, worker, lease } => claim_json(intent, worker, *lease),
            Act::Start { intent, epoch, attempt } => Json::object([
                ("intent", text(intent)),
                ("epoch", Json::from(*epoch)),
                ("attempt", Json::text(attempt.to_string())),
            ]),
            Act::Outcome { intent, epoch, observed, detail, result } => Json::object([
                ("intent", text(intent)),
                ("epoch", Json::from(*epoch)),
                ("observed", text(observed.word())),
                ("detail", text(detail)),
                ("result", Json::Bool(result.is_some())),
            ]),
            Act::Resolve(answer) => answer.to_json(),
            Act::Undo { intent, undo, because } => {
                Json::object([("intent", text(intent)), ("undo", text(undo)), ("because", text(because))])
            }
            Act::Halt { group, because } | Act::Resume { group, because } => switch_json(group.as_deref(), because),
            Act::Lease(leasing) => leasing.to_json(),
            Act::Upkeep(upkeep) => upkeep.to_json(),
        }
    }
}

fn switch_json(group: Option<&str>, because: &str) -> Json {
    let mut members = Object::from_iter([("because".to_owned(), Json::text(because))]);
    members.extend(group.map(|group| ("group".to_owned(), Json::text(group))));
    Json::Object(members)
}

fn claim_json(intent: &str, worker: &str, lease: Duration) -> Json {
    Json::object([
        ("intent", Json::text(intent)),
        ("worker", Json::text(worker)),
        ("lease_us", Json::Number(values::decimal::Decimal::from(lease.micros()))),
    ])
}

impl DoubtAnswer {
    fn to_json(&self) -> Json {
        let answer = Json::object([
            ("intent", Json::text(self.intent.as_str())),
            ("question", Json::text(self.question.as_str())),
            ("decision", Json::text(self.decision.as_str())),
            ("digest", Json::text(self.digest.to_string())),
            ("reason", Json::text(self.reason.as_str())),
        ]);
        with_identity(answer, &self.identity)
    }
}

/// The contract in full: nobody may have registered it, and then its words stand nowhere else.
fn activation_json(contract: &Compiled, expected: Option<Digest>) -> Json {
    let mut members = Object::from_iter([
        ("agent".to_owned(), Json::text(contract.contract.agent.as_str())),
        ("contract".to_owned(), Json::text(contract.digest.to_string())),
        ("text".to_owned(), contract.contract.to_json()),
    ]);
    members.extend(expected.map(|digest| ("expected".to_owned(), Json::text(digest.to_string()))));
    Json::Object(members)
}

fn freeze_json(flow: &Option<String>, keys: &[String]) -> Json {
    let keys = Json::texts(keys.iter().map(String::as_str));
    Json::object([("flow", Json::from(flow.clone())), ("keys", keys)])
}

impl Registration {
    fn to_json(&self) -> Json {
        let session = self.session.as_ref().map_or(Json::Null, |session| {
            Json::object([
                ("token_hash", Json::text(session.token_hash.to_string())),
                ("expires", instant_json(session.expires)),
            ])
        });
        Json::object([
            ("agent", Json::text(self.contract.contract.agent.as_str())),
            ("digest", Json::text(self.contract.digest.to_string())),
            ("contract", self.contract.contract.to_json()),
            ("parent", Json::from(self.parent.as_ref().map(|parent| parent.digest.to_string()))),
            ("version", Json::from(self.version.clone())),
            ("session", session),
        ])
    }
}

impl Write {
    /// Says who someone is, in place of what was said before.
    pub fn person(name: &str, person: &Person) -> Write {
        Write { key: format!("{PEOPLE}{}", values::ids::folded(name)), value: person.to_json(), expect: None }
    }

    /// Says which groups someone without a key is in, in place of what was said before.
    pub fn groups(name: &str, groups: impl IntoIterator<Item = impl Into<String>>) -> Write {
        Write::person(name, &Person { groups: groups.into_iter().map(Into::into).collect(), key: None })
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("key", Json::text(self.key.as_str())),
            ("value", self.value.clone()),
            ("expect", self.expect.map_or(Json::Null, Json::from)),
        ])
    }
}

impl HumanAnswer {
    fn to_json(&self) -> Json {
        let instead = self.modified.as_ref().map_or(Json::Null, |submission| {
            let instead = Json::object([
                ("proposal", submission.proposal.to_json(submission.shown_params())),
                ("proposal_id", Json::text(submission.proposal_id())),
                ("intent", Json::text(submission.ids.intent.as_str())),
            ]);
            with_advice(instead, submission)
        });
        let contract = self.original.as_ref().or(self.modified.as_ref());
        let above = contract.into_iter().flat_map(|submission| submission.ancestors.iter());
        let answer = Json::object([
            ("question", Json::text(self.escalation.as_str())),
            ("decision", Json::text(self.decision.as_str())),
            ("digest", Json::text(self.digest.to_string())),
            ("reason", Json::text(self.reason.as_str())),
            ("contract", Json::from(contract.map(|submission| submission.contract.digest.to_string()))),
            ("ancestors", Json::texts(above.map(|contract| contract.digest.to_string()))),
            ("door", contract.map_or(Json::Null, |submission| submission.door.to_json())),
            ("modified", instead),
        ]);
        let answer = with_identity(answer, &self.identity);
        match &self.original {
            Some(original) => with_advice(answer, original),
            None => answer,
        }
    }
}

/// Who typed it and who signed it stands beside what was said.
fn with_identity(mut answer: Json, identity: &Identity) -> Json {
    if let Json::Object(members) = &mut answer {
        identity.put_into(members);
    }
    answer
}

/// Where validators or judges were asked, what they said is part of the command.
fn with_advice(mut json: Json, submission: &Submission) -> Json {
    if let (Json::Object(members), false) = (&mut json, submission.advice.is_empty()) {
        members.insert("advice".to_owned(), Advice::list_to_json(&submission.advice));
    }
    json
}
