//! The writer: it carries batches into transactions, one after the other, and hands answers out after the commit only.
//!
//! Mostly it is a thread of its own, which carries what waits in the lanes. Where nobody waits, whoever asks may carry
//! its own command instead: two threads less to wake, and for a process that makes one decision none to start.

use crate::answer_slot::Giver;
use crate::crash::around;
use crate::lanes::{Lane, Lanes};
use crate::mint::Minted;
use crate::ports::store::{Batch, BatchId, Batches, Committed, Pieces, Store, StoreFault, seal};
use kernel::agent::Actor;
use kernel::apply::apply;
use kernel::command::{Command, RefusedInput};
use kernel::finding::{Finding, Gate};
use kernel::outcome::{Done, Outcome};
use kernel::proposal::Malformed;
use kernel::reasons::Reason;
use kernel::world::{Key, KeySet, World};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::time::Instant;

/// Looks at the store a command may take; a forgotten key must never read as "not suspended".
const ROUNDS_MAX: u8 = 3;

/// Whole batches tried again after a conflict.
const CONFLICTS_MAX: u32 = 5;

/// Questions to the store whether a commit happened.
const SETTLING_MAX: u32 = 20;

/// How long a batch should take; the next one grows or shrinks towards it.
const BATCH_TIME: Duration = Duration::from_millis(20);

/// Commands whose changes and records are handed over at once: while the store saves them the next are folded.
const CHUNK: usize = 32;

const BATCH_MIN: usize = 16;
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
    pub giver: Giver<Reply>,
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
    held: Mutex<Held>,
}

struct Held {
    /// Nothing once it is over.
    store: Option<Box<dyn Store>>,
    /// Commands of the next batch.
    most: usize,
}

impl Writer {
    /// On a store.
    pub fn new(store: Box<dyn Store>) -> Writer {
        Writer { held: Mutex::new(Held { store: Some(store), most: BATCH_START }) }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        // What panics inside of a batch is caught there.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves until the lanes are closed and empty.
    pub fn serve(&self, lanes: &Lanes) {
        loop {
            let most = self.lock().most;
            let Some(jobs) = lanes.take(most) else { return };
            self.lock().carry(jobs, Some(lanes));
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
        held.carry(vec![job], None);
        Ok(())
    }

    /// Lets go of the store.
    pub fn close(&self) {
        drop(self.lock().store.take());
    }
}

impl Held {
    /// Carries jobs until none of them needs another look, and with them what arrives in these lanes meanwhile.
    fn carry(&mut self, jobs: Vec<Job>, lanes: Option<&Lanes>) {
        let Some(store) = &mut self.store else { return };
        let mut chain = Chain::of(jobs, lanes, self.most);
        chain.carry(store.as_mut());
        self.most = chain.most;
    }
}

/// Jobs on their way through a store, batch after batch. What queues while a batch is made durable is the next one.
struct Chain<'a> {
    /// Where more may arrive.
    lanes: Option<&'a Lanes>,
    /// What comes before that: jobs that need another look, and those whose batch was undone.
    first: Vec<Job>,
    /// Batches the store has taken and not told of, oldest first.
    taken: VecDeque<Taken>,
    /// Commands of the next batch.
    most: usize,
    /// Batches that are durable.
    done: u64,
    /// Since when the last of them is.
    told: Option<std::time::Instant>,
}

impl<'a> Chain<'a> {
    fn of(first: Vec<Job>, lanes: Option<&'a Lanes>, most: usize) -> Chain<'a> {
        Chain { lanes, first, taken: VecDeque::new(), most, done: 0, told: None }
    }
}

/// What a command came to, and when.
type Judged = Vec<(Outcome, Instant)>;

/// Jobs that were lent to whoever folds them, perhaps on another thread; a store drops the fold before it tells.
struct Taken {
    id: BatchId,
    jobs: Arc<Vec<Job>>,
    said: Arc<Mutex<Judged>>,
    begin: std::time::Instant,
}

/// A batch that came back.
struct Returned {
    /// Nothing if the store did not even take it.
    id: Option<BatchId>,
    jobs: Vec<Job>,
    judged: Judged,
}

impl Taken {
    fn back(self) -> Returned {
        let judged = std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner));
        // Jobs that were not given back are dropped by who holds them, and whoever waits is told that nobody knows.
        Returned { id: Some(self.id), jobs: Arc::into_inner(self.jobs).unwrap_or_default(), judged }
    }
}

