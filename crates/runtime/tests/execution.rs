//! The protocol of performing, step by step: what each class does when nobody knows, and that every safeguard of it is
//! needed: with the safeguard switched off, its story ends otherwise.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use kernel::agent::{Actor, AgentStatus};
use kernel::apply::apply;
use kernel::change::{Act, Change, DoubtAnswer, Registration, Write};
use kernel::command::{Command, Door, MintedIds, Performer, Submission, UnseenFlow};
use kernel::contract::Executor;
use kernel::escalation::QuestionKind;
use kernel::evaluator::Compiled;
use kernel::intent::{IntentEvent, Observed};
use kernel::outcome::{Done, Outcome};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::world::{Entity, Key, Loaded, Row, World};
use std::sync::Arc;
use values::ids::Digest;
use values::time::{Duration, Instant};

const CONTRACT: &str = r#"
agent: bot
proposal: { ttl: { default: 30s, max: 5m } }
resources:
  pool: { kind: stock, capacity: 10 }
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: number }
    limits: { amount: { min: 1, max: 10 } }
    budgets:
      - { sum: amount, max: 10, per: 24h }
    reserves:
      - { resource: pool, amount: amount }
    run: { RUN, class: CLASS, timeout: 5s }
    undo: { kind: REVERT, http: "POST http://127.0.0.1:9911/undo", within: 1h }
escalation: { approvers: [desk] }
"#;

/// A world, a clock, and everything that was said.
struct Stage {
    world: World,
    contract: Arc<Compiled>,
    at: Instant,
    number: u64,
    said: Vec<String>,
}

const HTTP: &str = "http: \"POST http://127.0.0.1:9911/pay\"";

impl Stage {
    fn of(class: &str) -> Stage {
        Stage::with(HTTP, class)
    }

    fn with(run: &str, class: &str) -> Stage {
        let text = CONTRACT.replace("RUN", run).replace("CLASS", class);
        let loaded = engines::load::load(&text).unwrap_or_else(|problems| panic!("{problems:?}"));
        let contract = Arc::new(loaded.compiled);
        let mut stage = Stage {
            world: World::complete(),
            contract: contract.clone(),
            at: Instant::PURE_DEFAULT,
            number: 0,
            said: Vec::new(),
        };
        let registration = Registration { contract: contract.clone(), parent: None, version: None, session: None };
        stage.change(ann(), Act::Register(Box::new(registration)));
        stage.change(ann(), Act::Activate { contract, expected: None });
        stage.change(ann(), Act::Merge(vec![Write::groups("ann", ["desk"]), Write::groups("bob", ["desk"])]));
        stage.said.clear();
        stage
    }

    fn later(&mut self, seconds: i64) -> &mut Stage {
        self.at = self.at.plus(Duration::from_secs(seconds));
        self
    }

    fn apply(&mut self, command: &Command) -> Box<Done> {
        let Outcome::Done(done) = apply(&mut self.world, command, self.at) else { panic!("not done: {command:?}") };
        done
    }

    fn change(&mut self, actor: Actor, act: Act) -> &mut Stage {
        self.number += 1;
        let word = act.kind().word();
        let change = Change { tenant: Arc::from("default"), id: format!("c{}", self.number), actor, act };
        let done = self.apply(&Command::Change(Arc::new(change)));
        let told = done.event.as_ref().map(|event| event.to_json()).unwrap_or_default();
        let state = told.get("state").and_then(|state| state.as_text()).unwrap_or_default().to_owned();
        let reasons = done.answer.reasons().join(" ");
        let said = if done.answer.findings.is_empty() { state } else { reasons };
        self.said.push(format!("{word} {said}").trim_end().to_owned());
        self
    }

