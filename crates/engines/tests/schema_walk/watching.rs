//! What a contract's settings make of runs of every kind: the facts that detectors state about many sights, and what
//! becomes of every verdict, as records and hosts are told it.

use kernel::contract::{Contract, Mode};
use kernel::detectors::precursor::{Ended, Prior};
use kernel::detectors::{
    DETECTORS, Seen, Signal, breaker, dangling_intent, efficiency, liveness, noop_streak, precursor, productivity,
    scope, stall,
};
use kernel::enforcement::gating::Confidence;
use kernel::enforcement::handler::Answer;
use kernel::enforcement::plan::Stakes;
use kernel::enforcement::verdict::{Noticed, decided, enforced};
use kernel::outcome::Verdict;
use values::ids::Digest;
use values::json::Json;
use values::time::Duration;

/// Everything that is told, one line each.
pub fn outcome(contract: &Contract) -> String {
    let thresholds = contract.thresholds();
    let mut told = Vec::new();
    for seen in sights() {
        // A signal reaches the proposal as its state, and the host as its reason where it is a concern.
        told.extend(DETECTORS.iter().map(|detector| {
            let signal = (detector.judge)(&seen, &thresholds);
            let reason = if signal.is_concern() { signal.reason.as_str() } else { "" };
            format!("{} {} {reason} {:?}", signal.detector, signal.state, signal.rung)
        }));
    }
    let plan = contract.enforcement_plan();
    let found = found();
    let nothing = Noticed { stakes: Stakes::Ordinary, signals: &[] };
    let noticed = |stakes, signals| Noticed { stakes, signals };
    let (low, high) = found.split_at(1);
    for (verdict, noticed) in [
        (Verdict::Accept, nothing),
        (Verdict::Accept, noticed(Stakes::Ordinary, low)),
        (Verdict::Accept, noticed(Stakes::High, high)),
        (Verdict::Reject, noticed(Stakes::Ordinary, low)),
        (Verdict::Escalate, nothing),
    ] {
        for (rung, run) in [("OBSERVE", true), ("HUSH", true), ("HUSH", false), ("WARN", true)] {
            let proposed = Json::object([("rung", Json::text(rung)), ("run", Json::Bool(run))]);
            let decision = decided(&plan, Mode::Enforce, verdict, noticed, "pay", "because");
            let enforced = enforced(&plan, Mode::Enforce, &decision, Some(&Answer::read(&proposed)));
            told.push(enforced.to_json().to_canonical());
        }
    }
    told.join("\n")
}

/// A finding of little confidence and one of much.
fn found() -> [Signal; 2] {
    [Confidence::Low, Confidence::High].map(|confidence| Signal {
        detector: "stall",
        state: "REPEATING",
        confidence,
        rung: None,
        reason: "again".to_owned(),
        details: Json::Null,
    })
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
    let text = "I still need to run the tests.".to_owned();
    let dangling_intent = dangling_intent::Evidence { text, results_after: 0 };
    sights.push(Seen { dangling_intent, ..Seen::default() });
    for minutes in [5, 10, 20, 40] {
        for since in [1, 6, 16] {
            let length = |minutes: i64| Some(Duration::from_secs(minutes * 60));
            let liveness =
                liveness::Evidence { age: length(minutes), last_sign: length(since), ..liveness::Evidence::default() };
            sights.push(Seen { liveness, ..Seen::default() });
        }
    }
    for touched in [&["src/a.rs", "docs/b.md"][..], &["src/a.rs", "Cargo.toml"], &["docs/b.md"]] {
        let touched = touched.iter().map(|path| (*path).to_owned()).collect();
        sights.push(Seen { scope: scope::Evidence { root: "/".to_owned(), touched }, ..Seen::default() });
    }
    sights
}
