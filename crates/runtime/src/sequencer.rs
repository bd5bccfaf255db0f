//! The writer: it carries batches into transactions, one after the other, and hands answers out after the commit only.
//!
//! Mostly it is a thread of its own, which carries what waits in the lanes. Where nobody waits, whoever asks may carry
//! its own command instead: two threads less to wake, and for a process that makes one decision none to start.

use crate::answer_slot::Giver;
use crate::crash::around;
use crate::lanes::{Lane, Lanes};
use crate::mint::Minted;
use crate::ports::store::{BatchId, Records, Store, StoreFault};
use kernel::apply::apply;
use kernel::bugs::{self, Bug};
use kernel::command::{Command, RefusedInput};
use kernel::finding::{Finding, Gate};
use kernel::ids::Digest;
use kernel::outcome::{Done, Outcome};
use kernel::proposal::Malformed;
use kernel::reasons::Reason;
use kernel::record::{Record, Sealed};
use kernel::time::Instant;
use kernel::world::{Key, KeySet, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::time::Duration;

/// Looks at the store a command may take; a forgotten key must never read as "not suspended".
const ROUNDS_MAX: u8 = 3;

/// Whole batches tried again after a conflict.
const CONFLICTS_MAX: u32 = 5;

/// Questions to the store whether a commit happened.
const SETTLING_MAX: u32 = 20;

/// How long a batch should take; the next one grows or shrinks towards it.
const BATCH_TIME: Duration = Duration::from_millis(20);

/// Commands from which on a second thread is worth its start.
const SHARED_FROM: usize = 48;

/// Commands whose records are handed to the second thread at once.
const CHUNK: usize = 16;

const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 1_024;
const BATCH_START: usize = 512;

/// A command on its way.
pub struct Job {
    pub command: Command,
    pub keys: KeySet,
    pub lane: Lane,
    /// Whose share of a batch it takes.
    pub agent: String,
    pub bytes: usize,
    pub rounds: u8,
    pub giver: Giver<Reply>,
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
            self.lock().carry(jobs);
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
        held.carry(vec![job]);
        Ok(())
    }

    /// Lets go of the store.
    pub fn close(&self) {
        drop(self.lock().store.take());
    }
}

impl Held {
    /// Carries jobs until none of them needs another look.
    fn carry(&mut self, mut jobs: Vec<Job>) {
        let Some(store) = &mut self.store else { return };
        while !jobs.is_empty() {
            let size = jobs.len();
            let begin = std::time::Instant::now();
            jobs = carry(store.as_mut(), jobs);
            self.most = adapted(self.most, size, begin.elapsed());
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

/// One transaction for a batch; what needs another look comes back.
fn carry(store: &mut dyn Store, jobs: Vec<Job>) -> Vec<Job> {
    let mut conflicts = 0;
    loop {
        let batch = BatchId(Minted::batch());
        let keys = all_keys(&jobs);
        let mut outcomes = Vec::new();
        let mut judged_at = Instant::PURE_DEFAULT;
        let result = catch_unwind(AssertUnwindSafe(|| {
            store.transact_while_sealing(batch, &keys, &mut |world, at| {
                judged_at = at;
                let (judged, records) = folded(world, &jobs, at);
                outcomes = judged;
                records
            })
        }));
        match result {
            Ok(Ok(_)) => return hand_out(jobs, outcomes, judged_at),
            Ok(Err(StoreFault::Conflict(problem))) => {
                conflicts += 1;
                if conflicts > CONFLICTS_MAX {
                    return give_up(jobs, &problem);
                }
                std::thread::sleep(Duration::from_millis(u64::from(conflicts) * 3));
            }
            Ok(Err(StoreFault::Ambiguous(_))) if bugs::on(Bug::AmbiguousRetried) => {}
            Ok(Err(StoreFault::Ambiguous(problem))) => match settled(store, batch) {
                Some(true) => return hand_out(jobs, outcomes, judged_at),
                Some(false) if conflicts < CONFLICTS_MAX => conflicts += 1,
                Some(false) => return give_up(jobs, &problem),
                None => return give_up(jobs, &format!("{problem}; ask again with the same idempotency key")),
            },
            Ok(Err(fault @ (StoreFault::Unavailable(_) | StoreFault::Corrupt(_)))) => {
                jobs.into_iter().for_each(|job| job.giver.give(Reply::of_fault(&fault)));
                return Vec::new();
            }
            Ok(Err(StoreFault::Refused(_))) | Err(_) => return halve(store, jobs),
        }
    }
}

/// Every key of a batch once. Most are of few entities that all commands share, so they are copied last.
fn all_keys(jobs: &[Job]) -> KeySet {
    let mut keys: Vec<&Key> = jobs.iter().flat_map(|job| &job.keys).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().cloned().collect()
}

/// Applies a batch and writes its records out. A large batch has them written by a second thread as it goes along.
fn folded(world: &mut World, jobs: &[Job], at: Instant) -> (Vec<Outcome>, Records) {
    let mut outcomes = Vec::with_capacity(jobs.len());
    let (sender, receiver) = mpsc::channel::<Vec<Record>>();
    let seal = move || receiver.iter().flat_map(|records| sealed(&records)).collect();
    let second = (jobs.len() >= SHARED_FROM).then(|| std::thread::Builder::new().name("sealer".to_owned()).spawn(seal));
    // Where the machine gives no thread, this one does it.
    let Some(Ok(second)) = second else {
        let records = applied(world, jobs, at, 0, &mut outcomes);
        return (outcomes, Records::ready(sealed(&records)));
    };
    let mut count = 0;
    for chunk in jobs.chunks(CHUNK) {
        let records = applied(world, chunk, at, count, &mut outcomes);
        count += records.len();
        // It only fails if the other thread has panicked, and then waiting for it says so.
        let _ = sender.send(records);
    }
    (outcomes, Records::by(second, count))
}

fn sealed(records: &[Record]) -> Vec<Sealed> {
    records.iter().map(|record| record.seal(Minted::salt())).collect()
}

/// Applies commands one after the other; `count` records came before. Says which records they leave.
fn applied(world: &mut World, jobs: &[Job], at: Instant, count: usize, outcomes: &mut Vec<Outcome>) -> Vec<Record> {
    let mut records = Vec::with_capacity(jobs.len());
    for job in jobs {
        world.begin_record(count + records.len());
        let outcome = apply(world, &job.command, at);
        if let Outcome::Done(done) = &outcome {
            records.extend(done.records.iter().cloned());
        }
        outcomes.push(outcome);
    }
    records
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

fn hand_out(jobs: Vec<Job>, outcomes: Vec<Outcome>, at: Instant) -> Vec<Job> {
    let mut again = Vec::new();
    for (mut job, outcome) in jobs.into_iter().zip(outcomes) {
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
                    again.push(job);
                }
            }
        }
    }
    again
}

fn give_up(jobs: Vec<Job>, problem: &str) -> Vec<Job> {
    for job in jobs {
        job.giver.give(Reply::Unavailable(problem.to_owned()));
    }
    Vec::new()
}

/// Something in the batch is poison: each half is a transaction of its own, until the poison stands alone.
fn halve(store: &mut dyn Store, mut jobs: Vec<Job>) -> Vec<Job> {
    if jobs.len() > 1 {
        let rest = jobs.split_off(jobs.len() / 2);
        let mut again = carry(store, jobs);
        again.extend(carry(store, rest));
        return again;
    }
    if let Some(job) = jobs.pop() {
        poisoned(store, job);
    }
    Vec::new()
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
        let records = done.records.iter().map(|record| record.seal(Minted::salt())).collect();
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
