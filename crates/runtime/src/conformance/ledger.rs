//! The ledger: gap-free, in order, whole, and there for good.

use super::Room;
use super::samples::{at, batch_id, change, count, counter, look, must, name_of, put, record, state_key, transact};
use crate::ports::store::{Reader, StoredRecord};
use values::sealed::Sealed;

fn read(reader: &mut dyn Reader, from: u64, limit: usize) -> Result<Vec<StoredRecord>, String> {
    reader.records(from, limit).map_err(|fault| fault.to_string())
}

/// That records have these indices from 0 on, belong together and carry these names.
fn holds(records: &[StoredRecord], names: &[String]) -> Result<(), String> {
    must(records.len() == names.len(), || format!("{} records of {}", records.len(), names.len()))?;
    for ((index, name), record) in (0..).zip(names).zip(records) {
        must(record.index == index, || format!("record {index} has index {}", record.index))?;
        let Some((body, salt)) = record.body.clone() else { return Err(format!("record {index} has no body")) };
        must(name_of(&body).as_ref() == Some(name), || format!("record {index} is not `{name}` but {body}"))?;
        let sealed = Sealed { leaf: record.leaf.clone(), body, salt };
        must(sealed.is_consistent(), || format!("leaf, body and salt of record {index} do not belong together"))?;
    }
    Ok(())
}

pub(super) fn in_order_without_a_gap(room: &Room) -> Result<(), String> {
    let mut handles = [room.open()?, room.open()?];
    let mut names = Vec::new();
    for round in 0..6_usize {
        for (number, store) in handles.iter_mut().enumerate() {
            // Batches of no, one and several records.
            let batch: Vec<String> = (0..round % 4).map(|place| format!("{round}-{number}-{place}")).collect();
            let committed = transact(store.as_mut(), batch_id(), &[], &mut |_, at| {
                batch.iter().filter_map(|name| record(name, at)).collect()
            })?;
            let expected = names.len() as u64;
            must(committed.first == expected, || format!("a batch began at {} and not {expected}", committed.first))?;
            names.extend(batch);
        }
    }
    for store in &handles {
        let mut reader = store.reader().map_err(|fault| fault.to_string())?;
        holds(&read(reader.as_mut(), 0, 1000)?, &names)?;
        let size = reader.size().map_err(|fault| fault.to_string())?;
        must(size == names.len() as u64, || format!("the size is {size} of {}", names.len()))?;
    }
    Ok(())
}

pub(super) fn survives(room: &Room) -> Result<(), String> {
    let here = state_key("here");
    let mut names = Vec::new();
    for round in 1..=4_u64 {
        // Opened, used once or twice and dropped, as a process that is killed leaves it.
        let mut store = room.open()?;
        let before = count(look(store.as_mut(), &here)?.as_ref());
        must(before == names.len() as u64, || format!("after reopening the counter is {before} of {}", names.len()))?;
        for turn in 0..round % 3 {
            let name = format!("{round}-{turn}");
            let value = names.len() as u64 + 1;
            change(store.as_mut(), std::slice::from_ref(&here), &name, &mut |world, _| {
                world.put(here.clone(), counter(value));
            })?;
            names.push(name);
        }
    }
    let mut last = room.open()?;
    let mut reader = last.reader().map_err(|fault| fault.to_string())?;
    holds(&read(reader.as_mut(), 0, 1000)?, &names)?;
    let committed = put(last.as_mut(), &here, &counter(0))?;
    must(committed.first == names.len() as u64, || format!("the ledger goes on at {}", committed.first))?;
    must(committed.at >= at(0), || format!("the ledger goes on at {}", committed.at))
}

pub(super) fn in_pages(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let names: Vec<String> = (0..25).map(|number| format!("r{number}")).collect();
    transact(store.as_mut(), batch_id(), &[], &mut |_, at| names.iter().filter_map(|name| record(name, at)).collect())?;
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let mut found: Vec<StoredRecord> = Vec::new();
    loop {
        let page = read(reader.as_mut(), found.len() as u64, 10)?;
        must(page.len() <= 10, || format!("a page of 10 has {} records", page.len()))?;
        if page.is_empty() {
            break;
        }
        found.extend(page);
        must(found.len() <= names.len(), || "pages do not end".to_owned())?;
    }
    holds(&found, &names)?;
    must(read(reader.as_mut(), 0, 0)?.is_empty(), || "a page of none has records".to_owned())?;
    must(read(reader.as_mut(), u64::MAX, 5)?.is_empty(), || "there are records behind the end".to_owned())
}
