//! The kernel twice: over a world that holds everything, and over slices that hold only what was asked for.

use crate::commands::{self, Signature, Who};
use crate::contracts;
use crate::store::Store;
use kernel::agent::{Actor, AgentRow, AgentStatus};
use kernel::apply::apply;
use kernel::canary::Share;
use kernel::change::leasing::Leasing;
use kernel::change::upkeep::Upkeep;
use kernel::change::{Act, Asking, Change, DoubtAnswer, HumanAnswer, Inquiry, Registration, Reservation, Trial, Write};
use kernel::command::{Command, Door, MintedIds, Performer, Submission, UnseenFlow};
use kernel::contract::Impact;
use kernel::escalation::{AgentRequest, EscalationRow, QuestionKind};
use kernel::evaluator::Compiled;
use kernel::event::Event;
use kernel::flow::FlowEvent;
use kernel::intent::{IntentEvent, Observed, Running};
use kernel::lease::Mode;
use kernel::lease::fence::Fence;
use kernel::outcome::Outcome;
use kernel::person::{Identity, Person};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::signed_answer::AnswerStatement;
use kernel::snapshot::Snapshot;
use kernel::world::{Entity, Key, Loaded, Row, World};
use ledger::ed25519::SecretKey;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::{Digest, TENANT_DEFAULT};
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Every contract, compiled once.
pub struct Library {
    by_name: BTreeMap<String, Arc<Compiled>>,
}

impl Library {
    pub fn new() -> Library {
        let load = |name: &&str| {
            let loaded = engines::load::load(&contracts::text(name));
            let compiled = loaded.unwrap_or_else(|problems| panic!("{name}: {problems:?}")).compiled;
            ((*name).to_owned(), Arc::new(compiled))
        };
        Library { by_name: contracts::NAMES.iter().map(load).collect() }
    }

    pub fn named(&self, name: &str) -> Arc<Compiled> {
        self.by_name[name].clone()
    }

    pub fn name_of(&self, digest: Digest) -> &str {
        let found = self.by_name.iter().find(|(_, contract)| contract.digest == digest);
        found.map_or("unheard of", |(name, _)| name)
    }

    fn compiled(&self, digest: Digest) -> Arc<Compiled> {
        self.named(self.name_of(digest))
    }
}

/// What came out of the kernel, to the byte.
#[derive(Clone, PartialEq, Debug)]
pub enum KernelOutcome {
    /// Line, what a change tells besides, bodies of the records; verdict and codes once more for reading.
    Done {
        line: String,
        body: String,
        records: Vec<String>,
        verdict: String,
        codes: Vec<String>,
    },
    Prepare,
}

impl KernelOutcome {
    pub fn of(outcome: &Outcome) -> Option<KernelOutcome> {
        match outcome {
            Outcome::Need(_) => None,
            Outcome::Prepare => Some(KernelOutcome::Prepare),
            Outcome::Done(done) => {
                let records: Vec<Json> = done.records.iter().map(|record| record.body()).collect();
                let recorded = records.iter().find_map(Event::from_record);
                assert_eq!(recorded.as_ref(), done.event.as_deref(), "the record tells what the answer tells");
                Some(KernelOutcome::Done {
                    line: done.answer.to_line(),
                    body: done.event.as_ref().map(|event| event.to_json()).unwrap_or_default().to_canonical(),
                    records: records.iter().map(Json::to_canonical).collect(),
                    verdict: done.answer.verdict.word().to_owned(),
                    codes: done.answer.reasons().into_iter().map(str::to_owned).collect(),
                })
            }
        }
    }
}

/// Both kernels, side by side.
pub struct Harness<'a> {
    library: &'a Library,
    tenant: Arc<str>,
    pub world: World,
    pub store: Store,
    /// What frozen snapshots are called.
    slots: BTreeMap<String, String>,
    /// Commands of one batch that the slices have still to carry out, with what came of them.
    waiting: Vec<(Command, KernelOutcome)>,
    at: Instant,
    /// The question that the last answer names, and its deadline.
    pub asked_last: Option<(String, i64)>,
}

