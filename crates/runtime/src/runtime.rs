//! The façade every door calls.

mod questions;

use crate::advise::advised;
use crate::commits::Commits;
use crate::contracts::{Contracts, Line};
use crate::input::{read_input, read_line};
use crate::lanes::{Bounds, Lane, Lanes};
use crate::mint::Minted;
use crate::oneshot::{self, Receiver, Sender};
use crate::ports::advisor::Advisor;
use crate::ports::service::Service;
use crate::ports::store::{Store, StoreFault, StoredRecord};
use crate::readers::Readers;
use crate::removal::Forgetting;
use crate::sequencer::{Job, Reply, Writer};
use kernel::advice::Advice;
use kernel::agent::{Actor, Session};
use kernel::apply::touches;
use kernel::canary::Share;
use kernel::change::{Act, Asking, Change, HumanAnswer, Inquiry, Registration, Trial};
use kernel::command::{Command, Door, MintedIds, RefusedInput, Submission};
use kernel::consequence::Consequence;
use kernel::contract::Origin;
use kernel::contract::amend::Amendment;
use kernel::escalation::{EscalationRow, HumanDecision, QuestionKind};
use kernel::evaluator::Compiled;
use kernel::event::Event;
use kernel::finding::{Finding, Gate};
use kernel::outcome::{Answer, Done, Verdict};
use kernel::person::Identity;
use kernel::proposal::{Malformed, Proposal};
use kernel::reasons::Reason;
use kernel::record::Record;
use kernel::request::Provenance;
use kernel::result::BODY_BYTES_MAX;
use kernel::signed_answer::{AnswerStatement, instead_digest};
use kernel::statement::Proof;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, KeySet, Row};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread::JoinHandle;
use std::time::Duration;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

/// Times a command is formed again because the contract changed under it.
const FORMED_MAX: u8 = 4;

/// How a runtime behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much may wait.
    pub bounds: Bounds,
    /// How long a caller waits before it is told that there is no decision yet.
    pub wait: Duration,
    /// The contract strangers are refused under; without one, a contract that permits nothing. An agent the registry
    /// does not know is refused either way: this only decides which sentences it reads.
    pub strangers: Option<Arc<Compiled>>,
    /// The agent that will be asked about first, where one is known: its contracts are read before anything else.
    pub first: Option<String>,
    /// Contracts that were compiled already. Each counts where its digest is in force, and nowhere else.
    pub known: Vec<Arc<Compiled>>,
    /// Asks validators and judges; without one nobody is asked, and what needs a validator is refused.
    pub advisor: Option<Arc<dyn Advisor>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            bounds: Bounds::default(),
            wait: Duration::from_secs(60),
            strangers: None,
            first: None,
            known: Vec::new(),
            advisor: None,
        }
    }
}

/// A proposal at a door.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// What the door says about itself.
    pub door: Door,
    /// Whether the proposal's own statement of provenance counts.
    pub trust_provenance: bool,
    /// What validators and judges said already; the others are asked.
    pub advice: Vec<Advice>,
    /// What the agent signed.
    pub proof: Option<Arc<Proof>>,
}

impl Arrival {
    /// Through a door that vouches for its caller.
    pub fn through(door: Door) -> Arrival {
        Arrival { door, trust_provenance: false, advice: Vec::new(), proof: None }
    }
}

/// What a caller is told.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The answer; its line has the same bytes through every door.
    pub answer: Answer,
    /// What a change tells besides; proposals and most refusals tell nothing.
    pub event: Option<Arc<Event>>,
    /// When it was decided; `None` if nothing was.
    pub at: Option<Instant>,
    /// What the ledger holds of it; nothing where an earlier answer was given again.
    pub records: Vec<Record>,
    /// The same as a service told it, where the decision was made there.
    pub told: Vec<Json>,
}

