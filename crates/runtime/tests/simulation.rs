//! Seeds of the simulation: promises hold in all of them, the same seed is the same run, and every fault of the
//! protocol that can be switched on is found.
#![cfg(feature = "bugs")]
#![expect(clippy::panic, reason = "a test that cannot go on should stop loudly")]

use kernel::bugs::{Bug, with};
use runtime::simulation::{
    CrashPoint, FAULTS_MIN, Failure, Fault, INVARIANTS, Options, Report, Tally, shrink, simulate,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Seeds of the test command.
const SEEDS: u64 = 2_000;

/// Seeds until a switched-on fault must be found.
const SEEDS_TO_FIND: u64 = 400;

/// How often each fault must meet each place of death.
const TOGETHER_MIN: u64 = 3;

fn run(options: &Options) -> Report {
    match simulate(options) {
        Ok(report) => report,
        Err(failure) => {
            // Shrinking takes a while; what was found is said first.
            eprintln!("{failure}");
            panic!("shrunk: {}", shrink(*failure))
        }
    }
}

/// What a stretch of seeds came to.
#[derive(Default)]
struct Sum {
    seeds: u64,
    tally: Tally,
    commands: Vec<u64>,
    faults: Vec<u64>,
    records: u64,
}

impl Sum {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.tally.add_seed(&report.tally);
        self.commands.push(report.tally.commands);
        self.faults.push(report.tally.faults_sum());
        self.records += report.records;
    }

    fn merge(&mut self, other: Sum) {
        self.seeds += other.seeds;
        let together = other.tally.together.clone();
        for (pair, count) in together {
            *self.tally.together.entry(pair).or_default() += count;
        }
        let plain = Tally { together: BTreeMap::new(), ..other.tally };
        for (fault, count) in plain.faults {
            *self.tally.faults.entry(fault).or_default() += count;
        }
        for (point, count) in plain.crashes {
            *self.tally.crashes.entry(point).or_default() += count;
        }
        for (name, count) in plain.checked {
            *self.tally.checked.entry(name).or_default() += count;
        }
        self.tally.commands += plain.commands;
        self.tally.effects += plain.effects;
        self.commands.extend(other.commands);
        self.faults.extend(other.faults);
        self.records += other.records;
    }

    fn print(&self, took: Duration) {
        let median = |values: &[u64]| {
            let mut sorted = values.to_vec();
            sorted.sort_unstable();
            sorted.get(sorted.len() / 2).copied().unwrap_or(0)
        };
        let least = self.faults.iter().min().copied().unwrap_or(0);
        println!(
            "{} seeds, {} commands (median {}), {} records replayed, {} effects, faults median {} least {least}, {:.1?}",
            self.seeds,
            self.tally.commands,
            median(&self.commands),
            self.records,
            self.tally.effects,
            median(&self.faults),
            took
        );
        let line = |title: &str, entries: Vec<String>| println!("{title}: {}", entries.join(", "));
        line("faults", self.tally.faults.iter().map(|(fault, count)| format!("{} {count}", fault.name())).collect());
        line("crashes", self.tally.crashes.iter().map(|(point, count)| format!("{} {count}", point.name())).collect());
        line("checked", self.tally.checked.iter().map(|(name, count)| format!("{name} {count}")).collect());
        let scarce = self.tally.together.values().min().copied().unwrap_or(0);
        println!("each fault met each crash point in at least {scarce} seeds");
        assert!(median(&self.commands) >= 200, "too few commands");
        assert!(least >= FAULTS_MIN, "a seed met {least} faults");
    }

    fn check_coverage(&self) {
        for fault in Fault::ALL {
            for point in CrashPoint::ALL {
                let met = self.tally.together.get(&(*fault, *point)).copied().unwrap_or(0);
                assert!(met >= TOGETHER_MIN, "{} met {} in {met} seeds", fault.name(), point.name());
            }
        }
        for name in INVARIANTS {
            assert!(self.tally.checked.contains_key(name), "{name} never had anything to check");
        }
    }
}

