//! A store as dumb as can be: text by key. Each batch gets a slice with exactly the keys that were named, so that a
//! forgotten key or a row that does not survive its text shows.

use crate::harness::KernelOutcome;
use kernel::apply::{apply, touches};
use kernel::command::Command;
use kernel::outcome::Outcome;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer, World};
use std::collections::BTreeMap;
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Looks a command may take before it is decided, as the runtime bounds them.
const ROUNDS_MAX: usize = 4;

#[derive(Default)]
pub struct Store {
    rows: BTreeMap<Key, Kept>,
    records: Vec<String>,
}

struct Kept {
    text: String,
    due: Option<Instant>,
    record: usize,
}

impl Store {
    /// Carries out a batch in one slice, or in several where something was not loaded.
    pub fn carry(&mut self, batch: &[(Command, KernelOutcome)], at: Instant) {
        let mut keys: KeySet = batch.iter().flat_map(|(command, _)| touches(command)).collect();
        let mut done = 0;
        let mut rounds = 0;
        while done < batch.len() {
            let mut world = self.slice(&keys);
            let first = self.records.len();
            let mut fresh = Vec::new();
            let mut need = KeySet::new();
            for (command, expected) in &batch[done..] {
                world.begin_record(fresh.len());
                let outcome = apply(&mut world, command, at);
                let Some(came) = KernelOutcome::of(&outcome) else {
                    let Outcome::Need(missing) = outcome else { panic!("only a need is no outcome") };
                    need = missing;
                    break;
                };
                assert_eq!(came, *expected, "a slice says something else: {command:?}");
                if let KernelOutcome::Done { records, .. } = came {
                    fresh.extend(records);
                }
                done += 1;
                rounds = 0;
            }
            for changed in world.take_changes() {
                let kept =
                    Kept { text: changed.row.to_stored(), due: changed.row.due(), record: first + changed.record };
                self.rows.insert(changed.key, kept);
            }
            self.records.extend(fresh);
            // A range is needed again once what it named is over.
            let is_range = need.iter().any(|key| key.entity == Entity::DueIntents);
            let is_new = need.is_empty() || is_range || !need.is_subset(&keys);
            assert!(is_new, "what is loaded is needed again: {need:?}");
            keys.extend(need);
            rounds += 1;
            assert!(rounds <= ROUNDS_MAX, "too many looks: {keys:?}");
        }
    }

    fn slice(&self, keys: &KeySet) -> World {
        let mut world = World::slice();
        for key in keys {
            if key.entity != Entity::DueIntents {
                world.load(key.clone(), self.read(key));
                continue;
            }
            let intents = self.rows.iter().filter(|(key, _)| key.entity.kind() == Kind::Intent);
            let mut due: Vec<(Instant, &Key)> = intents.filter_map(|(key, kept)| Some((kept.due?, key))).collect();
            due.sort();
            let mut names = Vec::new();
            for (_, intent) in due.into_iter().take(DUE_INTENTS_MAX) {
                names.push(intent.entity.parts().0.to_owned());
                world.load(intent.clone(), self.read(intent));
            }
            world.load_due_intents(names);
        }
        world
    }

    fn read(&self, key: &Key) -> Option<Row> {
        let kept = self.rows.get(key)?;
        let kind = key.entity.kind();
        let row = if kind == Kind::Idempotency {
            // Of an answer only the fingerprint is kept; the rest is read from its record.
            let body = Json::parse_within(self.records[kept.record].as_bytes(), &Bounds::OWN).unwrap();
            let stored = StoredAnswer::from_record(Digest::parse(&kept.text).unwrap(), &body).unwrap();
            Some(Row::Idempotency(Box::new(stored)))
        } else {
            Row::from_stored(kind, &kept.text)
        };
        Some(row.unwrap_or_else(|| panic!("{key:?} cannot be read back: {}", kept.text)))
    }

    /// Every row as text.
    pub fn texts(&self) -> BTreeMap<Key, String> {
        self.rows.iter().map(|(key, kept)| (key.clone(), kept.text.clone())).collect()
    }
}
