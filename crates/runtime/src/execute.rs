//! Performing what is ready: claim, mark, call, record. Bounded, and every step is a record of the kernel.
//!
//! Nothing here decides whether something may be tried again: the kernel does, when it is asked what time does.

pub mod timing;

use crate::crash::around;
use crate::ports::clock::Clock;
use crate::ports::executor::{Attempt, Executor, Missing, Observation};
use crate::ports::store::StoreFault;
use crate::runtime::{Answered, Runtime};
use kernel::agent::{Actor, AgentRow};
use kernel::change::{Act, AttachedResult, Inquiry};
use kernel::consequence::Consequence;
use kernel::contract::{self, ExecutorKind, Impact};
use kernel::escalation::{AgentRequest, EscalationState};
use kernel::event::Event;
use kernel::finding::{Code, Finding};
use kernel::intent::{IntentRow, IntentState, Order, provider_key};
use kernel::outcome::Verdict;
use kernel::reasons::Reason;
use kernel::result::{EffectResult, Secrets};
use kernel::stored::Kind;
use kernel::world::{Entity, Row, TenantRow};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Due intents looked at first; the look grows while nothing in it can be performed.
const LOOK: usize = 64;
const LOOK_MAX: usize = 65_536;

/// For how long an intent is left alone that turned out to need something that is missing here.
const PUT_OFF: std::time::Duration = std::time::Duration::from_secs(5);

/// Intents that are remembered as waiting, and different things they wait for that are told.
const WAITING_MAX: usize = 10_000;

/// Questions looked through for one about an altered intent.
const QUESTIONS_MAX: usize = 1_024;

/// Times an outcome is offered to a store that does not answer; afterwards it is in doubt.
const RECORDED_MAX: u32 = 8;

/// Who performs what, by the key under `run` of the contract.
#[derive(Clone, Default)]
pub struct Executors {
    by_kind: BTreeMap<ExecutorKind, Arc<dyn Executor>>,
    functions: BTreeMap<String, Arc<dyn Executor>>,
}

impl Executors {
    /// With an executor for every order of a kind.
    #[must_use]
    pub fn with(mut self, kind: ExecutorKind, executor: Arc<dyn Executor>) -> Executors {
        self.by_kind.insert(kind, executor);
        self
    }

    /// With a function of this process under a name.
    #[must_use]
    pub fn with_function(mut self, name: impl Into<String>, executor: Arc<dyn Executor>) -> Executors {
        self.functions.insert(name.into(), executor);
        self
    }

    /// Who performs an order; the error says what is missing here.
    pub fn of(&self, order: &Order) -> Result<&Arc<dyn Executor>, Missing> {
        let executor = match order.executor() {
            Some(contract::Executor::Function(name)) => {
                self.functions.get(name).ok_or_else(|| Missing::Function(name.clone()))?
            }
            Some(contract::Executor::Host) | None => {
                return Err(Missing::Other("the agent's host performs it".to_owned()));
            }
            Some(other @ (contract::Executor::Http(_) | contract::Executor::Command(_))) => {
                let kind = other.kind();
                self.by_kind.get(&kind).ok_or(Missing::Kind(kind))?
            }
        };
        executor.can_perform(order)?;
        Ok(executor)
    }
}

/// Hears of an intent that waits for something that is missing here, and for what.
pub type Waits = Arc<dyn Fn(&str, &Missing) + Send + Sync>;

/// Hears that the store is away, and why: once for each time.
pub type Away = Arc<dyn Fn(&StoreFault) + Send + Sync>;

/// One attempt at an effect that came to an end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptReport {
    /// The intent.
    pub intent: String,
    /// The business key of its effect.
    pub effect_key: String,
    /// What was performed, as the contract writes it: a request, a program or a function.
    pub what: String,
    /// Where the intent stands now; nothing where the store did not take the outcome.
    pub state: Option<IntentState>,
    /// What was observed, in a few words.
    pub detail: String,
    /// How long the call took.
    pub took: std::time::Duration,
}

/// Hears of every attempt that came to an end.
pub type Watch = Arc<dyn Fn(&AttemptReport) + Send + Sync>;

