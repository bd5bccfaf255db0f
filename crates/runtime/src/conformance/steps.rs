//! Batches of several steps: one transaction, folded in order, whoever saves the first steps while others are folded.

use super::Room;
use super::samples::{batch_id, count, counter, increment, look, must, name_of, record, state_key};
use crate::ports::store::{Committed, Reader, Store, StoreFault};
use kernel::world::{Key, Loaded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Steps of one batch after another: batches of one step, and batches that are worth a second thread.
const BATCHES: &[usize] = &[1, 2, 1, 200, 3, 150, 1, 90, 40, 400, 400, 60, 60];

/// A batch whose steps count themselves in a row they share, change a row of their own and leave a record.
struct Sample {
    number: usize,
    shared: Key,
    own: Vec<Key>,
    /// The step that panics, from 0.
    panics_at: Option<usize>,
}

impl Sample {
    fn new(number: usize, steps: usize) -> Sample {
        let own = (0..steps).map(|step| state_key(&format!("own {number}-{step}"))).collect();
        Sample { number, shared: state_key("shared"), own, panics_at: None }
    }

    fn name(&self, step: usize) -> String {
        format!("{}-{step}", self.number)
    }

    /// Folds it; what is wrong with what a step sees is added to the problems.
    fn transact(&self, store: &mut dyn Store, problems: &mut Vec<String>) -> Result<Committed, StoreFault> {
        let keys = self.own.iter().cloned().chain([self.shared.clone()]).collect();
        let (mut step, mut first) = (0, None);
        store.transact(batch_id(), keys, &mut |world, at| {
            let own = self.own.get(step)?;
            if self.panics_at == Some(step) {
                // Not `panic!`, which would print a message that nobody needs.
                resume_unwind(Box::new("a step that panics"));
            }
            if *first.get_or_insert(at) != at {
                problems.push(format!("step {step} is judged at another instant than the first"));
            }
            if world.get(own) != Loaded::Absent {
                problems.push(format!("the row of step {step} is not loaded as absent"));
            }
            let before = match world.get(&self.shared) {
                Loaded::Present(row) => count(Some(row)),
                Loaded::Absent | Loaded::NotLoaded => 0,
            };
            if before != increment(world, &self.shared) - 1 {
                problems.push(format!("step {step} does not see what the steps before it changed"));
            }
            world.put(own.clone(), counter(before + 1));
            let records = record(&self.name(step), at);
            step += 1;
            Some(records.into_iter().collect())
        })
    }
}

fn size(reader: &mut dyn Reader) -> Result<u64, String> {
    reader.size().map_err(|fault| fault.to_string())
}

pub(super) fn are_one_transaction_in_order(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let mut reader = room.open()?.reader().map_err(|fault| fault.to_string())?;
    let (mut names, mut total) = (Vec::new(), 0);
    for (number, steps) in BATCHES.iter().enumerate() {
        let sample = Sample::new(number, *steps);
        let mut problems = Vec::new();
        let committed = sample.transact(store.as_mut(), &mut problems).map_err(|fault| fault.to_string())?;
        must(problems.is_empty(), || format!("{:?}", problems.first()))?;
        must(committed.first == total, || format!("a batch begins at {} and not {total}", committed.first))?;
        names.extend((0..*steps).map(|step| sample.name(step)));
        for (step, own) in (total + 1..).zip(&sample.own) {
            let found = reader.get(&own.entity).map_err(|fault| fault.to_string())?;
            must(count(found.as_ref()) == step, || format!("{:?} is {found:?} and not {step}", own.entity))?;
        }
        total += *steps as u64;
        let shared = count(look(store.as_mut(), &sample.shared)?.as_ref());
        must(shared == total, || format!("{total} steps counted themselves and {shared} are stored"))?;
        let stored = size(reader.as_mut())?;
        must(stored == total, || format!("{total} steps left {stored} records"))?;
    }
    let records = reader.records(0, names.len() + 1).map_err(|fault| fault.to_string())?;
    let found: Vec<Option<String>> =
        records.iter().map(|record| record.body.as_ref().and_then(|(body, _)| name_of(body))).collect();
    let same = found.len() == names.len() && found.iter().zip(&names).all(|(one, other)| one.as_ref() == Some(other));
    must(same, || "records are not in the order of their steps".to_owned())
}

pub(super) fn nothing_after_a_panic(room: &Room) -> Result<(), String> {
    let mut number = 1_000;
    for steps in [2_usize, 200] {
        for panics_at in [1, steps / 2, steps - 1] {
            let mut store = room.open()?;
            number += 1;
            let whole = Sample::new(number, steps);
            whole.transact(store.as_mut(), &mut Vec::new()).map_err(|fault| fault.to_string())?;
            let before = count(look(store.as_mut(), &whole.shared)?.as_ref());
            number += 1;
            let lost = Sample { panics_at: Some(panics_at), ..Sample::new(number, steps) };
            let said = catch_unwind(AssertUnwindSafe(|| lost.transact(store.as_mut(), &mut Vec::new())));
            must(said.is_err(), || "a step panicked and the caller was not told".to_owned())?;
            for store in [&mut store, &mut room.open()?] {
                let shared = count(look(store.as_mut(), &lost.shared)?.as_ref());
                must(shared == before, || format!("{shared} and not {before} after step {panics_at} panicked"))?;
                let mut reader = store.reader().map_err(|fault| fault.to_string())?;
                let stored = size(reader.as_mut())?;
                must(stored == before, || format!("{stored} records and not {before} after a panic"))?;
                for own in &lost.own {
                    let found = reader.get(&own.entity).map_err(|fault| fault.to_string())?;
                    must(found.is_none(), || format!("{:?} is left of a batch that panicked", own.entity))?;
                }
            }
        }
    }
    Ok(())
}
