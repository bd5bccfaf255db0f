//! Performing, one step at a time: the steps of [`execute`](crate::execute), between any two of which a process may
//! die or stand still.

use super::faults::{CrashPoint, Fault};
use super::provider::{Asks, Heard, Request, SECOND};
use super::stage::{Job, Origin, Stage, strikes};
use crate::ports::store::Reader;
use kernel::agent::Actor;
use kernel::change::{Act, AttachedResult};
use kernel::contract::EffectClass;
use kernel::event::Event;
use kernel::intent::{IntentRow, IntentState, Observed, provider_key};
use kernel::outcome::{Done, Verdict};
use kernel::result::{EffectResult, Response, ResponseStatus, Secrets};
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use values::bugs::{self, Bug};
use values::time::{Duration, Instant};

/// As in `execute`: kept back for recording, and how often an outcome is offered.
const MARGIN: i64 = 2 * SECOND;
const RECORDED_MAX: u32 = 8;

/// Intents looked at for one that is ready.
const LOOK: usize = 64;

/// What a process has in hand.
#[derive(Clone, Debug)]
pub(super) struct Task {
    intent: String,
    begin: i64,
    lease: i64,
    timeout: i64,
    epoch: u64,
    doubted: bool,
    request: Option<Request>,
    deadline: i64,
    at: At,
    tries: u32,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Claiming,
    Claimed,
    Marked,
    Asking(Asks),
    Waiting(Asks, u64),
    Recording(Observed),
}

impl Stage {
    /// What time does, if something is due by the clock of this process.
    pub fn recover(&mut self, place: usize, jobs: &mut Vec<Job>) {
        let now = self.clock_of(place);
        let due = self.store.durable().due(Kind::Intent, now, 1).unwrap_or_default();
        if let Some((_, Row::Intent(row))) = due.first()
            && row.due().is_some_and(|due| due < now)
        {
            let job = self.change(Actor::Kernel, Act::ExpireIntents, Origin::Other);
            jobs.push(job);
        }
    }

    fn task(&self, place: usize, slot: usize) -> Option<Task> {
        self.processes.get(place)?.tasks.get(slot)?.clone()
    }

    fn put(&mut self, place: usize, slot: usize, task: Option<Task>) {
        self.with(place, |process| {
            if let Some(held) = process.tasks.get_mut(slot) {
                *held = task;
            }
        });
    }

    /// One step of one call; `false` if the process died.
    pub fn work(&mut self, place: usize, slot: usize, jobs: &mut Vec<Job>) -> bool {
        let busy = |origin| matches!(origin, Origin::Claim(of) | Origin::Mark(of) | Origin::Record(of) if of == slot);
        if jobs.iter().any(|job| busy(job.origin)) {
            return true;
        }
        let Some(task) = self.task(place, slot) else {
            self.take(place, slot, jobs);
            return true;
        };
        match task.at {
            At::Claiming => true,
            At::Claimed => self.mark(place, slot, task, jobs),
            At::Marked => self.measure(place, slot, task),
            At::Asking(asks) => self.ask(place, slot, task, asks),
            At::Waiting(asks, number) => self.hear(place, slot, task, asks, number),
            At::Recording(observed) => self.record(place, slot, task, observed, jobs),
        }
    }

    /// The ready intent whose time ends soonest that no other call of this process has.
    fn take(&mut self, place: usize, slot: usize, jobs: &mut Vec<Job>) {
        if self.hits(Fault::ReadDown) {
            return;
        }
        let end = Instant::from_micros(i64::MAX);
        let due = self.store.durable().due(Kind::Intent, end, LOOK).unwrap_or_default();
        let taken: Vec<String> = self
            .processes
            .get(place)
            .map_or_else(Vec::new, |process| process.tasks.iter().flatten().map(|task| task.intent.clone()).collect());
        let ready = due.into_iter().find_map(|(key, row)| {
            let name = key.entity.parts().0.to_owned();
            let Row::Intent(row) = row else { return None };
            let free = row.state == IntentState::Ready && !taken.contains(&name);
            row.running.filter(|_| free).map(|running| (name, running.timeout().micros()))
        });
        let Some((intent, timeout)) = ready else { return };
        let lease = (self.options.lease * SECOND).max(timeout + timeout / 2 + 2 * MARGIN);
        let act =
            Act::Claim { intent: intent.clone(), worker: format!("w{place}"), lease: Duration::from_micros(lease) };
        let job = self.change(Actor::Kernel, act, Origin::Claim(slot));
        jobs.push(job);
        let task = Task {
            intent,
            begin: self.now,
            lease,
            timeout,
            epoch: 0,
            doubted: false,
            request: None,
            deadline: 0,
            at: At::Claiming,
            tries: 0,
        };
        self.put(place, slot, Some(task));
    }

    fn read(&mut self, intent: &str) -> Option<Box<IntentRow>> {
        if self.hits(Fault::ReadDown) {
            return None;
        }
        match self.store.durable().get(&Entity::Intent(intent.to_owned())) {
            Ok(Some(Row::Intent(row))) => Some(row),
            Ok(_) | Err(_) => None,
        }
    }

