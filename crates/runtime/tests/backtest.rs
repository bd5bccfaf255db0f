//! Backtests: the same contract flips nothing, another one flips what it would have decided otherwise, and what follows.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::evaluator::Compiled;
use kernel::intent::IntentEvent;
use kernel::outcome::{Answer, Verdict};
use kernel::person::Identity;
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::Reader;
use runtime::replay::backtest::{Backtest, BacktestFault};
use runtime::replay::rows::MemoryRows;
use runtime::{Answered, Arrival, Options, PersonAnswer, Runtime};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::json::Json;
use values::time::{Duration, Instant};

/// What was in force.
const PAY: &str = r#"agent: bot
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: number }
    allow: amount <= 25
    ask: amount <= 100
    budget: { sum: amount, max: 100, per: 24h }
    run: host
"#;

/// Payments with their verdicts, an answer, and what became of two of them.
const HISTORY: &str = "\
a 10 ACCEPT
b 20 ACCEPT
c 60 ESCALATE
answer c
d 15 REJECT
e 200 REJECT
f 5 ACCEPT
a succeeds
b fails
g 15 ACCEPT";

fn compiled(text: &str) -> Arc<Compiled> {
    Arc::new(engines::load::load(text).unwrap_or_else(|problems| panic!("{problems:?}")).compiled)
}

fn operator(name: &str) -> Actor {
    Actor::Operator(name.to_owned())
}

fn door() -> Door {
    Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None }
}

fn said_yes(answered: &Answered) {
    assert_eq!(answered.answer.verdict, Verdict::Accept, "{}", answered.answer.to_line());
}

struct Bench {
    runtime: Runtime,
    store: MemoryStore,
    clock: Arc<ManualClock>,
    answers: BTreeMap<String, Answer>,
}

/// The instant of a step: one minute after the other.
fn minute(step: usize) -> Instant {
    Instant::PURE_DEFAULT.plus(Duration::from_secs(60 * i64::try_from(step).unwrap()))
}

fn bench(contract: &str, history: &str) -> Bench {
    let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
    let store = MemoryStore::new(clock.clone());
    let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
    let contract = compiled(contract);
    said_yes(&runtime.register(operator("ann"), contract.clone(), None, None).wait());
    said_yes(&runtime.activate(operator("ann"), contract).wait());
    said_yes(&runtime.change(operator("ann"), Act::Merge(vec![Write::groups("bob", ["operators"])])).wait());
    let mut bench = Bench { runtime, store, clock, answers: BTreeMap::new() };
    for (number, line) in history.lines().enumerate() {
        bench.clock.set(minute(number + 1));
        bench.step(line);
    }
    bench
}

impl Bench {
    fn step(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["answer", order] => self.answer(order),
            [order, "succeeds"] => self.settle(order, IntentEvent::Succeed),
            [order, "fails"] => self.settle(order, IntentEvent::Fail),
            [order, amount, verdict] => {
                let line = format!(
                    r#"{{"id":"{order}","agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}}}}"#
                );
                let answered = self.runtime.judge(line.as_bytes(), Arrival::through(door())).wait();
                assert_eq!(answered.answer.verdict.word(), *verdict, "{}", answered.answer.to_line());
                self.answers.insert((*order).to_owned(), answered.answer.clone());
            }
            _ => panic!("`{line}` is no step"),
        }
    }

    fn answer(&self, order: &str) {
        let question = self.answers.get(order).unwrap().question.clone().unwrap();
        let answer = PersonAnswer {
            person: "bob".to_owned(),
            question: question.id,
            decision: "OVERRIDE".to_owned(),
            digest: question.digest.unwrap(),
            reason: "it is fine".to_owned(),
            instead: None,
            door: door(),
            identity: Identity::default(),
        };
        said_yes(&self.runtime.answer(answer).wait());
    }

    fn settle(&self, order: &str, event: IntentEvent) {
        let intent = self.answers.get(order).unwrap().intent.as_ref().unwrap().id().to_owned();
        said_yes(&self.runtime.change(operator("ann"), Act::Settle { intent, event, result: None }).wait());
    }

    /// Erases the record of a decision.
    fn erase(&mut self, order: &str) {
        let records = self.store.records(0, 1_000).unwrap();
        let named = |body: &str| {
            let body = Json::parse(body.as_bytes()).unwrap();
            body.get("proposal_id").and_then(Json::as_text) == Some(order)
        };
        let of_order = records.iter().find(|record| record.body.as_ref().is_some_and(|(body, _)| named(body)));
        self.store.erase_body(of_order.unwrap().index);
    }

    /// Flips, one line each, and `flipped of decisions, unknown`.
    fn backtest(&mut self, candidate: &str, since: Option<Instant>) -> Result<String, BacktestFault> {
        let rows = [Box::new(MemoryRows::default()) as _, Box::new(MemoryRows::default()) as _];
        let mut backtest = Backtest::new(compiled(candidate), since, rows)?;
        let mut said = String::new();
        for record in self.store.records(0, 1_000).unwrap() {
            let body = record.body.as_ref().map(|(body, _)| body.as_str());
            let Some(flip) = backtest.record(record.index, &record.leaf, body)? else { continue };
            let (before, after) = (flip.before.verdict.word(), flip.after.verdict.word());
            said += &format!("{} {before}->{after} {}\n", flip.proposal, flip.after.reasons().join(" "));
        }
        let counts = backtest.counts();
        Ok(said + &format!("{} of {}, {} unknown", counts.flipped, counts.decisions, counts.unknown()))
    }
}