impl<'a> Harness<'a> {
    pub fn new(library: &'a Library) -> Harness<'a> {
        let (tenant, at) = (Arc::from(TENANT_DEFAULT), Instant::PURE_DEFAULT);
        Harness {
            library,
            tenant,
            world: World::complete(),
            store: Store::default(),
            slots: BTreeMap::new(),
            waiting: Vec::new(),
            at,
            asked_last: None,
        }
    }

    /// Carries a command out over everything; slices follow when the batch is full.
    pub fn apply(&mut self, number: usize, command: &commands::Command, at: i64, joins: bool) -> KernelOutcome {
        let at = Instant::from_micros(at);
        if !joins || at != self.at {
            self.settle_batch();
        }
        self.at = at;
        let formed = self.formed(number, command);
        let outcome = apply(&mut self.world, &formed, at);
        let came = KernelOutcome::of(&outcome).unwrap_or_else(|| panic!("a complete world needs nothing: {formed:?}"));
        if let (commands::Command::Freeze { slot, .. }, Outcome::Done(done)) = (command, &outcome)
            && let Some(Event::SnapshotFrozen { snapshot, .. }) = done.event.as_deref()
        {
            self.slots.insert(slot.clone(), snapshot.clone());
        }
        if let Outcome::Done(done) = &outcome {
            let question = done.answer.question.as_ref();
            self.asked_last = question.map(|question| (question.id.clone(), question.deadline.micros()));
        }
        self.waiting.push((formed, came.clone()));
        came
    }

    /// Carries the batch out over slices and compares every byte.
    pub fn settle_batch(&mut self) {
        let batch = std::mem::take(&mut self.waiting);
        self.store.carry(&batch, self.at);
    }

    pub fn key(&self, entity: Entity) -> Key {
        Key { tenant: self.tenant.clone(), entity }
    }

    fn agent(&self, agent: &str) -> Option<&AgentRow> {
        match self.world.get(&self.key(Entity::Agent(agent.to_owned()))) {
            Loaded::Present(Row::Agent(row)) => Some(row),
            Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => None,
        }
    }

    /// The contract of an agent that counts for a flow, in force or at least offered.
    fn contract_for(&self, agent: &str, flow: &str) -> Arc<Compiled> {
        let digest = self.agent(agent).and_then(|row| row.contract_for(flow).or(row.offered));
        digest.map_or_else(|| self.library.named("nobody"), |digest| self.library.compiled(digest))
    }

    fn submission(&self, proposal: Proposal, under: Option<&String>, ids: MintedIds, door: Door) -> Arc<Submission> {
        let flow = proposal.flow.as_ref().unwrap_or(&ids.flow);
        let contract = match under {
            Some(name) => self.library.named(name),
            None => self.contract_for(&proposal.agent, flow),
        };
        let mut ancestors = Vec::new();
        let mut parent = contract.contract.parent.clone();
        while let Some(name) = parent.take() {
            let Some(digest) = self.agent(&name).and_then(|row| row.contract) else { break };
            let above = self.library.compiled(digest);
            parent = above.contract.parent.clone();
            ancestors.push(above);
        }
        let formed = Submission::new(self.tenant.clone(), proposal, contract, Provenance::Unknown, ids);
        Arc::new(formed.under(ancestors).through(door))
    }

    fn formed(&self, number: usize, command: &commands::Command) -> Command {
        if let commands::Command::Propose(proposal) = command {
            let ids = ids(number);
            let door = door(proposal.opens, proposal.by_runtime);
            let read = Proposal::from_json(self.proposal_json(proposal)).unwrap();
            return Command::Submit(self.submission(read, proposal.under.as_ref(), ids, door));
        }
        let (who, act) = self.act(number, command);
        let id = format!("c-{number}");
        Command::Change(Arc::new(Change { tenant: self.tenant.clone(), id, actor: actor(who), act }))
    }

    fn proposal_json(&self, proposal: &commands::Proposal) -> Json {
        let mut members = Object::new();
        let mut put = |key: &str, value: Option<Json>| members.extend(value.map(|value| (key.to_owned(), value)));
        let mut params = Object::new();
        if proposal.action != "look" {
            params.insert("order".to_owned(), Json::text(proposal.order.as_str()));
        }
        if proposal.action == "pay" {
            params.insert("amount".to_owned(), number_json(proposal.amount));
        }
        let snapshot = proposal.snapshot.as_ref().map(|name| self.slots.get(name).unwrap_or(name));
        let instant = |micros: i64| Json::text(Instant::from_micros(micros).to_string());
        put("id", proposal.id.as_deref().map(Json::from));
        put("agent", Some(Json::text(proposal.agent.as_str())));
        put("action", Some(Json::text(proposal.action.as_str())));
        put("params", Some(Json::Object(params)));
        put("flow", proposal.flow.as_deref().map(Json::from));
        put("snapshot", snapshot.map(|name| Json::text(name.as_str())));
        put("idempotency_key", proposal.key.as_deref().map(Json::from));
        put("tokens", (proposal.tokens > 0).then(|| Json::from(proposal.tokens)));
        put("valid_until", proposal.valid_until.map(instant));
        put("created_at", proposal.created_at.map(instant));
        Json::Object(members)
    }

    fn act<'c>(&self, number: usize, command: &'c commands::Command) -> (&'c Who, Act) {
        use commands::Command as Plain;
        let because = String::new;
        match command {
            Plain::Register { who, contract, version } => {
                let contract = self.library.named(contract);
                let above = contract.contract.parent.as_ref().and_then(|parent| self.agent(parent)?.contract);
                let parent = above.map(|digest| self.library.compiled(digest));
                let registration = Registration { contract, parent, version: version.clone(), session: None };
                (who, Act::Register(Box::new(registration)))
            }
            Plain::Activate { who, contract } => {
                (who, Act::Activate { contract: self.library.named(contract), expected: None })
            }
            Plain::StartCanary { who, contract, share } => {
                let contract = self.library.named(contract);
                let in_force = self.agent(&contract.contract.agent).and_then(|row| row.contract);
                let beside =
                    in_force.map_or_else(|| self.library.named("nobody"), |digest| self.library.compiled(digest));
                let share = Share::parse(&format!("{}.{:02}%", share / 100, share % 100)).unwrap();
                (who, Act::Try(Box::new(Trial::Start { contract, beside, share, because: "try".to_owned() })))
            }
            Plain::PromoteCanary { who, agent, right } => {
                let tried = self.agent(agent).and_then(|row| Some(row.canary.as_ref()?.contract));
                let contract = tried.filter(|_| *right).unwrap_or_else(|| Digest::of("another"));
                (who, Act::Try(Box::new(Trial::Promote { agent: agent.clone(), contract, because: "good".to_owned() })))
            }
            Plain::RollBackCanary { who, agent } => {
                (who, Act::Try(Box::new(Trial::RollBack { agent: agent.clone(), because: "bad".to_owned() })))
            }
            Plain::Restrict { who, agent, status, actions } => {
                let status = AgentStatus::from_word(status).unwrap();
                let (agent, actions) = (agent.clone(), actions.clone());
                (who, Act::Restrict { agent, status, because: because(), actions })
            }
            Plain::Lift { who, agent, status, because: is_said } => {
                let status = AgentStatus::from_word(status).unwrap();
                let because = if *is_said { "checked".to_owned() } else { " ".to_owned() };
                (who, Act::Lift { agent: agent.clone(), status, because })
            }
            Plain::Retire { who, agent } => (who, Act::Retire { agent: agent.clone(), because: because() }),
            Plain::OpenFlow { who, flow, agent, parent } => {
                (who, Act::OpenFlow { flow: flow.clone(), agent: agent.clone(), parent: parent.clone() })
            }
            Plain::EndFlow { who, flow, abort } => {
                let event = if *abort { FlowEvent::Abort } else { FlowEvent::Close };
                (who, Act::EndFlow { flow: flow.clone(), event })
            }
            Plain::Write { who, writes } => (who, Act::Merge(writes.iter().map(write).collect())),
            Plain::Enlist { who, person, groups } => {
                let enlisted = Person { groups: groups.iter().cloned().collect(), key: Some(key_of(person).public()) };
                (who, Act::Merge(vec![Write::person(person, &enlisted)]))
            }
            Plain::Remember { who, flow, value } => {
                let values = Object::from([("v".to_owned(), number_json(*value))]);
                (who, Act::Remember { flow: flow.clone(), values })
            }
            Plain::Freeze { who, flow, keys, .. } => (who, Act::Freeze { flow: flow.clone(), keys: keys.clone() }),
            Plain::Import { who, name, at, risk } => {
                let state = risk.map(|risk| ("risk".to_owned(), number_json(risk))).into_iter().collect();
                let (at, source, session) = (Instant::from_micros(*at), "test".to_owned(), Object::new());
                let snapshot = Snapshot { at, source, flow: None, state, session };
                (who, Act::Import { name: name.clone(), snapshot })
            }
            Plain::Lease { who, what } => (who, Act::Lease(leasing(what))),
            Plain::Propose(_) => panic!("a proposal is no change"),
            Plain::Answer(answer) => (&answer.who, Act::Answer(Box::new(self.answer(number, answer)))),
            Plain::ExpireQuestions { who, questions } => (who, Act::ExpireQuestions(questions.clone())),
            Plain::Settle { who, intent, event } => {
                let event = IntentEvent::from_word(event).unwrap();
                (who, Act::Settle { intent: intent.clone(), event, result: None })
            }
            Plain::ExpireIntents { who } => (who, Act::ExpireIntents),
            Plain::Claim { who, intent, lease } => {
                let (intent, worker) = (intent.clone(), "w".to_owned());
                (who, Act::Claim { intent, worker, lease: Duration::from_secs(*lease) })
            }
            Plain::Start { who, intent, epoch, right } => {
                let right = self.running(intent).filter(|_| *right).map(|running| running.digest());
                let attempt = right.unwrap_or_else(|| Digest::of("something else"));
                (who, Act::Start { intent: intent.clone(), epoch: *epoch, attempt })
            }
            Plain::Outcome { who, intent, epoch, observed } => {
                let observed = Observed::from_word(observed).unwrap();
                let (intent, detail) = (intent.clone(), String::new());
                (who, Act::Outcome { intent, epoch: *epoch, observed, detail, result: None })
            }
            Plain::Resolve { who, intent, decision, right } => {
                let (question, digest) = self.doubt(intent);
                let digest = if *right { digest } else { Digest::of("other bytes") };
                let identity = identity(who, Signature::Right, &question, decision, digest);
                let (intent, decision, reason) = (intent.clone(), decision.clone(), because());
                let answer = DoubtAnswer { intent, question, decision, digest, reason, identity };
                (who, Act::Resolve(Box::new(answer)))
            }
            Plain::Undo { who, intent } => {
                let (intent, undo) = (intent.clone(), format!("u-{number}"));
                (who, Act::Undo { intent, undo, because: because() })
            }
            Plain::Ask { who, agent, flow, reason } => {
                let contract = self.contract_for(agent, flow);
                let request = AgentRequest { reason: reason.clone(), context: Object::new() };
                let (agent, flow, proposal) = (agent.clone(), flow.clone(), None);
                let inquiry = Inquiry { agent, flow, request, proposal, impact: Impact::Low };
                let MintedIds { proposal: proposal_id, intent, escalation: question, .. } = ids(number);
                (who, Act::Ask(Box::new(Asking { inquiry, question, proposal_id, intent, contract })))
            }
            Plain::Reserve { who, flow, wanted, available, until } => {
                let amounts = |of: &dyn Fn(i64) -> i64| {
                    wanted.iter().map(|(name, amount)| (name.clone(), Decimal::from(of(*amount)))).collect()
                };
                let until = until.map(Instant::from_micros);
                let (wanted, available) = (amounts(&|amount| amount), amounts(&|_| *available));
                (who, Act::Reserve(Reservation { flow: flow.clone(), wanted, available, until }))
            }
            Plain::Release { who, flow, resources } => {
                (who, Act::Release { flow: flow.clone(), resources: resources.clone() })
            }
            Plain::Note { who, flow, name } => {
                (who, Act::Note { flow: flow.clone(), name: name.clone(), details: Object::new() })
            }
            Plain::Halt { who, group } => (who, Act::Halt { group: group.clone(), because: because() }),
            Plain::Resume { who, group } => (who, Act::Resume { group: group.clone(), because: because() }),
            Plain::KeepKeys { who, kept } => {
                (who, Act::Upkeep(Upkeep::KeepKeys { kept: Duration::from_secs(*kept), because: because() }))
            }
            Plain::ForgetKeys { who } => (who, Act::Upkeep(Upkeep::ForgetKeys { because: None })),
        }
    }

