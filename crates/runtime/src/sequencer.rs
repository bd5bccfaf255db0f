//! The writer: it carries batches into transactions, one after the other, and hands answers out after the commit only.
//!
//! Mostly it is a thread of its own, which carries what waits in the lanes. Where nobody waits, whoever asks may carry
//! its own command instead: two threads less to wake, and for a process that makes one decision none to start.

use crate::commits::Commits;
use crate::crash::around;
use crate::lanes::{Lane, Lanes};
use crate::mint::Minted;
use crate::oneshot::Sender;
use crate::ports::store::{BatchId, Committed, Forgotten, Store, StoreFault, one_step, seal};
use crate::runtime::Answered;
use kernel::agent::Actor;
use kernel::apply::apply;
use kernel::command::{Command, RefusedInput};
use kernel::finding::{Finding, Gate};
use kernel::outcome::{Done, Outcome};
use kernel::proposal::Malformed;
use kernel::reasons::Reason;
use kernel::world::{Key, KeySet};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::time::Instant;

/// Times a command may ask for more rows. A row may name another (a flow its parents, an asked effect its last question,
/// the due intents what they hold), and while it waits other processes move on, so that it names yet another.
const ROUNDS_MAX: u8 = 16;

/// Whole batches tried again after a conflict.
const CONFLICTS_MAX: u32 = 5;

/// Questions to the store whether a commit happened.
const SETTLING_MAX: u32 = 20;

/// How long a batch should take; the next one grows or shrinks towards it.
const BATCH_TIME: Duration = Duration::from_millis(20);

/// Where a commit alone takes longer than [`BATCH_TIME`], smaller batches would only make fewer decisions.
const BATCH_MIN: usize = 128;
const BATCH_MAX: usize = 1_024;
const BATCH_START: usize = 512;

/// A command on its way.
pub struct Job {
    pub command: Command,
    /// What it touches beside the keys a submission names itself.
    pub keys: KeySet,
    pub lane: Lane,
    pub bytes: usize,
    pub rounds: u8,
    pub sender: Sender<Reply>,
}

impl Job {
    /// Whose share of a batch it takes.
    pub fn agent(&self) -> &str {
        match &self.command {
            Command::Submit(submission) => &submission.proposal.agent,
            Command::Refuse(refused) => refused.malformed.agent.as_deref().unwrap_or_default(),
            Command::Change(change) => match &change.actor {
                Actor::Agent(name) => name,
                Actor::Operator(_) | Actor::Monitor(_) | Actor::Kernel => "",
            },
        }
    }

    /// Every key to load, in no order; some may come twice.
    fn keys(&self) -> impl Iterator<Item = &Key> {
        let own = match &self.command {
            Command::Submit(submission) => Some(submission.keys()),
            Command::Refuse(_) | Command::Change(_) => None,
        };
        own.into_iter().flatten().chain(&self.keys)
    }
}

/// What the writer says.
#[derive(Debug)]
pub enum Reply {
    /// It is durable.
    Done {
        /// What the kernel said.
        done: Box<Done>,
        /// The decision instant.
        at: Instant,
        /// What was asked, handed back: whoever waited frees it, not the one thread that everybody waits for.
        spent: Box<(Command, KeySet)>,
    },
    /// Form the command again under the contract in force.
    Prepare,
    /// A service decided it.
    Told(Box<Answered>),
    /// No decision, and none will come: the service does not do this for its caller.
    Refused(String),
    /// No decision.
    Unavailable(String),
    /// No decision, and none will come: what the store holds cannot be right.
    Damaged(String),
}

impl Reply {
    /// What a fault of the store means for whoever waits.
    pub fn of_fault(fault: &StoreFault) -> Reply {
        match fault {
            StoreFault::Corrupt(_) => Reply::Damaged(fault.to_string()),
            StoreFault::Conflict(_)
            | StoreFault::Unavailable(_)
            | StoreFault::Ambiguous(_)
            | StoreFault::Refused(_) => Reply::Unavailable(fault.to_string()),
        }
    }
}

/// Whoever holds it writes.
pub struct Writer {
    held: Mutex<WriterState>,
    /// Is told of every batch that is durable.
    commits: Commits,
}

struct WriterState {
    /// Nothing once it is over.
    store: Option<Box<dyn Store>>,
    /// Commands of the next batch.
    most: usize,
}

impl Writer {
    /// On a store.
    pub fn new(store: Box<dyn Store>, commits: Commits) -> Writer {
        Writer { held: Mutex::new(WriterState { store: Some(store), most: BATCH_START }), commits }
    }

