//! The stage: processes over one store, the other side, time, and whoever checks.

use super::checker::{Broken, Checker};
use super::contracts;
use super::faults::{CrashPoint, Fault, Tally};
use super::options::{FAULTS_MIN, Options};
use super::provider::{Provider, SECOND};
use super::random::Random;
use super::unsteady_store::UnsteadyStore;
use super::worker::Task;
use crate::memory::{ManualClock, MemoryStore};
use crate::ports::store::Reader;
use crate::replay::replay;
use kernel::agent::Actor;
use kernel::change::{Act, Change, Registration, Write};
use kernel::command::Command;
use kernel::evaluator::Compiled;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use values::ids::TENANT_DEFAULT;
use values::time::Instant;

/// Steps a seed may take at most, whatever goes wrong.
const STEPS_MAX: u64 = 6_000;

/// Rounds of healing.
const ROUNDS_MAX: u32 = 1_500;

/// Calls a process makes at once.
const TASKS: usize = 2;

/// A process: what it has in hand is gone when it dies.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub skew: i64,
    pub down_until: i64,
    pub still_until: i64,
    pub tasks: Vec<Option<Task>>,
}

/// What a caller wants, and whether it was told.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub id: String,
    pub key: Option<String>,
    pub text: String,
    pub unknown: bool,
}

/// Where a command came from, and who hears of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    Call(usize),
    Claim(usize),
    Mark(usize),
    Record(usize),
    Other,
}

/// A command on its way.
pub(super) struct Job {
    pub command: Command,
    pub origin: Origin,
}

/// What one seed came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Over every event and every record.
    pub hash: u64,
    /// How often things happened.
    pub tally: Tally,
    /// Records in the ledger, every one of them replayed.
    pub records: u64,
    /// Steps, up to healing.
    pub steps: u64,
    /// How much time passed.
    pub simulated: Duration,
}

/// Over events (FNV-1a): the same on every machine and with every compiler.
struct EventHash(u64);

impl Default for EventHash {
    fn default() -> EventHash {
        EventHash(0xCBF2_9CE4_8422_2325)
    }
}

impl EventHash {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// Everything.
pub(super) struct Stage {
    pub options: Options,
    pub random: Random,
    pub now: i64,
    pub clock: Arc<ManualClock>,
    pub store: UnsteadyStore,
    pub provider: Provider,
    pub checker: Checker,
    pub processes: Vec<Process>,
    pub contracts: Vec<Arc<Compiled>>,
    /// What is tried beside them, and they beside it once it is in force.
    pub candidates: Vec<Arc<Compiled>>,
    pub calls: Vec<Call>,
    pub tally: Tally,
    pub tenant: Arc<str>,
    /// Nothing goes wrong any more, or not yet.
    pub steady: bool,
    pub number: u64,
    pub step: u64,
    hash: EventHash,
}

impl Stage {
    pub fn new(options: Options) -> Result<Stage, String> {
        let tenant: Arc<str> = Arc::from(TENANT_DEFAULT);
        let now = Instant::PURE_DEFAULT.micros();
        let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
        let capacities = BTreeMap::from([("pool".to_owned(), options.stock), ("desk".to_owned(), options.slots)]);
        let agents = || (0..options.agents).map(|number| format!("a{number}"));
        let contracts = agents().map(|agent| contracts::of(&agent, &options)).collect::<Result<Vec<_>, String>>()?;
        let candidates = agents().map(|agent| contracts::candidate_of(&agent, &options));
        let candidates = candidates.collect::<Result<Vec<_>, String>>()?;
        let groups = agents().map(|agent| (contracts::group_of(&agent).to_owned(), agent));
        let groups = groups.map(|(group, agent)| (agent, group)).collect();
        let mut random = Random::of(options.seed ^ 0xA5A5_A5A5);
        let skewed = options.faults.has(Fault::ClockSkew);
        let mut tally = Tally::default();
        let mut process = || {
            let skew = if skewed { random.between(-20, 20) * SECOND } else { 0 };
            if skewed {
                tally.strike(Fault::ClockSkew, 0);
            }
            Process { skew, tasks: (0..TASKS).map(|_| None).collect(), ..Process::default() }
        };
        let processes = (0..options.processes.max(1)).map(|_| process()).collect();
        Ok(Stage {
            checker: Checker::new(tenant.clone(), capacities, groups, options.blind),
            store: UnsteadyStore::over(MemoryStore::new(clock.clone())),
            provider: Provider::default(),
            calls: Vec::new(),
            steady: true,
            number: 0,
            step: 0,
            hash: EventHash::default(),
            options,
            random,
            now,
            clock,
            processes,
            contracts,
            candidates,
            tally,
            tenant,
        })
    }

