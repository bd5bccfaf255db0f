//! Idempotency keys are forgotten after their time, by a recorded command; their rows go afterwards.

use kernel::agent::Actor;
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::command::Door;
use kernel::intent::IntentEvent;
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::Store;
use runtime::{Answered, Arrival, Options, Runtime};
use std::sync::Arc;
use values::time::{Duration, Instant};

const CONTRACT: &str = r#"
agent: refunds
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    allow: amount <= 50
"#;

const DAY: i64 = 86_400;

fn check(answered: &Answered, expected: &str) {
    let said = [vec![answered.answer.verdict.word()], answered.answer.reasons()].concat().join(" ");
    assert_eq!(said.trim_end_matches(" VALIDATION_PASSED"), expected, "{}", answered.answer.to_line());
}

fn later(seconds: i64) -> Instant {
    Instant::PURE_DEFAULT.plus(Duration::from_secs(seconds))
}

/// The key alone is forgotten: whoever asks again is judged again, and an effect with `once` stays done. A replay of the
/// ledger comes to the same, with the rows or without.
#[test]
fn a_key_is_forgotten_after_its_time_and_an_effect_never() {
    let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
    let store = MemoryStore::new(clock.clone());
    let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
    let contract = engines::load::load(CONTRACT).unwrap_or_else(|problems| panic!("{problems:?}")).compiled;
    let contract = Arc::new(contract);
    let operator = || Actor::Operator("ann".to_owned());
    let change = |actor: Actor, act: Act| runtime.change(actor, act).wait();
    check(&runtime.register(operator(), contract.clone(), None, None).wait(), "ACCEPT");
    check(&runtime.activate(operator(), contract).wait(), "ACCEPT");
    let text = r#"{"agent":"refunds","action":"refund","idempotency_key":"k","params":{"order":"A","amount":10}}"#;
    // The caller performs what is accepted, and says that it is done.
    let propose = |text: &str| runtime.judge(text.as_bytes(), Arrival::through(Door::PURE)).wait();
    let first = propose(text);
    check(&first, "ACCEPT");
    check(
        &change(
            Actor::Kernel,
            Act::Settle {
                intent: first.answer.intent.as_ref().unwrap().id().to_owned(),
                event: IntentEvent::Succeed,
                result: None,
            },
        ),
        "ACCEPT",
    );
    let tick = |seconds: i64| {
        clock.set(later(seconds));
        runtime.tick(later(seconds)).unwrap().keys_removed
    };
    assert_eq!(tick(29 * DAY), 0);
    assert_eq!(propose(text).answer.to_line(), first.answer.to_line());
    assert_eq!(tick(30 * DAY + 1), 1, "the row is gone");
    check(&propose(text), "REJECT ALREADY_DONE");
    check(&propose(&text.replace("\"k\"", "\"new\"").replace("\"A\"", "\"B\"")), "ACCEPT");
    assert_eq!(tick(30 * DAY + 7_200), 0, "not twice a day");
    let keep =
        |seconds| Act::Upkeep(Upkeep::KeepKeys { kept: Duration::from_secs(seconds), because: "policy".to_owned() });
    check(&change(operator(), keep(DAY - 1)), "REJECT PARAM_INVALID");
    check(&change(Actor::Agent("refunds".to_owned()), keep(2 * DAY)), "REJECT NOT_AUTHORIZED");
    let forget = || Act::Upkeep(Upkeep::ForgetKeys { because: None });
    check(&change(Actor::Agent("refunds".to_owned()), forget()), "REJECT NOT_AUTHORIZED");
    check(&change(operator(), keep(2 * DAY)), "ACCEPT");
    assert_eq!(tick(31 * DAY), 0);
    clock.set(later(33 * DAY));
    check(&change(operator(), forget()), "ACCEPT");
    // The row is still there; it reads as if it were not.
    check(&propose(&text.replace("\"k\"", "\"new\"").replace("\"A\"", "\"C\"")), "ACCEPT");
    check(&change(operator(), keep(100 * DAY)), "ACCEPT");
    check(&change(operator(), forget()), "ACCEPT");
    check(&propose(&text.replace("\"A\"", "\"D\"")), "ACCEPT");
    let replayed = runtime::replay::replay(store.reader().unwrap().as_mut()).unwrap();
    assert_eq!((replayed.differs, replayed.withheld), (None, 0));
}
