//! What holds for every contract and every proposal: no panic, same bytes, tighter contracts accept no more, and every
//! acceptance stands before a second judge.
#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod contracts;
mod found;
mod proposals;
mod second_judge;
mod tighten;
mod written;

use contracts::{Made, contracts};
use kernel::context::Context;
use kernel::evaluator::Compiled;
use kernel::finding::{Code, Effect, Finding};
use kernel::outcome::{Answer, Done, Verdict};
use kernel::proposal::Proposal;
use kernel::pure::PureRun;
use kernel::reasons::Reason;
use proposals::{Bytes, CONTEXT, Line, SECRET, disordered, lines, runs};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use second_judge::{Case, Past, SHAPE, may_ask, violations};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn start(contract: &Arc<Compiled>, at: Option<Instant>) -> PureRun {
    let context = Json::parse(CONTEXT.as_bytes()).expect("the context is JSON");
    let context = Context::from_json(&context).expect("the context reads");
    PureRun::new(contract.clone(), context, at, true)
}

fn judged(contract: &Made, lines: &[Bytes]) -> Vec<Done> {
    let mut run = start(&contract.compiled, None);
    (1..).zip(lines).map(|(number, line)| run.judge(number, &line.0)).collect()
}

fn texts(proposals: &[Line]) -> Vec<Bytes> {
    proposals.iter().map(|Line(proposal)| Bytes(proposal.to_canonical().into_bytes())).collect()
}

proptest! {
    #![proptest_config(cases(120))]

    /// Nothing panics, the same input gives the same bytes, and every answer follows from its findings.
    #[test]
    fn judging_is_total_and_deterministic(contract in contracts(), lines in prop::collection::vec(lines(), 1..12)) {
        let first = judged(&contract, &lines);
        let again = contracts::made(&contract.json).expect("the full form loads");
        let second = judged(&again, &lines);
        for ((first, second), line) in first.iter().zip(&second).zip(&lines) {
            prop_assert_eq!(first.answer.to_line(), second.answer.to_line());
            prop_assert_eq!(bodies(first), bodies(second));
            prop_assert_eq!(first.records.len(), 1, "every line leaves a record");
            check_folding(&contract, &first.answer);
            let said = format!("{}{}", first.answer.to_line(), bodies(first).join(""));
            prop_assert!(!holds_declared_secret(&line.0) || !said.contains(SECRET), "a secret came out: {}", said);
        }
    }

    /// What is accepted stands before the second judge, who also finds what the gates find and nothing else.
    #[test]
    fn acceptances_stand_before_a_second_judge(contract in contracts(), proposals in runs(1..=16)) {
        compare(&contract, &proposals, None, true)?;
    }

    /// At one instant, whatever the proposals say about the time.
    #[test]
    fn one_instant_for_all_lines(contract in contracts(), proposals in runs(1..=12), at in 0..4000_i64) {
        compare(&contract, &proposals, Instant::parse(&proposals::instant(at)), true)?;
    }

    /// Lines out of order may be refused too often, never too seldom.
    #[test]
    fn clocks_that_disagree_gain_nothing(contract in contracts(), proposals in disordered(1..=16)) {
        compare(&contract, &proposals, None, false)?;
    }

    /// However JSON is written, it is the same proposal.
    #[test]
    fn spelling_does_not_matter(contract in contracts(), proposals in runs(1..=6), seed in any::<u64>()) {
        let plain = judged(&contract, &texts(&proposals));
        // What names the request is no part of it.
        let spelled = (1..).zip(&proposals).map(|(number, Line(proposal))| {
            let named = with_member(proposal, "idempotency_key", &format!("key-{number}"));
            Bytes(written::otherwise(&with_member(&named, "id", &format!("another-{number}")), seed))
        });
        let spelled: Vec<Bytes> = spelled.collect();
        for (plain, spelled) in plain.iter().zip(judged(&contract, &spelled)) {
            prop_assert_eq!(plain.answer.verdict, spelled.answer.verdict);
            prop_assert_eq!(plain.answer.reasons(), spelled.answer.reasons());
            let print = |done: &Done| done.records[0].body().get("fingerprint").cloned();
            prop_assert_eq!(print(plain), print(&spelled));
        }
    }

    /// A line with a key, sent again, gets the same bytes and takes nothing.
    #[test]
    fn a_key_answers_once(contract in contracts(), proposals in runs(1..=8), seed in any::<u64>()) {
        let keyed: Vec<Json> = (1..).zip(&proposals).map(|(number, Line(proposal))| with_member(proposal, "idempotency_key", &format!("key-{number}"))).collect();
        let (mut once, mut twice) = (start(&contract.compiled, None), start(&contract.compiled, None));
        let later = proposals::instant(100_000);
        for (number, proposal) in (1..).zip(&keyed) {
            let line = proposal.to_canonical().into_bytes();
            let expected = once.judge(number, &line);
            let beside = twice.judge(number, &line);
            prop_assert_eq!(expected.answer.to_line(), beside.answer.to_line(), "a repetition took something");
            prop_assert_eq!(bodies(&expected), bodies(&beside));
            for earlier in keyed.iter().take(usize::try_from(number).expect("few lines")) {
                let again = with_member(&with_member(earlier, "created_at", &later), "id", "another");
                let again = twice.judge(1000 + number, &written::otherwise(&again, seed));
                prop_assert!(again.records.is_empty(), "an answer given again is not a new decision");
                if earlier == proposal {
                    prop_assert_eq!(again.answer.to_line(), expected.answer.to_line());
                }
            }
        }
    }
}