    /// Chaos, then healing, then a replay.
    pub fn run(mut self) -> Result<Report, (u64, Broken)> {
        let ended = self.act_out();
        let step = self.step;
        ended.map_err(|broken| (step, broken))?;
        self.tally.checked = self.checker.checked.clone();
        self.tally.effects = self.checker.effects();
        let records = self.store.durable().size().unwrap_or(0);
        let simulated = self.now - Instant::PURE_DEFAULT.micros();
        let simulated = Duration::from_micros(u64::try_from(simulated).unwrap_or(0));
        Ok(Report { hash: self.hash.0, tally: self.tally, records, steps: step, simulated })
    }

    /// The bodies of the records it leaves behind.
    pub fn run_recorded(mut self) -> Result<Vec<String>, (u64, Broken)> {
        let ended = self.act_out();
        let step = self.step;
        ended.map_err(|broken| (step, broken))?;
        let records = self.store.durable().records(0, usize::MAX);
        let records = records.map_err(|fault| (step, Broken { invariant: "replayed", said: fault.to_string() }))?;
        Ok(records.into_iter().filter_map(|record| record.body.map(|(body, _)| body)).collect())
    }

    fn act_out(&mut self) -> Result<(), Broken> {
        self.open()?;
        self.steady = false;
        while self.step < STEPS_MAX
            && (self.tally.commands < self.options.commands || self.tally.faults_sum() < self.enough_faults())
        {
            self.step()?;
        }
        self.heal()?;
        let mut durable = self.store.durable();
        self.checker.healed(&mut durable)?;
        let found = replay(&mut durable)
            .map_err(|fault| Broken { invariant: "replayed", said: format!("the ledger cannot be read: {fault}") })?;
        let differs = found.differs.map(|(index, said)| {
            let recorded = durable.records(found.same + found.results, usize::MAX).unwrap_or_default().into_iter();
            let recorded = recorded.take_while(|record| record.index <= index);
            let bodies: Vec<String> = recorded.filter_map(|record| record.body.map(|(body, _)| body)).collect();
            (index, format!("{said}\n  recorded as {}", bodies.join(" then ")))
        });
        // Results are read and not folded.
        self.checker.replayed(found.same + found.results, differs)
    }

    fn enough_faults(&self) -> u64 {
        if self.options.faults.list().is_empty() { 0 } else { FAULTS_MIN }
    }

