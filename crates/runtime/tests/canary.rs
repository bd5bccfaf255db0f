//! A share of an agent's flows under a candidate: what is decided there, what both count together, how it ends, and that
//! the records recompute.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kernel::agent::{Actor, AgentRow, AgentStatus};
use kernel::canary::{Canary, Share};
use kernel::change::{Act, Trial, Write};
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::contract::amend::Amendment;
use kernel::evaluator::Compiled;
use kernel::intent::IntentEvent;
use kernel::outcome::Verdict;
use kernel::person::Identity;
use kernel::world::{Entity, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::Reader;
use runtime::replay::backtest::Backtest;
use runtime::replay::replay;
use runtime::replay::rows::MemoryRows;
use runtime::{Answered, Arrival, Options, PersonAnswer, Runtime};
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

const LIVE: &str = r#"agent: bot
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: number }
    limits: { amount: { max: 50 } }
    amendable: { amount: { max: { floor: 10, ceiling: 90 }, ttl: 1h } }
    allow: amount <= 20
    ask: amount <= 90
    budget: { sum: amount, max: 100, per: 24h }
    run: host
watch:
  size: { mean: params.amount, max: 15, over: 3, then: SUSPENDED }
"#;

fn candidate() -> String {
    LIVE.replace("allow: amount <= 20", "allow: amount <= 40").replace("max: 15, over: 3", "max: 30, over: 3")
}

struct Bench {
    runtime: Runtime,
    store: MemoryStore,
    next: usize,
}

fn compiled(text: &str) -> Arc<Compiled> {
    Arc::new(engines::load::load(text).unwrap_or_else(|problems| panic!("{problems:?}")).compiled)
}

fn ann() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn door() -> Door {
    Door { flows: UnseenFlow::Opens, performer: Performer::Runtime, session: None, by: None }
}

/// The verdict, and the codes that support it.
fn said(answered: &Answered) -> String {
    let answer = &answered.answer;
    if answer.verdict == Verdict::Accept { "ACCEPT".to_owned() } else { answer.reasons().join(" ") }
}

fn bench(live: &str) -> Bench {
    let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
    let live = compiled(live);
    assert_eq!(said(&runtime.register(ann(), live.clone(), None, None).wait()), "ACCEPT");
    assert_eq!(said(&runtime.activate(ann(), live).wait()), "ACCEPT");
    assert_eq!(said(&runtime.change(ann(), Act::Merge(vec![Write::groups("bob", ["operators"])])).wait()), "ACCEPT");
    Bench { runtime, store, next: 0 }
}

impl Bench {
    fn start(&self, candidate: &str, share: &str) -> String {
        let share = Share::parse(share).unwrap();
        said(&self.runtime.start_canary(ann(), compiled(candidate), share, "softer".to_owned()).wait())
    }

    fn attempt(&self, trial: Trial) -> String {
        said(&self.runtime.change(ann(), Act::Try(Box::new(trial))).wait())
    }

    fn promote(&self, contract: Digest) -> String {
        self.attempt(Trial::Promote { agent: "bot".to_owned(), contract, because: "good".to_owned() })
    }

    fn roll_back(&self) -> String {
        self.attempt(Trial::RollBack { agent: "bot".to_owned(), because: "bad".to_owned() })
    }

    fn row(&self) -> AgentRow {
        match self.runtime.read(Entity::Agent("bot".to_owned())).unwrap() {
            Some(Row::Agent(row)) => *row,
            other => panic!("{other:?}"),
        }
    }

    fn canary(&self) -> Canary {
        self.row().canary.unwrap()
    }

    /// A flow that is under the candidate, or one that is not.
    fn flow(&mut self, is_taken: bool) -> String {
        let canary = self.canary();
        loop {
            self.next += 1;
            let flow = format!("flow-{}", self.next);
            if canary.takes(&flow) == is_taken {
                return flow;
            }
        }
    }