/// How performing is done.
#[derive(Clone)]
pub struct Options {
    /// Who does it, as records name it.
    pub worker: String,
    /// The time, as the store sees it.
    pub clock: Arc<dyn Clock>,
    /// How long a claim counts, and no call takes longer; without one it outlives the call's timeout.
    pub lease: Option<Duration>,
    /// Calls at once.
    pub threads: usize,
    /// How soon `stop` and the clock are noticed while nothing is ready. What is committed is noticed at once.
    pub pause: std::time::Duration,
    /// Whether to end once nothing is due.
    pub once: bool,
    /// Hears of what is missing here, once for each.
    pub waits: Waits,
    /// Hears that the store is away. Who performs until `stop` looks for it until it is back; with `once` it is an error.
    pub away: Away,
    /// Hears of every attempt.
    pub performed: Watch,
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Ended by this run.
    pub succeeded: u64,
    /// Ended by this run.
    pub failed: u64,
    /// Left in doubt by this run: intents, however often each was tried.
    pub doubted: u64,
    /// Called off while this run looked after them: nobody started them in time, or they may not go on.
    pub cancelled: u64,
    /// Lost to someone else.
    pub not_started: u64,
    /// Claimed or sent by other workers, and not over when this run ended.
    pub in_flight: u64,
    /// What waits for something that is missing here: intent and what.
    pub waiting: BTreeMap<String, Missing>,
}

/// Whether the store may be there again by itself.
fn may_return(fault: &StoreFault) -> bool {
    match fault {
        StoreFault::Conflict(_) | StoreFault::Unavailable(_) | StoreFault::Ambiguous(_) => true,
        StoreFault::Refused(_) | StoreFault::Corrupt(_) => false,
    }
}

struct Shared<'a> {
    runtime: &'a Runtime,
    executors: &'a Executors,
    options: &'a Options,
    stop: &'a AtomicBool,
    /// What a thread of this process has in hand.
    taken: Mutex<BTreeSet<String>>,
    /// What needs something that is missing here, and when it is looked at again.
    put_off: Mutex<BTreeMap<String, std::time::Instant>>,
    /// What is missing here, as far as it was told.
    missing: Mutex<BTreeSet<Missing>>,
    /// What was in doubt after an attempt of this run.
    doubted: Mutex<BTreeSet<String>>,
    tally: Mutex<Tally>,
    fault: Mutex<Option<StoreFault>>,
    is_away: AtomicBool,
}

/// Performs what is ready until `stop`, or with `once` until nothing is due. Calls that are running are finished.
pub fn run(
    runtime: &Runtime,
    executors: &Executors,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Tally, StoreFault> {
    let shared = Shared {
        runtime,
        executors,
        options,
        stop,
        taken: Mutex::default(),
        put_off: Mutex::default(),
        missing: Mutex::default(),
        doubted: Mutex::default(),
        tally: Mutex::default(),
        fault: Mutex::default(),
        is_away: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for number in 0..options.threads.max(1) {
            let shared = &shared;
            scope.spawn(move || shared.work(number));
        }
    });
    let told = shared.told();
    match shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(fault) => Err(fault),
        None => Ok(told),
    }
}

