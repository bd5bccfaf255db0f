//! Bounded queues before the writer: operators and people first, and no agent crowds the others out.

use crate::sequencer::Job;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the writer looks out before it goes to sleep.
const LOOKING: Duration = Duration::from_micros(100);

/// Commands that may wait, and how large they may be together.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Proposals.
    pub proposals: usize,
    /// Commands of operators and people.
    pub operators: usize,
    /// Bytes of all proposals.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { proposals: 4_096, operators: 1_024, bytes: 64 << 20 }
    }
}

/// Which queue a command waits in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane {
    /// First in the next batch.
    Operator,
    /// In order of arrival, by fair shares.
    Agent,
}

#[derive(Default)]
struct Waiting {
    operators: VecDeque<Job>,
    proposals: VecDeque<Job>,
    bytes: usize,
    closed: bool,
    /// The writer sleeps until something arrives.
    idle: bool,
}

/// The queues.
pub struct Lanes {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    bounds: Bounds,
    /// Whether there is anything to take, for a look without the lock.
    is_any: AtomicBool,
}

impl Lanes {
    pub fn new(bounds: Bounds) -> Lanes {
        Lanes { waiting: Mutex::default(), arrived: Condvar::new(), bounds, is_any: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job, or gives it back because there is no room or nobody serves any more.
    pub fn push(&self, job: Job) -> Result<(), Box<Job>> {
        let mut waiting = self.lock();
        let full = match job.lane {
            Lane::Operator => waiting.operators.len() >= self.bounds.operators,
            Lane::Agent => {
                waiting.proposals.len() >= self.bounds.proposals
                    || waiting.bytes.saturating_add(job.bytes) > self.bounds.bytes
            }
        };
        if full || waiting.closed {
            return Err(Box::new(job));
        }
        match job.lane {
            Lane::Operator => waiting.operators.push_back(job),
            Lane::Agent => {
                waiting.bytes = waiting.bytes.saturating_add(job.bytes);
                waiting.proposals.push_back(job);
            }
        }
        let idle = std::mem::take(&mut waiting.idle);
        self.is_any.store(true, Ordering::Relaxed);
        drop(waiting);
        if idle {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// The next batch, at most so many; waits for the first. `None` once closed and empty.
    pub fn take(&self, most: usize) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        let mut looked = false;
        loop {
            if !waiting.operators.is_empty() || !waiting.proposals.is_empty() {
                break;
            }
            if waiting.closed {
                return None;
            }
            if !looked {
                looked = true;
                drop(waiting);
                self.look();
                waiting = self.lock();
                continue;
            }
            waiting.idle = true;
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        Some(self.taken(&mut waiting, most))
    }

    fn taken(&self, waiting: &mut Waiting, room: usize) -> Vec<Job> {
        let mut batch: Vec<Job> = Vec::new();
        while batch.len() < room
            && let Some(job) = waiting.operators.pop_front()
        {
            batch.push(job);
        }
        let proposals = std::mem::take(&mut waiting.proposals);
        let (chosen, left) = fair(proposals, room - batch.len(), (room / 4).max(1));
        let bytes: usize = chosen.iter().map(|job| job.bytes).sum();
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
        waiting.proposals = left;
        self.is_any.store(!waiting.operators.is_empty() || !waiting.proposals.is_empty(), Ordering::Relaxed);
        batch.extend(chosen);
        batch
    }

    /// Looks out for the next job for a moment. Whoever was just answered often asks again at once, and waking a thread
    /// that sleeps takes longer than that.
    fn look(&self) {
        let begin = Instant::now();
        while !self.is_any.load(Ordering::Relaxed) && begin.elapsed() < LOOKING {
            std::thread::yield_now();
        }
    }

    /// Whether anybody waits.
    pub fn is_waited_in(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Takes no more; what waits is still served.
    pub fn close(&self) {
        self.lock().closed = true;
        self.is_any.store(true, Ordering::Relaxed);
        self.arrived.notify_all();
    }
}

/// The first so many, no agent beyond its share as long as others wait; order of arrival within an agent is kept.
fn fair(mut queue: VecDeque<Job>, room: usize, share: usize) -> (Vec<Job>, VecDeque<Job>) {
    if queue.len() <= room {
        return (queue.into_iter().collect(), VecDeque::new());
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let crowds_out = queue.iter().take(room).any(|job| {
        let count = counts.entry(job.agent()).or_default();
        *count += 1;
        *count > share
    });
    if !crowds_out {
        return (queue.drain(..room).collect(), queue);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut chosen, mut held) = (Vec::with_capacity(room), VecDeque::new());
    while chosen.len() < room
        && let Some(job) = queue.pop_front()
    {
        let count = counts.entry(job.agent().to_owned()).or_default();
        if *count < share {
            *count += 1;
            chosen.push(job);
        } else {
            held.push_back(job);
        }
    }
    while chosen.len() < room
        && let Some(job) = held.pop_front()
    {
        chosen.push(job);
    }
    held.extend(queue);
    (chosen, held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oneshot;
    use kernel::command::{Command, RefusedInput};
    use kernel::proposal::Malformed;
    use kernel::world::KeySet;
    use std::sync::Arc;
    use values::ids::Digest;

    fn job(lane: Lane, agent: &str, bytes: usize) -> Job {
        let malformed = Malformed { id: None, agent: Some(agent.to_owned()), findings: Vec::new() };
        let digest = Digest::of(agent);
        let refused = RefusedInput { tenant: Arc::from("t"), malformed, digest, id: String::new() };
        let command = Command::Refuse(Box::new(refused));
        Job { command, keys: KeySet::new(), lane, bytes, rounds: 0, sender: oneshot::channel().0 }
    }

    fn agents(batch: &[Job]) -> Vec<&str> {
        batch.iter().map(Job::agent).collect()
    }

    #[test]
    fn operators_come_first_and_no_agent_crowds_the_others_out() {
        let lanes = Lanes::new(Bounds::default());
        for _ in 0..20 {
            assert!(lanes.push(job(Lane::Agent, "flood", 1)).is_ok());
        }
        assert!(lanes.push(job(Lane::Agent, "quiet", 1)).is_ok());
        assert!(lanes.push(job(Lane::Operator, "ann", 1)).is_ok());
        let batch = lanes.take(8).unwrap();
        assert_eq!(agents(&batch), ["ann", "flood", "flood", "quiet", "flood", "flood", "flood", "flood"]);
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_bytes() {
        let lanes = Lanes::new(Bounds { proposals: 2, operators: 1, bytes: 10 });
        assert!(lanes.push(job(Lane::Agent, "a", 9)).is_ok());
        assert!(lanes.push(job(Lane::Agent, "a", 2)).is_err(), "bytes");
        assert!(lanes.push(job(Lane::Agent, "a", 1)).is_ok());
        assert!(lanes.push(job(Lane::Agent, "a", 0)).is_err(), "number");
        assert!(lanes.push(job(Lane::Operator, "ann", 99)).is_ok(), "agents cannot shut an operator out");
        assert_eq!(lanes.take(8).unwrap().len(), 3);
        assert!(lanes.push(job(Lane::Agent, "a", 10)).is_ok(), "room again");
        lanes.close();
        assert!(lanes.push(job(Lane::Agent, "a", 0)).is_err());
        assert_eq!(lanes.take(8).unwrap().len(), 1, "what waits is still served");
        assert!(lanes.take(8).is_none());
    }
}
