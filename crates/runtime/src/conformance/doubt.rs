//! Commits whose answer was lost: whether they happened can be asked, and asking is enough to do them once.

use super::Room;
use super::samples::{batch_id, count, increment, look, must, record, state_key, transact};

pub(super) fn settled_is_known(room: &Room) -> Result<(), String> {
    let mut first = room.open()?;
    let mut second = room.open()?;
    let here = state_key("here");
    let keys = [here.clone()];
    let mut previous = None;
    for round in 0..3 {
        let batch = batch_id();
        for (store, batch) in [(&mut first, batch), (&mut second, batch_id())] {
            transact(store.as_mut(), batch, &keys, &mut |world, at| {
                increment(world, &here);
                record("settled", at).into_iter().collect()
            })?;
        }
        must(Some(batch) != previous, || "two batches have one id".to_owned())?;
        previous = Some(batch);
        let settled = first.has_settled(batch).map_err(|fault| fault.to_string())?;
        must(settled, || format!("round {round}: a committed batch is said not to be settled"))?;
        let settled = first.has_settled(batch_id()).map_err(|fault| fault.to_string())?;
        must(!settled, || format!("round {round}: a batch nobody made is said to be settled"))?;
    }
    Ok(())
}

/// What a writer does that lost the answer: ask, and do the batch again only if it did not happen.
pub(super) fn applied_once(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let here = state_key("here");
    let keys = [here.clone()];
    for round in 1..=5_u64 {
        let batch = batch_id();
        let mut attempts = 0;
        while attempts < 3 && (attempts == 0 || !store.has_settled(batch).map_err(|fault| fault.to_string())?) {
            attempts += 1;
            transact(store.as_mut(), batch, &keys, &mut |world, at| {
                increment(world, &here);
                record("once", at).into_iter().collect()
            })?;
        }
        let value = count(look(store.as_mut(), &here)?.as_ref());
        must(value == round, || format!("{round} batches were applied {value} times"))?;
    }
    let size = store.reader().and_then(|mut reader| reader.size()).map_err(|fault| fault.to_string())?;
    must(size == 5, || format!("5 batches left {size} records"))
}
