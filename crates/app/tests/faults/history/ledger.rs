//! Decisions and the ledger: I1, I2, I3, I4, I7.

use super::{Broken, History};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// I2: no hole and no repeat. I1: leaves have the hashes of their tiles. I4: time does not run backwards.
pub fn entries(history: &History, broken: &mut Vec<Broken>) {
    if history.size != history.entries.len() as u64 {
        broken.push(("I2", format!("{} entries where {} are stated", history.entries.len(), history.size)));
    }
    let mut last = history.bounds.0;
    for (place, entry) in history.entries.iter().enumerate() {
        if entry.index != place as u64 {
            broken.push(("I2", format!("entry {} stands at {place}", entry.index)));
        }
        let hash = Sha256::new().chain_update([0]).chain_update(entry.leaf.as_bytes()).finalize();
        if STANDARD.encode(hash) != entry.hash {
            broken.push(("I1", format!("the leaf of entry {place} does not have the hash its tile states")));
        }
        // A batch has one instant, so entries of one batch share it.
        match instant(entry.text("/at")) {
            // A declaration that something was lost is no decision and has no instant of its own.
            None if entry.text("/kind") == "discontinuity" => {}
            Some(at) if at >= last && at <= history.bounds.1 => last = at,
            at => broken.push((
                "I4",
                format!("entry {place} was decided at {at:?}, not between {last} and {}", history.bounds.1),
            )),
        }
    }
}

/// I1: whatever was answered stands in the ledger once, with that verdict.
pub fn answers(history: &History, broken: &mut Vec<Broken>) {
    let mut decided: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in &history.entries {
        let verdict = match entry.text("/kind") {
            "decision" => entry.text("/verdict"),
            // It was not understood, so there is no more to say about it.
            "refusal" => "REJECT",
            _ => continue,
        };
        decided.entry(entry.text("/proposal_id")).or_default().push(verdict);
    }
    for (id, verdicts) in &decided {
        if verdicts.len() > 1 {
            broken.push(("I1", format!("proposal {id} was decided {} times", verdicts.len())));
        }
    }
    for call in answered(history) {
        let response = response(call);
        let (id, verdict) = (response["id"].as_str().unwrap_or_default(), response["verdict"].as_str());
        if decided.get(id).and_then(|verdicts| verdicts.first().copied()) != verdict {
            broken.push(("I1", format!("{call} was answered, and the ledger has {:?}", decided.get(id))));
        }
    }
}

/// I3: what was answered before a call began stands before what the call led to.
pub fn real_time(history: &History, broken: &mut Vec<Broken>) {
    let places: BTreeMap<&str, u64> = history
        .entries
        .iter()
        .filter(|entry| matches!(entry.text("/kind"), "decision" | "refusal"))
        .map(|entry| (entry.text("/proposal_id"), entry.index))
        .collect();
    // A key that is asked for again is answered from where it stood, so only its first call says when it began.
    let mut begun: BTreeMap<String, i64> = BTreeMap::new();
    let (mut returns, mut ids) = (Vec::new(), BTreeMap::new());
    for call in &history.calls {
        let (key, began) = (call["key"].to_string(), call["t_inv"].as_i64().unwrap_or(0));
        let first = begun.entry(key.clone()).or_insert(began);
        *first = began.min(*first);
        if let Some(ended) = call["t_ret"].as_i64().filter(|_| call["status"] != "unknown")
            && let Some(place) = places.get(response(call)["id"].as_str().unwrap_or_default())
        {
            returns.push((ended, *place));
            ids.insert((key, *place), ended);
        }
    }
    returns.sort_unstable();
    let mut begins: Vec<(i64, u64)> = ids.keys().map(|(key, place)| (begun[key], *place)).collect();
    begins.sort_unstable();
    let (mut next, mut highest) = (0, None);
    for (began, place) in begins {
        while let Some((_, earlier)) = returns.get(next).filter(|(ended, _)| *ended < began) {
            highest = highest.max(Some(*earlier));
            next += 1;
        }
        if highest.is_some_and(|highest| place <= highest) {
            broken.push(("I3", format!("entry {place} began at {began}, after entry {highest:?} was answered")));
        }
    }
}

/// I7: one key and the same arguments are one answer; other arguments are refused.
pub fn keys(history: &History, broken: &mut Vec<Broken>) {
    let mut said: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut accepted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for call in answered(history) {
        let text = |name: &str| call[name].as_str().unwrap_or_default();
        let (key, args, bytes) = (text("key"), text("args"), text("response"));
        if *said.entry((key, args)).or_insert(bytes) != bytes {
            broken.push(("I7", format!("key `{key}` was answered in two ways")));
        }
        if response(call)["reasons"][0] != "IDEMPOTENCY_KEY_REUSED" && accepted.entry(key).or_default().insert(args) {
            let args = &accepted[key];
            if args.len() > 1 {
                broken.push(("I7", format!("key `{key}` was taken for {args:?}")));
            }
        }
    }
    let mut decided: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &history.entries {
        let key = entry.text("/proposal/idempotency_key");
        let reused = entry.text("/findings/0/code") == "IDEMPOTENCY_KEY_REUSED";
        if entry.text("/kind") == "decision" && !key.is_empty() && !reused {
            let count = decided.entry(key).or_default();
            *count += 1;
            if *count == 2 {
                broken.push(("I7", format!("key `{key}` was decided twice")));
            }
        }
    }
}

fn answered(history: &History) -> impl Iterator<Item = &Value> {
    history.calls.iter().filter(|call| call["status"] != "unknown")
}

fn response(call: &Value) -> Value {
    serde_json::from_str(call["response"].as_str().unwrap_or("null")).unwrap_or(Value::Null)
}

/// Microseconds since 1970 of `2026-11-16T05:33:46.794347Z`.
pub fn instant(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers =
        |text: &str, by: char| text.split(by).map(|part| part.parse::<i64>().ok()).collect::<Option<Vec<_>>>();
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let (date, clock) = (numbers(date, '-')?, numbers(clock, ':')?);
    let ([year, month, day], [hour, minute, second]) =
        (<[i64; 3]>::try_from(date).ok()?, <[i64; 3]>::try_from(clock).ok()?);
    let micros: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    // Counted from the first of March, so that a leap day is the last of its year.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros)
}