proptest! {
    // Each case compiles several contracts, of which few differ where the proposals would show it.
    #![proptest_config(cases(240))]

    /// A tighter contract, in the same world, accepts nothing the looser one did not accept.
    #[test]
    fn tightening_never_accepts_more(contract in contracts(), proposals in runs(4..=16), choices in any::<u64>()) {
        tighten::check(&contract, &proposals, choices)?;
    }
}

/// Properties over cases that never reach a gate prove nothing about it.
#[test]
fn the_generators_reach_every_gate() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..400 {
        let contract = contracts().new_tree(&mut runner).expect("contracts can be made").current();
        let proposals = runs(1..=16).new_tree(&mut runner).expect("runs can be made").current();
        for done in judged(&contract, &texts(&proposals)) {
            *seen.entry(done.answer.verdict.word().to_owned()).or_default() += 1;
            let codes: BTreeSet<&str> = done.answer.findings.iter().map(|finding| finding.code.as_str()).collect();
            codes.into_iter().for_each(|code| *seen.entry(code.to_owned()).or_default() += 1);
        }
    }
    let expected = EXACT.iter().chain(&["ACCEPT", "REJECT", "ESCALATE", "PARAM_MISSING", "PARAM_INVALID"]);
    let rare: Vec<&&str> = expected.filter(|word| seen.get(**word).is_none_or(|count| *count < 10)).collect();
    assert!(rare.is_empty(), "hardly ever reached: {rare:?} of {seen:#?}");
}

fn bodies(done: &Done) -> Vec<String> {
    done.records.iter().map(|record| record.body().to_canonical()).collect()
}

/// Only an action that declares the param knows that it is secret.
fn holds_declared_secret(line: &[u8]) -> bool {
    let Ok(proposal) = Proposal::parse(line) else { return false };
    ["pay", "send"].contains(&&*proposal.action) && proposal.params.get("pin") == Some(&Json::text(SECRET))
}

fn with_member(proposal: &Json, key: &str, value: &str) -> Json {
    let Json::Object(mut members) = proposal.clone() else { return proposal.clone() };
    members.insert(key.to_owned(), Json::text(value));
    Json::Object(members)
}

/// The verdict, the reasons and the intent follow from the findings.
fn check_folding(contract: &Made, answer: &Answer) {
    let effects: BTreeSet<bool> = answer.findings.iter().map(|finding| finding.effect == Effect::Reject).collect();
    let (verdict, supporting) = match (effects.contains(&true), effects.contains(&false)) {
        (true, _) => (Verdict::Reject, Effect::Reject),
        (false, true) => (Verdict::Escalate, Effect::Escalate),
        (false, false) => (Verdict::Accept, Effect::Reject),
    };
    assert_eq!(answer.verdict, verdict);
    let mut reasons: Vec<String> = Vec::new();
    for finding in answer.findings.iter().filter(|finding| finding.effect == supporting) {
        if !reasons.contains(&finding.code.as_str().to_owned()) {
            reasons.push(finding.code.as_str().to_owned());
        }
    }
    if verdict == Verdict::Accept {
        reasons.push("VALIDATION_PASSED".to_owned());
    }
    assert_eq!(answer.reasons(), reasons);
    assert!(answer.findings.is_sorted_by_key(|finding| finding.gate), "gate order");
    assert!(answer.findings.iter().all(|finding| !finding.message().is_empty() && !finding.fix().is_empty()));
    let Some(intent) = &answer.intent else { return };
    assert_eq!(verdict, Verdict::Accept, "only an acceptance is an intent");
    let intent = intent.to_json();
    let action = intent.get("action").and_then(Json::as_text).expect("an intent names its action");
    assert!(!contract.compiled.contract.actions[action].reads, "a read is no intent");
}