fn seeds(from: u64, to: u64, until: Option<Instant>) -> Sum {
    let mut sum = Sum::default();
    for seed in from..to {
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        sum.add(&run(&Options::of(seed)));
    }
    sum
}

/// Seeds on two threads; each seed is on one.
fn all(from: u64, count: u64, until: Option<Instant>) -> Sum {
    std::thread::scope(|scope| {
        let half = count / 2;
        let other = scope.spawn(move || seeds(from + half, from + count, until));
        let mut sum = seeds(from, from + half, until);
        match other.join() {
            Ok(rest) => sum.merge(rest),
            Err(fault) => std::panic::resume_unwind(fault),
        }
        sum
    })
}

#[test]
fn promises_hold_whatever_goes_wrong() {
    let begin = Instant::now();
    let sum = all(0, SEEDS, None);
    sum.print(begin.elapsed());
    sum.check_coverage();
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 10_000..10_050 {
        let options = Options::of(seed);
        let (first, second) = (run(&options), run(&options));
        assert_eq!(first.hash, second.hash, "{options}");
        assert_eq!(first.tally, second.tally, "{options}");
        assert_ne!(first.hash, run(&Options { commands: options.commands + 20, ..options }).hash);
    }
}

/// The faults of performing, and two of deciding that it depends on.
const SWITCHES: [Bug; 10] = [
    Bug::NoFence,
    Bug::NoInFlightMark,
    Bug::NegativeAfterDoubtFinal,
    Bug::ExpiryFreesInFlight,
    Bug::StartUnchecked,
    Bug::OpaqueRetried,
    Bug::ProbeBelieved,
    Bug::SuspensionIgnored,
    Bug::W01KeyForgotten,
    Bug::W02HeldIgnored,
];

fn found(bug: Bug, blind: bool) -> Option<(u64, Failure)> {
    (0..SEEDS_TO_FIND).find_map(|seed| {
        let options = Options { blind, ..Options::of(20_000 + seed) };
        with(bug, || simulate(&options)).err().map(|failure| (seed + 1, *failure))
    })
}

#[test]
fn every_fault_of_the_protocol_is_found() {
    let mut missed = Vec::new();
    println!("{:28} {:>6} {:26} {:>6} by effects alone", "fault", "seeds", "by", "seeds");
    for bug in SWITCHES {
        let strict = found(bug, false);
        let blind = found(bug, true);
        let shown = |found: &Option<(u64, Failure)>| match found {
            Some((seeds, failure)) => (seeds.to_string(), failure.broken.invariant),
            None => (format!(">{SEEDS_TO_FIND}"), "-"),
        };
        let ((seeds, by), (blind_seeds, blind_by)) = (shown(&strict), shown(&blind));
        println!("{:28} {seeds:>6} {by:26} {blind_seeds:>6} {blind_by}", bug.name());
        missed.extend(strict.is_none().then_some(bug.name()));
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn a_failure_shrinks_and_fails_again() {
    let Some((_, failure)) = found(Bug::NegativeAfterDoubtFinal, false) else { panic!("not found") };
    let small = with(Bug::NegativeAfterDoubtFinal, || shrink(failure.clone()));
    println!("{failure}\nshrunk: {small}");
    assert_eq!(small.broken.invariant, failure.broken.invariant);
    assert!(small.options.faults.list().len() <= failure.options.faults.list().len());
    let again = with(Bug::NegativeAfterDoubtFinal, || simulate(&small.options));
    assert_eq!(again.err().map(|failure| *failure), Some(small));
}

/// Run by `cargo xtask soak`.
#[test]
#[ignore = "as long as it is told to take"]
fn soak() {
    let read = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let minutes = read("WRITKEEPER_SOAK_MINUTES").unwrap_or(1);
    let from = read("WRITKEEPER_SOAK_FROM").unwrap_or(1_000_000);
    let begin = Instant::now();
    let sum = all(from, 1 << 32, Some(begin + Duration::from_secs(60 * minutes)));
    sum.print(begin.elapsed());
    let bound = 3_000_000 / sum.seeds.max(1);
    println!("no failure in {} seeds: with 95% confidence less than {bound} in a million fail (3/n)", sum.seeds);
}
