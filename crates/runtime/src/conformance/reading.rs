//! Ranges: by name, and by what is due.

use super::Room;
use super::samples::{asked, at, change, counter, intent, key, key_of, must, put, question, state_key};
use crate::ports::store::StoreFault;
use kernel::contract::Impact;
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::intent::IntentState;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Entity, FlowRow, Key, Loaded, Row};
use values::time::Instant;

/// More than one look loads.
const INTENTS: i64 = 70;

/// The intents of a check: made out of order, two at each instant.
fn waiting(number: i64) -> (Key, Row) {
    let scattered = number * 37 % INTENTS;
    let name = format!("i{scattered:02}");
    (key(Entity::Intent(name)), intent(IntentState::Ready, at(100 + scattered / 2)))
}

/// Puts a row of another tenant.
fn elsewhere(room: &Room, entity: Entity, row: &Row) -> Result<(), String> {
    put(room.open_for("other")?.as_mut(), &key_of("other", entity), row).map(|_| ())
}

pub(super) fn due_intents(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    change(store.as_mut(), &[], "many", &mut |world, _| {
        for number in 0..INTENTS {
            let (key, row) = waiting(number);
            world.put(key, row);
        }
        world.put(key(Entity::Intent("a-done".to_owned())), intent(IntentState::Succeeded, at(1)));
    })?;
    elsewhere(room, Entity::Intent("a-other".to_owned()), &intent(IntentState::Ready, at(1)))?;
    // The third is over: it leaves the range, and the others move up.
    let third = key(Entity::Intent("i02".to_owned()));
    put(store.as_mut(), &third, &intent(IntentState::Cancelled, at(101)))?;
    let expected: Vec<String> =
        (0..INTENTS).map(|number| format!("i{number:02}")).filter(|name| name != "i02").take(DUE_INTENTS_MAX).collect();
    for store in [&mut store, &mut room.open()?] {
        let range = key(Entity::DueIntents);
        let mut problem = Some("the range was not loaded".to_owned());
        change(store.as_mut(), std::slice::from_ref(&range), "look", &mut |world, _| {
            let Some(names) = world.due_intents(&range.tenant) else { return };
            let row_of = |name: &String| world.get(&key(Entity::Intent(name.clone())));
            problem = if names != expected {
                Some(format!("the range is {names:?}"))
            } else if !names.iter().all(|name| matches!(row_of(name), Loaded::Present(Row::Intent(_)))) {
                Some("an intent of the range was not loaded with it".to_owned())
            } else if row_of(&"i69".to_owned()) != Loaded::NotLoaded {
                Some("an intent beyond the range was loaded with it".to_owned())
            } else {
                None
            };
        })?;
        must(problem.is_none(), || problem.unwrap_or_default())?;
    }
    Ok(())
}

pub(super) fn scan(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    // Names that continue each other, blanks, and letters beyond ASCII, in the order of their bytes.
    let mut names: Vec<String> = ["a", "a b", "a.", "ab", "b", "z", "é"].map(str::to_owned).to_vec();
    names.extend((0..20).map(|number| format!("n{number:02}")));
    names.sort();
    let flow = Row::Flow(FlowRow { agent: "bot".to_owned(), ..FlowRow::default() });
    change(store.as_mut(), &[], "many", &mut |world, _| {
        for name in names.iter().rev() {
            world.put(key(Entity::Flow(name.clone())), flow.clone());
        }
    })?;
    elsewhere(room, Entity::Flow("aa".to_owned()), &flow)?;
    put(store.as_mut(), &state_key("aaa"), &counter(1))?;
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().map(String::as_str);
        let page = reader.scan(Kind::Flow, after, 10).map_err(|fault| fault.to_string())?;
        must(page.len() <= 10, || format!("a page of 10 has {} rows", page.len()))?;
        must(page.iter().all(|(_, row)| *row == flow), || "a scan changed a row".to_owned())?;
        if page.is_empty() {
            break;
        }
        found.extend(page.into_iter().map(|(key, _)| key.entity.parts().0.to_owned()));
        must(found.len() <= names.len(), || format!("a scan found too much: {found:?}"))?;
    }
    must(found == names, || format!("a scan found {found:?}"))?;
    for kind in [Kind::Idempotency, Kind::Session] {
        let none = reader.scan(kind, None, 10).map_err(|fault| fault.to_string())?;
        must(none.is_empty(), || format!("a scan of {} found {none:?}", kind.word()))?;
    }
    Ok(())
}

