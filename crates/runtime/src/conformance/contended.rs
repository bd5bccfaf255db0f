//! Several handles at once: nothing lost, nothing stale, nobody stuck.

use super::Room;
use super::samples::{agent, batch_id, count, increment, key, look, must, name_of, put, record, state_key, transact};
use kernel::world::{Entity, Row};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use values::json::Json;

/// Long enough for all batches of a check; who is not done by then waits for ever.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Batches of each of the two handles.
const BATCHES: u64 = 60;

pub(super) fn no_update_is_lost(room: &Room) -> Result<(), String> {
    let keys = [state_key("a"), state_key("b")];
    let asked = keys.to_vec();
    let (done, finished) = mpsc::channel();
    for _ in 0..2 {
        let mut store = room.open()?;
        let (done, keys, asked) = (done.clone(), keys.clone(), asked.clone());
        thread::spawn(move || {
            let mut run = || -> Result<(), String> {
                for _ in 0..BATCHES {
                    transact(store.as_mut(), batch_id(), &asked, &mut |world, at| {
                        let values = keys.each_ref().map(|key| increment(world, key));
                        record(&format!("{values:?}"), at).into_iter().collect()
                    })?;
                }
                Ok(())
            };
            let _nobody_waits = done.send(run());
        });
    }
    for _ in 0..2 {
        finished.recv_timeout(WAIT_MAX).map_err(|_| "two handles wait for each other".to_owned())??;
    }
    let mut store = room.open()?;
    for key in &keys {
        let value = count(look(store.as_mut(), key)?.as_ref());
        must(value == 2 * BATCHES, || format!("{} increments became {value}", 2 * BATCHES))?;
    }
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let records = reader.records(0, 1000).map_err(|fault| fault.to_string())?;
    must(records.len() as u64 == 2 * BATCHES, || format!("{} batches left {} records", 2 * BATCHES, records.len()))?;
    for (value, record) in (1_u64..).zip(&records) {
        let said = record.body.as_ref().and_then(|(body, _)| name_of(body));
        let expected = format!("[{value}, {value}]");
        must(said.as_ref() == Some(&expected), || format!("the record of increment {value} says {said:?}"))?;
    }
    Ok(())
}

/// The agent's row names its contract: a handle that remembered either would judge by what no longer counts.
pub(super) fn never_stale(room: &Room) -> Result<(), String> {
    let mut first = room.open()?;
    let mut second = room.open()?;
    let bot = key(Entity::Agent("bot".to_owned()));
    let contract = key(Entity::Contract("digest".to_owned()));
    let pool = key(Entity::Resource("pool".to_owned()));
    let rules = |text: &str| Row::Contract(Arc::new(Json::text(text)));
    // Absence is remembered too.
    for key in [&bot, &contract, &pool] {
        must(look(second.as_mut(), key)?.is_none(), || "an empty store holds something".to_owned())?;
    }
    for because in ["one", "two", "three"] {
        put(first.as_mut(), &bot, &agent(because))?;
        put(first.as_mut(), &contract, &rules(because))?;
        for store in [&mut second, &mut first] {
            let seen = look(store.as_mut(), &bot)?;
            must(seen == Some(agent(because)), || format!("the agent is `{because}` and was loaded as {seen:?}"))?;
            let seen = look(store.as_mut(), &contract)?;
            must(seen == Some(rules(because)), || format!("the contract is `{because}` and was loaded as {seen:?}"))?;
        }
        let other = format!("{because} by the other");
        put(second.as_mut(), &bot, &agent(&other))?;
        let seen = look(first.as_mut(), &bot)?;
        must(seen == Some(agent(&other)), || format!("the agent is `{other}` and was loaded as {seen:?}"))?;
    }
    Ok(())
}