    fn running(&self, intent: &str) -> Option<&Running> {
        match self.world.get(&self.key(Entity::Intent(intent.to_owned()))) {
            Loaded::Present(Row::Intent(row)) => row.running.as_deref(),
            Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => None,
        }
    }

    /// The open question about an intent, else one that was asked, else none.
    fn doubt(&self, intent: &str) -> (String, Digest) {
        let asked = self.world.iter().filter_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            let own = row.kind == QuestionKind::Doubt && row.intent == intent;
            own.then(|| (row.answer.is_some(), key.entity.parts().0.to_owned(), row.digest))
        });
        let found = asked.min_by_key(|(over, _, _)| *over);
        found.map_or(("e-none".to_owned(), Digest::of("nothing")), |(_, name, digest)| (name, digest))
    }

    /// The proposal in question is formed again under the contract in force, as the runtime does.
    fn answer(&self, number: usize, answer: &commands::Answer) -> HumanAnswer {
        let row = match self.world.get(&self.key(Entity::Escalation(answer.question.clone()))) {
            Loaded::Present(Row::Escalation(row)) => Some(row),
            Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => None,
        };
        let again = |row: &EscalationRow| {
            let mut proposal = Proposal::from_json(row.proposal.clone()).unwrap();
            proposal.flow = Some(row.flow.clone());
            let ids = MintedIds { flow: row.flow.clone(), ..ids(number) };
            self.submission(proposal, None, ids, door(false, answer.by_runtime))
        };
        let original = row.filter(|row| row.kind != QuestionKind::Request).map(|row| again(row));
        let digest = match (row, &original) {
            (Some(row), Some(formed)) if answer.right => {
                EscalationRow::digest_of(&row.proposal, formed.contract.digest)
            }
            (Some(row), None) if answer.right => row.digest,
            // Shown while another contract was in force.
            (Some(row), Some(formed)) if formed.contract.digest != row.contract => row.digest,
            (Some(_) | None, _) => Digest::of("other bytes"),
        };
        HumanAnswer {
            escalation: answer.question.clone(),
            decision: answer.decision.clone(),
            digest,
            reason: String::new(),
            original,
            modified: None,
            identity: identity(&answer.who, answer.signature, &answer.question, &answer.decision, digest),
        }
    }
}

