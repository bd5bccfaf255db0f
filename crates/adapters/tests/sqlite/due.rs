//! What is due comes with everything that calling it off touches, in the same look.

use crate::folder::Folder;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::intent::{BudgetDraw, IntentFacts, IntentRow, IntentState, KeptIntent};
use kernel::world::{EffectRow, Entity, Key, Loaded, Row};
use runtime::memory::MemoryStore;
use runtime::ports::store::{BatchId, Store, one_step};
use std::sync::Arc;
use values::decimal::Decimal;
use values::sealed::Sealed;
use values::time::Instant;

fn key(entity: Entity) -> Key {
    Key { tenant: Arc::from("default"), entity }
}

fn waiting() -> Row {
    let kept = KeptIntent {
        agent: "bot".to_owned(),
        flow: "f".to_owned(),
        proposal: "p".to_owned(),
        effect_key: "refund:7".to_owned(),
        valid_until: Instant::from_micros(1),
        holds: Vec::new(),
        taken: vec![BudgetDraw { agent: "bot".to_owned(), budget: "refund".to_owned(), amount: Decimal::from(1) }],
    };
    let facts = IntentFacts::Kept(Box::new(kept));
    let accepted_at = Instant::from_micros(0);
    Row::Intent(Box::new(IntentRow { state: IntentState::Ready, accepted_at, facts, running: None }))
}

fn check(store: &mut dyn Store) {
    let effect = key(Entity::Effect("refund:7".to_owned()));
    let budget = key(Entity::Budget("bot".to_owned(), "refund".to_owned()));
    let mut save = one_step(|world, _| {
        world.put(key(Entity::Intent("i".to_owned())), waiting());
        world.put(effect.clone(), Row::Effect(EffectRow::by("i")));
        vec![Sealed { leaf: "leaf".to_owned(), body: "body".to_owned(), salt: [7; 16] }]
    });
    store.transact(BatchId(1), Vec::new(), &mut save).unwrap();
    let mut seen = None;
    let mut look = one_step(|world, _| {
        let present = matches!(world.get(&effect), Loaded::Present(Row::Effect(row)) if row.intent == "i");
        seen = Some((present, world.get(&budget) == Loaded::Absent));
        Vec::new()
    });
    store.transact(BatchId(2), vec![key(Entity::DueIntents)], &mut look).unwrap();
    drop(look);
    assert_eq!(seen, Some((true, true)), "the effect is there, and nobody has a window yet");
}

#[test]
fn what_is_due_is_loaded_with_what_calling_it_off_touches() {
    let folder = Folder::new();
    check(&mut SqliteStore::open(folder.path("store"), Arc::new(SystemClock)).unwrap());
    check(&mut MemoryStore::new(Arc::new(SystemClock)));
}
