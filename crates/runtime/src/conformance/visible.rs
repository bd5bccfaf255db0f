//! What is visible to whom, and when.

use super::Room;
use super::samples::{agent, batch_id, change, count, counter, increment, key, look, must, put, record, state_key};
use crate::conformance::samples::of_every_kind;
use kernel::world::{Entity, Key, Loaded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a reader that is not kept waiting.
const GLANCE: Duration = Duration::from_millis(50);

/// Long enough for anything here.
const WAIT_MAX: Duration = Duration::from_secs(20);

pub(super) fn absent_is_told_from_present(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let here = state_key("here");
    let gone = state_key("gone");
    must(look(store.as_mut(), &here)?.is_none(), || "an empty store holds something".to_owned())?;
    put(store.as_mut(), &here, &counter(3))?;
    must(look(store.as_mut(), &here)? == Some(counter(3)), || "what was put is not there".to_owned())?;
    must(look(store.as_mut(), &gone)?.is_none(), || "what was never put is there".to_owned())?;
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let read = |found: Result<_, crate::ports::store::StoreFault>| found.map_err(|fault| fault.to_string());
    must(read(reader.get(&here.entity))? == Some(counter(3)), || "a reader does not find it".to_owned())?;
    must(read(reader.get(&gone.entity))?.is_none(), || "a reader finds what was never put".to_owned())
}

pub(super) fn rows_of_every_kind(room: &Room) -> Result<(), String> {
    let rows = of_every_kind();
    let keys: Vec<Key> = rows.iter().map(|(key, _)| key.clone()).collect();
    let mut writer = room.open()?;
    change(writer.as_mut(), &keys, "all", &mut |world, _| {
        rows.iter().for_each(|(key, row)| world.put(key.clone(), row.clone()));
    })?;
    let mut other = room.open()?;
    let mut reader = other.reader().map_err(|fault| fault.to_string())?;
    for (key, row) in &rows {
        let same = |seen: Option<kernel::world::Row>| {
            must(seen.as_ref() == Some(row), || format!("{:?} was put as {row:?} and is {seen:?}", key.entity))
        };
        same(look(other.as_mut(), key)?)?;
        same(look(writer.as_mut(), key)?)?;
        same(reader.get(&key.entity).map_err(|fault| fault.to_string())?)?;
    }
    Ok(())
}

pub(super) fn exactly_the_keys_asked_for(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let [asked, other] = [key(Entity::Agent("asked".to_owned())), key(Entity::Agent("other".to_owned()))];
    let gone = key(Entity::Agent("gone".to_owned()));
    put(store.as_mut(), &asked, &agent("a"))?;
    put(store.as_mut(), &other, &agent("b"))?;
    let mut seen = String::new();
    change(store.as_mut(), &[asked.clone(), gone.clone()], "look", &mut |world, _| {
        let word = |key: &Key| match world.get(key) {
            Loaded::NotLoaded => "not loaded",
            Loaded::Absent => "absent",
            Loaded::Present(_) => "present",
        };
        seen = format!("asked {}, gone {}, other {}", word(&asked), word(&gone), word(&other));
    })?;
    must(seen == "asked present, gone absent, other not loaded", || seen.clone())
}

/// While a fold runs, a reader sees the state before it, or waits.
pub(super) fn nothing_before_the_commit(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let mut reader = room.open()?.reader().map_err(|fault| fault.to_string())?;
    let here = state_key("here");
    put(store.as_mut(), &here, &counter(1))?;
    let (ask, asked) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let watched = here.clone();
    let watcher = thread::spawn(move || {
        while asked.recv().is_ok() {
            let seen = reader.get(&watched.entity).map(|row| count(row.as_ref())).map_err(|fault| fault.to_string());
            if tell.send(seen).is_err() {
                return;
            }
        }
    });
    let mut early = None;
    change(store.as_mut(), std::slice::from_ref(&here), "two", &mut |world, _| {
        world.put(here.clone(), counter(2));
        let _gone = ask.send(());
        early = told.recv_timeout(GLANCE).ok();
    })?;
    if early.is_none() {
        // It was kept waiting, and that answer may be of before or after.
        told.recv_timeout(WAIT_MAX).map_err(|_| "a reader waited for ever".to_owned())??;
    }
    if let Some(seen) = early.transpose()? {
        must(seen == 1, || format!("during the fold a reader saw {seen}"))?;
    }
    let _gone = ask.send(());
    let after = told.recv_timeout(WAIT_MAX).map_err(|_| "a reader waited for ever".to_owned())??;
    drop(ask);
    let _panicked = watcher.join();
    must(after == 2, || format!("after the commit a reader saw {after}"))
}

/// Two rows and the ledger grow together: who has seen one of them sees at least as much of the others.
pub(super) fn at_once(room: &Room) -> Result<(), String> {
    const BATCHES: u64 = 40;
    let mut store = room.open()?;
    let mut reader = room.open()?.reader().map_err(|fault| fault.to_string())?;
    // One is saved first and the other last, whatever the order of saving.
    let keys = [key(Entity::State("a".to_owned())), key(Entity::State("z".to_owned()))];
    let [first, last] = keys.clone();
    let writer = thread::spawn(move || -> Result<(), String> {
        for _ in 0..BATCHES {
            change(store.as_mut(), &keys, "grow", &mut |world, _| {
                keys.iter().for_each(|key| {
                    increment(world, key);
                });
            })?;
        }
        Ok(())
    });
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        let is_last_look = writer.is_finished() || Instant::now() > deadline;
        let mut see =
            |key: &Key| reader.get(&key.entity).map(|row| count(row.as_ref())).map_err(|fault| fault.to_string());
        let seen = [see(&first)?, see(&last)?, see(&first)?];
        must(seen.is_sorted(), || format!("one batch was seen in parts: {seen:?}"))?;
        let rows = see(&last)?;
        let size = reader.size().map_err(|fault| fault.to_string())?;
        must(size >= rows, || format!("rows of batch {rows} were seen before its record ({size} records)"))?;
        let rows = reader.get(&first.entity).map(|row| count(row.as_ref())).map_err(|fault| fault.to_string())?;
        must(rows >= size, || format!("record {size} was seen before its rows ({rows} batches)"))?;
        if rows == BATCHES {
            break;
        }
        if is_last_look {
            return Err(format!("only {rows} of {BATCHES} batches became visible"));
        }
    }
    writer.join().unwrap_or_else(|_| Err("the writer panicked".to_owned()))
}