/// Everyone's key follows from their name, however it is written.
pub fn key_of(person: &str) -> SecretKey {
    SecretKey::from_seed(Digest::of(person.to_lowercase()).bytes())
}

/// What stands under an answer of a person; others have nothing to sign with.
fn identity(who: &Who, signature: Signature, question: &str, decision: &str, digest: Digest) -> Identity {
    let Who::Operator(person) = who else { return Identity::default() };
    let question = match signature {
        Signature::None => return Identity::default(),
        Signature::Right => question.to_owned(),
        Signature::OfAnother => format!("not {question}"),
    };
    let statement = AnswerStatement {
        tenant: TENANT_DEFAULT.to_owned(),
        origin: None,
        question,
        person: person.clone(),
        digest,
        decision: decision.to_owned(),
        instead: None,
        reason: String::new(),
    };
    Identity { signature: Some(statement.sign(&key_of(person))), ..Identity::default() }
}

fn ids(number: usize) -> MintedIds {
    let id = |kind: &str| format!("{kind}-{number}");
    MintedIds { proposal: id("p"), flow: id("f"), intent: id("i"), escalation: id("e") }
}

fn door(opens: bool, by_runtime: bool) -> Door {
    Door {
        flows: if opens { UnseenFlow::Opens } else { UnseenFlow::Refused },
        performer: if by_runtime { Performer::Runtime } else { Performer::Caller },
        session: None,
        by: None,
    }
}