impl Answered {
    /// What the ledger holds of it, in full, wherever it was decided.
    pub fn bodies(&self) -> Vec<Json> {
        self.records.iter().map(Record::body).chain(self.told.iter().cloned()).collect()
    }

    /// What else followed from it.
    pub fn consequences(&self) -> impl Iterator<Item = Consequence> {
        let recorded = self.records.iter().filter_map(|record| match record {
            Record::Event(event) => event.consequence().cloned(),
            Record::Decision(_) | Record::Refusal(_) | Record::Result(_) => None,
        });
        recorded.chain(self.told.iter().filter_map(Consequence::from_record))
    }
}

pub(crate) struct Inner {
    lanes: Arc<Lanes>,
    pub(crate) writer: Arc<Writer>,
    /// The thread that carries what waits, from the first command on that has to; or why there is none.
    thread: OnceLock<Result<Mutex<Option<JoinHandle<()>>>, String>>,
    readers: Arc<Readers>,
    commits: Commits,
    contracts: Contracts,
    /// Whose decisions.
    tenant: Arc<str>,
    options: Options,
    pub(crate) forgetting: Mutex<Forgetting>,
    /// Who decides in place of the writer, where the store is behind a service.
    pub(crate) service: Option<Arc<dyn Service>>,
}

/// The runtime: submit, change, read. Dropping the last handle serves what waits and ends.
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

/// An answer that will come: [`Pending::wait`] blocks, `.await` does not.
#[must_use = "the command is carried out, and nobody hears of its answer"]
pub struct Pending {
    inner: Arc<Inner>,
    receiver: Receiver<Reply>,
    /// Nothing if it could not even be formed once.
    form: Option<Form>,
    id: String,
    formed: u8,
}

/// Everything needed to form a command again under another contract.
#[derive(Clone)]
pub(crate) enum Form {
    Proposal(Arc<Submission>),
    Refuse(Box<RefusedInput>),
    Change(Arc<Change>),
    Register { actor: Actor, contract: Arc<Compiled>, version: Option<String>, session: Option<Session> },
    Amend { actor: Actor, agent: String, amendment: Amendment },
    StartCanary { actor: Actor, contract: Arc<Compiled>, share: Share, because: String },
    Ask { actor: Actor, inquiry: Box<Inquiry> },
    Answer(Box<PersonAnswer>),
}

/// A person's answer at a door.
#[derive(Clone, Debug)]
pub struct PersonAnswer {
    /// Who.
    pub person: String,
    /// Which question.
    pub question: String,
    /// What was said.
    pub decision: String,
    /// Digest of what was shown.
    pub digest: Digest,
    /// Why.
    pub reason: String,
    /// What is to happen instead, for MODIFY.
    pub instead: Option<Proposal>,
    /// Who performs what is accepted.
    pub door: Door,
    /// How the door knows who answers.
    pub identity: Identity,
}

impl Runtime {
    /// Starts on a handle of a store; its tenant is the one that is decided for.
    pub fn start(store: Box<dyn Store>, options: Options) -> Result<Runtime, StoreFault> {
        Runtime::start_before(store, options, None)
    }

    /// Starts in front of a store that decides itself, or of a service that does.
    pub(crate) fn start_before(
        store: Box<dyn Store>,
        options: Options,
        service: Option<Arc<dyn Service>>,
    ) -> Result<Runtime, StoreFault> {
        crate::crash::switch_on_wanted_fault();
        let (tenant, readers) = (store.tenant().clone(), Arc::new(Readers::of(store.as_ref())?));
        let contracts = Contracts::new(readers.clone(), options.strangers.clone());
        options.known.iter().for_each(|contract| contracts.keep(contract));
        if let Some(agent) = &options.first {
            contracts.line(agent)?;
        }
        let looked_at = readers.clone();
        let commits = Commits::new(Arc::new(move || looked_at.take().ok()?.size().ok()));
        let (lanes, writer) = (Arc::new(Lanes::new(options.bounds)), Arc::new(Writer::new(store, commits.clone())));
        let thread = OnceLock::new();
        let forgetting = Mutex::default();
        let inner = Inner { lanes, writer, thread, readers, commits, contracts, tenant, options, forgetting, service };
        Ok(Runtime { inner: Arc::new(inner) })
    }