    /// Proposes to pay an order; the intent's id is the order's name with an `i` before it.
    fn pay(&mut self, order: &str, amount: u64) -> &mut Stage {
        self.number += 1;
        let text = format!(
            r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}},"id":"p{}"}}"#,
            self.number
        );
        let proposal = Proposal::parse(text.as_bytes()).unwrap();
        let ids = MintedIds {
            proposal: format!("p{}", self.number),
            flow: format!("f{}", self.number),
            intent: format!("i{order}"),
            escalation: format!("e{}", self.number),
        };
        let door = Door { flows: UnseenFlow::Opens, performer: Performer::Runtime, session: None, by: None };
        let formed = Submission::new(Arc::from("default"), proposal, self.contract.clone(), Provenance::Unknown, ids);
        let done = self.apply(&Command::Submit(Arc::new(formed.through(door))));
        self.said.push(format!("pay {}", done.answer.reasons().join(" ")));
        self
    }

    fn row(&self, intent: &str) -> kernel::intent::IntentRow {
        let key = Key { tenant: Arc::from("default"), entity: Entity::Intent(intent.to_owned()) };
        match self.world.get(&key) {
            Loaded::Present(Row::Intent(row)) => row.as_ref().clone(),
            Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => panic!("no intent {intent}"),
        }
    }

    fn claim(&mut self) -> &mut Stage {
        let (intent, worker) = ("iA".to_owned(), "w".to_owned());
        self.change(Actor::Kernel, Act::Claim { intent, worker, lease: Duration::from_secs(10) })
    }

    fn start(&mut self, epoch: u64) -> &mut Stage {
        let attempt = self.row("iA").running.unwrap().digest();
        self.change(Actor::Kernel, Act::Start { intent: "iA".to_owned(), epoch, attempt })
    }

    fn outcome(&mut self, epoch: u64, observed: Observed) -> &mut Stage {
        let (intent, detail) = ("iA".to_owned(), String::new());
        self.change(Actor::Kernel, Act::Outcome { intent, epoch, observed, detail, result: None })
    }

    fn sent(&mut self) -> &mut Stage {
        self.pay("A", 4).claim().start(1)
    }

    fn recover(&mut self) -> &mut Stage {
        self.change(Actor::Kernel, Act::ExpireIntents);
        let state = self.row("iA").state.word();
        if let Some(last) = self.said.last_mut() {
            *last = format!("recover {state}");
        }
        self
    }

    fn resolve(&mut self, decision: &str) -> &mut Stage {
        let asked = self.world.iter().find_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            let open = row.kind == QuestionKind::Doubt && row.answer.is_none();
            open.then(|| (key.entity.parts().0.to_owned(), row.digest, row.intent.clone()))
        });
        let (question, digest, intent) = asked.unwrap_or(("none".to_owned(), Digest::of(""), "iA".to_owned()));
        let answer = DoubtAnswer {
            intent,
            question,
            decision: decision.to_owned(),
            digest,
            reason: "looked".to_owned(),
            identity: kernel::person::Identity::default(),
        };
        self.change(ann(), Act::Resolve(Box::new(answer)))
    }

    fn suspend(&mut self) -> &mut Stage {
        let act = Act::Restrict {
            agent: "bot".to_owned(),
            status: AgentStatus::Suspended,
            because: "odd".to_owned(),
            actions: Vec::new(),
        };
        self.change(ann(), act)
    }

    /// What is held and used up of the pool, and what of the budget.
    fn books(&self) -> String {
        let mut books = String::new();
        for (_, row) in self.world.iter() {
            if let Row::Resource(row) = row {
                books += &format!("held {} used {} ", row.held, row.consumed);
            }
            if let Row::Budget(row) = row {
                books += &format!("budget {}", row.used(self.at, Duration::from_secs(86_400)).unwrap());
            }
        }
        books
    }

    #[track_caller]
    fn check(&mut self, expected: &str) -> &mut Stage {
        let said = std::mem::take(&mut self.said).join(", ");
        assert_eq!(said, expected);
        self
    }

    #[track_caller]
    fn check_books(&mut self, expected: &str) -> &mut Stage {
        assert_eq!(self.books(), expected);
        self
    }
}

fn ann() -> Actor {
    Actor::Operator("ann".to_owned())
}

