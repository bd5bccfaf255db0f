//! What a contract's settings make of runs of every kind: the facts that detectors state about many sights, and what
//! becomes of every verdict, as records and hosts are told it.

use kernel::contract::{Contract, Mode};
use kernel::detectors::precursor::{Ended, Prior};
use kernel::detectors::{
    DETECTORS, Seen, breaker, dangling_intent, efficiency, noop_streak, precursor, productivity, stall,
};
use kernel::enforcement::handler::Answer;
use kernel::enforcement::verdict::{decided, enforced};
use kernel::outcome::Verdict;
use values::ids::Digest;
use values::json::Json;

/// Everything that is told, one line each.
pub fn outcome(contract: &Contract) -> String {
    let thresholds = contract.thresholds();
    let mut told = Vec::new();
    for seen in sights() {
        // A signal reaches the proposal as its state, and the host as its reason where it is a concern.
        told.extend(DETECTORS.iter().map(|detector| {
            let signal = (detector.judge)(&seen, &thresholds);
            let reason = if signal.is_concern { signal.reason.as_str() } else { "" };
            format!("{} {} {reason}", signal.detector, signal.state)
        }));
    }
    let plan = contract.enforcement_plan();
    for (verdict, noticed) in [(Verdict::Accept, true), (Verdict::Reject, true), (Verdict::Escalate, false)] {
        for (rung, run) in [("OBSERVE", true), ("HUSH", true), ("HUSH", false), ("WARN", true)] {
            let proposed = Json::object([("rung", Json::text(rung)), ("run", Json::Bool(run))]);
            let decision = decided(plan.ladder(), Mode::Enforce, verdict, noticed, "pay", "because");
            let enforced = enforced(&plan, Mode::Enforce, &decision, Some(&Answer::read(&proposed)));
            told.push(enforced.to_json().to_canonical());
        }
    }
    told.join("\n")
}

fn sights() -> Vec<Seen> {
    let mut sights = Vec::new();
    for count in 0..45_usize {
        for tool in ["make", "sleep", "wait"] {
            let step = stall::Step { tool: tool.to_owned(), arguments: Digest::of("a"), result: Some(Digest::of("r")) };
            let stall = stall::Evidence { steps: vec![step; count.min(9)] };
            sights.push(Seen { stall, ..Seen::default() });
        }
        let in_a_row = (0..count).fold(breaker::Evidence::default(), |counts, _| counts.failed());
        let in_all = (0..count).fold(breaker::Evidence::default(), |counts, _| counts.failed().succeeded());
        for breaker in [in_a_row, in_all] {
            sights.push(Seen { breaker, ..Seen::default() });
        }
        let noop_streak = noop_streak::Evidence { noop_turns: count as u64 };
        let productivity = productivity::Evidence { deltas: vec![(count % 3) as u64; count / 3] };
        let efficiency = efficiency::Evidence { work: count as u64, tokens: 100 };
        sights.push(Seen { noop_streak, productivity, efficiency, ..Seen::default() });
        let little = efficiency::Evidence { work: 0, tokens: count as u64 };
        sights.push(Seen { efficiency: little, ..Seen::default() });
    }
    for before in ["", "read", "list", "cat", "head"] {
        let prior = vec![Prior { tool: before.to_owned(), ended: Ended::Succeeded }];
        let precursor = precursor::Evidence { tool: "edit".to_owned(), is_mutating: true, prior };
        sights.push(Seen { precursor, ..Seen::default() });
    }
    let text = "I will now run the tests.".to_owned();
    let dangling_intent = dangling_intent::Evidence { text, results_after: 0 };
    sights.push(Seen { dangling_intent, ..Seen::default() });
    sights
}