    /// Judges what an agent sent. Validators and judges of the contract are asked first, on the caller's thread, so an
    /// asynchronous door should call this where it may block.
    pub fn judge(&self, bytes: &[u8], arrival: Arrival) -> Pending {
        if let Some(service) = &self.inner.service {
            return self.inner.propose(service, bytes, None, &arrival);
        }
        match read_input(bytes) {
            Ok((proposal, proof)) => self.submit(proposal, Arrival { proof, ..arrival }),
            Err(malformed) => self.refuse(bytes, malformed, Minted::id()),
        }
    }

    /// The same for one line of a longer input: its number, from 1, is named where the line cannot be read.
    pub fn judge_line(&self, bytes: &[u8], number: u64, arrival: Arrival) -> Pending {
        if let Some(service) = &self.inner.service {
            return self.inner.propose(service, bytes, Some(number), &arrival);
        }
        match read_line(bytes, number) {
            Ok((proposal, proof)) => self.submit(proposal, Arrival { proof, ..arrival }),
            Err(malformed) => self.refuse(bytes, malformed, format!("line-{number}")),
        }
    }

    /// Refuses what could not be read; `id` names it where it does not name itself.
    pub fn refuse(&self, bytes: &[u8], malformed: Malformed, id: String) -> Pending {
        if let Some(service) = &self.inner.service {
            return self.inner.propose(service, bytes, None, &Arrival::through(Door::STORED));
        }
        let tenant = self.inner.tenant.clone();
        let refused = RefusedInput { tenant, malformed, digest: Digest::of(bytes), id };
        self.inner.send(Form::Refuse(Box::new(refused)))
    }

    /// Judges a proposal.
    pub fn submit(&self, proposal: Proposal, arrival: Arrival) -> Pending {
        self.inner.submit(proposal, arrival, Thread::Writers)
    }

    /// Judges a proposal and waits, where nobody else waits on this very thread: no other has to be woken. It takes as long
    /// as the store takes, so this is for callers that somebody watches.
    pub fn submit_here(&self, proposal: Proposal, arrival: Arrival) -> Answered {
        self.inner.submit(proposal, arrival, Thread::Own).wait()
    }

    /// Carries out a change that depends on no contract.
    pub fn change(&self, actor: Actor, act: Act) -> Pending {
        self.inner.send(self.changing(actor, act))
    }

    /// Carries out a change as [`Runtime::submit_here`] judges a proposal.
    pub fn change_here(&self, actor: Actor, act: Act) -> Answered {
        self.inner.send_from(self.changing(actor, act), Thread::Own).wait()
    }

    fn changing(&self, actor: Actor, act: Act) -> Form {
        Form::Change(Arc::new(Change { tenant: self.inner.tenant.clone(), id: Minted::id(), actor, act }))
    }

    /// An agent comes with a contract; `session` is the hash of the token it will show.
    pub fn register(
        &self,
        actor: Actor,
        contract: Arc<Compiled>,
        version: Option<String>,
        session: Option<Session>,
    ) -> Pending {
        self.inner.contracts.keep(&contract);
        self.inner.send(Form::Register { actor, contract, version, session })
    }

    /// Puts a contract in force, whichever is now.
    pub fn activate(&self, actor: Actor, contract: Arc<Compiled>) -> Pending {
        self.activate_over(actor, contract, None)
    }

    /// Puts a contract in force in place of the one with this digest, and of no other.
    pub fn activate_over(&self, actor: Actor, contract: Arc<Compiled>, expected: Option<Digest>) -> Pending {
        self.inner.contracts.keep(&contract);
        self.inner.contracts.forget(&contract.contract.agent);
        self.change(actor, Act::Activate { contract, expected })
    }

