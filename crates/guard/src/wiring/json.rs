//! Our entries in a JSON file: a list for each moment, under the member `hooks`.

use super::{OurEntry, Source, entry_of};
use crate::hooks::Host;
use crate::hooks::dialect::HookEntry;
use crate::wrapper::MARK;
use anyhow::Context;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How a host writes one entry.
type WriteEntry = fn(&HookEntry<'_>) -> Value;

/// The file with our entries, or without them if there is no source.
pub fn wired(
    host: Host,
    version: Option<u32>,
    entry: WriteEntry,
    old: &str,
    source: Option<&Source>,
) -> anyhow::Result<String> {
    let mut document: Value = if old.trim().is_empty() { json!({}) } else { read(old)? };
    let before = document.clone();
    let root = document.as_object_mut().context("it is not an object")?;
    // Taken out and put back at its place: what a person put into an order stays in it.
    let mut hooks = match root.get_mut("hooks").map(std::mem::take) {
        Some(Value::Object(hooks)) => hooks,
        None => Map::new(),
        Some(_) => anyhow::bail!("`hooks` is not an object"),
    };
    remove_ours(&mut hooks);
    if let Some(source) = source {
        for (moment, event) in host.moments {
            let entries = hooks.entry(*moment).or_insert_with(|| json!([]));
            let entries = entries.as_array_mut().with_context(|| format!("`hooks.{moment}` is not a list"))?;
            entries.push(entry(&entry_of(host, moment, *event, source)));
        }
    }
    if !hooks.is_empty() {
        if let Some(version) = version {
            root.entry("version").or_insert_with(|| json!(version));
        }
        root.insert("hooks".to_owned(), Value::Object(hooks));
    } else {
        root.shift_remove("hooks");
        if version.is_some() && root.len() == 1 {
            root.shift_remove("version");
        }
    }
    if document == before {
        return Ok(old.to_owned());
    }
    if document.as_object().is_some_and(Map::is_empty) {
        return Ok(String::new());
    }
    pretty(&document, indent(old))
}

/// Our entries, in the order of the file.
pub fn entries(text: &str) -> Vec<OurEntry> {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let Some(hooks) = document.get("hooks").and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    for (moment, entries) in hooks {
        for entry in entries.as_array().into_iter().flatten() {
            let mut texts = Vec::new();
            collect(entry, &mut texts);
            let ours = texts.into_iter().filter(|text| text.contains(MARK));
            let entry = |command| OurEntry { moment: moment.clone(), command, value: entry.clone() };
            found.extend(ours.map(entry));
        }
    }
    found
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => members.values().for_each(|member| collect(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What else than the command line was changed about our entries, by moment.
pub fn changed(host: Host, entry: WriteEntry, text: &str, source: &Source) -> Vec<(String, Vec<String>)> {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let mut changed = Vec::new();
    for (moment, event) in host.moments {
        let entries = document.pointer(&format!("/hooks/{moment}")).and_then(Value::as_array);
        let Some(ours) = entries.and_then(|entries| entries.iter().find(|entry| is_ours(entry))) else { continue };
        let (expected, found) = (members(&entry(&entry_of(host, moment, *event, source))), members(ours));
        let names = expected.keys().chain(found.keys()).collect::<BTreeSet<_>>();
        let differing = names.into_iter().filter(|name| expected.get(*name) != found.get(*name));
        let words: Vec<String> = differing.filter(|name| !is_command(name)).cloned().collect();
        if !words.is_empty() {
            changed.push(((*moment).to_owned(), words));
        }
    }
    changed
}

fn read(text: &str) -> anyhow::Result<Value> {
    if text.starts_with('\u{feff}') {
        anyhow::bail!("it begins with a byte order mark, which hosts stumble over; save it as UTF-8 without one");
    }
    serde_json::from_str(text)
        .context("it is not plain JSON; comments and commas behind the last member cannot be kept, take them out")
}

/// What a person puts before a member of the outermost object.
fn indent(text: &str) -> &str {
    let starts = text.lines().map(|line| line.strip_suffix(line.trim_start()).unwrap_or_default());
    starts.into_iter().find(|start| !start.is_empty()).unwrap_or("  ")
}

fn pretty(document: &Value, indent: &str) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(document)?;
    // Texts of JSON hold no line ends, so what stands before a line is two spaces for each level.
    let lines = text.lines().map(|line| {
        let bare = line.trim_start();
        format!("{}{bare}\n", indent.repeat((line.len() - bare.len()) / 2))
    });
    Ok(lines.collect())
}

/// Whether an entry, or something inside it, is ours.
fn is_ours(entry: &Value) -> bool {
    match entry {
        Value::String(text) => text.contains(MARK),
        Value::Array(items) => items.iter().any(is_ours),
        Value::Object(members) => members.values().any(is_ours),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn remove_ours(hooks: &mut Map<String, Value>) {
    for entries in hooks.values_mut().filter_map(Value::as_array_mut) {
        for entry in entries.iter_mut() {
            // A person may have moved our command into a group of their own.
            if let Some(inner) = entry.get_mut("hooks").and_then(Value::as_array_mut) {
                let before = inner.len();
                inner.retain(|hook| !is_ours(hook));
                if inner.is_empty() && before > 0 {
                    *entry = Value::Null;
                }
            } else if is_ours(entry) {
                *entry = Value::Null;
            }
        }
        entries.retain(|entry| !entry.is_null());
    }
    hooks.retain(|_, entries| entries.as_array().is_none_or(|entries| !entries.is_empty()));
}

/// Members of an entry and of what it holds, by their names.
fn members(entry: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut places = vec![entry];
    while let Some(place) = places.pop() {
        match place {
            Value::Array(items) => places.extend(items),
            Value::Object(members) => {
                for (name, value) in members {
                    match value {
                        Value::Array(_) | Value::Object(_) => places.push(value),
                        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                            found.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

fn is_command(name: &str) -> bool {
    matches!(name, "command" | "bash")
}
