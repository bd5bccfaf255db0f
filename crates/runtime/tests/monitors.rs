//! Monitors on a store: alarms act within the batch that raised them, outcomes move them, and each alarm recomputes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kernel::agent::{Actor, AgentStatus};
use kernel::apply::{apply, touches};
use kernel::change::Act;
use kernel::command::{Command, Door, MintedIds, Performer, Submission, UnseenFlow};
use kernel::evaluator::Compiled;
use kernel::intent::IntentEvent;
use kernel::outcome::{Outcome, Verdict};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{BatchId, Reader, Store};
use runtime::replay::Replay;
use runtime::replay::rows::MemoryRows;
use runtime::{Answered, Arrival, Options, Runtime};
use std::sync::Arc;
use values::time::Instant;

/// Commands in one batch.
const BATCH: usize = 512;

fn compiled(watch: &str) -> Arc<Compiled> {
    watching(&format!("{{ m: {watch} }}"))
}

fn watching(watch: &str) -> Arc<Compiled> {
    let text = format!(
        "agent: bot\nactions:\n  pay:\n    once: \"pay:{{order}}\"\n    params: {{ order: text, amount: number }}\n    run: host\nwatch: {watch}\n"
    );
    Arc::new(engines::load::load(&text).unwrap_or_else(|problems| panic!("{problems:?}")).compiled)
}

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

struct Bench {
    runtime: Runtime,
    store: MemoryStore,
    contract: Arc<Compiled>,
}

fn bench(watch: &str) -> Bench {
    let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
    let contract = compiled(watch);
    said_yes(&runtime.register(operator(), contract.clone(), None, None).wait());
    said_yes(&runtime.activate(operator(), contract.clone()).wait());
    Bench { runtime, store, contract }
}

fn said_yes(answered: &Answered) {
    assert_eq!(answered.answer.verdict, Verdict::Accept, "{}", answered.answer.to_line());
}

fn proposal(order: usize, amount: usize) -> String {
    format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"o{order}","amount":{amount}}}}}"#)
}

fn door() -> Door {
    Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None }
}

impl Bench {
    fn pay(&self, order: usize, amount: usize) -> Answered {
        self.runtime.judge(proposal(order, amount).as_bytes(), Arrival::through(door())).wait()
    }

    /// The records of monitors' alarms: their place and body.
    fn trips(&mut self) -> Vec<(u64, String)> {
        let records = self.store.records(0, 10_000).unwrap();
        let body = |record: runtime::ports::store::StoredRecord| Some((record.index, record.body?.0));
        records.into_iter().filter_map(body).filter(|(_, body)| body.contains("monitor_tripped")).collect()
    }

    /// How a replay ends when one record is told otherwise.
    fn replayed(&mut self, altered: impl Fn(u64, &str) -> String) -> Option<String> {
        self.differs(|index, body| Some(altered(index, body))).map(|(_, problem)| problem)
    }

    /// Which entry differs, and how, when records are told otherwise or left out.
    fn differs(&mut self, altered: impl Fn(u64, &str) -> Option<String>) -> Option<(u64, String)> {
        let mut replay = Replay::new(Box::new(MemoryRows::default())).unwrap();
        for record in self.store.records(0, 10_000).unwrap() {
            let Some(body) = record.body.as_ref().map(|(body, _)| altered(record.index, body)) else { continue };
            let Some(body) = body else { continue };
            replay.record(record.index, &record.leaf, Some(&body)).unwrap();
        }
        replay.found().differs.clone()
    }
}

#[test]
fn the_rest_of_the_batch_that_tripped_is_refused() {
    let mut bench = bench("{ mean: params.amount, max: 10, over: 20 }");
    let submission = |place: usize| {
        let proposal = Proposal::parse(proposal(place, if place < 100 { 5 } else { 15 }).as_bytes()).unwrap();
        let ids = MintedIds {
            proposal: format!("p{place}"),
            flow: format!("f{place}"),
            intent: format!("i{place}"),
            escalation: format!("e{place}"),
        };
        let tenant = bench.store.tenant().clone();
        let submission = Submission::new(tenant, proposal, bench.contract.clone(), Provenance::Unknown, ids);
        Command::Submit(Arc::new(submission.through(door())))
    };
    let commands: Vec<Command> = (0..BATCH).map(submission).collect();
    let keys = commands.iter().flat_map(touches).collect();
    let mut verdicts = Vec::new();
    let mut pending = commands.iter();
    let committed = bench.store.transact(BatchId(1), keys, &mut |world, at| {
        let command = pending.next()?;
        let Outcome::Done(done) = apply(world, command, at) else { panic!("everything was loaded") };
        verdicts.push(done.answer.verdict);
        Some(done.records.iter().map(|record| record.seal([7; 16])).collect())
    });
    committed.unwrap();
    // Eleven of twenty at 15 and nine at 5 are the first window above 10.
    let accepted = verdicts.iter().take_while(|verdict| **verdict == Verdict::Accept).count();
    assert_eq!(accepted, 111);
    assert!(verdicts.iter().skip(accepted).all(|verdict| *verdict == Verdict::Reject));
    assert_eq!((verdicts.len(), bench.trips().len()), (BATCH, 1));
    assert_eq!(bench.replayed(|_, body| body.to_owned()), None);
}