    /// Changes a bound for a while.
    pub fn amend(&self, actor: Actor, agent: &str, amendment: Amendment) -> Pending {
        self.inner.send(Form::Amend { actor, agent: agent.to_owned(), amendment })
    }

    /// Puts a share of an agent's flows under a candidate.
    pub fn start_canary(&self, actor: Actor, contract: Arc<Compiled>, share: Share, because: String) -> Pending {
        self.inner.contracts.keep(&contract);
        self.inner.contracts.forget(&contract.contract.agent);
        self.inner.send(Form::StartCanary { actor, contract, share, because })
    }

    /// An agent asks a person of its own accord, under the contract that counts for it.
    pub fn ask(&self, actor: Actor, inquiry: Inquiry) -> Pending {
        self.inner.send(Form::Ask { actor, inquiry: Box::new(inquiry) })
    }

    /// A person answers a question.
    pub fn answer(&self, answer: PersonAnswer) -> Pending {
        self.inner.send(Form::Answer(Box::new(answer)))
    }

    /// What a person signs to give exactly this answer in this store.
    pub fn statement(&self, answer: &PersonAnswer) -> Result<AnswerStatement, StoreFault> {
        let instead = match (&answer.instead, self.read(question(answer))?) {
            (Some(instead), Some(Row::Escalation(row))) => in_place_of(&row, instead.clone()),
            (Some(_) | None, _) => None,
        };
        Ok(AnswerStatement {
            tenant: self.tenant().to_string(),
            origin: self.origin()?,
            question: answer.question.clone(),
            person: answer.person.clone(),
            digest: answer.digest,
            decision: answer.decision.clone(),
            instead: instead.as_ref().map(instead_digest),
            reason: answer.reason.clone(),
        })
    }

    /// The name of the log that signs for this store, once there is one.
    pub fn origin(&self) -> Result<Option<String>, StoreFault> {
        let row = self.read(Entity::Tenant)?;
        Ok(match row {
            Some(Row::Tenant(row)) => row.origin().map(str::to_owned),
            Some(_) | None => None,
        })
    }

    /// The contract an agent acts under, with those above it.
    pub fn line(&self, agent: &str) -> Result<Line, StoreFault> {
        self.inner.contracts.line(agent)
    }

    /// The contract that counts for what an agent does in a flow, with those above it.
    pub fn line_for(&self, agent: &str, flow: &str) -> Result<Line, StoreFault> {
        self.inner.contracts.line_for(agent, flow)
    }

    /// Every line that may count for what an agent does: of the contract in force, and of a candidate that is tried.
    pub fn lines(&self, agent: &str) -> Result<Vec<Line>, StoreFault> {
        self.inner.contracts.all(agent)
    }

    /// The same as [`Runtime::line`], read again: what is remembered may have been replaced since by another process.
    pub fn line_now(&self, agent: &str) -> Result<Line, StoreFault> {
        self.inner.contracts.forget(agent);
        self.line(agent)
    }

    /// A contract by its digest.
    pub fn contract(&self, digest: Digest) -> Result<Arc<Compiled>, StoreFault> {
        self.inner.contracts.compiled(digest)
    }

    /// Reads one entity as it was last committed.
    pub fn read(&self, entity: Entity) -> Result<Option<Row>, StoreFault> {
        self.inner.readers.get(&entity)
    }

    /// Entities of a kind in the order of their names, after a name; see [`Reader::scan`](crate::ports::store::Reader).
    pub fn scan(&self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.readers.take()?.scan(kind, after, limit)
    }

    /// Records from an index on.
    pub fn records(&self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        self.inner.readers.take()?.records(from, limit)
    }

    /// How many records there are.
    pub fn size(&self) -> Result<u64, StoreFault> {
        self.inner.readers.take()?.size()
    }

    /// Tells when something was committed, by this process or another.
    pub fn commits(&self) -> &Commits {
        &self.inner.commits
    }