impl Batches for Chain<'_> {
    fn next(&mut self) -> Option<Batch> {
        let mut jobs = std::mem::take(&mut self.first);
        if let Some(lanes) = self.lanes {
            let on_their_way: usize = self.taken.iter().map(|taken| taken.jobs.len()).sum();
            // At least one, also where there is no room: operators come first.
            let room = self.most.saturating_sub(jobs.len()).max(1);
            jobs.append(&mut lanes.take_more(room, on_their_way));
        }
        (!jobs.is_empty()).then(|| self.lend(jobs))
    }

    fn committed(&mut self, _committed: Committed) {
        let Some(taken) = self.taken.pop_front() else { return };
        // While the one before it was not durable it could not be either.
        let begin = self.told.map_or(taken.begin, |told| told.max(taken.begin));
        self.most = adapted(self.most, taken.jobs.len(), begin.elapsed());
        self.told = Some(std::time::Instant::now());
        self.done += 1;
        self.hand_out(taken.back());
    }
}

impl Chain<'_> {
    fn lend(&mut self, jobs: Vec<Job>) -> Batch {
        let (id, begin) = (BatchId(Minted::batch()), std::time::Instant::now());
        let (jobs, said) = (Arc::new(jobs), Arc::new(Mutex::new(Judged::new())));
        self.taken.push_back(Taken { id, jobs: jobs.clone(), said: said.clone(), begin });
        let keys = all_keys(&jobs);
        let fold = Box::new(move |world: &mut World, at: Instant, pieces: &mut dyn Pieces| {
            let judged = folded(world, &jobs, at, pieces);
            *said.lock().unwrap_or_else(PoisonError::into_inner) = judged;
        });
        Batch { id, keys, fold }
    }

    /// Answers everyone, whatever goes wrong.
    fn carry(&mut self, store: &mut dyn Store) {
        let mut conflicts = 0;
        while !self.first.is_empty() {
            let before = self.done;
            // A panic of a fold is an error here.
            let result = catch_unwind(AssertUnwindSafe(|| store.transact_chain(self)));
            if self.done > before {
                conflicts = 0;
            }
            let is_fine = matches!(result, Ok(Ok(()))) && self.taken.is_empty();
            if is_fine && self.done > before {
                continue;
            }
            let Some(failed) = self.oldest() else { continue };
            match result {
                Ok(Ok(())) => give_up(failed.jobs, "the store takes no batches, or left one behind"),
                Ok(Err(StoreFault::Conflict(problem))) => {
                    conflicts += 1;
                    if conflicts > CONFLICTS_MAX {
                        give_up(failed.jobs, &problem);
                    } else {
                        self.again(failed.jobs);
                        std::thread::sleep(Duration::from_millis(u64::from(conflicts) * 3));
                    }
                }
                Ok(Err(StoreFault::Ambiguous(_))) if bugs::on(Bug::AmbiguousRetried) => self.again(failed.jobs),
                Ok(Err(StoreFault::Ambiguous(problem))) => match failed.id.and_then(|id| settled(store, id)) {
                    Some(true) => self.hand_out(failed),
                    Some(false) if conflicts < CONFLICTS_MAX => {
                        conflicts += 1;
                        self.again(failed.jobs);
                    }
                    Some(false) => give_up(failed.jobs, &problem),
                    None => give_up(failed.jobs, &format!("{problem}; ask again with the same idempotency key")),
                },
                Ok(Err(fault @ (StoreFault::Unavailable(_) | StoreFault::Corrupt(_)))) => {
                    failed.jobs.into_iter().for_each(|job| job.giver.give(Reply::of_fault(&fault)));
                }
                Ok(Err(StoreFault::Refused(_))) | Err(_) => halve(store, failed.jobs),
            }
        }
    }

    /// The oldest batch that is not durable. Those behind it were undone with it, and come next.
    fn oldest(&mut self) -> Option<Returned> {
        let Some(oldest) = self.taken.pop_front() else {
            let jobs = std::mem::take(&mut self.first);
            return (!jobs.is_empty()).then(|| Returned { id: None, jobs, judged: Judged::new() });
        };
        let undone = std::mem::take(&mut self.taken).into_iter().flat_map(|taken| taken.back().jobs);
        self.again(undone.collect());
        Some(oldest.back())
    }

    /// Jobs that come before all others.
    fn again(&mut self, mut jobs: Vec<Job>) {
        jobs.append(&mut self.first);
        self.first = jobs;
    }

    /// Answers what is durable; what needs another look comes next.
    fn hand_out(&mut self, Returned { jobs, judged, .. }: Returned) {
        for (mut job, (outcome, at)) in jobs.into_iter().zip(judged) {
            match outcome {
                Outcome::Done(done) => {
                    let spent = Box::new((job.command, job.keys));
                    around("sequencer.answer", || job.giver.give(Reply::Done { done, at, spent }));
                }
                Outcome::Prepare => job.giver.give(Reply::Prepare),
                Outcome::Need(keys) => {
                    job.rounds = job.rounds.saturating_add(1);
                    if job.rounds > ROUNDS_MAX {
                        job.giver.give(Reply::Unavailable("it needs more than one decision may look at".to_owned()));
                    } else {
                        job.keys.extend(keys);
                        self.first.push(job);
                    }
                }
            }
        }
    }
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

