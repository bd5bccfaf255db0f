//! Intents, effects and what they hold: I8, I11, I12, I18, I19, I20, I21, I22, I23, I24, I25.

use super::ledger::instant;
use super::{Broken, Entry, History};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Every step an intent may take. Written down here a second time, on purpose.
const STEPS: &[(&str, &[&str])] = &[
    ("READY", &["CLAIMED", "CANCELLED", "IN_DOUBT", "SUCCEEDED", "FAILED"]),
    ("CLAIMED", &["READY", "IN_FLIGHT", "CANCELLED", "IN_DOUBT", "SUCCEEDED"]),
    ("IN_FLIGHT", &["SUCCEEDED", "FAILED", "IN_DOUBT"]),
    ("IN_DOUBT", &["READY", "SUCCEEDED", "FAILED", "ABANDONED"]),
    ("HANDED_OUT", &["SUCCEEDED", "FAILED", "IN_DOUBT", "CANCELLED", "UNREPORTED", "ABANDONED"]),
    ("UNREPORTED", &["SUCCEEDED", "ABANDONED"]),
];

/// An entry that moves an intent: which, from where, to where.
fn moved(entry: &Entry) -> Option<(&str, &str, &str)> {
    if entry.text("/kind") == "intent_expired" {
        // Only what was never sent is called off by time, so it was ready or handed out; which, its decision says.
        return Some((entry.text("/result/intent"), "", "CANCELLED"));
    }
    let (intent, from, to) = (entry.text("/result/intent"), entry.text("/result/from"), entry.text("/result/state"));
    // What a worker reports that lost its claim is kept as evidence; where it says the same, nothing moves.
    if from == to && from == "SUCCEEDED" {
        return None;
    }
    let refused = matches!(entry.text("/verdict"), "REJECT" | "ESCALATE");
    (!refused && !intent.is_empty() && !from.is_empty() && !to.is_empty()).then_some((intent, from, to))
}

/// Where an accepted intent starts.
fn born(entry: &Entry) -> Option<(&str, &'static str)> {
    let id = entry.text("/intent/id");
    let state = if entry.text("/door/performer") == "runtime" { "READY" } else { "HANDED_OUT" };
    (entry.is_accept() && !id.is_empty()).then_some((id, state))
}

pub fn final_states(history: &History) -> BTreeMap<String, String> {
    let mut states = BTreeMap::new();
    for entry in &history.entries {
        if let Some((id, state)) = born(entry) {
            states.insert(id.to_owned(), state.to_owned());
        }
        if let Some((id, _, to)) = moved(entry) {
            states.insert(id.to_owned(), to.to_owned());
        }
    }
    states
}

/// I8: nothing is accepted after its time. I18 and I19: nothing is accepted or started behind a suspension. I23: only legal steps. I25: one owner per epoch.
pub fn intents(history: &History, broken: &mut Vec<Broken>) {
    let mut suspended = BTreeSet::new();
    let mut agents: BTreeMap<&str, &str> = BTreeMap::new();
    let mut states: BTreeMap<&str, &str> = BTreeMap::new();
    let mut epochs: BTreeMap<&str, i64> = BTreeMap::new();
    let mut started: BTreeSet<(&str, i64)> = BTreeSet::new();
    for entry in &history.entries {
        let (index, kind) = (entry.index, entry.text("/kind"));
        let restricted = entry.text("/verdict") == "ACCEPT" && !entry.text("/result/status").is_empty();
        if restricted && entry.text("/result/status") == "SUSPENDED" {
            suspended.insert(entry.text("/result/agent"));
        } else if restricted {
            suspended.remove(entry.text("/result/agent"));
        }
        let until = instant(entry.text("/proposal/valid_until"));
        if entry.is_accept() && until.is_some_and(|until| instant(entry.text("/at")) > Some(until)) {
            broken.push(("I8", format!("entry {index} accepts what was over")));
        }
        if entry.is_accept() && suspended.contains(entry.text("/agent")) {
            broken.push(("I18", format!("entry {index} accepts for a suspended agent")));
        }
        if let Some((intent, state)) = born(entry) {
            agents.insert(intent, entry.text("/agent"));
            if states.insert(intent, state).is_some() {
                broken.push(("I20", format!("entry {index} accepts intent {intent} again")));
            }
        }
        let Some((intent, from, to)) = moved(entry) else { continue };
        let before = states.insert(intent, to);
        let from = if kind == "intent_expired" { before.unwrap_or_default() } else { from };
        let legal = STEPS.iter().any(|(state, next)| *state == from && next.contains(&to));
        if !legal || before != Some(from) {
            broken.push(("I23", format!("entry {index} takes {intent} from {from} to {to}")));
        }
        let epoch = entry.number("/result/epoch");
        if kind == "claim" && epochs.insert(intent, epoch).is_some_and(|last| last >= epoch) {
            broken.push(("I25", format!("entry {index} claims {intent} under epoch {epoch} again")));
        }
        if kind == "start" {
            let epoch = entry.number("/command/epoch");
            if !started.insert((intent, epoch)) || epochs.get(intent) != Some(&epoch) {
                broken
                    .push(("I25", format!("entry {index} starts {intent} under epoch {epoch}, which is not its own")));
            }
            if agents.get(intent).is_some_and(|agent| suspended.contains(agent)) {
                broken.push(("I19", format!("entry {index} starts {intent} of a suspended agent")));
            }
        }
    }
}