    /// Whose decisions.
    pub fn tenant(&self) -> &Arc<str> {
        &self.inner.tenant
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.inner.lanes.close();
        if let Some(Ok(thread)) = self.inner.thread.get()
            && let Some(thread) = thread.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            // A writer that panicked has answered nobody any more; there is nothing left to save.
            let _ = thread.join();
        }
        self.inner.writer.close();
        self.inner.commits.close();
    }
}

/// Which thread carries a command, if it has the choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Thread {
    /// The writer's.
    Writers,
    /// The caller's.
    Own,
}

impl Inner {
    fn send(self: &Arc<Inner>, form: Form) -> Pending {
        self.send_from(form, Thread::Writers)
    }

    fn send_from(self: &Arc<Inner>, form: Form, thread: Thread) -> Pending {
        if let Some(service) = &self.service {
            return self.call(service, form);
        }
        match self.command(&form) {
            Ok(command) => self.carry(command, form, thread),
            Err(fault) => self.failed(&fault),
        }
    }

    fn submit(self: &Arc<Inner>, proposal: Proposal, arrival: Arrival, thread: Thread) -> Pending {
        if let Some(service) = &self.service {
            return self.propose_again(service, &proposal, &arrival);
        }
        let ids = Minted::ids();
        let flow = proposal.flow.as_deref().unwrap_or(&ids.flow);
        let line = match self.contracts.line_for(&proposal.agent, flow) {
            Ok(line) => line,
            Err(fault) => return self.failed(&fault),
        };
        let provenance = Provenance::of(&proposal, arrival.trust_provenance);
        let formed = self.submission(proposal, line, provenance, ids, arrival.door);
        let formed = Arc::new(self.advised(formed.advised(arrival.advice).proved(arrival.proof)));
        self.carry(Command::Submit(formed.clone()), Form::Proposal(formed), thread)
    }

    fn carry(self: &Arc<Inner>, command: Command, form: Form, thread: Thread) -> Pending {
        let (sender, receiver) = oneshot::channel();
        let id = command_id(&command);
        let job = job(command, sender);
        let left = match thread {
            Thread::Own => self.writer.carry_here(&self.lanes, job).err(),
            Thread::Writers => Some(Box::new(job)),
        };
        if let Some(job) = left {
            self.queue(*job);
        }
        Pending { inner: self.clone(), receiver, form: Some(form), id, formed: 0 }
    }

    /// It was decided elsewhere already, or not at all.
    pub(crate) fn settled(self: &Arc<Inner>, reply: Reply) -> Pending {
        let (sender, receiver) = oneshot::channel();
        sender.send(reply);
        Pending { inner: self.clone(), receiver, form: None, id: Minted::id(), formed: 0 }
    }

    /// Nothing could be formed.
    fn failed(self: &Arc<Inner>, fault: &StoreFault) -> Pending {
        self.settled(Reply::of_fault(fault))
    }

    /// Leaves a job to the writer's thread.
    fn queue(&self, job: Job) {
        if let Err(problem) = self.thread.get_or_init(|| self.start_thread()) {
            return job.sender.send(Reply::Unavailable(problem.clone()));
        }
        if let Err(job) = self.lanes.push(job) {
            job.sender.send(Reply::Unavailable("too many commands wait already".to_owned()));
        }
    }

    fn start_thread(&self) -> Result<Mutex<Option<JoinHandle<()>>>, String> {
        let (lanes, writer) = (self.lanes.clone(), self.writer.clone());
        let spawned = std::thread::Builder::new().name("writer".to_owned()).spawn(move || writer.serve(&lanes));
        spawned.map(|thread| Mutex::new(Some(thread))).map_err(|error| format!("no thread for the writer: {error}"))
    }