    fn lock(&self) -> MutexGuard<'_, WriterState> {
        // What panics inside of a batch is caught there.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves until the lanes are closed and empty.
    pub fn serve(&self, lanes: &Lanes) {
        loop {
            let most = self.lock().most;
            let Some(jobs) = lanes.take(most) else { return };
            self.lock().carry(jobs, &self.commits);
        }
    }

    /// Carries one command on the thread that asks. Gives it back if somebody writes or waits: then it has to wait too.
    pub fn carry_here(&self, lanes: &Lanes, job: Job) -> Result<(), Box<Job>> {
        if lanes.is_waited_in() {
            return Err(Box::new(job));
        }
        let mut held = match self.held.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Box::new(job)),
        };
        held.carry(vec![job], &self.commits);
        Ok(())
    }

    /// Removes bodies between two batches; how many there were.
    pub fn erase(&self, from: u64, to: u64) -> Result<u64, StoreFault> {
        let over = || StoreFault::Unavailable("the runtime has ended".to_owned());
        self.lock().store.as_mut().ok_or_else(over)?.erase(from, to)
    }

    /// Removes rows of forgotten keys between two batches.
    pub fn forget(&self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        let over = || StoreFault::Unavailable("the runtime has ended".to_owned());
        self.lock().store.as_mut().ok_or_else(over)?.forget(before, after)
    }

    /// Lets go of the store.
    pub fn close(&self) {
        drop(self.lock().store.take());
    }
}

impl WriterState {
    /// Carries jobs until none of them needs another look.
    fn carry(&mut self, jobs: Vec<Job>, commits: &Commits) {
        let Some(store) = &mut self.store else { return };
        carry(store.as_mut(), commits, jobs, &mut self.most);
    }
}

/// What each command of a batch came to.
type BatchOutcomes = Vec<(Outcome, Instant)>;

/// Answers every job, whatever goes wrong. `most` is how many commands the next batch may have.
fn carry(store: &mut dyn Store, commits: &Commits, mut jobs: Vec<Job>, most: &mut usize) {
    let mut conflicts = 0;
    while !jobs.is_empty() {
        let batch = BatchId(Minted::batch());
        let begin = std::time::Instant::now();
        let mut outcomes = BatchOutcomes::with_capacity(jobs.len());
        // A panic of a fold is an error here.
        let result = catch_unwind(AssertUnwindSafe(|| transact(store, batch, &jobs, &mut outcomes)));
        jobs = match result {
            Ok(Ok(committed)) => {
                commits.announce(committed.first.saturating_add(records(&outcomes)));
                *most = adapted(*most, jobs.len(), begin.elapsed());
                conflicts = 0;
                hand_out(jobs, outcomes)
            }
            Ok(Err(StoreFault::Conflict(_))) if conflicts < CONFLICTS_MAX => {
                conflicts += 1;
                std::thread::sleep(Duration::from_millis(u64::from(conflicts) * 3));
                jobs
            }
            Ok(Err(StoreFault::Conflict(problem))) => give_up(jobs, &problem),
            Ok(Err(StoreFault::Ambiguous(_))) if bugs::on(Bug::AmbiguousRetried) => jobs,
            Ok(Err(StoreFault::Ambiguous(problem))) => match settled(store, batch) {
                Some(true) => {
                    commits.look();
                    hand_out(jobs, outcomes)
                }
                Some(false) if conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                    jobs
                }
                Some(false) => give_up(jobs, &problem),
                None => give_up(jobs, &format!("{problem}; ask again with the same idempotency key")),
            },
            Ok(Err(fault @ (StoreFault::Unavailable(_) | StoreFault::Corrupt(_)))) => {
                jobs.into_iter().for_each(|job| job.sender.send(Reply::of_fault(&fault)));
                return;
            }
            Ok(Err(StoreFault::Refused(_))) | Err(_) => return halve(store, commits, jobs),
        };
    }
}

/// One batch into the store, a step for every command.
fn transact(
    store: &mut dyn Store,
    batch: BatchId,
    jobs: &[Job],
    outcomes: &mut BatchOutcomes,
) -> Result<Committed, StoreFault> {
    let mut next = jobs.iter();
    store.transact(batch, all_keys(jobs), &mut |world, at| {
        let outcome = apply(world, &next.next()?.command, at);
        let records = match &outcome {
            Outcome::Done(done) => done.records.iter().map(seal).collect(),
            Outcome::Prepare | Outcome::Need(_) => Vec::new(),
        };
        outcomes.push((outcome, at));
        Some(records)
    })
}

/// How many records the commands of a batch left.
fn records(outcomes: &BatchOutcomes) -> u64 {
    let of = |outcome: &Outcome| match outcome {
        Outcome::Done(done) => done.records.len() as u64,
        Outcome::Prepare | Outcome::Need(_) => 0,
    };
    outcomes.iter().map(|(outcome, _)| of(outcome)).sum()
}

