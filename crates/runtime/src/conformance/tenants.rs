//! Tenants of one store: each has rows, a ledger, instants and batches of its own, and says nothing about the others.

use super::Room;
use super::samples::{at, batch_id, change, count, counter, increment, key_of, look, must, name_of, put, record};
use crate::ports::store::{Reader, Store, StoreFault, one_step};
use kernel::stored::Kind;
use kernel::world::{Entity, Key};
use std::thread;

/// Names that run into each other where keys are put together carelessly.
const TENANTS: [&str; 5] = ["t", "ta", "t\u{1}", "T", "t/a"];

fn state(tenant: &str, name: &str) -> Key {
    key_of(tenant, Entity::State(name.to_owned()))
}

fn reader(store: &dyn Store) -> Result<Box<dyn Reader>, String> {
    store.reader().map_err(|fault| fault.to_string())
}

pub(super) fn rows_apart(room: &Room) -> Result<(), String> {
    for (value, tenant) in (1_u64..).zip(TENANTS) {
        put(room.open_for(tenant)?.as_mut(), &state(tenant, "a"), &counter(value))?;
    }
    put(room.open_for("t")?.as_mut(), &state("t", "only"), &counter(9))?;
    for (value, tenant) in (1_u64..).zip(TENANTS) {
        let mut store = room.open_for(tenant)?;
        must(**store.tenant() == *tenant, || format!("a handle of `{tenant}` says it is of `{}`", store.tenant()))?;
        let seen = look(store.as_mut(), &state(tenant, "a"))?;
        must(seen == Some(counter(value)), || format!("`{tenant}` sees {seen:?}"))?;
        let mut reader = reader(store.as_ref())?;
        let found = reader.get(&Entity::State("a".to_owned())).map_err(|fault| fault.to_string())?;
        must(found == Some(counter(value)), || format!("a reader of `{tenant}` gets {found:?}"))?;
        let found = reader.scan(Kind::State, None, 9).map_err(|fault| fault.to_string())?;
        let expected = if tenant == "t" { 2 } else { 1 };
        let own = found.iter().all(|(key, _)| *key.tenant == *tenant);
        must(own && found.len() == expected, || format!("`{tenant}` finds {found:?}"))?;
    }
    let seen = look(room.open_for("ta")?.as_mut(), &state("ta", "only"))?;
    must(seen.is_none(), || "a tenant sees what another put".to_owned())
}

/// Two tenants decide at the same time, in batches of several sizes.
pub(super) fn ledgers_apart(room: &Room) -> Result<(), String> {
    const BATCHES: u64 = 30;
    let tenants = ["north", "south"];
    let mut writers = Vec::new();
    for tenant in tenants {
        let mut store = room.open_for(tenant)?;
        writers.push(thread::spawn(move || -> Result<(), String> {
            let counted = state(tenant, "batches");
            let mut first = 0;
            for batch in 0..BATCHES {
                let records = 1 + batch % 3;
                let mut fold = one_step(|world, at| {
                    increment(world, &counted);
                    (0..records).filter_map(|number| record(&format!("{tenant} {batch} {number}"), at)).collect()
                });
                let committed = store.transact(batch_id(), vec![counted.clone()], &mut fold);
                let committed = committed.map_err(|fault| fault.to_string())?;
                must(committed.first == first, || {
                    format!("`{tenant}` goes on at {} and not {first}", committed.first)
                })?;
                first += records;
            }
            Ok(())
        }));
    }
    for writer in writers {
        writer.join().unwrap_or_else(|_| Err("a writer panicked".to_owned()))?;
    }
    let size: u64 = (0..BATCHES).map(|batch| 1 + batch % 3).sum();
    for tenant in tenants {
        let mut store = room.open_for(tenant)?;
        let counted = count(look(store.as_mut(), &state(tenant, "batches"))?.as_ref());
        must(counted == BATCHES, || format!("`{tenant}` counted {counted} batches"))?;
        let mut reader = reader(store.as_ref())?;
        let found = reader.size().map_err(|fault| fault.to_string())?;
        must(found == size, || format!("`{tenant}` has {found} records and not {size}"))?;
        let records = reader.records(0, usize::MAX).map_err(|fault| fault.to_string())?;
        for (index, record) in (0..).zip(&records) {
            must(record.index == index, || format!("record {index} of `{tenant}` has index {}", record.index))?;
            let name = record.body.as_ref().and_then(|(body, _)| name_of(body)).unwrap_or_default();
            must(name.starts_with(tenant), || format!("`{tenant}` reads a record of another: {name}"))?;
        }
        must(records.len() as u64 == size, || format!("`{tenant}` reads {} records", records.len()))?;
    }
    // What one erases stays with the other.
    let [north, south] = tenants;
    let erased = room.open_for(north)?.erase(0, 5).map_err(|fault| fault.to_string())?;
    must(erased == 5, || format!("{erased} bodies were erased and not 5"))?;
    let records = reader(room.open_for(south)?.as_ref())?.records(0, 5).map_err(|fault| fault.to_string())?;
    must(records.iter().all(|record| record.body.is_some()), || "erasing touched another tenant".to_owned())
}

pub(super) fn instants_and_batches_apart(room: &Room) -> Result<(), String> {
    let (mut ahead, mut behind) = (room.open_for("ahead")?, room.open_for("behind")?);
    room.clock.set(at(1_000));
    change(ahead.as_mut(), &[], "ahead", &mut |_, _| {})?;
    room.clock.set(at(10));
    let committed = change(behind.as_mut(), &[], "behind", &mut |_, _| {})?;
    let is_own = committed.at == at(10) && !committed.clock_ran_backwards;
    must(is_own, || format!("a tenant decides at {} because of another", committed.at))?;
    // Many batches of others do not make a handle forget its own last one.
    let batch = batch_id();
    let mut fold = one_step(|_, at| record("mine", at).into_iter().collect());
    behind.transact(batch, Vec::new(), &mut fold).map_err(|fault| fault.to_string())?;
    for number in 0..5 {
        change(ahead.as_mut(), &[], &format!("{number}"), &mut |_, _| {})?;
    }
    let settled = behind.has_settled(batch).map_err(|fault| fault.to_string())?;
    must(settled, || "a committed batch is said not to be settled".to_owned())?;
    let settled = ahead.has_settled(batch).map_err(|fault| fault.to_string())?;
    must(!settled, || "a batch of another tenant is said to be settled".to_owned())
}

pub(super) fn foreign_rows(room: &Room) -> Result<(), String> {
    let mut store = room.open_for("own")?;
    let foreign = state("foreign", "a");
    let asked = store.transact(batch_id(), vec![foreign.clone()], &mut |_, _| None);
    must(matches!(asked, Err(StoreFault::Refused(_))), || format!("a foreign row is loaded: {asked:?}"))?;
    let mut fold = one_step(|world, at| {
        world.put(foreign.clone(), counter(7));
        record("foreign", at).into_iter().collect()
    });
    let put = store.transact(batch_id(), Vec::new(), &mut fold);
    must(matches!(put, Err(StoreFault::Refused(_))), || format!("a foreign row is saved: {put:?}"))?;
    let mut reader = reader(store.as_ref())?;
    let size = reader.size().map_err(|fault| fault.to_string())?;
    must(size == 0, || "a refused batch left a record".to_owned())?;
    let found = look(room.open_for("foreign")?.as_mut(), &foreign)?;
    must(found.is_none(), || format!("a refused batch left {found:?} with another tenant"))
}