    fn command(&self, form: &Form) -> Result<Command, StoreFault> {
        let tenant = &self.tenant;
        let change = |actor: &Actor, act: Act| {
            let change = Change { tenant: tenant.clone(), id: Minted::id(), actor: actor.clone(), act };
            Command::Change(Arc::new(change))
        };
        Ok(match form {
            Form::Proposal(before) => {
                let Submission { proposal, provenance, ids, door, advice, proof, .. } = Submission::clone(before);
                let line = self.contracts.line_for(&proposal.agent, before.flow_id())?;
                let formed = self.submission(proposal, line, provenance, ids, door);
                // Under the same contract it asks nobody twice.
                Command::Submit(Arc::new(self.advised(formed.advised(advice).proved(proof))))
            }
            Form::Refuse(refused) => Command::Refuse(refused.clone()),
            Form::Change(change) => Command::Change(change.clone()),
            Form::Register { actor, contract, version, session } => {
                let parent = match &contract.contract.parent {
                    Some(parent) => Some(self.contracts.line(parent)?.contract),
                    None => None,
                };
                let registration = Registration {
                    contract: contract.clone(),
                    parent,
                    version: version.clone(),
                    session: session.clone(),
                };
                change(actor, Act::Register(Box::new(registration)))
            }
            Form::Amend { actor, agent, amendment } => {
                let contract = self.contracts.line(agent)?.contract;
                change(actor, Act::Amend { contract, amendment: amendment.clone() })
            }
            Form::StartCanary { actor, contract, share, because } => {
                let (contract, share, because) = (contract.clone(), *share, because.clone());
                let beside = self.contracts.line(&contract.contract.agent)?.contract;
                change(actor, Act::Try(Box::new(Trial::Start { contract, beside, share, because })))
            }
            Form::Ask { actor, inquiry } => {
                let contract = self.contracts.line_for(&inquiry.agent, &inquiry.flow)?.contract;
                let MintedIds { proposal: proposal_id, intent, escalation: question, .. } = Minted::ids();
                let asking = Asking { inquiry: Inquiry::clone(inquiry), question, proposal_id, intent, contract };
                change(actor, Act::Ask(Box::new(asking)))
            }
            Form::Answer(answer) => self.answer(answer, &change)?,
        })
    }

    fn advised(&self, submission: Submission) -> Submission {
        advised(submission, self.options.advisor.as_deref())
    }

    /// Whose contract a command was formed under.
    fn formed_under(&self, form: &Form) -> Option<String> {
        match form {
            Form::Proposal(submission) => Some(submission.proposal.agent.clone()),
            Form::Register { contract, .. } => contract.contract.parent.clone(),
            Form::Amend { agent, .. } => Some(agent.clone()),
            Form::StartCanary { contract, .. } => Some(contract.contract.agent.clone()),
            Form::Ask { inquiry, .. } => Some(inquiry.agent.clone()),
            // An answer is judged under the contract of whoever asked, and only the question says who that was.
            Form::Answer(answer) => match self.readers.get(&question(answer)) {
                Ok(Some(Row::Escalation(row))) => Some(row.agent),
                Ok(_) | Err(_) => None,
            },
            Form::Refuse(_) | Form::Change(_) => None,
        }
    }

    fn submission(
        &self,
        proposal: Proposal,
        line: Line,
        provenance: Provenance,
        ids: MintedIds,
        door: Door,
    ) -> Submission {
        let formed = Submission::new(self.tenant.clone(), proposal, line.contract, provenance, ids);
        formed.under(line.ancestors).through(door)
    }

