//! Chains of batches: each a transaction of its own, in order, whoever folds them and whenever.

use super::Room;
use super::samples::{TENANT, batch_id, count, increment, look, must, name_of, refusal, state_key};
use crate::ports::store::{Batch, Batches, Committed, Pieces, Store};
use kernel::record::Record;
use kernel::world::{Key, Loaded, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use values::time::Instant;

/// Rows of each batch, for several chains: batches of one row and batches that are worth other threads, in every order.
const CHAINS: &[&[usize]] = &[&[1], &[1, 2, 1], &[200], &[3, 150, 1, 90, 40], &[400, 400], &[5; 30], &[60; 12]];

/// What was folded so far: names of records, and instants.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    instants: Vec<Instant>,
    problems: Vec<String>,
}

impl Seen {
    fn problem(seen: &Arc<Mutex<Seen>>, problem: impl FnOnce() -> String) {
        seen.lock().unwrap_or_else(PoisonError::into_inner).problems.push(problem());
    }
}

/// A batch that counts itself in a row all batches share, changes rows of its own and leaves a record for each.
fn batch(chain: usize, number: usize, rows: usize, seen: &Arc<Mutex<Seen>>) -> Batch {
    let (shared, seen) = (state_key("shared"), seen.clone());
    let own: Vec<Key> = (0..rows).map(|row| own_key(chain, number, row)).collect();
    let keys = own.iter().cloned().chain([shared.clone()]).collect();
    let fold = move |world: &mut World, at: Instant, pieces: &mut dyn Pieces| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
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
                let name = format!("{chain}-{number}-{piece}-{place}");
                records.extend(refusal(TENANT, &name, at));
                seen.names.push(name);
            }
            pieces.hand_over(world, records);
        }
    };
    Batch { id: batch_id(), keys, fold: Box::new(fold) }
}

fn own_key(chain: usize, number: usize, row: usize) -> Key {
    state_key(&format!("{chain}-{number}-{row}"))
}

/// Hands batches out and looks from outside at what is there whenever one is said to be durable.
struct Watched<'a> {
    chain: usize,
    rows: &'a [usize],
    /// The one whose fold panics, from 1.
    poison: Option<usize>,
    seen: Arc<Mutex<Seen>>,
    other: Box<dyn Store>,
    /// Batches that counted themselves before this chain.
    before: u64,
    taken: usize,
    told: usize,
    records: u64,
}

impl<'a> Watched<'a> {
    fn over(room: &Room, chain: usize, rows: &'a [usize], seen: &Arc<Mutex<Seen>>) -> Result<Watched<'a>, String> {
        let mut other = room.open()?;
        let before = count(look(other.as_mut(), &state_key("shared"))?.as_ref());
        let records = other.reader().and_then(|mut reader| reader.size()).map_err(|fault| fault.to_string())?;
        let seen = seen.clone();
        Ok(Watched { chain, rows, poison: None, seen, other, before, taken: 0, told: 0, records })
    }

    /// What is wrong with what another handle sees after so many batches.
    fn problem(&mut self, committed: Committed) -> Result<(), String> {
        let (number, rows) = (self.told, self.rows.get(self.told - 1).copied().unwrap_or_default());
        let (first, expected) = (self.records, self.before + number as u64);
        self.records += rows as u64;
        must(committed.first == first, || {
            format!("a batch says that it begins at {} and not {first}", committed.first)
        })?;
        let mut reader = self.other.reader().map_err(|fault| fault.to_string())?;
        let size = reader.size().map_err(|fault| fault.to_string())?;
        must(size == self.records, || {
            format!("{size} records and not {} when a batch is said to be durable", self.records)
        })?;
        let mut counted = |key: &Key| -> Result<u64, String> {
            Ok(count(reader.get(key).map_err(|fault| fault.to_string())?.as_ref()))
        };
        let shared = counted(&state_key("shared"))?;
        must(shared == expected, || format!("{expected} batches counted themselves and {shared} are stored"))?;
        let last = own_key(self.chain, number, rows - 1);
        must(counted(&last)? == 1, || format!("{:?} is not stored", last.entity))?;
        let next = own_key(self.chain, number + 1, 0);
        must(counted(&next)? == 0, || format!("{:?} is stored before its batch", next.entity))
    }
}

impl Batches for Watched<'_> {
    fn next(&mut self) -> Option<Batch> {
        let rows = *self.rows.get(self.taken)?;
        self.taken += 1;
        let mut batch = batch(self.chain, self.taken, rows, &self.seen);
        if self.poison == Some(self.taken) {
            #[expect(clippy::panic, reason = "the check is about what a panic leaves behind")]
            let poison = |_: &mut World, _: Instant, _: &mut dyn Pieces| panic!("poison");
            batch.fold = Box::new(poison);
        }
        Some(batch)
    }

    fn committed(&mut self, committed: Committed) {
        self.told += 1;
        if self.told > self.taken {
            return Seen::problem(&self.seen, || "more batches are durable than were taken".to_owned());
        }
        if let Err(problem) = self.problem(committed) {
            Seen::problem(&self.seen, || problem);
        }
    }
}

pub(super) fn is_one_batch_after_the_other(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let seen = Arc::new(Mutex::new(Seen::default()));
    for (chain, rows) in CHAINS.iter().enumerate() {
        let mut rest = *rows;
        // A store may end a chain early, but it has to take one.
        while !rest.is_empty() {
            let mut watched = Watched::over(room, chain * 100 + rest.len(), rest, &seen)?;
            store.transact_chain(&mut watched).map_err(|fault| fault.to_string())?;
            let (taken, told) = (watched.taken, watched.told);
            drop(watched);
            must(taken > 0, || "not even the first batch was taken".to_owned())?;
            must(told == taken, || format!("{taken} batches were taken and {told} told of"))?;
            must(Arc::strong_count(&seen) == 1, || "a fold is still held after the store has answered".to_owned())?;
            rest = rest.get(taken..).unwrap_or_default();
        }
    }
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    must(seen.problems.is_empty(), || format!("{:?}", seen.problems.first()))?;
    must(seen.instants.is_sorted(), || "an instant lies before that of the batch before".to_owned())?;
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

pub(super) fn loses_only_what_panicked(room: &Room) -> Result<(), String> {
    for (chain, sizes) in [[2, 2, 2], [200, 2, 200], [200, 200, 2]].iter().enumerate() {
        for poison in 1..=2 {
            let mut store = room.open()?;
            let seen = Arc::new(Mutex::new(Seen::default()));
            let mut watched = Watched::over(room, 1_000 + chain * 10 + poison, sizes, &seen)?;
            watched.poison = Some(poison);
            let before = watched.before;
            let said = catch_unwind(AssertUnwindSafe(|| store.transact_chain(&mut watched)));
            let (taken, told) = (watched.taken, watched.told);
            drop(watched);
            must(said.is_err() || taken < poison, || "a batch panicked and nobody was told".to_owned())?;
            must(Arc::strong_count(&seen) == 1, || "a fold is still held after the store has answered".to_owned())?;
            let whole = taken.min(poison - 1);
            must(told == whole, || format!("{told} batches and not {whole} are told of before one that panicked"))?;
            let problems = std::mem::take(&mut seen.lock().unwrap_or_else(PoisonError::into_inner).problems);
            must(problems.is_empty(), || format!("{:?}", problems.first()))?;
            let (mut other, expected) = (room.open()?, before + whole as u64);
            let shared = count(look(other.as_mut(), &state_key("shared"))?.as_ref());
            must(shared == expected, || format!("{shared} and not {expected} after a batch panicked"))?;
            drop((store, other));
        }
    }
    Ok(())
}