/// Applies a batch and hands over what it leaves behind as it goes along.
fn folded(world: &mut World, jobs: &[Job], at: Instant, pieces: &mut dyn Pieces) -> Judged {
    let mut judged = Vec::with_capacity(jobs.len());
    for chunk in jobs.chunks(CHUNK) {
        let mut records = Vec::with_capacity(chunk.len());
        for job in chunk {
            world.begin_record(pieces.count() + records.len());
            let outcome = apply(world, &job.command, at);
            if let Outcome::Done(done) = &outcome {
                records.extend(done.records.iter().cloned());
            }
            judged.push((outcome, at));
        }
        pieces.hand_over(world, records);
    }
    judged
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

fn give_up(jobs: Vec<Job>, problem: &str) {
    for job in jobs {
        job.giver.give(Reply::Unavailable(problem.to_owned()));
    }
}

/// Something in the batch is poison: each half is a transaction of its own, until the poison stands alone.
fn halve(store: &mut dyn Store, mut jobs: Vec<Job>) {
    if jobs.len() < 2 {
        return jobs.into_iter().for_each(|job| poisoned(store, job));
    }
    let rest = jobs.split_off(jobs.len() / 2);
    for first in [jobs, rest] {
        Chain::of(first, None, 0).carry(store);
    }
}

/// Answers KERNEL_FAULT and records the command by its digest: its bytes are what nobody could handle.
fn poisoned(store: &mut dyn Store, job: Job) {
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
    let keys = KeySet::new();
    let result = store.transact(BatchId(Minted::batch()), &keys, &mut |world, at| {
        let outcome = apply(world, &command, at);
        let Outcome::Done(done) = outcome else { return Vec::new() };
        let records = done.records.iter().map(seal).collect();
        said = Some(done);
        records
    });
    match (result, said) {
        (Ok(committed), Some(done)) => {
            let spent = Box::new((job.command, job.keys));
            job.giver.give(Reply::Done { done, at: committed.at, spent });
        }
        (Ok(_), None) => job.giver.give(Reply::Unavailable("the kernel could not answer".to_owned())),
        (Err(fault), _) => job.giver.give(Reply::of_fault(&fault)),
    }
}