    /// Forms the proposal in question again, and the one that is to happen instead.
    fn answer(&self, answer: &PersonAnswer, change: &dyn Fn(&Actor, Act) -> Command) -> Result<Command, StoreFault> {
        let row = self.readers.get(&question(answer))?;
        let row = match row {
            Some(Row::Escalation(row)) => Some(row),
            Some(_) | None => None,
        };
        // A question without a proposal has nothing to judge again.
        let row = row.filter(|row| row.kind != QuestionKind::Request);
        let original = match &row {
            Some(row) => self.again(row, None, answer)?,
            None => None,
        };
        let modified = match (&row, &answer.instead) {
            (Some(row), Some(instead)) => self.again(row, Some(instead), answer)?,
            (Some(_) | None, _) => None,
        };
        let human = HumanAnswer {
            escalation: answer.question.clone(),
            decision: answer.decision.clone(),
            digest: answer.digest,
            reason: answer.reason.clone(),
            original,
            modified,
            identity: answer.identity.clone(),
        };
        Ok(change(&Actor::Operator(answer.person.clone()), Act::Answer(Box::new(human))))
    }

    fn again(
        &self,
        row: &EscalationRow,
        instead: Option<&Proposal>,
        answer: &PersonAnswer,
    ) -> Result<Option<Arc<Submission>>, StoreFault> {
        let proposal = instead.cloned().or_else(|| Proposal::from_json(row.proposal.clone()).ok());
        let Some(proposal) = proposal.and_then(|proposal| in_place_of(row, proposal)) else { return Ok(None) };
        let provenance = match instead {
            Some(_) => typed_by_a_person(&proposal),
            None => Provenance::from_json(&row.provenance).unwrap_or(Provenance::Unknown),
        };
        let line = self.contracts.line_for(&row.agent, &row.flow)?;
        let minted = Minted::ids();
        let ids = match instead {
            // The proposal in question keeps its name.
            None => MintedIds { proposal: row.proposal_id.clone(), intent: row.intent.clone(), ..minted },
            Some(_) => minted,
        };
        let ids = MintedIds { flow: row.flow.clone(), ..ids };
        let formed = self.submission(proposal, line, provenance, ids, answer.door.clone());
        // Only what is about to be judged again needs advice; what was said when it was asked counts again.
        let formed = match (instead, HumanDecision::from_word(&answer.decision)) {
            (None, Some(HumanDecision::Override)) => self.advised(formed.advised(row.advice.clone())),
            (Some(_), Some(HumanDecision::Modify)) => self.advised(formed),
            (None | Some(_), Some(_) | None) => formed,
        };
        Ok(Some(Arc::new(formed)))
    }
}

/// A proposal in the place of the one in question: for its agent and its flow, whatever the new text says.
fn in_place_of(row: &EscalationRow, instead: Proposal) -> Option<Proposal> {
    (instead.agent == row.agent).then(|| Proposal { flow: Some(row.flow.clone()), ..instead })
}

/// Where the values of a proposal come from that a person put in place of another.
pub(crate) fn typed_by_a_person(proposal: &Proposal) -> Provenance {
    Provenance::Stated(proposal.params.keys().map(|name| (name.clone(), Origin::User)).collect())
}

fn question(answer: &PersonAnswer) -> Entity {
    Entity::Escalation(answer.question.clone())
}

fn command_id(command: &Command) -> String {
    match command {
        Command::Submit(submission) => submission.proposal_id().to_owned(),
        Command::Refuse(refused) => refused.malformed.id.clone().unwrap_or_else(|| refused.id.clone()),
        Command::Change(change) => change.id.clone(),
    }
}

fn job(command: Command, sender: Sender<Reply>) -> Job {
    let (lane, bytes) = match &command {
        Command::Submit(submission) => {
            let text: usize = submission.proposal.params.iter().map(|(name, value)| name.len() + weight(value)).sum();
            let words = submission.proposal.justification.as_ref().map_or(0, String::len);
            // Twice: what is made of it holds as much again.
            (Lane::Agent, 4_096 + 2 * (text + words))
        }
        Command::Refuse(_) => (Lane::Agent, 1_024),
        Command::Change(change) => {
            let result = change.act.attached().map_or(0, |_| BODY_BYTES_MAX);
            match &change.actor {
                Actor::Agent(_) => (Lane::Agent, 4_096 + result),
                Actor::Operator(_) | Actor::Monitor(_) | Actor::Kernel => (Lane::Operator, 4_096 + result),
            }
        }
    };
    let keys = match &command {
        Command::Submit(submission) => {
            // Worked out here and not under the lock.
            let _count = submission.keys().count();
            KeySet::new()
        }
        Command::Refuse(_) | Command::Change(_) => touches(&command),
    };
    Job { keys, command, lane, bytes, rounds: 0, sender }
}

