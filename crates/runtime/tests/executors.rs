//! Performing through the runtime on the store in memory: functions of this process are called once for each mark, with
//! exactly what was accepted, and what they observed is recorded.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kernel::agent::{Actor, AgentStatus};
use kernel::change::{Act, Write};
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::contract::{EffectClass, ExecutorKind};
use kernel::event::Event;
use kernel::intent::{IntentEvent, IntentRow, Order, provider_key};
use kernel::result::{Response, ResponseStatus, ResultBody};
use kernel::world::{Entity, Key, Row};
use runtime::execute::{self, AttemptReport, Executors, Tally, timing};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::clock::Clock;
use runtime::ports::executor::{Attempt, Executor, Missing, Observation};
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use runtime::{Arrival, Runtime};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use values::json::Json;
use values::time::{Duration, Instant};

const CONTRACT: &str = r#"
agent: bot
group: yard
proposal: { ttl: { default: 30s, max: 5m } }
actions:
  ship:
    once: "ship:{order}"
    params:
      type: object
      additionalProperties: false
      required: [order, pin]
      properties: { order: { type: string }, pin: { type: string, secret: true } }
    run: { function: ship, class: keyed, timeout: 5s }
    undo: { kind: REVERT, http: "POST http://127.0.0.1:9911/undo", within: 1h }
  pack:
    once: "pack:{order}"
    params: { order: text }
    run: { command: [pack], class: opaque, timeout: 7s }
  call:
    once: "call:{order}"
    params: { order: text }
    run: { http: "POST http://127.0.0.1:9911/call", class: fenced, timeout: 5s }
escalation: { approvers: [desk] }
"#;

type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// Says of an order what its name says, and remembers what it was asked.
struct Function {
    asked: Mutex<Vec<Attempt>>,
    prepared: Mutex<Vec<String>>,
    absent: AtomicBool,
    clock: Arc<ManualClock>,
    /// What happens before an order is claimed, and while one is performed.
    before: Mutex<Option<Hook>>,
    during: Mutex<Option<Hook>>,
    stop: Arc<AtomicBool>,
    away: Arc<AtomicU32>,
}

impl Executor for Function {
    fn can_perform(&self, order: &Order) -> Result<(), Missing> {
        let heavy = order.effect_key.ends_with("heavy");
        if heavy { Err(Missing::Other("no crane".to_owned())) } else { Ok(()) }
    }

    fn prepare(&self, order: &Order) -> Result<Option<Arc<dyn Executor>>, Missing> {
        let key = &order.effect_key;
        self.prepared.lock().unwrap().push(key.clone());
        let before = self.before.lock().unwrap().clone();
        before.iter().for_each(|hook| hook(&order.id));
        let absent = key.contains("absent") && self.absent.load(Ordering::SeqCst);
        if absent { Err(Missing::Other("the crane is at the painter's".to_owned())) } else { Ok(None) }
    }

    fn perform(&self, attempt: &Attempt) -> Observation {
        self.asked.lock().unwrap().push(attempt.clone());
        let during = self.during.lock().unwrap().clone();
        during.iter().for_each(|hook| hook(&attempt.intent));
        let order = attempt.params.get("order").and_then(Json::as_text).unwrap_or_default();
        match order.get(..4) {
            Some("fail") => Observation::negative("out of stock"),
            Some("lost") if !attempt.doubted => Observation::unknown("no answer"),
            Some("soon" | "ever") if attempt.epoch < 3 => {
                self.clock.set(self.clock.now().plus(Duration::from_secs(5)));
                Observation::unknown("no answer")
            }
            Some("ever") => Observation::unknown("no answer"),
            Some("last") => {
                self.stop.store(true, Ordering::SeqCst);
                done()
            }
            Some(word) => {
                self.away.store(if word == "away" { 2 } else { 0 }, Ordering::SeqCst);
                done()
            }
            None => done(),
        }
    }
}