    fn pay(&mut self, flow: &str, amount: u64) -> Answered {
        self.next += 1;
        let order = self.next;
        let line = format!(
            r#"{{"agent":"bot","action":"pay","flow":"{flow}","params":{{"order":"o-{order}","amount":{amount}}}}}"#
        );
        self.runtime.judge(line.as_bytes(), Arrival::through(door())).wait()
    }

    fn paid(&mut self, is_taken: bool, amount: u64) -> String {
        let flow = self.flow(is_taken);
        said(&self.pay(&flow, amount))
    }

    fn seen(&self, monitor: &str) -> u64 {
        match self.runtime.read(Entity::Monitor("bot".to_owned(), monitor.to_owned())).unwrap() {
            Some(Row::Monitor(row)) => row.seen,
            Some(_) | None => 0,
        }
    }

    /// Every record folds again to the same bytes.
    fn replays(&mut self) {
        let found = replay(&mut self.store).unwrap();
        assert_eq!((found.differs, found.withheld), (None, 0));
    }

    fn flips(&mut self, candidate: &str) -> (u64, u64, u64) {
        let rows = [Box::new(MemoryRows::default()) as _, Box::new(MemoryRows::default()) as _];
        let mut backtest = Backtest::new(compiled(candidate), None, rows).unwrap();
        for record in self.store.records(0, 10_000).unwrap() {
            let body = record.body.as_ref().map(|(body, _)| body.as_str());
            backtest.record(record.index, &record.leaf, body).unwrap();
        }
        let counts = backtest.counts();
        (counts.decisions, counts.flipped, counts.unknown())
    }
}

#[test]
fn flows_are_under_one_contract_or_the_other_and_records_say_which() {
    let mut bench = bench(LIVE);
    assert_eq!(bench.start(&candidate(), "30%"), "ACCEPT");
    let (live, tried) = (compiled(LIVE).digest, compiled(&candidate()).digest);
    assert_eq!((bench.row().contract, bench.canary().contract), (Some(live), tried));
    assert_eq!(bench.paid(true, 30), "ACCEPT");
    assert_eq!(bench.paid(false, 30), "NEEDS_APPROVAL");
    // A flow stays where it is, whatever is proposed in it.
    let flow = bench.flow(true);
    assert_eq!(said(&bench.pay(&flow, 21)), "ACCEPT");
    assert_eq!(said(&bench.pay(&flow, 22)), "ACCEPT");
    let records = bench.store.records(0, 1_000).unwrap();
    let body = |text: &str| Json::parse(text.as_bytes()).unwrap();
    let contract = |body: &Json| body.get("contract")?.get("digest")?.as_text().map(str::to_owned);
    let decided: Vec<String> = records.iter().filter_map(|record| contract(&body(&record.body.as_ref()?.0))).collect();
    assert_eq!(decided, [tried, live, tried, tried].map(|digest| digest.to_string()));
    // Flows that the kernel mints are shared out as well.
    let minted: Vec<bool> = (0..60)
        .map(|order| {
            let line = format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"m-{order}","amount":80}}}}"#);
            let answered = bench.runtime.judge(line.as_bytes(), Arrival::through(door())).wait();
            let body = answered.bodies().into_iter().next().unwrap();
            contract(&body) == Some(tried.to_string())
        })
        .collect();
    assert!(minted.contains(&true) && minted.contains(&false), "{minted:?}");
    bench.replays();
}

#[test]
fn budgets_are_counted_once_for_both() {
    let live = LIVE.replace("then: SUSPENDED", "then: WARN");
    let mut bench = bench(&live);
    let tried = candidate().replace("max: 100, per: 24h", "max: 90, per: 24h").replace("SUSPENDED", "WARN");
    assert_eq!(bench.start(&tried, "50%"), "ACCEPT");
    for (is_taken, amount) in [(true, 40), (false, 20), (true, 20)] {
        assert_eq!(bench.paid(is_taken, amount), "ACCEPT");
    }
    // Eighty were spent: ten fit under the candidate, twenty under the contract in force.
    assert_eq!(bench.paid(true, 11), "BUDGET_EXCEEDED");
    assert_eq!(bench.paid(false, 11), "ACCEPT");
    assert_eq!(bench.paid(true, 1), "BUDGET_EXCEEDED");
    assert_eq!(bench.paid(false, 10), "BUDGET_EXCEEDED");
    assert_eq!(bench.paid(false, 9), "ACCEPT");
    bench.replays();
    // What one contract counts and the other does not would be allowed twice.
    let uncounted = candidate().replace("per: 24h", "per: 12h");
    assert_eq!(bench.start(&uncounted, "5%"), "CONTRACT_INVALID");
}