pub(super) fn due(room: &Room) -> Result<(), String> {
    let mut store = room.open()?;
    change(store.as_mut(), &[], "many", &mut |world, _| {
        for (name, micros) in [("late", 30_i64), ("soon", 10), ("same", 10), ("then", 20)] {
            world.put(key(Entity::Escalation(name.to_owned())), question(EscalationState::Open, at(micros)));
            world.put(key(Entity::Intent(name.to_owned())), intent(IntentState::Ready, at(micros)));
        }
        world.put(key(Entity::Escalation("over".to_owned())), question(EscalationState::Aborted, at(1)));
        world.put(state_key("never"), counter(1));
    })?;
    elsewhere(room, Entity::Escalation("x".to_owned()), &question(EscalationState::Open, at(1)))?;
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let mut names = |kind, until, limit| -> Result<Vec<String>, String> {
        let found = reader.due(kind, at(until), limit).map_err(|fault| fault.to_string())?;
        Ok(found.into_iter().map(|(key, _)| key.entity.parts().0.to_owned()).collect())
    };
    for kind in [Kind::Escalation, Kind::Intent] {
        for (until, limit, expected) in [
            (9, 9, vec![]),
            (10, 9, vec!["same", "soon"]),
            (29, 2, vec!["same", "soon"]),
            (30, 9, vec!["same", "soon", "then", "late"]),
        ] {
            let found = names(kind, until, limit)?;
            must(found == expected, || format!("{} due until {until}: {found:?}", kind.word()))?;
        }
    }
    let none = names(Kind::State, i64::MAX / 4, 9)?;
    must(none.is_empty(), || format!("state is due: {none:?}"))
}

/// A question of an agent, asked at an instant.
fn asked_by(agent: &str, impact: Impact, since: i64, state: EscalationState, due: i64) -> Row {
    let row = asked(state, at(due));
    Row::Escalation(Box::new(EscalationRow { agent: agent.to_owned(), impact, asked_at: at(since), ..row }))
}

fn names(found: Result<Vec<(Key, Row)>, StoreFault>) -> Result<Vec<String>, String> {
    let found = found.map_err(|fault| fault.to_string())?;
    Ok(found.into_iter().map(|(key, _)| key.entity.parts().0.to_owned()).collect())
}

pub(super) fn questions(room: &Room) -> Result<(), String> {
    use EscalationState::{Aborted, Open};
    let mut store = room.open()?;
    let rows = [
        ("same-b", "bot", Impact::High, 5, Open, 40),
        ("old", "bot", Impact::High, 1, Open, 30),
        ("same-a", "other", Impact::High, 5, Open, 20),
        ("low", "bot", Impact::Low, 2, Open, 10),
        ("new", "bot", Impact::High, 12, Open, 50),
        ("over", "bot", Impact::High, 3, Aborted, 5),
        ("ends", "bot", Impact::High, 4, Open, 5),
    ];
    change(store.as_mut(), &[], "many", &mut |world, _| {
        for (name, agent, impact, since, state, due) in rows {
            world.put(key(Entity::Escalation(name.to_owned())), asked_by(agent, impact, since, state, due));
        }
    })?;
    // What ends leaves the open ones, and what is reminded of stays where it was.
    put(store.as_mut(), &key(Entity::Escalation("ends".to_owned())), &asked_by("bot", Impact::High, 4, Aborted, 5))?;
    put(store.as_mut(), &key(Entity::Escalation("old".to_owned())), &asked_by("bot", Impact::High, 1, Open, 60))?;
    elsewhere(room, Entity::Escalation("x".to_owned()), &asked_by("bot", Impact::High, 2, Open, 1))?;
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    for (impact, behind, limit, expected) in [
        (Impact::High, (i64::MIN, ""), 9, vec!["old", "same-a", "same-b", "new"]),
        (Impact::High, (i64::MIN, ""), 2, vec!["old", "same-a"]),
        (Impact::High, (5, ""), 9, vec!["same-a", "same-b", "new"]),
        (Impact::High, (5, "same-a"), 9, vec!["same-b", "new"]),
        (Impact::High, (12, "new"), 9, vec![]),
        (Impact::Low, (i64::MIN, ""), 9, vec!["low"]),
        (Impact::Medium, (i64::MIN, ""), 9, vec![]),
    ] {
        let place = if behind.0 == i64::MIN { Instant::from_micros(i64::MIN) } else { at(behind.0) };
        let found = names(reader.open_questions(impact, (place, behind.1), limit))?;
        must(found == expected, || format!("open with {} behind {behind:?}: {found:?}", impact.word()))?;
    }
    for (agent, after, limit, expected) in [
        ("bot", None, 9, vec!["ends", "low", "new", "old", "over", "same-b"]),
        ("bot", Some("low"), 2, vec!["new", "old"]),
        ("bot", Some("lo"), 1, vec!["low"]),
        ("other", None, 9, vec!["same-a"]),
        ("bo", None, 9, vec![]),
    ] {
        let found = names(reader.questions_of(agent, after, limit))?;
        must(found == expected, || format!("questions of {agent} after {after:?}: {found:?}"))?;
    }
    for (agent, until, limit, expected) in [
        ("bot", 49, 9, vec!["low", "same-b"]),
        ("bot", 99, 3, vec!["low", "same-b", "new"]),
        ("bot", 9, 9, vec![]),
        ("other", 99, 9, vec!["same-a"]),
    ] {
        let found = names(reader.due_questions_of(agent, at(until), limit))?;
        must(found == expected, || format!("questions of {agent} due until {until}: {found:?}"))?;
    }
    Ok(())
}