#[test]
fn what_is_claimed_marked_and_answered_is_over() {
    let mut stage = Stage::of("opaque");
    stage.sent().check("pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT").check_books("held 4 used 0 budget 4");
    stage.outcome(1, Observed::Positive).check("outcome SUCCEEDED").check_books("held 0 used 4 budget 4");
    stage.pay("A", 4).check("pay ALREADY_DONE");
    let mut stage = Stage::of("opaque");
    stage.sent().outcome(1, Observed::Negative).check_books("held 0 used 0 budget 0");
    stage
        .pay("A", 4)
        .check("pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, outcome FAILED, pay VALIDATION_PASSED");
}

/// The other side may remember the highest fence it saw for this effect, and take a lower one for a straggler.
#[test]
fn who_tries_an_effect_again_comes_with_a_higher_fence() {
    for class in ["fenced", "opaque"] {
        let mut stage = Stage::of(class);
        stage.sent().outcome(1, Observed::Negative).pay("A", 4).claim().start(1).start(2);
        stage.check(
            "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, outcome FAILED, pay VALIDATION_PASSED, claim CLAIMED, \
             start CLAIM_LOST, start IN_FLIGHT",
        );
    }
}

#[test]
fn a_claim_that_is_over_sent_nothing_and_a_mark_that_is_over_may_have() {
    let mut stage = Stage::of("opaque");
    stage.pay("A", 4).claim().later(11).recover().claim().start(1).start(2);
    stage
        .check("pay VALIDATION_PASSED, claim CLAIMED, recover READY, claim CLAIMED, start CLAIM_LOST, start IN_FLIGHT");
    stage.later(11).recover().check("recover IN_DOUBT").check_books("held 4 used 0 budget 4");
    // Its time is long over, and it holds what it holds.
    stage.later(86_400).recover().pay("A", 4).check("recover IN_DOUBT, pay IN_PROGRESS");
    stage.resolve("DID_NOT").check("resolve ABANDONED").check_books("held 0 used 0 budget 0");
}

#[test]
fn what_is_about_to_be_sent_must_be_what_was_accepted() {
    let mut stage = Stage::of("opaque");
    stage.pay("A", 4).claim();
    let act = Act::Start { intent: "iA".to_owned(), epoch: 1, attempt: Digest::of("pay someone else") };
    stage.change(Actor::Kernel, act).check("pay VALIDATION_PASSED, claim CLAIMED, start INTENT_ALTERED");
    stage.change(
        Actor::Agent("bot".to_owned()),
        Act::Start { intent: "iA".to_owned(), epoch: 1, attempt: Digest::of("") },
    );
    stage.check("start NOT_AUTHORIZED");
}

#[test]
fn keyed_is_repeated_until_its_horizon_and_then_asks() {
    let mut stage = Stage::of("keyed");
    stage.sent().outcome(1, Observed::Unknown).recover().later(2).recover().claim().start(2);
    stage.outcome(2, Observed::Negative).later(3).recover();
    stage.check(
        "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, outcome IN_DOUBT, recover IN_DOUBT, recover READY, \
         claim CLAIMED, start IN_FLIGHT, outcome IN_DOUBT, recover READY",
    );
    assert!(stage.row("iA").running.unwrap().question.is_none());
    // Nobody performed it for a day: the provider may have forgotten the key.
    stage.later(86_400).recover().claim().check("recover IN_DOUBT, claim STEP_REFUSED");
    stage.resolve("HAPPENED").check("resolve SUCCEEDED").check_books("held 0 used 4 budget 0");
}

#[test]
fn opaque_is_never_repeated_without_a_person() {
    let mut stage = Stage::of("opaque");
    stage.sent().outcome(1, Observed::Unknown).later(86_400).recover().recover().claim();
    stage.check(
        "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, outcome IN_DOUBT, recover IN_DOUBT, recover IN_DOUBT, \
         claim STEP_REFUSED",
    );
    stage.resolve("RETRY").claim().start(2).outcome(2, Observed::Negative);
    stage.check("resolve READY, claim CLAIMED, start IN_FLIGHT, outcome IN_DOUBT");
}