    fn open(&mut self) -> Result<(), Broken> {
        let job = self.change(person(), Act::Merge(vec![Write::groups("ann", ["desk"])]), Origin::Other);
        self.carry(0, vec![job])?;
        for contract in self.contracts.clone() {
            let registration = Registration { contract: contract.clone(), parent: None, version: None, session: None };
            for act in [Act::Register(Box::new(registration)), Act::Activate { contract, expected: None }] {
                let job = self.change(person(), act, Origin::Other);
                self.carry(0, vec![job])?;
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Broken> {
        self.step += 1;
        let long = self.random.chance(20);
        let time = if long { self.random.between(5, 40) * SECOND } else { self.random.between(1_000, SECOND / 3) };
        self.pass(time)?;
        let place = usize::try_from(self.random.below(self.processes.len() as u64)).unwrap_or(0);
        if self.hits(Fault::Pause) {
            let until = self.now + self.random.between(5, 90) * SECOND;
            self.with(place, |process| process.still_until = until);
        }
        if self.hits(Fault::ClockJump) {
            let jump = self.random.between(-120, 120) * SECOND;
            self.with(place, |process| process.skew += jump);
        }
        let now = self.now;
        let idle = |process: &Process| process.down_until > now || process.still_until > now;
        if self.processes.get(place).is_none_or(idle) {
            return Ok(());
        }
        let mut jobs = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            if !self.act(place, &mut jobs) {
                return self.look();
            }
        }
        self.carry(place, jobs)
    }

    /// Lets time pass, and arrive what is on its way.
    fn pass(&mut self, time: i64) -> Result<(), Broken> {
        self.now += time;
        self.provider.arrive(self.now);
        self.look()
    }

    /// The checker looks at what is new.
    pub fn look(&mut self) -> Result<(), Broken> {
        let mut durable = self.store.durable();
        for leaf in self.checker.look(&mut durable, &self.provider.log)? {
            self.hash.take(leaf.as_bytes());
        }
        self.hash.take(&self.step.to_be_bytes());
        self.hash.take(&self.now.to_be_bytes());
        self.hash.take(&(self.provider.log.len() as u64).to_be_bytes());
        Ok(())
    }

    fn heal(&mut self) -> Result<(), Broken> {
        self.steady = true;
        self.store.mishap = None;
        self.store.silent = 0;
        let ahead = self.processes.iter().map(|process| process.skew).max().unwrap_or(0).max(0);
        // No clock is behind what the ledger has seen, and every pause and every restart is over.
        self.pass(ahead + 200 * SECOND)?;
        for process in &mut self.processes {
            (process.skew, process.still_until, process.down_until) = (0, 0, 0);
        }
        for group in std::iter::once(None).chain(contracts::GROUPS.map(Some)) {
            let act = Act::Resume { group: group.map(str::to_owned), because: "healed".to_owned() };
            let resume = self.change(person(), act, Origin::Other);
            self.carry(0, vec![resume])?;
        }
        for _ in 0..ROUNDS_MAX {
            let waits = self.processes.iter().any(|process| process.tasks.iter().any(Option::is_some));
            if !waits && !self.checker.is_busy() && self.provider.is_quiet() {
                break;
            }
            self.pass(2 * SECOND)?;
            for place in 0..self.processes.len() {
                let mut jobs = Vec::new();
                self.recover(place, &mut jobs);
                for slot in 0..TASKS {
                    self.work(place, slot, &mut jobs);
                }
                self.carry(place, jobs)?;
            }
        }
        Ok(())
    }

    /// Whether a fault strikes now.
    pub fn hits(&mut self, fault: Fault) -> bool {
        let Stage { options, random, tally, steady, step, .. } = self;
        strikes(options, *steady, tally, *step, fault, random)
    }

    /// Dies here, or not; what it had in hand is gone.
    pub fn dies(&mut self, place: usize, point: CrashPoint) -> bool {
        if !self.hits(Fault::Crash) {
            return false;
        }
        self.tally.death(point, self.step);
        let down_until = self.now + self.random.between(1, 60) * SECOND;
        self.with(place, |process| {
            process.down_until = down_until;
            process.tasks = (0..TASKS).map(|_| None).collect();
        });
        true
    }

    pub fn with(&mut self, place: usize, change: impl FnOnce(&mut Process)) {
        if let Some(process) = self.processes.get_mut(place) {
            change(process);
        }
    }

    /// The clock of a process.
    pub fn clock_of(&self, place: usize) -> Instant {
        let skew = self.processes.get(place).map_or(0, |process| process.skew);
        Instant::from_micros(self.now + skew)
    }

    /// A name nobody has yet.
    pub fn mint(&mut self, letter: char) -> String {
        self.number += 1;
        format!("{letter}{}", self.number)
    }

    pub fn change(&mut self, actor: Actor, act: Act, origin: Origin) -> Job {
        let id = self.mint('c');
        let change = Change { tenant: self.tenant.clone(), id, actor, act };
        Job { command: Command::Change(Arc::new(change)), origin }
    }
}

/// Whether a fault strikes now; counted if it does.
pub(super) fn strikes(
    options: &Options,
    steady: bool,
    tally: &mut Tally,
    step: u64,
    fault: Fault,
    random: &mut Random,
) -> bool {
    if steady || !options.faults.has(fault) {
        return false;
    }
    let rate = match fault {
        // These stop much at once.
        Fault::Pause
        | Fault::ClockJump
        | Fault::Suspension
        | Fault::Halt
        | Fault::GroupHalt
        | Fault::Canary
        | Fault::Attention => options.rate / 3 + 1,
        Fault::StoreDown
        | Fault::Conflict
        | Fault::CommitUnheard
        | Fault::CommitLost
        | Fault::SettleDown
        | Fault::ReadDown
        | Fault::Crash
        | Fault::ClockSkew
        | Fault::RequestLost
        | Fault::RequestLate
        | Fault::RequestTwice
        | Fault::AnswerLost
        | Fault::AnswerLate
        | Fault::Refused
        | Fault::BrokenBefore
        | Fault::BrokenAfter => options.rate,
    };
    let strikes = random.chance(rate);
    if strikes {
        tally.strike(fault, step);
    }
    strikes
}

pub(super) fn person() -> Actor {
    Actor::Operator("ann".to_owned())
}