/// A change of the contract in force, and what it flips.
fn check(changes: &[(&str, &str)], expected: &str) {
    check_with(changes, None, &[], expected);
}

fn check_with(changes: &[(&str, &str)], since: Option<Instant>, erased: &[&str], expected: &str) {
    let mut candidate = PAY.to_owned();
    for (old, new) in changes {
        assert!(candidate.contains(old), "{old}");
        candidate = candidate.replace(old, new);
    }
    let mut bench = bench(PAY, HISTORY);
    erased.iter().for_each(|order| bench.erase(order));
    assert_eq!(bench.backtest(&candidate, since).unwrap(), expected, "{changes:?}");
}

#[test]
fn the_same_contract_flips_nothing() {
    check(&[], "0 of 7, 0 unknown");
    check_with(&[], Some(minute(3)), &[], "0 of 5, 0 unknown");
    check(&[("agent: bot", "agent: bot\nversion: 2.0.0")], "0 of 7, 0 unknown");
}

#[test]
fn a_change_flips_what_it_decides_otherwise_and_what_follows() {
    // Without the 20 of b there is room for d, and then none for g.
    check(
        &[("<= 25", "<= 15")],
        "b ACCEPT->ESCALATE NEEDS_APPROVAL\nd REJECT->ACCEPT VALIDATION_PASSED\ng ACCEPT->REJECT BUDGET_EXCEEDED\n\
         3 of 7, 0 unknown",
    );
    // The answer about c is to a question that was not asked; what b failed to spend is there for g.
    check(
        &[("max: 100", "max: 30")],
        "c ESCALATE->REJECT BUDGET_EXCEEDED\nf ACCEPT->REJECT BUDGET_EXCEEDED\n2 of 7, 0 unknown",
    );
    check(
        &[("<= 25", "<= 250"), ("max: 100", "max: 1000")],
        "c ESCALATE->ACCEPT VALIDATION_PASSED\nd REJECT->ACCEPT VALIDATION_PASSED\n\
         e REJECT->ACCEPT VALIDATION_PASSED\n3 of 7, 0 unknown",
    );
    check(
        &[("    run: host\n", "    run: host\nwatch:\n  m: { mean: params.amount, max: 14, over: 2 }\n")],
        "c ESCALATE->REJECT AGENT_SUSPENDED\nf ACCEPT->REJECT AGENT_SUSPENDED\ng ACCEPT->REJECT AGENT_SUSPENDED\n\
         3 of 7, 0 unknown",
    );
}

#[test]
fn a_change_counts_from_its_instant_on() {
    check_with(&[("<= 25", "<= 15")], Some(minute(3)), &[], "0 of 5, 0 unknown");
    check_with(&[("<= 25", "<= 10")], Some(minute(3)), &[], "g ACCEPT->ESCALATE NEEDS_APPROVAL\n1 of 5, 0 unknown");
}

#[test]
fn what_cannot_be_known_is_counted_and_not_guessed() {
    // Without the 20 of b nobody can tell how much was spent when d and e were refused, and whether there was room for g.
    check_with(&[], None, &["b"], "0 of 7, 4 unknown");
    check_with(&[], None, &["e"], "0 of 7, 1 unknown");
    let asked = [
        ("agent: bot", "agent: bot\nvalidators:\n  held: { command: [./held] }"),
        ("    run: host", "    run: host\n    validators: held"),
    ];
    // Only what is refused anyway is known.
    check(&asked, "0 of 7, 6 unknown");
}

#[test]
fn secrets_are_unknown() {
    let secret = r#"agent: bot
actions:
  pay:
    once: "pay:{order}"
    params:
      type: object
      additionalProperties: false
      required: [order]
      properties: { order: { type: string }, pin: { type: string, secret: true } }
    run: host
"#;
    let mut bench = bench(secret, "");
    let line = r#"{"agent":"bot","action":"pay","params":{"order":"a","pin":"1234"}}"#;
    said_yes(&bench.runtime.judge(line.as_bytes(), Arrival::through(door())).wait());
    assert_eq!(bench.backtest(secret, None).unwrap(), "0 of 1, 1 unknown");
}

#[test]
fn a_history_that_was_altered_is_refused() {
    let mut bench = bench(PAY, HISTORY);
    let rows = [Box::new(MemoryRows::default()) as _, Box::new(MemoryRows::default()) as _];
    let mut backtest = Backtest::new(compiled(PAY), None, rows).unwrap();
    let fault = bench.store.records(0, 1_000).unwrap().into_iter().find_map(|record| {
        let body = record.body.map(|(body, _)| body.replace(r#""amount":200"#, r#""amount":20"#));
        backtest.record(record.index, &record.leaf, body.as_deref()).err()
    });
    assert!(matches!(fault, Some(BacktestFault::Differs { .. })), "{fault:?}");
}

#[test]
fn a_candidate_that_would_not_be_put_in_force_is_refused() {
    let resource = "resources:\n  desk: { kind: slots, capacity: 1 }\n";
    let other = resource.replace("capacity: 1", "capacity: 2");
    let mut bench = bench(&format!("{PAY}{resource}"), HISTORY);
    let fault = bench.backtest(&format!("{PAY}{other}"), Some(minute(3))).unwrap_err();
    assert!(fault.to_string().contains("resource `desk` is"), "{fault}");
}
