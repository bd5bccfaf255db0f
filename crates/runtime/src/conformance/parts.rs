//! Batches that come in parts: one transaction, in order, whoever folds them.

use super::Room;
use super::samples::{TENANT, batch_id, count, increment, look, must, name_of, refusal, state_key};
use crate::ports::store::{Part, Store};
use kernel::record::Record;
use kernel::time::Instant;
use kernel::world::{Key, Loaded, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// Rows of each part, for several batches: parts of one row and parts that are worth other threads, in every order.
const BATCHES: &[&[usize]] = &[&[1], &[1, 2, 1], &[200], &[3, 150, 1, 90, 40], &[400, 400], &[5; 30]];

/// What was folded so far: names of records, and instants.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    instants: Vec<Instant>,
    problems: Vec<String>,
}

/// A part that counts itself in a row all parts share, changes rows of its own and leaves a record for each.
fn part(batch: usize, number: usize, rows: usize, seen: &Arc<Mutex<Seen>>) -> Part {
    let (shared, seen) = (state_key("shared"), seen.clone());
    let own: Vec<Key> = (0..rows).map(|row| state_key(&format!("{batch}-{number}-{row}"))).collect();
    let keys = own.iter().cloned().chain([shared.clone()]).collect();
    let fold = move |world: &mut World, at: Instant, pieces: &mut dyn crate::ports::store::Pieces| {
        let mut seen = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.instants.push(at);
        increment(world, &shared);
        for (piece, keys) in own.chunks(64).enumerate() {
            let mut records: Vec<Record> = Vec::new();
            for (place, key) in keys.iter().enumerate() {
                if !matches!(world.get(key), Loaded::Absent) {
                    seen.problems.push(format!("{:?} is not loaded as absent", key.entity));
                }
                world.begin_record(pieces.count() + records.len());
                increment(world, key);
                let name = format!("{batch}-{number}-{piece}-{place}");
                records.extend(refusal(TENANT, &name, at));
                seen.names.push(name);
            }
            pieces.hand_over(world, records);
        }
    };
    Part { keys, fold: Box::new(fold) }
}

fn carry(store: &mut dyn Store, batch: usize, rows: &[usize], seen: &Arc<Mutex<Seen>>) -> Result<usize, String> {
    let mut taken = 0;
    let mut parts = || {
        let rows = *rows.get(taken)?;
        taken += 1;
        Some(part(batch, taken, rows, seen))
    };
    store.transact_in_parts(batch_id(), &mut parts).map_err(|fault| fault.to_string())?;
    Ok(taken)
}

pub(super) fn are_one_batch(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut expected = 0;
    for (batch, rows) in BATCHES.iter().enumerate() {
        let taken = carry(store.as_mut(), batch, rows, &seen)?;
        must(taken > 0, || "not even the first part was taken".to_owned())?;
        must(Arc::strong_count(&seen) == 1, || "a fold is still held after the store has answered".to_owned())?;
        expected += taken as u64;
        let mut other = room.open()?;
        let shared = count(look(other.as_mut(), &state_key("shared"))?.as_ref());
        must(shared == expected, || format!("{expected} parts counted themselves and {shared} are stored"))?;
        for (number, rows) in rows.iter().take(taken).enumerate() {
            let last = state_key(&format!("{batch}-{}-{}", number + 1, rows - 1));
            must(count(look(other.as_mut(), &last)?.as_ref()) == 1, || format!("{:?} is not stored", last.entity))?;
        }
    }
    let seen = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    must(seen.problems.is_empty(), || format!("{:?}", seen.problems.first()))?;
    must(seen.instants.is_sorted(), || "an instant lies before that of the part before".to_owned())?;
    let records = store.reader().and_then(|mut reader| reader.records(0, seen.names.len() + 1));
    let records = records.map_err(|fault| fault.to_string())?;
    must(records.len() == seen.names.len(), || format!("{} records of {}", records.len(), seen.names.len()))?;
    for ((index, record), name) in (0..).zip(&records).zip(&seen.names) {
        let found = record.body.as_ref().and_then(|(body, _)| name_of(body));
        let right = record.index == index && found.as_ref() == Some(name);
        must(right, || format!("record {} is {found:?} and not {name} at {index}", record.index))?;
    }
    Ok(())
}

pub(super) fn leave_nothing_after_a_panic(room: &Room) -> Result<(), String> {
    for sizes in [[2, 2], [200, 2], [200, 200]] {
        let mut store = room.open()?;
        let before = count(look(store.as_mut(), &state_key("shared"))?.as_ref());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut taken = 0;
        let mut parts = || {
            let rows = *sizes.get(taken)?;
            taken += 1;
            let mut part = part(99, taken, rows, &seen);
            if taken == 2 {
                #[expect(clippy::panic, reason = "the check is about what a panic leaves behind")]
                let poison = |_: &mut World, _: Instant, _: &mut dyn crate::ports::store::Pieces| panic!("poison");
                part.fold = Box::new(poison);
            }
            Some(part)
        };
        let said = catch_unwind(AssertUnwindSafe(|| store.transact_in_parts(batch_id(), &mut parts)));
        must(said.is_err() || taken < 2, || "a part panicked and nobody was told".to_owned())?;
        must(Arc::strong_count(&seen) == 1, || "a fold is still held after the store has answered".to_owned())?;
        let expected = before + u64::from(said.is_ok());
        let mut other = room.open()?;
        let shared = count(look(other.as_mut(), &state_key("shared"))?.as_ref());
        must(shared == expected, || format!("{shared} and not {expected} after a part panicked"))?;
        drop((store, other));
    }
    Ok(())
}