/// Answers what is durable; gives back what needs another look.
fn hand_out(jobs: Vec<Job>, outcomes: BatchOutcomes) -> Vec<Job> {
    let mut again = Vec::new();
    for (mut job, (outcome, at)) in jobs.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(done) => {
                let spent = Box::new((job.command, job.keys));
                around("sequencer.answer", || job.sender.send(Reply::Done { done, at, spent }));
            }
            Outcome::Prepare => job.sender.send(Reply::Prepare),
            Outcome::Need(keys) => {
                job.rounds = job.rounds.saturating_add(1);
                if job.rounds > ROUNDS_MAX {
                    job.sender.send(Reply::Unavailable("it needs more than one decision may look at".to_owned()));
                } else {
                    job.keys.extend(keys);
                    again.push(job);
                }
            }
        }
    }
    again
}

fn adapted(most: usize, size: usize, took: Duration) -> usize {
    if took > BATCH_TIME {
        (most / 2).max(BATCH_MIN)
    } else if size >= most && took < BATCH_TIME / 2 {
        most.saturating_add(most / 2).min(BATCH_MAX)
    } else {
        most
    }
}

/// The keys of a batch. Most are of few entities that all commands share: each of those comes once.
fn all_keys(jobs: &[Job]) -> Vec<Key> {
    // Agents choose names, so they must not know the seed.
    let [one, two] = Minted::seeds();
    let mut seen = HashSet::with_hasher(ahash::RandomState::with_seeds(one, two, 0, 0));
    let mut keys = Vec::with_capacity(jobs.len().saturating_mul(4));
    for key in jobs.iter().flat_map(Job::keys) {
        if !key.entity.kind().is_shared() || seen.insert(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// Whether an ambiguous commit happened; `None` if the store does not come back.
fn settled(store: &mut dyn Store, batch: BatchId) -> Option<bool> {
    for attempt in 0..SETTLING_MAX {
        match store.has_settled(batch) {
            Ok(settled) => return Some(settled),
            Err(_) => std::thread::sleep(Duration::from_millis(10 * u64::from(attempt + 1))),
        }
    }
    None
}

fn give_up(jobs: Vec<Job>, problem: &str) -> Vec<Job> {
    jobs.into_iter().for_each(|job| job.sender.send(Reply::Unavailable(problem.to_owned())));
    Vec::new()
}

/// Something in the batch is poison: each half is a transaction of its own, until the poison stands alone.
fn halve(store: &mut dyn Store, commits: &Commits, mut jobs: Vec<Job>) {
    if jobs.len() < 2 {
        return jobs.into_iter().for_each(|job| poisoned(store, commits, job));
    }
    let rest = jobs.split_off(jobs.len() / 2);
    for half in [jobs, rest] {
        carry(store, commits, half, &mut BATCH_MIN.clone());
    }
}

/// Answers KERNEL_FAULT and records the command by its digest: its bytes are what nobody could handle.
fn poisoned(store: &mut dyn Store, commits: &Commits, job: Job) {
    let (digest, id, agent) = match &job.command {
        Command::Submit(submission) => {
            let agent = submission.proposal.agent.clone();
            (submission.proposal.fingerprint, submission.proposal_id().to_owned(), Some(agent))
        }
        Command::Change(change) => (Digest::of(change.act.to_json().to_canonical()), change.id.clone(), None),
        Command::Refuse(refused) => (refused.digest, refused.id.clone(), refused.malformed.agent.clone()),
    };
    let finding = Finding::reject(Gate::Shape, Reason::KernelFault).with("problem", format!("sha256 {digest}"));
    let malformed = Malformed { id: Some(id.clone()), agent, findings: vec![finding] };
    let refused = RefusedInput { tenant: job.command.tenant().clone(), malformed, digest, id };
    let command = Command::Refuse(Box::new(refused));
    let mut said = None;
    let mut fold = one_step(|world, at| {
        let outcome = apply(world, &command, at);
        let Outcome::Done(done) = outcome else { return Vec::new() };
        let records = done.records.iter().map(seal).collect();
        said = Some(done);
        records
    });
    let result = store.transact(BatchId(Minted::batch()), Vec::new(), &mut fold);
    drop(fold);
    match (result, said) {
        (Ok(committed), Some(done)) => {
            commits.announce(committed.first.saturating_add(done.records.len() as u64));
            let spent = Box::new((job.command, job.keys));
            job.sender.send(Reply::Done { done, at: committed.at, spent });
        }
        (Ok(_), None) => job.sender.send(Reply::Unavailable("the kernel could not answer".to_owned())),
        (Err(fault), _) => job.sender.send(Reply::of_fault(&fault)),
    }
}