#[test]
fn a_trip_that_does_not_recompute_is_named() {
    let mut bench = bench("{ mean: params.amount, max: 10, over: 3 }");
    for (order, amount) in [5, 12, 14].into_iter().enumerate() {
        said_yes(&bench.pay(order, amount));
    }
    assert_eq!(bench.pay(9, 1).answer.reasons(), ["AGENT_SUSPENDED"]);
    let [(index, body)] = bench.trips().try_into().unwrap();
    assert!(body.contains(r#""from":0"#) && body.contains(r#""to":2"#) && body.contains(r#""window":3"#), "{body}");
    assert_eq!(bench.replayed(|_, body| body.to_owned()), None);
    let forged = |right: &'static str, wrong: &'static str| {
        move |place: u64, body: &str| if place == index { body.replace(right, wrong) } else { body.to_owned() }
    };
    for (right, wrong) in [(r#""window":3"#, r#""window":4"#), (r#""threshold":"10""#, r#""threshold":"9""#)] {
        let problem = bench.replayed(forged(right, wrong)).unwrap();
        assert!(problem.starts_with("the alarm of monitor `m` of agent `bot` does not recompute"), "{problem}");
        let told = forged(right, wrong);
        assert_eq!(bench.differs(|place, body| Some(told(place, body))).unwrap().0, index, "the alarm's own entry");
    }
    let left_out = bench.differs(|place, body| (place != index).then(|| body.to_owned())).unwrap();
    assert!(left_out.1.starts_with("the alarm of monitor `m` of agent `bot` is missing"), "{}", left_out.1);
}

#[test]
fn outcomes_move_monitors_when_they_arrive() {
    let mut bench = bench("{ share: outcome.failed, max: 0.5, over: 2, then: ESCALATION_ONLY }");
    let intents: Vec<String> = (0..4)
        .map(|order| bench.pay(order, 5).answer.intent.as_ref().map(|intent| intent.id().to_owned()).unwrap())
        .collect();
    let settle = |intent: &str, event: IntentEvent| {
        let act = Act::Settle { intent: intent.to_owned(), event, result: None };
        said_yes(&bench.runtime.change(operator(), act).wait());
    };
    // The last comes first: what counts is the order in which outcomes arrive.
    settle(&intents[3], IntentEvent::Fail);
    settle(&intents[0], IntentEvent::Succeed);
    assert_eq!(bench.pay(10, 5).answer.verdict, Verdict::Accept);
    settle(&intents[1], IntentEvent::Fail);
    settle(&intents[2], IntentEvent::Fail);
    assert_eq!(bench.pay(11, 5).answer.reasons(), ["AGENT_ESCALATION_ONLY"]);
    let lift = Act::Lift {
        agent: "bot".to_owned(),
        status: AgentStatus::EscalationOnly,
        because: "the bank was down".to_owned(),
    };
    said_yes(&bench.runtime.change(operator(), lift).wait());
    assert_eq!(bench.pay(12, 5).answer.verdict, Verdict::Accept);
    let rows = bench.store.scan(Kind::Monitor, None, 10).unwrap();
    let [(_, Row::Monitor(row))] = rows.as_slice() else { panic!("one monitor: {rows:?}") };
    assert_eq!((row.seen, row.held, row.trips.len()), (4, false, 1));
    assert_eq!(bench.trips().len(), 1);
    assert_eq!(bench.replayed(|_, body| body.to_owned()), None);
}

#[test]
fn a_monitor_that_no_contract_in_force_has_does_not_act() {
    let gone = "{ share: outcome.failed, max: 0.3, over: 4 }";
    // Without any monitor, under another name, and worded otherwise under the same name.
    let others = [
        "{}",
        "{ n: { share: outcome.failed, max: 0.9, over: 100 } }",
        "{ m: { share: outcome.failed, max: 0.9, over: 100 } }",
    ];
    for other in others {
        let mut bench = bench(gone);
        let intents: Vec<String> =
            (0..6).map(|order| bench.pay(order, 5).answer.intent.as_ref().unwrap().id().to_owned()).collect();
        said_yes(&bench.runtime.activate(operator(), watching(other)).wait());
        for intent in intents {
            let act = Act::Settle { intent, event: IntentEvent::Fail, result: None };
            said_yes(&bench.runtime.change(operator(), act).wait());
        }
        assert_eq!(bench.pay(10, 5).answer.verdict, Verdict::Accept);
        assert_eq!(bench.trips(), []);
        // What counts again goes on where it was.
        said_yes(&bench.runtime.activate(operator(), bench.contract.clone()).wait());
        said_yes(&bench.pay(11, 5));
        assert_eq!(bench.replayed(|_, body| body.to_owned()), None);
    }
}