/// I20: every effect was accepted and started as it is. I21: once. I22: the ledger tells the truth about it.
pub fn effects(history: &History, broken: &mut Vec<Broken>) {
    let mut attempts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut starts = BTreeSet::new();
    // What a person said is a person's word, not the runtime's.
    let mut people = BTreeSet::new();
    let (mut accepted, mut by_http) = (BTreeSet::new(), BTreeSet::new());
    for entry in &history.entries {
        let intent = entry.text("/result/intent");
        match entry.text("/kind") {
            "start" if entry.text("/verdict") == "ACCEPT" => {
                starts.insert((intent, entry.number("/result/epoch")));
                attempts.entry(intent).or_default().insert(entry.text("/command/attempt"));
            }
            "resolve" | "settle" => {
                people.insert(intent);
            }
            _ => {}
        }
        if let Some((intent, _)) = born(entry) {
            accepted.insert(intent);
            if entry.body.pointer("/intent/run").is_some_and(|run| !run.is_null()) {
                by_http.insert(intent);
            }
        }
    }
    for (intent, attempts) in attempts.iter().filter(|(_, attempts)| attempts.len() > 1) {
        broken.push(("I20", format!("{intent} was started as {attempts:?}")));
    }
    let (mut counts, mut seen) = (BTreeMap::<&str, u32>::new(), BTreeSet::new());
    for effect in &history.effects {
        let intent = effect.intent.as_str();
        seen.insert(intent);
        if !accepted.contains(intent) || !starts.contains(&(intent, i64::try_from(effect.fence).unwrap_or(-1))) {
            broken.push(("I20", format!("an effect of {intent} under epoch {} that was never started", effect.fence)));
        }
        let count = counts.entry(&effect.key).or_default();
        *count += 1;
        if *count > 1 && !people.contains(intent) {
            broken.push(("I21", format!("{intent} happened {count} times")));
        }
    }
    for (intent, state) in final_states(history) {
        let (happened, told) = (seen.contains(intent.as_str()), people.contains(intent.as_str()));
        let wrong = match state.as_str() {
            "SUCCEEDED" => !happened,
            "FAILED" | "CANCELLED" => happened,
            _ => false,
        };
        if wrong && !told && by_http.contains(intent.as_str()) {
            broken.push(("I22", format!("{intent} is {state}, and the provider's log says happened: {happened}")));
        }
    }
}

/// I24: every intent has ended, or is in doubt and a person was asked what happened.
pub fn settled(history: &History, broken: &mut Vec<Broken>) {
    let mut asked: BTreeMap<&str, bool> = BTreeMap::new();
    for entry in &history.entries {
        if let Some((intent, _, _)) = moved(entry) {
            asked.insert(intent, !entry.text("/result/question").is_empty());
        }
    }
    for (intent, state) in final_states(history) {
        let is_asked = asked.get(intent.as_str()).copied().unwrap_or(false);
        let ended = matches!(state.as_str(), "SUCCEEDED" | "FAILED" | "CANCELLED" | "ABANDONED");
        let waits = state == "IN_DOUBT" && is_asked;
        if !ended && !waits {
            broken.push(("I24", format!("{intent} was left {state}, and nobody was asked")));
        }
    }
}

/// I11: never more held and used than there is. I12: the store's counters are the sums.
pub fn capacity(history: &History, broken: &mut Vec<Broken>) {
    let mut capacities: BTreeMap<String, i64> = BTreeMap::new();
    let mut holds: BTreeMap<&str, Vec<(String, i64)>> = BTreeMap::new();
    let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for entry in &history.entries {
        let declared = entry.body.pointer("/command/contract/resources").and_then(Value::as_object);
        for (name, resource) in declared.into_iter().flatten() {
            capacities.insert(name.clone(), resource["capacity"].as_i64().unwrap_or(i64::MAX));
        }
        if let Some((intent, _)) = born(entry) {
            let held = entry.body.pointer("/intent/holds").and_then(Value::as_array).into_iter().flatten();
            let held = held.map(|hold| {
                (hold["resource"].as_str().unwrap_or_default().to_owned(), hold["amount"].as_i64().unwrap_or(0))
            });
            let held: Vec<(String, i64)> = held.collect();
            for (resource, amount) in &held {
                sums.entry(resource.clone()).or_default().0 += amount;
            }
            holds.insert(intent, held);
        }
        if let Some((intent, _, to)) = moved(entry)
            && matches!(to, "SUCCEEDED" | "FAILED" | "CANCELLED" | "ABANDONED")
        {
            for (resource, amount) in holds.remove(intent).unwrap_or_default() {
                let sum = sums.entry(resource).or_default();
                sum.0 -= amount;
                sum.1 += if to == "SUCCEEDED" { amount } else { 0 };
            }
        }
        for (resource, (held, used)) in &sums {
            if *held < 0 || capacities.get(resource).is_some_and(|capacity| held + used > *capacity) {
                broken
                    .push(("I11", format!("after entry {} of {resource} {held} is held and {used} used", entry.index)));
            }
        }
    }
    for (resource, counted) in &history.counters {
        if sums.get(resource).copied().unwrap_or_default() != *counted {
            broken.push((
                "I12",
                format!("the store counts {counted:?} of {resource}; the ledger adds up to {:?}", sums.get(resource)),
            ));
        }
    }
}
