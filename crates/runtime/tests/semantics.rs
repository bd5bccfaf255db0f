//! A store goes from one version of the judging rules to the next: what was judged before is replayed as it was judged,
//! and the older program takes nothing from then on. The next version exists in tests only.
#![cfg(feature = "bugs")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use kernel::agent::Actor;
use kernel::apply::{apply_under, touches};
use kernel::change::{Act, Change, Registration};
use kernel::command::{Command, Door, MintedIds, Submission};
use kernel::evaluator::Compiled;
use kernel::outcome::{Done, Outcome};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::semantics::Semantics;
use kernel::world::{Entity, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{BatchId, Reader, Store, one_step};
use runtime::replay::rows::MemoryRows;
use runtime::replay::{Replay, Replayed, replay};
use std::sync::Arc;
use values::time::Instant;

const CONTRACT: &str = r#"
agent: bot
actions:
  pay:
    once: "pay:{order}"
    params: { order: text }
    run: { http: "POST http://127.0.0.1:9911/pay", class: keyed, timeout: 5s }
"#;

/// A store that programs of two versions write to, one after the other.
struct Desk {
    store: MemoryStore,
    contract: Arc<Compiled>,
    number: u64,
}

impl Desk {
    fn new() -> Desk {
        let loaded = engines::load::load(CONTRACT).unwrap_or_else(|problems| panic!("{problems:?}"));
        let contract = Arc::new(loaded.compiled);
        let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
        let mut desk = Desk { store, contract: contract.clone(), number: 0 };
        let registration = Registration { contract: contract.clone(), parent: None, version: None, session: None };
        desk.change(Act::Register(Box::new(registration)), Semantics::FIRST);
        desk.change(Act::Activate { contract, expected: None }, Semantics::FIRST);
        desk
    }

    fn apply(&mut self, command: &Command, semantics: Semantics) -> Done {
        let mut keys = touches(command);
        loop {
            self.number += 1;
            let mut came = None;
            let batch = BatchId(u128::from(self.number));
            let mut fold = one_step(|world: &mut kernel::world::World, at| {
                world.begin_record(0);
                let outcome = apply_under(world, command, at, semantics);
                let records = match &outcome {
                    Outcome::Done(done) => done.records.iter().map(|record| record.seal([7; 16])).collect(),
                    Outcome::Need(_) | Outcome::Prepare => Vec::new(),
                };
                came = Some(outcome);
                records
            });
            self.store.transact(batch, keys.iter().cloned().collect(), &mut fold).unwrap();
            drop(fold);
            match came.unwrap() {
                Outcome::Done(done) => return *done,
                Outcome::Need(more) => keys.extend(more),
                Outcome::Prepare => panic!("the contract is in force"),
            }
        }
    }

    fn change(&mut self, act: Act, semantics: Semantics) -> String {
        self.number += 1;
        let actor = Actor::Operator("ann".to_owned());
        let change = Change { tenant: Arc::from("default"), id: format!("c{}", self.number), actor, act };
        self.apply(&Command::Change(Arc::new(change)), semantics).answer.reasons().join(" ")
    }

    /// Proposes the same payment again and again, in one flow.
    fn pay(&mut self, semantics: Semantics) -> String {
        self.number += 1;
        let text = r#"{"agent":"bot","action":"pay","params":{"order":"A"},"flow":"f"}"#;
        let id = |kind: &str| format!("{kind}{}", self.number);
        let ids = MintedIds { proposal: id("p"), flow: id("f"), intent: id("i"), escalation: id("e") };
        let proposal = Proposal::parse(text.as_bytes()).unwrap();
        let formed = Submission::new(Arc::from("default"), proposal, self.contract.clone(), Provenance::Unknown, ids);
        let command = Command::Submit(Arc::new(formed.through(Door::STORED)));
        self.apply(&command, semantics).answer.reasons().join(" ")
    }

    fn bodies(&mut self) -> Vec<String> {
        let records = self.store.records(0, usize::MAX).unwrap();
        records.into_iter().map(|record| record.body.unwrap().0).collect()
    }
}

fn replayed(bodies: &[String]) -> Replayed {
    let mut replay = Replay::new(Box::new(MemoryRows::default())).unwrap();
    for (index, body) in (0_u64..).zip(bodies) {
        replay.record(index, "{}", Some(body)).unwrap();
    }
    replay.found().clone()
}

#[test]
fn a_store_goes_from_one_version_to_the_next() {
    let mut desk = Desk::new();
    assert_eq!(desk.pay(Semantics::FIRST), "VALIDATION_PASSED");
    // A duplicate is no failed attempt under the first rules, and one under the next: the fourth is exhausted.
    for _ in 0..4 {
        assert_eq!(desk.pay(Semantics::FIRST), "IN_PROGRESS");
    }
    for _ in 0..3 {
        assert_eq!(desk.pay(Semantics::NEXT), "IN_PROGRESS");
    }
    assert_eq!(desk.pay(Semantics::NEXT), "REASONING_EXHAUSTION IN_PROGRESS");
    let bodies = desk.bodies();
    let under = |number: u64| bodies.iter().filter(|body| body.contains(&format!("\"semantics\":{number},"))).count();
    assert_eq!((under(1), under(3)), (7, 4));
    let found = replay(&mut desk.store).unwrap();
    assert_eq!((found.same, found.withheld, found.differs), (11, 0, None), "each under its own rules");
    // The number is what it depends on: the same history under the first rules alone is another one.
    let all_first: Vec<String> =
        bodies.iter().map(|body| body.replace("\"semantics\":3,", "\"semantics\":1,")).collect();
    assert!(replayed(&all_first).differs.is_some());
}

#[test]
fn an_older_program_takes_nothing_from_a_newer_store() {
    let mut desk = Desk::new();
    desk.pay(Semantics::FIRST);
    desk.pay(Semantics::NEXT);
    let size = desk.store.size().unwrap();
    assert_eq!(desk.pay(Semantics::FIRST), "STORE_NEWER");
    assert_eq!(desk.change(Act::Halt { group: None, because: "x".to_owned() }, Semantics::FIRST), "STORE_NEWER");
    assert_eq!(desk.store.size().unwrap(), size, "and leaves nothing behind");
    let Some(Row::Tenant(row)) = desk.store.get(&Entity::Tenant).unwrap() else { panic!("no tenant") };
    assert_eq!((row.semantics, row.halted), (3, None));
    // The newer program goes on.
    assert_eq!(desk.change(Act::Halt { group: None, because: "x".to_owned() }, Semantics::NEXT), "VALIDATION_PASSED");
}

#[test]
fn records_of_rules_nobody_knows_here_are_not_called_damage() {
    let mut desk = Desk::new();
    desk.pay(Semantics::FIRST);
    let unknown: Vec<String> =
        desk.bodies().iter().map(|body| body.replace("\"semantics\":1,", "\"semantics\":99,")).collect();
    let found = replayed(&unknown);
    assert_eq!((found.newer, found.withheld, found.differs), (3, 3, None));
}