/// The store in memory, which may be away for a few batches.
#[derive(Clone)]
struct Unsteady {
    store: MemoryStore,
    away: Arc<AtomicU32>,
    /// How many batches it takes before it is away.
    passes: Arc<AtomicU32>,
    /// How many batches it was asked for. Who asks for far too many is told to stop.
    asked: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

/// Far more batches than any of these stories needs.
const BATCHES_MAX: u32 = 2_000;

impl Store for Unsteady {
    fn tenant(&self) -> &Arc<str> {
        self.store.tenant()
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        if self.asked.fetch_add(1, Ordering::SeqCst) > BATCHES_MAX {
            self.stop.store(true, Ordering::SeqCst);
        }
        let (away, passes) = (self.away.load(Ordering::SeqCst), self.passes.load(Ordering::SeqCst));
        self.passes.store(passes.saturating_sub(1), Ordering::SeqCst);
        if away > 0 && passes == 0 {
            self.away.store(away - 1, Ordering::SeqCst);
            return Err(StoreFault::Unavailable("away".to_owned()));
        }
        self.store.transact(batch, keys, fold)
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        self.store.has_settled(batch)
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        self.store.erase(from, to)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        self.store.reader()
    }
}

struct Bench {
    runtime: Arc<Runtime>,
    store: MemoryStore,
    clock: Arc<ManualClock>,
    away: Arc<AtomicU32>,
    passes: Arc<AtomicU32>,
    batches: Arc<AtomicU32>,
    at: Mutex<Instant>,
    function: Arc<Function>,
    stop: Arc<AtomicBool>,
    heard: Arc<Mutex<Vec<(String, Missing)>>>,
    performed: Arc<Mutex<Vec<AttemptReport>>>,
}

/// It happened, and the answer repeats a secret.
fn done() -> Observation {
    let (status, body) = (ResponseStatus::Http(200), b"done, pin 1234".to_vec());
    Observation::positive("").answered(Response {
        status,
        content_type: None,
        body,
        complete: true,
        secrets: Vec::new(),
    })
}

fn ann() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn bench() -> Bench {
    let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
    let stop = Arc::new(AtomicBool::new(false));
    let memory = MemoryStore::new(clock.clone());
    let (asked, away) = (Arc::default(), Arc::default());
    let store = Unsteady { store: memory, away, passes: Arc::default(), asked, stop: stop.clone() };
    let runtime = Arc::new(Runtime::start(Box::new(store.clone()), runtime::Options::default()).unwrap());
    let contract = engines::load::load(CONTRACT).unwrap_or_else(|problems| panic!("{problems:?}")).compiled;
    let contract = Arc::new(contract);
    let away = store.away.clone();
    let function = Arc::new(Function {
        asked: Mutex::default(),
        prepared: Mutex::default(),
        absent: AtomicBool::new(true),
        clock: clock.clone(),
        before: Mutex::default(),
        during: Mutex::default(),
        stop: stop.clone(),
        away,
    });
    let at = Mutex::new(Instant::PURE_DEFAULT);
    let (away, passes) = (store.away.clone(), store.passes.clone());
    let batches = store.asked.clone();
    let (heard, performed, store) = (Arc::default(), Arc::default(), store.store.clone());
    let bench = Bench { runtime, store, clock, away, passes, batches, at, function, stop, heard, performed };
    let said = bench.runtime.register(ann(), contract.clone(), Some("1.0.0".to_owned()), None).wait();
    assert_eq!(said.answer.verdict.word(), "ACCEPT");
    assert_eq!(bench.runtime.activate(ann(), contract).wait().answer.verdict.word(), "ACCEPT");
    bench.change(ann(), Act::Merge(vec![Write::groups("ann", ["desk"])]));
    bench
}

impl Bench {
    fn change(&self, actor: Actor, act: Act) -> Arc<Event> {
        let answered = self.runtime.change(actor, act).wait();
        assert_eq!(answered.answer.verdict.word(), "ACCEPT", "{}", answered.answer.to_line());
        answered.event.unwrap()
    }

    fn later(&self, seconds: i64) -> &Bench {
        let mut at = self.at.lock().unwrap();
        *at = at.plus(Duration::from_secs(seconds));
        self.clock.set(*at);
        self
    }

    /// Proposes; the intent that came of it.
    fn accepted(&self, action: &str, order: &str) -> String {
        accepted(&self.runtime, action, order)
    }

