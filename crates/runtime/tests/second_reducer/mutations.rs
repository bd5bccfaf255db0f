//! The comparison bites: each of these faults, switched on in the kernel, makes it disagree.

use crate::generator::runs;
use crate::harness::Library;
use crate::{CASES, Tally, compare};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use values::bugs::{Bug, with};

const FAULTS: [Bug; 25] = [
    Bug::KeysKeptForEver,
    Bug::W01KeyForgotten,
    Bug::IdForgotten,
    Bug::AskedAgain,
    Bug::W02HeldIgnored,
    Bug::W03QuestionsUncounted,
    Bug::W04HandshakeResets,
    Bug::W05RetriesUncounted,
    Bug::W06MergeBlind,
    Bug::W08ClosedFlowActs,
    Bug::AbortedFlowStarts,
    Bug::W15AnswerFromAnyone,
    Bug::W15AskerUnnamed,
    Bug::W15NamesUnfolded,
    Bug::LineageLinesIgnored,
    Bug::SuspensionIgnored,
    Bug::AnswerUnbound,
    Bug::AnswerStoppedByPassive,
    Bug::NoFence,
    Bug::NoInFlightMark,
    Bug::NegativeAfterDoubtFinal,
    Bug::ExpiryFreesInFlight,
    Bug::StartUnchecked,
    Bug::OpaqueRetried,
    Bug::LeaseGivenTwice,
];

/// Runs in which a fault must show.
const RUNS_MAX: u32 = 25 * CASES;

#[test]
fn every_fault_is_noticed() {
    let library = Library::new();
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let strategy = runs();
    for fault in FAULTS {
        let disagrees = |_: u32| {
            let wishes = strategy.new_tree(&mut runner).unwrap().current();
            with(fault, || compare(&library, &wishes, &mut Tally::new())).is_err()
        };
        // The rarest of them show in one run of several hundred.
        let found = (0..RUNS_MAX).position(disagrees);
        assert!(found.is_some(), "{fault:?} goes unnoticed");
        println!("{fault:?} after {} runs", found.unwrap_or_default() + 1);
    }
}