#[test]
fn it_ends_by_promotion_of_what_was_looked_at_or_by_taking_it_back() {
    let mut bench = bench(LIVE);
    let tried = compiled(&candidate()).digest;
    assert_eq!(bench.roll_back(), "STEP_REFUSED");
    assert_eq!(bench.start(LIVE, "5%"), "STEP_REFUSED");
    assert_eq!(bench.start(&candidate(), "50%"), "ACCEPT");
    let flow = bench.flow(true);
    assert_eq!(said(&bench.pay(&flow, 30)), "ACCEPT");
    assert_eq!(bench.roll_back(), "ACCEPT");
    assert_eq!(said(&bench.pay(&flow, 30)), "NEEDS_APPROVAL");
    assert_eq!(bench.row().canary, None);
    assert_eq!(bench.start(&candidate(), "50%"), "ACCEPT");
    let (salt, flow) = (bench.canary().salt, bench.flow(false));
    assert_eq!(bench.start(&candidate(), "75%"), "ACCEPT");
    assert_eq!(bench.canary().salt, salt, "a larger share keeps the flows that it has");
    assert_eq!(bench.promote(Digest::of("another")), "STATE_CONFLICT");
    assert_eq!(bench.promote(tried), "ACCEPT");
    assert_eq!((bench.row().contract, bench.row().canary), (Some(tried), None));
    assert_eq!(said(&bench.pay(&flow, 10)), "ACCEPT");
    // An agent tries nothing, and neither does anybody for an agent that has no contract.
    let trial = Trial::RollBack { agent: "bot".to_owned(), because: "x".to_owned() };
    let agent = Actor::Agent("bot".to_owned());
    assert_eq!(said(&bench.runtime.change(agent, Act::Try(Box::new(trial))).wait()), "NOT_AUTHORIZED");
    let nobody = candidate().replace("agent: bot", "agent: eve");
    assert_eq!(bench.start(&nobody, "5%"), "AGENT_NOT_REGISTERED");
    // Whoever activates a contract ends what was tried beside the one before.
    assert_eq!(bench.start(LIVE, "50%"), "ACCEPT");
    assert_eq!(said(&bench.runtime.activate(ann(), compiled(LIVE)).wait()), "ACCEPT");
    assert_eq!(bench.row().canary, None);
    bench.replays();
}

#[test]
fn a_monitor_that_the_candidate_words_otherwise_has_a_row_of_its_own() {
    let mut bench = bench(LIVE);
    assert_eq!(bench.start(&candidate(), "50%"), "ACCEPT");
    // By turns: one monitor for both would start anew at every decision and never trip.
    for (is_taken, amount) in [(true, 20), (false, 18), (true, 20), (false, 18), (true, 10)] {
        assert_eq!(bench.paid(is_taken, amount), "ACCEPT");
    }
    assert_eq!((bench.seen("size"), bench.seen("size (candidate)")), (2, 3));
    assert_eq!(bench.row().status(), AgentStatus::Active);
    assert_eq!(bench.paid(false, 10), "ACCEPT");
    assert_eq!(bench.row().status(), AgentStatus::Suspended, "the mean of the live flows is above 15");
    assert_eq!(bench.paid(true, 1), "AGENT_SUSPENDED");
    bench.replays();
    // What both word alike is one monitor.
    let mut bench = self::bench(LIVE);
    assert_eq!(bench.start(&candidate().replace("max: 30, over: 3", "max: 15, over: 3"), "50%"), "ACCEPT");
    assert_eq!(bench.paid(true, 20), "ACCEPT");
    assert_eq!(bench.paid(false, 10), "ACCEPT");
    assert_eq!((bench.seen("size"), bench.seen("size (candidate)")), (2, 0));
}