#[test]
fn late_evidence_never_overwrites_and_may_resolve_a_doubt() {
    let mut stage = Stage::of("opaque");
    stage.sent().later(11).recover().outcome(1, Observed::Negative).outcome(1, Observed::Positive);
    stage.check(
        "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, recover IN_DOUBT, outcome IN_DOUBT, outcome SUCCEEDED",
    );
    // The question went with the doubt; what is over stays.
    stage.resolve("DID_NOT").outcome(1, Observed::Negative).check("resolve APPROVAL_UNKNOWN, outcome SUCCEEDED");
    let mut stage = Stage::of("opaque");
    stage.sent().later(11).recover().resolve("DID_NOT").outcome(1, Observed::Positive);
    stage.check(
        "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, recover IN_DOUBT, resolve ABANDONED, outcome ABANDONED",
    );
}

#[test]
fn nothing_starts_after_a_suspension_or_its_time_or_under_the_kill_switch() {
    let mut stage = Stage::of("opaque");
    stage.pay("A", 4).claim().suspend().start(1).check_books("held 0 used 0 budget 0");
    stage
        .check("pay VALIDATION_PASSED, claim CLAIMED, restrict, start AGENT_SUSPENDED")
        .recover()
        .check("recover CANCELLED");
    let mut stage = Stage::of("opaque");
    stage.pay("A", 4).later(25).claim().later(6).start(1);
    stage.check("pay VALIDATION_PASSED, claim CLAIMED, start TTL_EXPIRED").recover().check("recover CANCELLED");
    let mut stage = Stage::of("opaque");
    stage
        .pay("A", 4)
        .claim()
        .change(ann(), Act::Halt { group: None, because: "fire".to_owned() })
        .start(1)
        .recover()
        .claim();
    stage.check("pay VALIDATION_PASSED, claim CLAIMED, halt, start HALTED, recover READY, claim HALTED");
    stage.change(ann(), Act::Resume { group: None, because: "out".to_owned() }).claim().start(2);
    stage.check("resume, claim CLAIMED, start IN_FLIGHT");
    // What may have happened is not called off; a person is asked instead of trying again.
    let mut stage = Stage::of("keyed");
    stage.sent().outcome(1, Observed::Unknown).later(2).recover().suspend().claim().recover();
    stage.check(
        "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, outcome IN_DOUBT, recover READY, restrict, \
         claim AGENT_SUSPENDED, recover IN_DOUBT",
    );
    assert!(stage.row("iA").running.unwrap().question.is_some());
}

#[test]
fn a_local_effect_happens_with_its_decision() {
    let mut stage = Stage::with("function: record", "local");
    stage
        .pay("A", 4)
        .pay("A", 4)
        .check("pay VALIDATION_PASSED, pay ALREADY_DONE")
        .check_books("held 0 used 4 budget 4");
    let key = Key { tenant: Arc::from("default"), entity: Entity::State("effects/pay:A".to_owned()) };
    let Loaded::Present(Row::State(row)) = stage.world.get(&key) else { panic!("no effect") };
    assert_eq!(row.version, 1);
    assert_eq!(row.value.get("intent").and_then(|intent| intent.as_text()), Some("iA"));
}

#[test]
fn a_host_that_never_reports_is_not_forgotten() {
    let mut stage = Stage::with("host: true", "opaque");
    stage
        .pay("A", 4)
        .later(34)
        .recover()
        .later(2)
        .recover()
        .check("pay VALIDATION_PASSED, recover HANDED_OUT, recover UNREPORTED");
    stage.check_books("held 4 used 0 budget 4").pay("A", 4).check("pay IN_PROGRESS");
    let settle = |event| Act::Settle { intent: "iA".to_owned(), event, result: None };
    stage.change(Actor::Agent("bot".to_owned()), settle(IntentEvent::Fail)).check("settle STEP_REFUSED");
    stage.change(Actor::Agent("bot".to_owned()), settle(IntentEvent::Succeed)).check("settle SUCCEEDED");
}