    fn executors(&self) -> Executors {
        let function: Arc<dyn Executor> = self.function.clone();
        Executors::default().with_function("ship", function)
    }

    fn perform_with(&self, executors: &Executors, threads: usize, once: bool) -> Result<Tally, StoreFault> {
        let options = execute::Options {
            worker: "w".to_owned(),
            clock: self.clock.clone(),
            lease: Some(Duration::from_secs(20)),
            threads,
            pause: std::time::Duration::from_millis(1),
            once,
            away: Arc::new(|_| {}),
            waits: Arc::new({
                let heard = self.heard.clone();
                move |name, problem| heard.lock().unwrap().push((name.to_owned(), problem.clone()))
            }),
            performed: Arc::new({
                let performed = self.performed.clone();
                move |one| performed.lock().unwrap().push(one.clone())
            }),
        };
        execute::run(&self.runtime, executors, &options, &self.stop)
    }

    fn perform(&self) -> Tally {
        self.perform_with(&self.executors(), 1, true).unwrap()
    }

    fn row(&self, intent: &str) -> IntentRow {
        match self.runtime.read(Entity::Intent(intent.to_owned())) {
            Ok(Some(Row::Intent(row))) => *row,
            other => panic!("no intent {intent}: {other:?}"),
        }
    }

    fn asked(&self) -> Vec<Attempt> {
        std::mem::take(&mut self.function.asked.lock().unwrap())
    }

