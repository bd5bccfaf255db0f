//! Seeds of the simulation: promises hold in all of them, the same seed is the same run, and every fault of the
//! protocol that can be switched on is found.
#![cfg(feature = "bugs")]
#![expect(clippy::panic, reason = "a test that cannot go on should stop loudly")]

use runtime::simulation::{Failure, Options, Report, Sum, shrink, simulate, simulate_all};
use std::process::Command;
use std::time::{Duration, Instant};
use values::bugs::{Bug, with};

/// Seeds of the test command.
const SEEDS: u64 = 2_000;

/// Seeds run once more, in this process and in another.
const SEEDS_AGAIN: u64 = 20;

/// Seeds until a switched-on fault must be found.
const SEEDS_TO_FIND: u64 = 400;

/// Seeds in which it is looked for by effects, outcomes and capacity alone. Those are shown, not demanded: the other
/// side's own guards hide some faults.
const SEEDS_BLIND: u64 = 25;

/// What a failing seed says: how it ran, then the smallest run that fails alike.
fn stop(failure: Failure) -> ! {
    // Shrinking takes a while; what was found is said first.
    eprintln!("{failure}");
    panic!("shrunk: {}", shrink(failure))
}

fn run(options: &Options) -> Report {
    simulate(options).unwrap_or_else(|failure| stop(*failure))
}

fn run_all(from: u64, count: u64, until: Option<Instant>) -> Sum {
    let begin = Instant::now();
    let sum = simulate_all(from, count, until).unwrap_or_else(|failure| stop(*failure));
    println!("{sum}\n{:.1} s", begin.elapsed().as_secs_f64());
    sum
}

#[test]
fn promises_hold_whatever_goes_wrong() {
    let sum = run_all(0, SEEDS, None);
    assert_eq!(sum.seeds, SEEDS);
    assert_eq!(sum.shortcomings(), Vec::<String>::new());
}

fn told(seed: u64, report: &Report) -> String {
    format!("seed {seed} hash {:016x} records {}", report.hash, report.records)
}

#[test]
fn the_same_seed_is_the_same_run_here_and_in_another_process() {
    let exe = std::env::current_exe().unwrap_or_else(|fault| panic!("{fault}"));
    let mut other = Command::new(exe);
    other.args(["--ignored", "--exact", "tell_hashes", "--nocapture"]);
    let other = other.output().unwrap_or_else(|fault| panic!("{fault}"));
    let other = String::from_utf8_lossy(&other.stdout);
    for seed in 10_000..10_000 + SEEDS_AGAIN {
        let options = Options::of(seed);
        let (first, second) = (run(&options), run(&options));
        assert_eq!(told(seed, &first), told(seed, &second), "{options}");
        assert_eq!(first.tally, second.tally, "{options}");
        assert!(other.contains(&told(seed, &first)), "{options}: elsewhere it went another way:\n{other}");
        let other = Options::of(seed + 100_000);
        assert_ne!(first.hash, run(&other).hash, "{other}");
    }
}

/// Run by the test above, in a process of its own.
#[test]
#[ignore = "tells another test what happens here"]
fn tell_hashes() {
    for seed in 10_000..10_000 + SEEDS_AGAIN {
        println!("{}", told(seed, &run(&Options::of(seed))));
    }
}

/// The faults of performing, and those of deciding that it depends on.
const SWITCHES: [Bug; 12] = [
    Bug::NoFence,
    Bug::NoInFlightMark,
    Bug::NegativeAfterDoubtFinal,
    Bug::ExpiryFreesInFlight,
    Bug::StartUnchecked,
    Bug::AbortedFlowStarts,
    Bug::OpaqueRetried,
    Bug::ProbeBelieved,
    Bug::SuspensionIgnored,
    Bug::W01KeyForgotten,
    Bug::AskedAgain,
    Bug::W02HeldIgnored,
];

fn found(bug: Bug, blind: bool) -> Option<(u64, Failure)> {
    (0..if blind { SEEDS_BLIND } else { SEEDS_TO_FIND }).find_map(|seed| {
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
        let shown = |found: &Option<(u64, Failure)>, of: u64| match found {
            Some((seeds, failure)) => (seeds.to_string(), failure.broken.invariant),
            None => (format!(">{of}"), "-"),
        };
        let ((seeds, by), (blind_seeds, blind_by)) = (shown(&strict, SEEDS_TO_FIND), shown(&blind, SEEDS_BLIND));
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

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Run by `cargo xtask soak`.
#[test]
#[ignore = "as long as it is told to take"]
fn soak() {
    let from = from_environment("WRITKEEPER_SOAK_FROM").unwrap_or(1_000_000);
    let minutes = from_environment("WRITKEEPER_SOAK_MINUTES");
    let seeds = from_environment("WRITKEEPER_SOAK_SEEDS");
    println!("from seed {from}, seeds {seeds:?}, minutes {minutes:?}; the first: {}", Options::of(from));
    let until = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let sum = run_all(from, seeds.unwrap_or(u64::MAX), until);
    // None of n failed: with 95% confidence fewer than 3 in n do.
    println!(
        "{} seeds, none failed: with 95% confidence fewer than {:.1e} of them do (3/n)",
        sum.seeds,
        3.0 / sum.seeds.max(1) as f64
    );
}