    fn mark(&mut self, place: usize, slot: usize, mut task: Task, jobs: &mut Vec<Job>) -> bool {
        if self.dies(place, CrashPoint::AfterClaim) {
            return false;
        }
        let Some(row) = self.read(&task.intent) else {
            self.put(place, slot, None);
            return true;
        };
        let Some(running) = &row.running else { return true };
        let amount = running.params().get("amount").and_then(|amount| amount.as_number()?.to_i64());
        task.doubted = row.is_doubted();
        task.request = Some(Request {
            asks: Asks::Effect,
            key: provider_key(&self.tenant, row.facts.effect_key()),
            intent: task.intent.clone(),
            epoch: task.epoch,
            class: running.class(),
            amount: amount.unwrap_or(0),
        });
        let act = Act::Start { intent: task.intent.clone(), epoch: task.epoch, attempt: running.digest() };
        let job = self.change(Actor::Kernel, act, Origin::Mark(slot));
        jobs.push(job);
        self.put(place, slot, Some(task));
        true
    }

    /// How much time is left; from here on the process may stand still before it sends.
    fn measure(&mut self, place: usize, slot: usize, mut task: Task) -> bool {
        if self.dies(place, CrashPoint::AfterMark) {
            return false;
        }
        let left = (task.lease - MARGIN - (self.now - task.begin)).min(task.timeout);
        let fences = task.request.as_ref().is_some_and(|request| request.class == EffectClass::Fenced);
        task.deadline = left;
        task.at = if left <= 0 {
            At::Recording(Observed::Negative)
        } else if fences && task.doubted {
            At::Asking(if bugs::on(Bug::ProbeBelieved) { Asks::Probe } else { Asks::Fence })
        } else {
            At::Asking(Asks::Effect)
        };
        self.put(place, slot, Some(task));
        true
    }

    fn ask(&mut self, place: usize, slot: usize, mut task: Task, asks: Asks) -> bool {
        let Some(request) = task.request.clone() else { return true };
        let Stage { options, random, tally, steady, step, provider, now, .. } = self;
        let request = Request { asks, ..request };
        let number = provider
            .send(request, *now, random, &mut |fault, random| strikes(options, *steady, tally, *step, fault, random));
        // The first request starts the time that is left.
        if task.tries == 0 {
            task.deadline += self.now;
            task.tries = 1;
        }
        task.at = At::Waiting(asks, number);
        self.put(place, slot, Some(task));
        !self.dies(place, CrashPoint::AfterSend)
    }

    fn hear(&mut self, place: usize, slot: usize, mut task: Task, asks: Asks, number: u64) -> bool {
        let heard = self.provider.heard(number, self.now.min(task.deadline));
        let over = self.now >= task.deadline;
        task.at = match (asks, heard) {
            (_, None) if over => At::Recording(Observed::Unknown),
            (_, None) => return true,
            (Asks::Effect, Some(Heard::Yes)) | (Asks::Fence | Asks::Probe, Some(Heard::There(true))) => {
                At::Recording(Observed::Positive)
            }
            (Asks::Effect, Some(Heard::No)) => At::Recording(Observed::Negative),
            (Asks::Fence | Asks::Probe, Some(Heard::There(false))) => At::Asking(Asks::Effect),
            (Asks::Effect, Some(Heard::Broken | Heard::There(_)))
            | (Asks::Fence | Asks::Probe, Some(Heard::Yes | Heard::No | Heard::Broken)) => {
                At::Recording(Observed::Unknown)
            }
        };
        if matches!(task.at, At::Recording(_)) {
            task.tries = 0;
        }
        self.put(place, slot, Some(task));
        !self.dies(place, CrashPoint::AfterAnswer)
    }

    fn record(&mut self, place: usize, slot: usize, mut task: Task, observed: Observed, jobs: &mut Vec<Job>) -> bool {
        task.tries += 1;
        if task.tries > RECORDED_MAX {
            self.put(place, slot, None);
            return true;
        }
        let act = Act::Outcome {
            intent: task.intent.clone(),
            epoch: task.epoch,
            observed,
            detail: "simulated".to_owned(),
            result: (observed == Observed::Positive).then(answered),
        };
        let job = self.change(Actor::Kernel, act, Origin::Record(slot));
        jobs.push(job);
        self.put(place, slot, Some(task));
        true
    }

    /// What the store said to a step of a call; `None` is no answer.
    pub fn told(&mut self, place: usize, origin: Origin, done: Option<&Done>) {
        let (Origin::Claim(slot) | Origin::Mark(slot) | Origin::Record(slot)) = origin else { return };
        let Some(mut task) = self.task(place, slot) else { return };
        let accepted = done.filter(|done| done.answer.verdict == Verdict::Accept);
        let next = match origin {
            Origin::Claim(_) => accepted.and_then(|done| {
                let Event::IntentClaimed { step, .. } = done.event.as_deref()? else { return None };
                task.epoch = step.epoch;
                Some(At::Claimed)
            }),
            Origin::Mark(_) => accepted.map(|_| At::Marked),
            Origin::Record(_) if done.is_some() => None,
            Origin::Record(_) => Some(task.at),
            Origin::Call(_) | Origin::Other => None,
        };
        let task = next.map(|at| Task { at, ..task });
        self.put(place, slot, task);
    }
}

/// What the other side answers when it did what was asked.
fn answered() -> AttachedResult {
    let (status, body) = (ResponseStatus::Http(200), b"done".to_vec());
    let response = Response { status, content_type: None, body, complete: true, secrets: Vec::new() };
    AttachedResult::Given(Box::new(EffectResult::of(response, Secrets::Known(Vec::new()))))
}