    #[track_caller]
    fn check(&self, intent: &str, state: &str) {
        assert_eq!(self.row(intent).state.word(), state);
    }
}

fn accepted(runtime: &Runtime, action: &str, order: &str) -> String {
    let pin = if action == "ship" { r#","pin":"1234""# } else { "" };
    let text = format!(r#"{{"agent":"bot","action":"{action}","params":{{"order":"{order}"{pin}}}}}"#);
    let door = Door { flows: UnseenFlow::Opens, performer: Performer::Runtime, session: None, by: None };
    let answered = runtime.judge(text.as_bytes(), Arrival::through(door)).wait();
    assert_eq!(answered.answer.verdict.word(), "ACCEPT", "{}", answered.answer.to_line());
    let json = Json::parse(answered.answer.to_line().as_bytes()).unwrap();
    json.get("intent").and_then(|intent| intent.get("id")?.as_text()).unwrap().to_owned()
}

fn tally(succeeded: u64, failed: u64, doubted: u64, not_started: u64) -> Tally {
    Tally { succeeded, failed, doubted, not_started, ..Tally::default() }
}

#[test]
fn each_is_called_once_with_exactly_what_was_accepted() {
    let bench = bench();
    let (good, bad, lost) =
        (bench.accepted("ship", "good"), bench.accepted("ship", "fail-1"), bench.accepted("ship", "lost-1"));
    assert_eq!(bench.perform(), tally(1, 1, 1, 0));
    for (intent, state) in [(&good, "SUCCEEDED"), (&bad, "FAILED"), (&lost, "IN_DOUBT")] {
        bench.check(intent, state);
    }
    let asked = bench.asked();
    assert_eq!(asked.len(), 3);
    let attempt = asked.iter().find(|attempt| attempt.intent == good).unwrap();
    let running = bench.row(&good).running.unwrap();
    assert_eq!((&attempt.order, attempt.epoch, running.owner.as_str()), (&running.order, 1, "w"));
    assert_eq!(Json::Object(attempt.params.clone()).to_canonical(), r#"{"order":"good","pin":"1234"}"#);
    assert_eq!(attempt.key, provider_key("default", "ship:good"));
    assert_eq!((attempt.undoes.as_ref(), attempt.doubted, attempt.class), (None, false, EffectClass::Keyed));
    assert_eq!(attempt.deadline, std::time::Duration::from_secs(5));
    let result = bench.runtime.result(&good, &bench.row(&good)).unwrap().unwrap();
    assert_eq!((result.epoch, running.answered_at, running.over_at), (Some(1), Some(result.at), Some(result.at)));
    assert_eq!(result.result.body(), &ResultBody::Text("done, pin [secret]".to_owned()));
    // Nothing is left to do, and nothing is done again.
    assert_eq!(bench.perform(), tally(0, 0, 0, 0));
    assert!(bench.asked().is_empty());
    // Until its time has come: then the same key, a higher epoch, and the other side is told of the doubt.
    assert_eq!(bench.later(2).perform(), tally(1, 0, 0, 0));
    let again = bench.asked();
    let [again] = again.as_slice() else { panic!("once") };
    assert_eq!((again.intent.as_str(), again.epoch, again.doubted), (lost.as_str(), 2, true));
    assert_eq!(again.key, provider_key("default", "ship:lost-1"));
    bench.check(&lost, "SUCCEEDED");
}

#[test]
fn what_a_switch_stops_waits_without_asking_the_store_again_and_again() {
    for group in [None, Some("yard".to_owned())] {
        let bench = bench();
        let waiting = bench.accepted("ship", "good");
        bench.change(ann(), Act::Halt { group: group.clone(), because: "drill".to_owned() });
        let before = bench.batches.load(Ordering::SeqCst);
        let told = bench.perform();
        assert_eq!(told.waiting.keys().collect::<Vec<_>>(), [&waiting], "{told:?}");
        // Whoever serves hears of every commit, and claims nothing all the same.
        let note =
            |number: u64| Act::Merge(vec![Write { key: "noise".to_owned(), value: Json::from(number), expect: None }]);
        std::thread::scope(|scope| {
            scope.spawn(|| bench.perform_with(&bench.executors(), 2, false).unwrap());
            (0..50).for_each(|number| {
                bench.change(ann(), note(number));
            });
            bench.stop.store(true, Ordering::SeqCst);
        });
        bench.stop.store(false, Ordering::SeqCst);
        assert_eq!(bench.batches.load(Ordering::SeqCst) - before, 50);
        assert!(bench.asked().is_empty());
        bench.check(&waiting, "READY");
        // Once the switch is lifted it is performed; what is past its time by then is called off, under the switch already.
        bench.change(ann(), Act::Resume { group: group.clone(), because: "over".to_owned() });
        bench.perform();
        bench.check(&waiting, "SUCCEEDED");
        let late = bench.accepted("ship", "late");
        bench.change(ann(), Act::Halt { group, because: "drill".to_owned() });
        bench.later(301);
        bench.perform();
        bench.check(&late, "CANCELLED");
    }
}

#[test]
fn what_is_missing_here_waits_and_is_named() {
    let bench = bench();
    let heavy = bench.accepted("ship", "heavy");
    let (pack, call) = (bench.accepted("pack", "1"), bench.accepted("call", "1"));
    let named = |rows: &[(&String, &Missing)]| {
        let waiting = rows.iter().map(|(intent, what)| ((*intent).clone(), (*what).clone())).collect();
        Tally { waiting, ..Tally::default() }
    };
    let (crane, http) = ((&heavy, &Missing::Other("no crane".to_owned())), (&call, &Missing::Kind(ExecutorKind::Http)));
    assert_eq!(bench.perform(), named(&[crane, (&pack, &Missing::Kind(ExecutorKind::Command)), http]));
    bench.check(&pack, "READY");
    let none = bench.perform_with(&Executors::default(), 1, true).unwrap();
    let function = (&heavy, &Missing::Function("ship".to_owned()));
    assert_eq!(none, named(&[function, (&pack, &Missing::Kind(ExecutorKind::Command)), http]));
    let command: Arc<dyn Executor> = bench.function.clone();
    let executors = bench.executors().with(ExecutorKind::Command, command);
    let told = bench.perform_with(&executors, 1, true).unwrap();
    assert_eq!(told, Tally { succeeded: 1, ..named(&[crane, http]) });
    bench.check(&pack, "SUCCEEDED");
}

/// What turns out to be missing only when it is looked for is noticed before anyone claims the intent: it stays READY for
/// whoever has it, is not looked at again and again, and stands in nobody's way.
#[test]
fn what_turns_out_to_be_missing_is_not_claimed() {
    let bench = bench();
    let absent = [bench.accepted("ship", "absent-1"), bench.accepted("ship", "absent-2")];
    bench.later(1);
    let good = bench.accepted("ship", "good");
    let problem = Missing::Other("the crane is at the painter's".to_owned());
    let told = bench.perform();
    let waiting = absent.iter().map(|name| (name.clone(), problem.clone())).collect();
    assert_eq!(told, Tally { succeeded: 1, waiting, ..Tally::default() });
    bench.check(&good, "SUCCEEDED");
    for intent in &absent {
        bench.check(intent, "READY");
        assert_eq!(bench.row(intent).running.unwrap().epoch, 0, "nobody claimed it");
    }
    let looked = std::mem::take(&mut *bench.function.prepared.lock().unwrap());
    assert_eq!(looked, ["ship:absent-1", "ship:absent-2", "ship:good"], "each once");
    assert_eq!(*bench.heard.lock().unwrap(), [(absent[0].clone(), problem)], "what is missing is told once");
    // Whoever has it gets it.
    bench.function.absent.store(false, Ordering::SeqCst);
    assert_eq!(bench.perform(), tally(2, 0, 0, 0));
    assert_eq!(bench.row(&absent[0]).running.unwrap().epoch, 1);
}

/// An intent that is tried twice and is in doubt is one doubt; one that succeeded in the end is none.
#[test]
fn doubts_are_counted_by_intent() {
    let bench = bench();
    let (soon, ever) = (bench.accepted("ship", "soon"), bench.accepted("ship", "ever"));
    assert_eq!(bench.perform(), tally(1, 0, 1, 0));
    assert_eq!(bench.asked().len(), 5);
    bench.check(&soon, "SUCCEEDED");
    bench.check(&ever, "IN_DOUBT");
}

/// What cannot be performed here does not stand in the way of what can, however much of it comes sooner.
#[test]
fn the_look_grows_until_it_finds_something() {
    let bench = bench();
    for order in 0..70 {
        bench.accepted("pack", &order.to_string());
    }
    bench.later(1);
    let good = bench.accepted("ship", "good");
    let told = bench.perform();
    assert_eq!((told.succeeded, told.waiting.len()), (1, 70));
    bench.check(&good, "SUCCEEDED");
}

#[test]
fn what_was_stopped_or_lost_meanwhile_is_not_called() {
    let bench = bench();
    let stopped = bench.accepted("ship", "good");
    bench.change(
        ann(),
        Act::Restrict {
            agent: "bot".to_owned(),
            status: AgentStatus::Suspended,
            because: "odd".to_owned(),
            actions: Vec::new(),
        },
    );
    assert_eq!(bench.perform(), Tally { cancelled: 1, ..Tally::default() });
    bench.check(&stopped, "CANCELLED");
    assert!(bench.asked().is_empty());
}

#[test]
fn what_a_dead_worker_left_is_taken_up() {
    let bench = bench();
    let claimed = bench.accepted("ship", "good");
    let claim = |seconds: i64| Act::Claim {
        intent: claimed.clone(),
        worker: "dead".to_owned(),
        lease: Duration::from_secs(seconds),
    };
    bench.change(Actor::Kernel, claim(10));
    let in_hand = Tally { in_flight: 1, ..Tally::default() };
    assert_eq!(bench.perform(), in_hand, "another has it");
    bench.later(10);
    assert_eq!(bench.perform(), in_hand, "and still has");
    assert_eq!(bench.later(1).perform(), tally(1, 0, 0, 0));
    assert_eq!(bench.asked().first().map(|attempt| attempt.epoch), Some(2));
    // Nobody took it in time.
    let late = bench.accepted("ship", "late");
    assert_eq!(bench.later(31).perform(), Tally { cancelled: 1, ..Tally::default() });
    bench.check(&late, "CANCELLED");
}

#[test]
fn undoing_names_the_effect_it_undoes() {
    let bench = bench();
    let good = bench.accepted("ship", "good");
    assert_eq!(bench.perform(), tally(1, 0, 0, 0));
    bench.change(ann(), Act::Undo { intent: good.clone(), undo: "u".to_owned(), because: "wrong".to_owned() });
    let http: Arc<dyn Executor> = bench.function.clone();
    let executors = Executors::default().with(ExecutorKind::Http, http);
    assert_eq!(bench.perform_with(&executors, 1, true).unwrap(), tally(1, 0, 0, 0));
    let asked = bench.asked();
    let keys: Vec<(String, Option<String>)> = asked.into_iter().map(|attempt| (attempt.key, attempt.undoes)).collect();
    let key = |effect: &str| provider_key("default", effect);
    assert_eq!(keys, [(key("ship:good"), None), (key("undo:ship:good"), Some(key("ship:good")))]);
}

#[test]
fn threads_share_the_work_until_they_are_told_to_stop() {
    let bench = bench();
    for order in 0..20 {
        bench.accepted("ship", &format!("good-{order}"));
    }
    bench.later(1);
    bench.accepted("ship", "last");
    // Without `once` it goes on until someone says so; here the last call does.
    let told = bench.perform_with(&bench.executors(), 3, false).unwrap();
    // Two threads may reach for one intent; the one that comes second starts nothing.
    assert_eq!(Tally { not_started: 0, ..told }, tally(21, 0, 0, 0));
    let mut intents: Vec<String> = bench.asked().into_iter().map(|attempt| attempt.intent).collect();
    intents.sort();
    intents.dedup();
    assert_eq!(intents.len(), 21, "each once");
}

#[test]
fn what_happened_while_the_store_was_away_is_recorded_when_it_is_back() {
    let bench = bench();
    let away = bench.accepted("ship", "away");
    assert_eq!(bench.perform(), tally(1, 0, 0, 0));
    bench.check(&away, "SUCCEEDED");
    assert_eq!(bench.asked().len(), 1, "it is not done again");
}

#[test]
fn what_someone_else_took_or_called_off_first_is_theirs() {
    let claim = |intent: &str| Act::Claim {
        intent: intent.to_owned(),
        worker: "other".to_owned(),
        lease: Duration::from_secs(30),
    };
    let cancel = |intent: &str| Act::Settle { intent: intent.to_owned(), event: IntentEvent::Cancel, result: None };
    let check = |act: fn(&str) -> Act, state: &str| {
        let bench = bench();
        let intent = bench.accepted("ship", "good");
        let runtime = bench.runtime.clone();
        *bench.function.before.lock().unwrap() = Some(Arc::new(move |intent| {
            assert_eq!(runtime.change(ann(), act(intent)).wait().answer.verdict.word(), "ACCEPT");
        }));
        let in_flight = u64::from(state == "CLAIMED");
        assert_eq!(bench.perform(), Tally { in_flight, ..tally(0, 0, 0, 1) });
        bench.check(&intent, state);
        assert!(bench.asked().is_empty());
    };
    check(claim, "CLAIMED");
    check(cancel, "CANCELLED");
}

/// A doubt that may not be tried again is someone else's question, and nothing that this run called off.
#[test]
fn a_doubt_that_was_stopped_is_not_counted_as_called_off() {
    let bench = bench();
    let lost = bench.accepted("ship", "lost-1");
    assert_eq!(bench.perform(), tally(0, 0, 1, 0));
    let runtime = bench.runtime.clone();
    *bench.function.before.lock().unwrap() = Some(Arc::new(move |_| {
        let (agent, because) = ("bot".to_owned(), "odd".to_owned());
        let act = Act::Restrict { agent, status: AgentStatus::Suspended, because, actions: Vec::new() };
        assert_eq!(runtime.change(ann(), act).wait().answer.verdict.word(), "ACCEPT");
    }));
    assert_eq!(bench.later(2).perform(), tally(0, 0, 0, 1));
    bench.check(&lost, "IN_DOUBT");
}

/// Who waits for the end hears that there is none; who serves goes on. Without its mark nothing is sent.
#[test]
fn a_store_that_takes_no_claim_or_no_mark_ends_a_run_that_is_to_end() {
    let mut left = BTreeSet::new();
    // A step may take several batches; wherever the store goes away, it is before the claim, the mark or the outcome.
    for passes in 0..8 {
        let bench = bench();
        let intent = bench.accepted("ship", "fail-1");
        let (count, away) = (bench.passes.clone(), bench.away.clone());
        *bench.function.before.lock().unwrap() = Some(Arc::new(move |_| {
            count.store(passes, Ordering::SeqCst);
            away.store(1, Ordering::SeqCst);
        }));
        match bench.perform_with(&bench.executors(), 1, true) {
            Err(StoreFault::Unavailable(_)) => {
                assert!(bench.asked().is_empty(), "{passes}");
                left.insert(bench.row(&intent).state.word());
            }
            ended => {
                assert_eq!((ended, bench.row(&intent).state.word()), (Ok(tally(0, 1, 0, 0)), "FAILED"), "{passes}")
            }
        }
    }
    assert_eq!(left, BTreeSet::from(["CLAIMED", "READY"]));
    let bench = bench();
    let intent = bench.accepted("ship", "last");
    let (away, once) = (bench.away.clone(), AtomicBool::new(true));
    *bench.function.before.lock().unwrap() = Some(Arc::new(move |_| {
        away.store(u32::from(once.swap(false, Ordering::SeqCst)), Ordering::SeqCst);
    }));
    assert_eq!(bench.perform_with(&bench.executors(), 1, false).unwrap(), tally(1, 0, 0, 0));
    bench.check(&intent, "SUCCEEDED");
}

/// What is called off in one step is bounded; whoever is to end goes on until nothing is due.
#[test]
fn everything_whose_time_is_over_is_called_off() {
    let bench = bench();
    for order in 0..70 {
        bench.accepted("pack", &order.to_string());
    }
    assert_eq!(bench.later(31).perform(), Tally { cancelled: 70, ..Tally::default() });
}

/// A call may leave more to do, so nobody leaves while another has one in hand: the two that follow need both threads.
#[test]
fn nobody_ends_while_another_has_something_in_hand() {
    let bench = bench();
    bench.accepted("ship", "good");
    let met = Arc::new((Mutex::new(0_u32), Condvar::new()));
    let (runtime, first) = (bench.runtime.clone(), AtomicBool::new(true));
    *bench.function.during.lock().unwrap() = Some(Arc::new(move |_| {
        if first.swap(false, Ordering::SeqCst) {
            // Time enough for the other thread to find nothing.
            std::thread::sleep(std::time::Duration::from_millis(50));
            accepted(&runtime, "ship", "pair-1");
            accepted(&runtime, "ship", "pair-2");
            return;
        }
        let (count, changed) = &*met;
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let (_count, late) =
            changed.wait_timeout_while(count, std::time::Duration::from_secs(10), |count| *count < 2).unwrap();
        assert!(!late.timed_out(), "the other thread has left");
    }));
    assert_eq!(bench.perform_with(&bench.executors(), 2, true).unwrap(), tally(3, 0, 0, 0));
}

#[test]
fn a_lease_outlives_its_call_and_a_deadline_lies_below_its_lease() {
    let seconds = Duration::from_secs;
    for (given, timeout, expected) in
        [(None, 5, 30), (None, 17, 30), (None, 20, 34), (None, 600, 904), (Some(1), 600, 1), (Some(60), 5, 60)]
    {
        let lease = timing::lease(given.map(seconds), seconds(timeout));
        assert_eq!(lease, seconds(expected), "{given:?} {timeout}");
    }
    assert_eq!(timing::lease(None, Duration::from_micros(i64::MAX)).micros(), i64::MAX);
    let millis = std::time::Duration::from_millis;
    for (lease, elapsed, timeout, expected) in [
        (30, 0, 5, Some(5_000)),
        (30, 22_999, 5, Some(5_000)),
        (30, 24_000, 5, Some(4_000)),
        (30, 27_999, 5, Some(1)),
        (30, 28_000, 5, None),
        (30, 90_000, 5, None),
        (1, 0, 5, Some(750)),
        (1, 750, 5, None),
    ] {
        let left = timing::deadline(seconds(lease), millis(elapsed), seconds(timeout));
        assert_eq!(left, expected.map(millis), "{lease} {elapsed} {timeout}");
    }
    assert_eq!(timing::deadline(seconds(30), std::time::Duration::MAX, seconds(5)), None);
}

#[test]
fn one_thread_sees_what_time_does_three_times_in_a_lease_and_always_while_nothing_is_in_hand() {
    let every = timing::looks_every(None);
    assert_eq!(every, std::time::Duration::from_secs(10));
    let seconds = std::time::Duration::from_secs;
    for (thread, last, idle, expected) in [
        (0, None, false, true),
        (0, Some(9), false, false),
        (0, Some(10), false, true),
        (0, Some(11), false, true),
        (0, Some(0), true, true),
        (1, None, false, false),
        (1, Some(11), true, false),
    ] {
        assert_eq!(timing::looks(thread, last.map(seconds), every, idle), expected, "{thread} {last:?} {idle}");
    }
}

#[test]
fn a_result_is_found_again_and_erasing_it_costs_no_replay() {
    let bench = bench();
    let packed = accepted(&bench.runtime, "pack", "A");
    let executors = bench.executors().with(ExecutorKind::Command, bench.function.clone());
    bench.perform_with(&executors, 1, true).unwrap();
    let result = bench.runtime.result(&packed, &bench.row(&packed)).unwrap().unwrap();
    assert_eq!(result.result.body(), &ResultBody::Text("done, pin 1234".to_owned()), "nothing in it is secret here");
    let replayed = |bench: &Bench| runtime::replay::replay(bench.store.reader().unwrap().as_mut()).unwrap();
    let before = replayed(&bench);
    assert_eq!((before.differs.clone(), before.withheld, before.results), (None, 0, 1));
    // Right behind the report that brought it.
    let is_result = |record: &&runtime::ports::store::StoredRecord| record.leaf.contains(r#""kind":"result""#);
    let records = bench.runtime.records(0, 1_000).unwrap();
    let index = records.iter().find(is_result).unwrap().index;
    bench.store.erase_body(index);
    let after = replayed(&bench);
    assert_eq!((after.differs, after.withheld, after.erased), (None, 0, 0));
    assert_eq!((after.results, after.results_erased, after.same), (0, 1, before.same));
    assert_eq!(bench.runtime.result(&packed, &bench.row(&packed)).unwrap(), None);
}

#[test]
fn every_attempt_is_told_and_what_others_have_in_hand_is_counted() {
    let bench = bench();
    let (good, bad) = (accepted(&bench.runtime, "ship", "good"), accepted(&bench.runtime, "ship", "fail"));
    let other = accepted(&bench.runtime, "ship", "elsewhere");
    let lease = Duration::from_secs(60);
    let claim = Act::Claim { intent: other.clone(), worker: "elsewhere".to_owned(), lease };
    assert!(bench.runtime.change(Actor::Kernel, claim).wait().at.is_some());
    assert_eq!(bench.perform(), Tally { in_flight: 1, ..tally(1, 1, 0, 0) });
    let mut told = std::mem::take(&mut *bench.performed.lock().unwrap());
    told.sort_by(|one, two| one.effect_key.cmp(&two.effect_key));
    let told: Vec<_> = told
        .iter()
        .map(|one| {
            (one.intent.as_str(), one.effect_key.as_str(), one.what.as_str(), one.state.map(|state| state.word()))
        })
        .collect();
    let expected = [
        (bad.as_str(), "ship:fail", "function ship", Some("FAILED")),
        (good.as_str(), "ship:good", "function ship", Some("SUCCEEDED")),
    ];
    assert_eq!(told, expected);
}

#[test]
fn whoever_waits_is_told_the_outcome_or_how_it_stands_at_the_deadline() {
    let bench = bench();
    let intent = accepted(&bench.runtime, "ship", "good");
    let now = std::time::Instant::now();
    let waiting = bench.runtime.await_outcome(&intent, now).unwrap().unwrap();
    assert_eq!((waiting.state.word(), waiting.is_settled(), waiting.result), ("READY", false, None));
    let long = now + std::time::Duration::from_secs(60);
    let over = std::thread::scope(|scope| {
        let waits = scope.spawn(|| bench.runtime.await_outcome(&intent, long).unwrap().unwrap());
        bench.perform();
        waits.join().unwrap()
    });
    assert_eq!((over.state.word(), over.is_settled()), ("SUCCEEDED", true));
    assert_eq!(over.result.unwrap().result.body(), &ResultBody::Text("done, pin [secret]".to_owned()));
    assert_eq!(bench.runtime.await_outcome("nobody", now).unwrap(), None);
    assert_eq!(bench.runtime.await_answer("nobody", now).unwrap(), None);
}