/// Judges a run twice: by the gates, and line by line by the second judge.
fn compare(contract: &Made, proposals: &[Line], at: Option<Instant>, exact: bool) -> Result<(), TestCaseError> {
    let context = Json::parse(CONTEXT.as_bytes()).expect("the context is JSON");
    let mut run = start(&contract.compiled, at);
    let mut past: Vec<Past> = Vec::new();
    for (number, Line(proposal)) in (1..).zip(proposals) {
        let done = run.judge(number, proposal.to_canonical().as_bytes());
        if Proposal::parse(proposal.to_canonical().as_bytes()).is_err() {
            continue;
        }
        let made_at = proposal.get("created_at").and_then(Json::as_text).and_then(Instant::parse);
        let at = at.or(made_at).unwrap_or(Instant::PURE_DEFAULT);
        let own_flow = format!("line {number}");
        let flow = proposal.get("flow").and_then(Json::as_text).map_or(own_flow, |flow| format!("flow {flow}"));
        let case = Case { contract: &contract.json, context: &context, past: &past, proposal, flow: &flow, at };
        let found = violations(&case);
        let says = |code: &str| done.answer.findings.iter().any(|found| found.code.as_str() == code);
        let exhausted = says("ESCALATION_BUDGET_EXHAUSTED");
        // Whoever waits for a question that is open asks nobody else.
        let asked = done.answer.verdict == Verdict::Escalate && !says("QUESTION_OPEN");
        prop_assert!(!asked || may_ask(&case), "asked too often: {}", done.answer.to_line());
        prop_assert!(!exhausted || !exact || !may_ask(&case), "might have asked: {}", done.answer.to_line());
        check_verdict(&done.answer, &found, exact, proposal)?;
        check_intent(contract, &done.answer, proposal)?;
        check_folding(contract, &done.answer);
        let accepted = done.answer.verdict == Verdict::Accept;
        let failed = done.answer.findings.iter().any(counts_as_failure);
        past.push(Past { at, proposal: proposal.clone(), flow, accepted, asked, failed });
    }
    Ok(())
}

fn counts_as_failure(finding: &Finding) -> bool {
    finding.effect == Effect::Reject && !matches!(finding.code, Code::Known(Reason::InProgress | Reason::AlreadyDone))
}

/// Codes the second judge knows completely.
const EXACT: &[&str] = &[
    "AGENT_UNKNOWN",
    "ACTION_NOT_ALLOWED",
    "TTL_EXPIRED",
    "TTL_TOO_LONG",
    "REASONING_EXHAUSTION",
    "LIMIT_EXCEEDED",
    "LIMIT_BELOW_MINIMUM",
    "VALUE_NOT_ALLOWED",
    "VALUE_DENIED",
    "STATE_MISMATCH",
    "BUDGET_EXCEEDED",
    "CONFIDENCE_TOO_LOW",
    "CONFIDENCE_LOW",
    "SNAPSHOT_MISSING",
    "SNAPSHOT_UNKNOWN",
    "SNAPSHOT_STALE",
    "STATE_DRIFT",
    "EVIDENCE_MISSING",
    "EVIDENCE_UNTRUSTED",
    "IN_PROGRESS",
    "RESOURCE_INSUFFICIENT",
];

fn check_verdict(
    answer: &Answer,
    found: &BTreeSet<&'static str>,
    exact: bool,
    proposal: &Json,
) -> Result<(), TestCaseError> {
    let line = answer.to_line();
    let shown = proposal.to_canonical();
    let rejecting = found.iter().any(|code| *code != "CONFIDENCE_LOW");
    match answer.verdict {
        Verdict::Accept => prop_assert!(found.is_empty(), "accepted in spite of {:?}: {}\n{}", found, shown, line),
        Verdict::Escalate => prop_assert!(!rejecting, "asked in spite of {:?}: {}\n{}", found, shown, line),
        Verdict::Reject => {}
    }
    let shape = answer.findings.iter().any(|finding| finding.gate == kernel::finding::Gate::Shape);
    prop_assert_eq!(shape, found.contains(SHAPE), "{}\n{}", shown, line);
    if shape || !exact {
        // Gates leave out what was refused already, so only the verdict can be compared.
        return Ok(());
    }
    let ours: BTreeSet<&str> = answer.findings.iter().map(|finding| finding.code.as_str()).collect();
    let ours: BTreeSet<&str> = ours.into_iter().filter(|code| EXACT.contains(code)).collect();
    let theirs: BTreeSet<&str> = found.iter().copied().filter(|code| EXACT.contains(code)).collect();
    prop_assert_eq!(ours, theirs, "{}\n{}", shown, line);
    Ok(())
}

/// An accepted effect is an intent with the params as they were proposed, except what is or may be secret.
fn check_intent(contract: &Made, answer: &Answer, proposal: &Json) -> Result<(), TestCaseError> {
    if answer.verdict != Verdict::Accept {
        prop_assert!(answer.intent.is_none());
        return Ok(());
    }
    let action = proposal.get("action").and_then(Json::as_text).unwrap_or_default();
    let reads = contract.compiled.contract.actions[action].reads;
    prop_assert_eq!(answer.intent.is_none(), reads);
    let Some(intent) = &answer.intent else { return Ok(()) };
    // Beside a secret, what the schema does not name is withheld too: it may be the secret under a wrong name.
    let hidden = |params: &values::json::Object| {
        let mut params = params.clone();
        let had = ["pin", "unknown"].map(|name| params.remove(name).is_some());
        (params, had)
    };
    let proposed = proposal.get("params").and_then(Json::as_object).expect("it has params");
    let intended = intent.to_json();
    let intended = intended.get("params").and_then(Json::as_object).expect("it has params");
    prop_assert_eq!(hidden(intended), hidden(proposed));
    prop_assert!(!answer.to_line().contains(SECRET));
    Ok(())
}