impl Shared<'_> {
    fn work(&self, number: usize) {
        let every = timing::looks_every(self.options.lease);
        let mut scanned: Option<std::time::Instant> = None;
        while !self.stop.load(Ordering::SeqCst) {
            // Read before the store is: whatever is committed after the look wakes.
            let seen = self.runtime.commits().size();
            let due = timing::looks(number, scanned.map(|at| at.elapsed()), every, self.is_idle());
            let recovered = if due { self.recover() } else { Ok(false) };
            scanned = if due { Some(std::time::Instant::now()) } else { scanned };
            let performed = recovered.and_then(|recovered| Ok(self.perform_one()? || recovered));
            if performed.is_ok() {
                self.is_away.store(false, Ordering::SeqCst);
            }
            match performed {
                Ok(true) => {}
                Ok(false) if self.options.once && self.is_idle() => return,
                Ok(false) => self.pause(seen),
                Err(fault) if !self.options.once && may_return(&fault) => {
                    if !self.is_away.swap(true, Ordering::SeqCst) {
                        (self.options.away)(&fault);
                    }
                    std::thread::sleep(self.options.pause);
                }
                Err(fault) => {
                    self.stop.store(true, Ordering::SeqCst);
                    *lock(&self.fault) = Some(fault);
                }
            }
        }
    }

    /// Waits until something is committed, something is due, or this run is to end.
    fn pause(&self, seen: u64) {
        let now = self.options.clock.now();
        let due = self.runtime.due(Kind::Intent, Instant::from_micros(i64::MAX), 1).unwrap_or_default();
        let due = due.first().and_then(|(_, row)| row.due());
        let is_due = |at: Instant| due.is_some_and(|due| due <= at);
        // What is due and could not be done is looked at again after a pause, as is what the store did not tell.
        let most = if is_due(now) { self.options.pause } else { PUT_OFF };
        let until = std::time::Instant::now() + most;
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now()).min(self.options.pause);
            let known = self.runtime.commits().wait_beyond(seen, std::time::Instant::now() + left);
            let is_over = self.stop.load(Ordering::SeqCst) || (self.options.once && self.is_idle());
            if known > seen || is_over || std::time::Instant::now() >= until || is_due(self.options.clock.now()) {
                return;
            }
        }
    }

    fn is_idle(&self) -> bool {
        lock(&self.taken).is_empty()
    }

    /// Lets time do what it does; whether there was anything to do.
    fn recover(&self) -> Result<bool, StoreFault> {
        let now = self.options.clock.now();
        let due = self.runtime.due(Kind::Intent, now, 1)?;
        let Some((_, Row::Intent(row))) = due.first() else { return Ok(false) };
        if row.due().is_none_or(|due| due >= now) {
            return Ok(false);
        }
        let answered = around("execute.recover", || self.runtime.change(Actor::Kernel, Act::ExpireIntents).wait());
        for consequence in answered.consequences() {
            match consequence {
                Consequence::IntentExpired { .. } => lock(&self.tally).cancelled += 1,
                // Its worker is gone, or its host reported nothing in time.
                Consequence::IntentMoved { step, .. } if step.to == IntentState::InDoubt => {
                    lock(&self.doubted).insert(step.intent.clone());
                    self.tell_doubt(&step.intent);
                }
                Consequence::IntentMoved { .. }
                | Consequence::QuestionExpired(_)
                | Consequence::QuestionAborted(_)
                | Consequence::QuestionReminded(_)
                | Consequence::QuestionRerouted(_)
                | Consequence::MonitorTripped(_) => {}
            }
        }
        // What the store did not take now it may take in the next round.
        Ok(
            matches!(answered.event.as_deref(), Some(Event::IntentsExpired { called_off, doubted, retried }) if called_off + doubted + retried > 0),
        )
    }

    /// Tells of an intent whose worker or host said nothing in time.
    fn tell_doubt(&self, intent: &str) {
        let Ok(Some(Row::Intent(row))) = self.runtime.read(Entity::Intent(intent.to_owned())) else { return };
        let what = row.running.as_ref().map(|running| what(&running.order)).unwrap_or_default();
        (self.options.performed)(&AttemptReport {
            intent: intent.to_owned(),
            effect_key: row.facts.effect_key().to_owned(),
            what,
            state: Some(IntentState::InDoubt),
            detail: "nobody reported in time".to_owned(),
            took: std::time::Duration::ZERO,
        });
    }

    /// Performs one intent that is ready; whether there was one.
    fn perform_one(&self) -> Result<bool, StoreFault> {
        let Some((name, row)) = self.take_ready()? else { return Ok(false) };
        let taken_up = self.perform(&name, &row);
        lock(&self.taken).remove(&name);
        match taken_up {
            Ok(TakeUp::Settled(state)) => self.count(&name, state),
            Ok(TakeUp::Waits) => {}
            // Who waits for the end hears why there is none; who serves tries again after a pause.
            Err(fault) if self.options.once => return Err(fault),
            Err(_) => std::thread::sleep(self.options.pause),
        }
        Ok(true)
    }

    fn count(&self, name: &str, state: Option<IntentState>) {
        let mut tally = lock(&self.tally);
        match state {
            Some(IntentState::Succeeded) => tally.succeeded += 1,
            Some(IntentState::Failed) => tally.failed += 1,
            Some(IntentState::Cancelled) => tally.cancelled += 1,
            Some(IntentState::InDoubt) => {
                lock(&self.doubted).insert(name.to_owned());
            }
            Some(
                IntentState::Ready
                | IntentState::Claimed
                | IntentState::InFlight
                | IntentState::HandedOut
                | IntentState::Unreported
                | IntentState::Abandoned,
            )
            | None => tally.not_started += 1,
        }
    }

    /// What was done, with what came of it meanwhile: a doubt may be over, and what waited may have found someone.
    fn told(&self) -> Tally {
        let mut tally = lock(&self.tally).clone();
        let is_over = |state: Option<IntentState>| state.is_some_and(|state| state.over().is_some());
        let doubted = lock(&self.doubted);
        tally.doubted = doubted.iter().filter(|name| !is_over(self.state(name))).count().try_into().unwrap_or(u64::MAX);
        tally.in_flight = self.in_flight();
        tally.waiting.retain(|name, _| self.state(name).is_none_or(|state| state == IntentState::Ready));
        tally
    }

    /// What others have in hand, as far as the store says so.
    fn in_flight(&self) -> u64 {
        let due = self.runtime.due(Kind::Intent, Instant::from_micros(i64::MAX), LOOK_MAX).unwrap_or_default();
        let is_in_hand = |row: &Row| matches!(row, Row::Intent(row) if matches!(row.state, IntentState::Claimed | IntentState::InFlight));
        due.iter().filter(|(_, row)| is_in_hand(row)).count().try_into().unwrap_or(u64::MAX)
    }

    /// Where an intent stands now, if the store says so.
    fn state(&self, name: &str) -> Option<IntentState> {
        match self.runtime.read(Entity::Intent(name.to_owned())) {
            Ok(Some(Row::Intent(row))) => Some(row.state),
            Ok(_) | Err(_) => None,
        }
    }

    /// The ready intent whose time ends soonest that this process can perform and no other thread has.
    fn take_ready(&self) -> Result<Option<(String, Box<IntentRow>)>, StoreFault> {
        let mut look = LOOK;
        let switches = self.switches();
        let all_stopped = switches.as_ref().is_some_and(|switches| switches.halted.is_some());
        loop {
            let due = self.runtime.due(Kind::Intent, Instant::from_micros(i64::MAX), look)?;
            let whole = due.len() < look;
            for (key, row) in due {
                let Row::Intent(row) = row else { continue };
                let name = key.entity.parts().0;
                if row.state != IntentState::Ready
                    || switches.as_ref().is_some_and(|is| self.is_stopped(is, name, &row))
                {
                    continue;
                }
                if self.can_take(name, &row) {
                    return Ok(Some((name.to_owned(), row)));
                }
            }
            if whole || all_stopped || look >= LOOK_MAX {
                return Ok(None);
            }
            look *= 4;
        }
    }

    /// The kill switches, where one is pulled. Who may not read them hears it from the kernel when it claims.
    fn switches(&self) -> Option<TenantRow> {
        match self.runtime.read(Entity::Tenant) {
            Ok(Some(Row::Tenant(row))) if row.halted.is_some() || !row.halted_groups.is_empty() => Some(row),
            Ok(_) | Err(_) => None,
        }
    }

    /// Whether a switch stops the intent now. To claim it would only ask the store in vain, again and again.
    fn is_stopped(&self, switches: &TenantRow, name: &str, row: &IntentRow) -> bool {
        let above = row.running.iter().flat_map(|running| &running.above).map(String::as_str);
        let line = std::iter::once(row.facts.agent()).chain(above);
        let agent = |name: &str| match self.runtime.read(Entity::Agent(name.to_owned())) {
            Ok(Some(Row::Agent(row))) => Some(*row),
            Ok(_) | Err(_) => None,
        };
        let agents: Vec<AgentRow> = line.filter_map(agent).collect();
        let Some(finding) = switches.stopping(agents.iter()) else { return false };
        self.wait_for(name, Missing::Other(finding.message()));
        true
    }

    fn can_take(&self, name: &str, row: &IntentRow) -> bool {
        let Some(running) = &row.running else { return false };
        if lock(&self.put_off).get(name).is_some_and(|until| *until > std::time::Instant::now()) {
            return false;
        }
        if let Err(problem) = self.executors.of(&running.order) {
            self.wait_for(name, problem);
            return false;
        }
        lock(&self.taken).insert(name.to_owned())
    }

    /// Remembers what an intent waits for, and tells it when it is new.
    fn wait_for(&self, name: &str, problem: Missing) {
        let is_new = {
            let mut missing = lock(&self.missing);
            missing.len() < WAITING_MAX && missing.insert(problem.clone())
        };
        if is_new {
            (self.options.waits)(name, &problem);
        }
        let waiting = &mut lock(&self.tally).waiting;
        if waiting.len() < WAITING_MAX || waiting.contains_key(name) {
            waiting.insert(name.to_owned(), problem);
        }
    }

    /// Whoever can perform the order, with everything that is needed for it at hand.
    fn prepared(&self, name: &str, order: &Order) -> Option<Arc<dyn Executor>> {
        let executor = self.executors.of(order);
        match executor.and_then(|executor| Ok(executor.prepare(order)?.unwrap_or_else(|| executor.clone()))) {
            Ok(prepared) => {
                lock(&self.tally).waiting.remove(name);
                Some(prepared)
            }
            Err(problem) => {
                self.put_off(name, problem);
                None
            }
        }
    }

    /// Leaves an intent alone for a while that waits for something.
    fn put_off(&self, name: &str, problem: Missing) {
        let now = std::time::Instant::now();
        let mut put_off = lock(&self.put_off);
        put_off.retain(|_, until| *until > now);
        put_off.insert(name.to_owned(), now + PUT_OFF);
        drop(put_off);
        self.wait_for(name, problem);
    }

    /// Nobody performs what was not accepted: a person is asked, once.
    fn leave_altered(&self, name: &str, row: &IntentRow, problem: &str) {
        let is_told = lock(&self.tally).waiting.contains_key(name);
        if !is_told && !self.is_asked_about(name) {
            let reason = format!("INTENT_ALTERED: intent `{name}` is not performed, because {problem}");
            let context = Object::from([("intent".to_owned(), Json::text(name))]);
            let inquiry = Inquiry {
                agent: row.facts.agent().to_owned(),
                flow: row.facts.flow().to_owned(),
                request: AgentRequest { reason, context },
                proposal: None,
                impact: Impact::High,
            };
            self.runtime.ask(Actor::Kernel, inquiry).wait();
        }
        self.put_off(name, Missing::Other(format!("INTENT_ALTERED: {problem}")));
    }

    /// Whether a question about an altered intent is open.
    fn is_asked_about(&self, name: &str) -> bool {
        let open = self.runtime.scan(Kind::Escalation, None, QUESTIONS_MAX).unwrap_or_default();
        open.iter().any(|(_, row)| {
            let Row::Escalation(row) = row else { return false };
            let intent = row.request.as_ref().and_then(|request| request.context.get("intent"));
            row.state == EscalationState::Open && intent.and_then(Json::as_text) == Some(name)
        })
    }

    /// Prepares, claims and performs. What is missing here is noticed before the claim: others may have the intent. A store
    /// that takes no claim is a fault.
    fn perform(&self, name: &str, row: &IntentRow) -> Result<TakeUp, StoreFault> {
        let Some(running) = &row.running else { return Ok(TakeUp::Settled(None)) };
        if let Some(problem) = self.runtime.alteration(name, row)? {
            self.leave_altered(name, row, &problem);
            return Ok(TakeUp::Waits);
        }
        let Some(executor) = self.prepared(name, &running.order) else { return Ok(TakeUp::Waits) };
        let lease = timing::lease(self.options.lease, running.timeout());
        let begin = std::time::Instant::now();
        let (intent, worker) = (name.to_owned(), self.options.worker.clone());
        let claim = Act::Claim { intent, worker, lease };
        let claimed = around("execute.claim", || self.runtime.change(Actor::Kernel, claim).wait());
        if !taken(&claimed)? {
            let is_switch =
                |finding: &&Finding| matches!(finding.code, Code::Known(Reason::Halted | Reason::GroupHalted));
            if let Some(finding) = claimed.answer.findings.iter().find(is_switch) {
                self.put_off(name, Missing::Other(finding.message()));
                return Ok(TakeUp::Waits);
            }
            return Ok(TakeUp::Settled(self.called_off(name, &claimed)));
        }
        let Some(Event::IntentClaimed { step, .. }) = claimed.event.as_deref() else {
            return Ok(TakeUp::Settled(None));
        };
        let claimed = ClaimedIntent { executor, order: &running.order, epoch: step.epoch, lease, begin };
        self.perform_claimed(name, &claimed).map(TakeUp::Settled)
    }

    /// Marks, calls, records. A store that takes no mark is a fault; nothing was sent.
    fn perform_claimed(&self, name: &str, claimed: &ClaimedIntent<'_>) -> Result<Option<IntentState>, StoreFault> {
        // What is performed is what the store holds now, and the kernel compares it with what was accepted.
        let Some(Row::Intent(row)) = self.runtime.read(Entity::Intent(name.to_owned()))? else { return Ok(None) };
        let is_same = |order: &Order| order == claimed.order && row.facts.effect_key() == order.effect_key;
        let running = row.running.as_ref().filter(|running| is_same(&running.order));
        let Some(running) = running else { return Ok(None) };
        let epoch = claimed.epoch;
        let start = Act::Start { intent: name.to_owned(), epoch, attempt: running.digest() };
        let started = around("execute.mark", || self.runtime.change(Actor::Kernel, start).wait());
        if !taken(&started)? {
            return Ok(self.called_off(name, &started));
        }
        let tenant = self.runtime.tenant();
        let original = running.undoes.as_ref().and(row.facts.effect_key().strip_prefix("undo:"));
        let deadline = timing::deadline(claimed.lease, claimed.begin.elapsed(), running.timeout());
        let begin = std::time::Instant::now();
        let observation = match deadline {
            // Someone else may have it by now; nothing was sent.
            None => Observation::negative("not sent: the lease was nearly over"),
            Some(deadline) => {
                let attempt = Attempt {
                    intent: name.to_owned(),
                    order: running.order.clone(),
                    params: running.params(),
                    key: provider_key(tenant, row.facts.effect_key()),
                    undoes: original.map(|effect_key| provider_key(tenant, effect_key)),
                    epoch,
                    class: running.class(),
                    doubted: row.is_doubted(),
                    deadline,
                };
                around("execute.send", || claimed.executor.perform(&attempt))
            }
        };
        let took = begin.elapsed();
        let secrets = Secrets::of(running);
        let detail = secrets.removed_from(&observation.detail);
        let result = observation.response.map(|response| EffectResult::of(response, secrets));
        let act = Act::Outcome {
            intent: name.to_owned(),
            epoch,
            observed: observation.observed,
            detail: detail.clone(),
            result: result.map(|result| AttachedResult::Given(Box::new(result))),
        };
        let state = self.record(act);
        let (intent, effect_key) = (name.to_owned(), row.facts.effect_key().to_owned());
        let what = what(&running.order);
        (self.options.performed)(&AttemptReport { intent, effect_key, what, state, detail, took });
        Ok(state)
    }

    /// What became of an intent that may not be started: called off by this very step, or someone else's.
    fn called_off(&self, name: &str, refused: &Answered) -> Option<IntentState> {
        let moved = refused.consequences().any(|consequence| matches!(consequence, Consequence::IntentMoved { .. }));
        self.state(name).filter(|state| moved && *state == IntentState::Cancelled)
    }

    fn record(&self, act: Act) -> Option<IntentState> {
        for attempt in 0..RECORDED_MAX {
            let answered = around("execute.record", || self.runtime.change(Actor::Kernel, act.clone()).wait());
            // Recorded twice, the second is late evidence for the same end.
            if answered.at.is_some() {
                return state_of(&answered);
            }
            std::thread::sleep(std::time::Duration::from_millis(50 << attempt));
        }
        // It is in flight until its lease is over, and in doubt then.
        Some(IntentState::InDoubt)
    }
}

/// What came of taking up an intent.
enum TakeUp {
    /// It needs something that is missing here; nobody claimed it.
    Waits,
    /// Where it stands, as far as that is known and this run's doing.
    Settled(Option<IntentState>),
}

/// An intent that this worker claimed, with whoever performs exactly this order.
struct ClaimedIntent<'a> {
    executor: Arc<dyn Executor>,
    order: &'a Order,
    epoch: u64,
    lease: Duration,
    begin: std::time::Instant,
}

/// What an order performs, as the contract writes it.
fn what(order: &Order) -> String {
    order.executor().unwrap_or(&contract::Executor::Host).summary()
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a step was accepted; without an instant nothing was decided.
fn taken(answered: &Answered) -> Result<bool, StoreFault> {
    if answered.at.is_none() {
        let problem = answered.answer.findings.first().map(Finding::message).unwrap_or_default();
        return Err(StoreFault::Unavailable(problem));
    }
    Ok(answered.answer.verdict == Verdict::Accept)
}

/// Where a report leaves its intent.
fn state_of(answered: &Answered) -> Option<IntentState> {
    answered.event.as_ref()?.intent_left().map(|(state, _)| state)
}