#[test]
fn a_question_is_answered_under_the_contract_of_its_flow_and_amendments_belong_to_the_live_one() {
    let mut bench = bench(LIVE);
    assert_eq!(bench.start(&candidate(), "50%"), "ACCEPT");
    let amendment = Amendment {
        action: "pay".to_owned(),
        param: "amount".to_owned(),
        min: None,
        max: values::decimal::Decimal::parse("80"),
        actor: "ann".to_owned(),
        because: "a rush".to_owned(),
        at: Instant::PURE_DEFAULT,
        expires: None,
    };
    assert_eq!(said(&bench.runtime.amend(ann(), "bot", amendment).wait()), "ACCEPT");
    assert_eq!(bench.paid(false, 60), "NEEDS_APPROVAL");
    assert!(bench.paid(true, 60).contains("LIMIT_EXCEEDED"));
    let flow = bench.flow(true);
    let question = bench.pay(&flow, 45).answer.question.unwrap();
    let answer = |digest: Digest| PersonAnswer {
        person: "bob".to_owned(),
        question: question.id.clone(),
        decision: "OVERRIDE".to_owned(),
        digest,
        reason: "it is fine".to_owned(),
        instead: None,
        door: door(),
        identity: Identity::default(),
    };
    // Taken back, the question is about the same proposal under another contract: whoever looked must look again.
    assert_eq!(bench.roll_back(), "ACCEPT");
    assert_eq!(said(&bench.runtime.answer(answer(question.digest.unwrap())).wait()), "APPROVAL_MISMATCH");
    assert_eq!(bench.start(&candidate(), "100%"), "ACCEPT");
    assert_eq!(said(&bench.runtime.answer(answer(question.digest.unwrap())).wait()), "ACCEPT");
    bench.replays();
}

#[test]
fn a_backtest_puts_its_candidate_in_the_place_of_both() {
    let mut bench = bench(LIVE);
    assert_eq!(bench.start(&candidate(), "50%"), "ACCEPT");
    assert_eq!(bench.paid(true, 30), "ACCEPT");
    assert_eq!(bench.paid(false, 30), "NEEDS_APPROVAL");
    assert_eq!(bench.paid(false, 12), "ACCEPT");
    assert_eq!(bench.paid(true, 5), "ACCEPT");
    assert_eq!(bench.flips(LIVE), (4, 1, 0));
    assert_eq!(bench.flips(&candidate()), (4, 1, 0));
}

#[test]
fn a_candidate_that_was_taken_back_stops_nobody() {
    let live = LIVE.replace(
        "{ mean: params.amount, max: 15, over: 3, then: SUSPENDED }",
        "{ share: outcome.failed, max: 0.9, over: 20 }",
    );
    let tried = live.replace("max: 0.9, over: 20", "max: 0.3, over: 4")
        + "  more: { share: outcome.failed, max: 0.3, over: 4 }\n";
    let mut bench = bench(&live);
    assert_eq!(bench.start(&tried, "50%"), "ACCEPT");
    let flow = bench.flow(true);
    let intents: Vec<String> =
        (0..6).map(|_| bench.pay(&flow, 5).answer.intent.as_ref().unwrap().id().to_owned()).collect();
    let fail = |bench: &Bench, intent: &String| {
        let act = Act::Settle { intent: intent.clone(), event: IntentEvent::Fail, result: None };
        assert_eq!(said(&bench.runtime.change(ann(), act).wait()), "ACCEPT");
    };
    fail(&bench, &intents[0]);
    assert_eq!((bench.seen("size (candidate)"), bench.seen("more")), (1, 1));
    assert_eq!(bench.roll_back(), "ACCEPT");
    intents.iter().skip(1).for_each(|intent| fail(&bench, intent));
    assert_eq!((bench.seen("size (candidate)"), bench.seen("more")), (1, 1));
    assert_eq!(bench.row().status(), AgentStatus::Active);
    bench.replays();
}