fn actor(who: &Who) -> Actor {
    match who {
        Who::Operator(name) => Actor::Operator(name.clone()),
        Who::Monitor => Actor::Monitor("m".to_owned()),
        Who::Agent(name) => Actor::Agent(name.clone()),
        Who::Kernel => Actor::Kernel,
    }
}

fn leasing(what: &commands::Leasing) -> Leasing {
    use commands::Leasing as Plain;
    let (fence, because) = (|number: &u64| Fence::from_number(*number), String::new());
    match what {
        Plain::Acquire { holder, shared, path, ttl } => Leasing::Acquire {
            holder: holder.clone(),
            mode: if *shared { Mode::Shared } else { Mode::Exclusive },
            regions: vec![path.clone()],
            ttl: Duration::from_secs(*ttl),
        },
        Plain::Heartbeat { holder, fence: number } => {
            Leasing::Heartbeat { holder: holder.clone(), fence: fence(number) }
        }
        Plain::Release { holder, fence: number } => Leasing::Release { holder: holder.clone(), fence: fence(number) },
        Plain::Evict { fence: number } => Leasing::Evict { fence: fence(number), because },
        Plain::Adopt { fence: number, heir } => Leasing::Adopt { fence: fence(number), heir: heir.clone(), because },
    }
}

fn write(write: &commands::Write) -> Write {
    Write { key: write.key.clone(), value: number_json(write.value), expect: write.expect }
}

fn number_json(value: i64) -> Json {
    Json::Number(values::decimal::Decimal::from(value))
}
