//! What many seeds came to, and the tables that say so.

use super::checker::INVARIANTS;
use super::faults::{CrashPoint, Fault, Looks, MEETS_WITHIN};
use super::options::FAULTS_MIN;
use super::stage::Report;
use super::{Failure, Options, simulate};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Commands the median seed must come to.
const COMMANDS_MEDIAN: u64 = 200;

/// How often each fault must meet each place of death.
const MET_MIN: u64 = 3;

/// What many seeds came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Seeds, none of which broke a promise.
    pub seeds: u64,
    commands: Vec<u64>,
    faults_each: Vec<u64>,
    faults: BTreeMap<Fault, u64>,
    crashes: BTreeMap<CrashPoint, u64>,
    checked: BTreeMap<&'static str, Looks>,
    met: BTreeMap<(Fault, CrashPoint), u64>,
    effects: u64,
    records: u64,
    steps: u64,
    simulated: Duration,
}

/// Runs so many seeds, or until a moment. Each seed is on one thread; several threads take one seed after another.
pub fn simulate_all(from: u64, count: u64, until: Option<Instant>) -> Result<Sum, Box<Failure>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || -> Result<Sum, Box<Failure>> {
        let mut sum = Sum::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let late = until.is_some_and(|until| Instant::now() >= until);
            if seed >= count || late || failed.load(Ordering::Relaxed) {
                return Ok(sum);
            }
            let report = simulate(&Options::of(from.wrapping_add(seed)));
            failed.fetch_or(report.is_err(), Ordering::Relaxed);
            sum.add(&report?);
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = work()?;
        for other in others {
            match other.join() {
                Ok(more) => sum.merge(more?),
                Err(fault) => std::panic::resume_unwind(fault),
            }
        }
        Ok(sum)
    })
}

fn add_counts<K: Ord + Copy>(to: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        *to.entry(*key).or_default() += count;
    }
}

fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

impl Sum {
    /// Takes in one seed.
    pub fn add(&mut self, report: &Report) {
        let tally = &report.tally;
        self.merge(Sum {
            seeds: 1,
            commands: vec![tally.commands],
            faults_each: vec![tally.faults_sum()],
            faults: tally.faults.clone(),
            crashes: tally.crashes.clone(),
            checked: tally.checked.clone(),
            met: tally.met.clone(),
            effects: tally.effects,
            records: report.records,
            steps: report.steps,
            simulated: report.simulated,
        });
    }

    fn merge(&mut self, more: Sum) {
        self.seeds += more.seeds;
        self.commands.extend(more.commands);
        self.faults_each.extend(more.faults_each);
        add_counts(&mut self.faults, &more.faults);
        add_counts(&mut self.crashes, &more.crashes);
        add_counts(&mut self.met, &more.met);
        for (name, looks) in more.checked {
            let sum = self.checked.entry(name).or_default();
            sum.times += looks.times;
            sum.at_stake += looks.at_stake;
        }
        self.effects += more.effects;
        self.records += more.records;
        self.steps += more.steps;
        self.simulated += more.simulated;
    }

    /// What these seeds did not try often enough.
    pub fn shortcomings(&self) -> Vec<String> {
        let mut found = Vec::new();
        let commands = median(&self.commands);
        if commands < COMMANDS_MEDIAN {
            found.push(format!("the median seed came to {commands} commands, not {COMMANDS_MEDIAN}"));
        }
        let faults = self.faults_each.iter().min().copied().unwrap_or(0);
        if faults < FAULTS_MIN {
            found.push(format!("a seed met {faults} faults, not {FAULTS_MIN}"));
        }
        for (fault, point) in Fault::ALL.iter().flat_map(|fault| CrashPoint::ALL.iter().map(move |at| (*fault, *at))) {
            let met = self.met(fault, point);
            if met < MET_MIN {
                found.push(format!("{} met a death {} {met} times, not {MET_MIN}", fault.name(), point.name()));
            }
        }
        let at_stake = |name: &&str| self.checked.get(*name).is_none_or(|looks| looks.at_stake == 0);
        found.extend(INVARIANTS.iter().filter(|name| at_stake(name)).map(|name| format!("{name} was never at stake")));
        found
    }

    fn met(&self, fault: Fault, point: CrashPoint) -> u64 {
        self.met.get(&(fault, point)).copied().unwrap_or(0)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sum { seeds, effects, records, steps, .. } = self;
        let hours = self.simulated.as_secs() / 3_600;
        let least = |values: &[u64]| values.iter().min().copied().unwrap_or(0);
        let sum = |values: &[u64]| values.iter().sum::<u64>();
        writeln!(out, "{seeds} seeds, {steps} steps, {hours} simulated hours")?;
        let (commands, faults) = (&self.commands, &self.faults_each);
        writeln!(out, "commands {} (median {}, least {})", sum(commands), median(commands), least(commands))?;
        writeln!(out, "faults {} (median {}, least {})", sum(faults), median(faults), least(faults))?;
        writeln!(out, "effects {effects}, records {records}, every one replayed")?;
        writeln!(out, "0 lost, 0 duplicate, 0 gaps, 0 of any other promise\n")?;
        writeln!(out, "{:30}{:>12}{:>12}", "invariant", "looked at", "at stake")?;
        for name in INVARIANTS {
            let Looks { times, at_stake } = self.checked.get(name).copied().unwrap_or_default();
            writeln!(out, "{name:30}{times:>12}{at_stake:>12}")?;
        }
        writeln!(out, "\nfaults, and how often each met a death within {MEETS_WITHIN} steps")?;
        write!(out, "{:18}{:>9}", "", "struck")?;
        CrashPoint::ALL.iter().try_for_each(|point| write!(out, "{:>17}", point.name()))?;
        let deaths = |point: &CrashPoint| self.crashes.get(point).copied().unwrap_or(0);
        write!(out, "\n{:18}{:>9}", "deaths", CrashPoint::ALL.iter().map(deaths).sum::<u64>())?;
        CrashPoint::ALL.iter().try_for_each(|point| write!(out, "{:>17}", deaths(point)))?;
        for fault in Fault::ALL {
            write!(out, "\n{:18}{:>9}", fault.name(), self.faults.get(fault).copied().unwrap_or(0))?;
            CrashPoint::ALL.iter().try_for_each(|point| write!(out, "{:>17}", self.met(*fault, *point)))?;
        }
        Ok(())
    }
}