/// Roughly what a value occupies. Small members cost most beside their own bytes: half-empty nodes, and a piece of
/// memory for every name.
fn weight(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => 32,
        Json::Text(text) => 48 + text.len(),
        Json::List(items) => 32 + items.iter().map(weight).sum::<usize>(),
        Json::Object(members) => {
            32 + members.iter().map(|(name, value)| 96 + name.len() + weight(value)).sum::<usize>()
        }
    }
}

impl Pending {
    /// Waits for the answer; without one in time it is UNAVAILABLE.
    pub fn wait(self) -> Answered {
        let Pending { inner, mut receiver, form, mut id, mut formed } = self;
        loop {
            let reply = receiver.recv_timeout(inner.options.wait);
            match finish(&inner, reply, form.as_ref(), &id, &mut formed) {
                Ok(answered) => return answered,
                Err(next) => (receiver, id) = (next.receiver, next.id),
            }
        }
    }
}

/// Awaits the answer, under any async runtime or none. Nothing bounds the time but the caller's own timeout.
///
/// Dropping it stops the waiting and nothing else: the command is decided and recorded all the same, and whoever asks
/// again with the same idempotency key gets its answer.
impl Future for Pending {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answered> {
        let Pending { inner, receiver, form, id, formed } = &mut *self;
        loop {
            let reply = ready!(Pin::new(&mut *receiver).poll(context));
            match finish(inner, reply, form.as_ref(), id, formed) {
                Ok(answered) => return Poll::Ready(answered),
                Err(next) => (*receiver, *id) = (next.receiver, next.id),
            }
        }
    }
}

/// The answer, or the command formed again.
fn finish(
    inner: &Arc<Inner>,
    reply: Option<Reply>,
    form: Option<&Form>,
    id: &str,
    formed: &mut u8,
) -> Result<Answered, Box<Pending>> {
    match reply {
        Some(Reply::Done { done, at, spent }) => {
            drop(spent);
            let Done { answer, event, records } = *done;
            Ok(Answered { answer, event, at: Some(at), records, told: Vec::new() })
        }
        Some(Reply::Told(answered)) => Ok(*answered),
        Some(Reply::Prepare)
            if *formed < FORMED_MAX
                && let Some(form) = form =>
        {
            *formed += 1;
            if let Some(agent) = inner.formed_under(form) {
                inner.contracts.forget(&agent);
            }
            Err(Box::new(inner.send(form.clone())))
        }
        Some(Reply::Prepare) => Ok(unavailable(id, "the contract in force keeps changing")),
        Some(Reply::Unavailable(problem)) => Ok(unavailable(id, &problem)),
        Some(Reply::Refused(problem)) => Ok(undecided(id, Reason::ServiceRefused, &problem)),
        Some(Reply::Damaged(problem)) => Ok(undecided(id, Reason::StoreDamaged, &problem)),
        None => Ok(unavailable(id, "the store did not answer in time; the outcome is unknown")),
    }
}

fn unavailable(id: &str, problem: &str) -> Answered {
    undecided(id, Reason::Unavailable, problem)
}

fn undecided(id: &str, reason: Reason, problem: &str) -> Answered {
    let finding = Finding::reject(Gate::Shape, reason).with("problem", problem);
    let (verdict, findings) = (Verdict::Reject, Arc::from([finding]));
    let answer = Answer { id: id.to_owned(), verdict, findings, intent: None, question: None };
    Answered { answer, event: None, at: None, records: Vec::new(), told: Vec::new() }
}