#[test]
fn what_the_runtime_performs_is_not_the_agents_to_report() {
    let mut stage = Stage::of("opaque");
    let settle = |event| Act::Settle { intent: "iA".to_owned(), event, result: None };
    let bot = || Actor::Agent("bot".to_owned());
    stage.pay("A", 4).change(bot(), settle(IntentEvent::Succeed)).claim().start(1);
    stage.change(bot(), settle(IntentEvent::Succeed)).change(ann(), settle(IntentEvent::Fail));
    stage.check(
        "pay VALIDATION_PASSED, settle STEP_REFUSED, claim CLAIMED, start IN_FLIGHT, settle STEP_REFUSED, \
         settle STEP_REFUSED",
    );
}

#[test]
fn undoing_is_an_intent_of_its_own_with_a_deadline() {
    let undo = |id: &str| Act::Undo { intent: "iA".to_owned(), undo: id.to_owned(), because: "wrong".to_owned() };
    let mut stage = Stage::of("keyed");
    stage.change(ann(), undo("u")).check("undo INTENT_UNKNOWN");
    stage.sent().change(ann(), undo("u")).outcome(1, Observed::Positive).suspend().change(ann(), undo("u"));
    stage.check(
        "pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, undo STEP_REFUSED, outcome SUCCEEDED, restrict, \
         undo READY",
    );
    let order = stage.row("u").running.unwrap().order;
    assert_eq!(order.executor(), Some(&Executor::Http("POST http://127.0.0.1:9911/undo".to_owned())));
    stage.change(ann(), undo("v")).check("undo IN_PROGRESS");
    // The agent is suspended; making good is not.
    let claim = Act::Claim { intent: "u".to_owned(), worker: "w".to_owned(), lease: Duration::from_secs(10) };
    stage.change(Actor::Kernel, claim).check("claim CLAIMED");
    let mut stage = Stage::of("keyed");
    stage.sent().outcome(1, Observed::Positive).later(3_601).change(ann(), undo("u"));
    stage.check("pay VALIDATION_PASSED, claim CLAIMED, start IN_FLIGHT, outcome SUCCEEDED, undo UNDO_TOO_LATE");
}

/// Each safeguard switched off makes one of these stories end otherwise.
#[cfg(feature = "bugs")]
#[test]
fn every_safeguard_is_needed() {
    use values::bugs::{Bug, with};
    let stale_report = || {
        let mut stage = Stage::of("opaque");
        // A worker that lost its claim reports about what it never sent.
        stage.pay("A", 4).claim().later(11).recover().claim().start(2).outcome(1, Observed::Negative);
        stage.said.clone()
    };
    let crash_after_send = || {
        let mut stage = Stage::of("opaque");
        stage.sent().later(11).recover();
        stage.said.clone()
    };
    let negative_on_retry = || {
        let mut stage = Stage::of("keyed");
        stage.sent().outcome(1, Observed::Unknown).later(2).recover().claim().start(2).outcome(2, Observed::Negative);
        stage.said.clone()
    };
    let long_in_flight = || {
        let mut stage = Stage::of("opaque");
        stage.sent().later(31).recover().later(31).recover().pay("A", 4);
        stage.said.clone()
    };
    let suspended = || {
        let mut stage = Stage::of("opaque");
        stage.pay("A", 4).claim().suspend().start(1);
        stage.said.clone()
    };
    let doubted = || {
        let mut stage = Stage::of("opaque");
        stage.sent().outcome(1, Observed::Unknown).later(2).recover();
        stage.said.clone()
    };
    let stories: [(Bug, &dyn Fn() -> Vec<String>); 6] = [
        (Bug::NoFence, &stale_report),
        (Bug::NoInFlightMark, &crash_after_send),
        (Bug::NegativeAfterDoubtFinal, &negative_on_retry),
        (Bug::ExpiryFreesInFlight, &long_in_flight),
        (Bug::StartUnchecked, &suspended),
        (Bug::OpaqueRetried, &doubted),
    ];
    for (bug, story) in stories {
        let (right, wrong) = (story(), with(bug, story));
        assert_ne!(right, wrong, "{bug:?} makes no difference");
        println!("{bug:?}: {:?} instead of {:?}", wrong.last(), right.last());
    }
}