pub(super) fn nothing_after_a_panic(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    let keys = [key(Entity::Agent("bot".to_owned())), state_key("here")];
    let [bot, here] = &keys;
    put(store.as_mut(), bot, &agent("before"))?;
    put(store.as_mut(), here, &counter(1))?;
    let batch = batch_id();
    let asked = keys.to_vec();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        store.transact(batch, asked, &mut |world, at| {
            world.put(bot.clone(), agent("after"));
            world.put(here.clone(), counter(2));
            if record("lost", at).is_some() {
                // Not `panic!`, which would print a message that nobody needs.
                resume_unwind(Box::new("a fold that panics"));
            }
            None
        })
    }));
    must(panicked.is_err(), || "a panic was swallowed".to_owned())?;
    for store in [&mut store, &mut room.open()?] {
        must(look(store.as_mut(), bot)? == Some(agent("before")), || "a row of the lost batch is there".to_owned())?;
        must(look(store.as_mut(), here)? == Some(counter(1)), || "a row of the lost batch is there".to_owned())?;
        let size = store.reader().and_then(|mut reader| reader.size()).map_err(|fault| fault.to_string())?;
        must(size == 2, || format!("there are {size} records of 2"))?;
    }
    let settled = store.has_settled(batch).map_err(|fault| fault.to_string())?;
    must(!settled, || "the lost batch is said to be settled".to_owned())?;
    put(store.as_mut(), here, &counter(5)).map(|_| ())
}
