//! How our command line gets into a host's configuration, and out again. Foreign entries stay as they are.

use super::wrapper::{self, MARK};
use crate::hooks::{Event, Host};
use anyhow::Context;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file of a host below a base: a workspace or a home. `None` where a host has none there.
pub fn file(host: Host, base: &Path, of_user: bool) -> Option<PathBuf> {
    let name = match host {
        Host::ClaudeCode => ".claude/settings.json",
        Host::Codex => ".codex/config.toml",
        Host::Cursor => ".cursor/hooks.json",
        Host::Gemini => ".gemini/settings.json",
        Host::Qwen => ".qwen/settings.json",
        Host::Copilot if of_user => return None,
        Host::Copilot => ".github/hooks/writkeeper.json",
    };
    Some(base.join(name))
}

/// The moments of a host that are wired, by the host's names.
pub fn moments(host: Host) -> &'static [(&'static str, Event)] {
    match host {
        Host::ClaudeCode | Host::Codex | Host::Qwen => &[
            ("PreToolUse", Event::PreTool),
            ("PostToolUse", Event::PostTool),
            ("Stop", Event::Stop),
            ("SessionStart", Event::SessionStart),
            ("UserPromptSubmit", Event::Prompt),
        ],
        Host::Gemini => &[
            ("BeforeTool", Event::PreTool),
            ("AfterTool", Event::PostTool),
            ("AfterAgent", Event::Stop),
            ("SessionStart", Event::SessionStart),
            ("BeforeAgent", Event::Prompt),
        ],
        Host::Cursor => &[
            ("beforeShellExecution", Event::PreTool),
            ("beforeMCPExecution", Event::PreTool),
            ("beforeReadFile", Event::PreTool),
            ("preToolUse", Event::PreTool),
            ("afterShellExecution", Event::PostTool),
            ("afterMCPExecution", Event::PostTool),
            ("afterFileEdit", Event::PostTool),
            ("stop", Event::Stop),
            ("beforeSubmitPrompt", Event::Prompt),
        ],
        Host::Copilot => &[
            ("preToolUse", Event::PreTool),
            ("postToolUse", Event::PostTool),
            ("agentStop", Event::Stop),
            ("sessionStart", Event::SessionStart),
            ("userPromptSubmitted", Event::Prompt),
        ],
    }
}

/// Where the command line comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The binary.
    pub binary: PathBuf,
    /// The guard's folder.
    pub guard: PathBuf,
    /// Whether failures let calls run.
    pub observe: bool,
}

impl Source {
    /// The command line for a moment.
    pub fn command(&self, host: Host, event: Event) -> String {
        wrapper::command(&self.binary, &self.guard, host, event, self.observe)
    }
}

/// The configuration with our entries (or without them, if there is no source).
pub fn wired(host: Host, old: &str, source: Option<&Source>) -> anyhow::Result<String> {
    if host == Host::Codex {
        return Ok(toml(host, old, source));
    }
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
        for (moment, event) in moments(host) {
            let entries = hooks.entry(*moment).or_insert_with(|| json!([]));
            let entries = entries.as_array_mut().with_context(|| format!("`hooks.{moment}` is not a list"))?;
            entries.push(entry(host, moment, *event, source));
        }
    }
    if !hooks.is_empty() {
        if matches!(host, Host::Cursor | Host::Copilot) {
            root.entry("version").or_insert_with(|| json!(1));
        }
        root.insert("hooks".to_owned(), Value::Object(hooks));
    } else {
        root.shift_remove("hooks");
        if matches!(host, Host::Cursor | Host::Copilot) && root.len() == 1 {
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

fn entry(host: Host, moment: &str, event: Event, source: &Source) -> Value {
    let command = source.command(host, event);
    let seconds = wrapper::host_timeout(event);
    let blocks = event == Event::PreTool && !source.observe;
    match host {
        Host::ClaudeCode | Host::Codex => {
            let mut hook = json!({ "type": "command", "command": command, "timeout": seconds });
            if let (true, Some(hook)) = (blocks, hook.as_object_mut()) {
                // Where the host knows it, even the death of the command line itself blocks.
                hook.insert("onFailure".to_owned(), json!("block"));
            }
            json!({ "hooks": [hook] })
        }
        Host::Gemini | Host::Qwen => {
            let milliseconds = u64::from(seconds) * 1000;
            json!({ "hooks": [{ "name": "writkeeper", "type": "command", "command": command, "timeout": milliseconds }] })
        }
        Host::Cursor => {
            let mut hook = json!({ "command": command, "timeout": seconds });
            if let Some(hook) = hook.as_object_mut() {
                if blocks {
                    hook.insert("failClosed".to_owned(), json!(true));
                }
                if moment == "preToolUse" {
                    // Commands and MCP tools have moments of their own, at which a person can be asked.
                    hook.insert("matcher".to_owned(), json!("^(?!Shell$|MCP:|Read$).*"));
                }
            }
            hook
        }
        Host::Copilot => json!({ "type": "command", "bash": command, "timeoutSec": seconds }),
    }
}

/// Whether an entry, or something inside of it, is ours.
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
            // Somebody may have moved our command into a group of their own.
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

const FENCE_BEGIN: &str = "# >>> writkeeper guard, written by `writkeeper init`";
const FENCE_END: &str = "# <<< writkeeper guard";

/// Tables between two comments; the switch for hooks goes into the table that holds such switches.
fn toml(host: Host, old: &str, source: Option<&Source>) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in old.lines() {
        match line.trim() {
            FENCE_BEGIN => inside = true,
            FENCE_END => inside = false,
            "hooks = true # writkeeper guard" => {}
            _ if inside => {}
            _ => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    let kept = kept.trim_end().to_owned();
    let Some(source) = source else { return if kept.is_empty() { kept } else { format!("{kept}\n") } };
    let has_features = kept.lines().any(|line| line.trim() == "[features]");
    let mut text: String = kept.lines().fold(String::new(), |text, line| {
        let switch = if line.trim() == "[features]" { "\nhooks = true # writkeeper guard" } else { "" };
        format!("{text}{line}{switch}\n")
    });
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(FENCE_BEGIN);
    text.push('\n');
    if !has_features {
        text.push_str("[features]\nhooks = true\n\n");
    }
    for (moment, event) in moments(host) {
        let command = source.command(host, *event);
        let seconds = wrapper::host_timeout(*event);
        // Texts of TOML know the escapes of JSON.
        let quoted = Value::String(command);
        text.push_str(&format!(
            "[[hooks.{moment}]]\n[[hooks.{moment}.hooks]]\ntype = \"command\"\ntimeout = {seconds}\ncommand = {quoted}\n\n"
        ));
    }
    text.push_str(FENCE_END);
    text.push('\n');
    text
}

/// What else than the command line was changed about our entries, by moment: whom they are for, how long the host waits.
pub fn changed(host: Host, text: &str, source: &Source) -> Vec<(String, Vec<String>)> {
    if host == Host::Codex {
        let plain = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim).skip_while(|line| *line != FENCE_BEGIN);
            let lines = lines.take_while(|line| *line != FENCE_END).filter(|line| !line.starts_with("command = "));
            lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        let is_same = plain(text) == plain(&toml(host, text, Some(source)));
        return if is_same {
            Vec::new()
        } else {
            vec![("hooks".to_owned(), vec!["what stands between the marks".to_owned()])]
        };
    }
    let Ok(document) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let mut changed = Vec::new();
    for (moment, event) in moments(host) {
        let entries = document.pointer(&format!("/hooks/{moment}")).and_then(Value::as_array);
        let Some(ours) = entries.and_then(|entries| entries.iter().find(|entry| is_ours(entry))) else { continue };
        let (expected, found) = (members(&entry(host, moment, *event, source)), members(ours));
        let names = expected.keys().chain(found.keys()).collect::<BTreeSet<_>>();
        let differing = names.into_iter().filter(|name| expected.get(*name) != found.get(*name));
        let words: Vec<String> = differing.filter(|name| !is_command(name)).cloned().collect();
        if !words.is_empty() {
            changed.push(((*moment).to_owned(), words));
        }
    }
    changed
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

/// The command lines of ours that a configuration holds, by moment.
pub fn found(host: Host, text: &str) -> Vec<(String, String)> {
    if host == Host::Codex {
        return found_in_toml(text);
    }
    let Ok(document) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let Some(hooks) = document.get("hooks").and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    for (moment, entries) in hooks {
        let mut texts = Vec::new();
        collect(entries, &mut texts);
        found.extend(texts.into_iter().filter(|text| text.contains(MARK)).map(|text| (moment.clone(), text)));
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

fn found_in_toml(text: &str) -> Vec<(String, String)> {
    let mut moment = String::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("[[hooks.").and_then(|rest| rest.strip_suffix("]]")) {
            moment = name.split('.').next().unwrap_or(name).to_owned();
        } else if let Some(command) =
            line.strip_prefix("command = ").and_then(|text| serde_json::from_str::<String>(text).ok())
            && command.contains(MARK)
        {
            found.push((moment.clone(), command));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source { binary: "/opt/it's/writkeeper".into(), guard: "/w/.writkeeper".into(), observe: false }
    }

    #[test]
    fn wiring_twice_changes_nothing_and_undoing_brings_back_what_was() {
        let foreign = r#"{"model":"m","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine"}]}],"preToolUse":[{"command":"mine"}],"BeforeTool":[{"hooks":[{"command":"mine"}]}]}}"#;
        for host in Host::ALL.into_iter().filter(|host| *host != Host::Codex) {
            for old in ["", "{}", foreign] {
                let once = wired(host, old, Some(&source())).unwrap_or_default();
                let twice = wired(host, &once, Some(&source())).unwrap_or_default();
                assert_eq!(once, twice, "{host:?}");
                assert_eq!(found(host, &once).len(), moments(host).len(), "{host:?}");
                let undone = wired(host, &once, None).unwrap_or_default();
                let before: Value = serde_json::from_str(if old.is_empty() { "{}" } else { old }).unwrap_or_default();
                let mut after: Value =
                    serde_json::from_str(if undone.is_empty() { "{}" } else { &undone }).unwrap_or_default();
                if before.get("version").is_none() {
                    after.as_object_mut().map(|after| after.remove("version"));
                }
                assert_eq!(before, after, "{host:?}");
            }
        }
    }

    #[test]
    fn tables_are_fenced() {
        for old in [
            "",
            "model = \"m\"\n",
            "model = \"m\"\n[features]\nx = true\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'mine'\n",
        ] {
            let once = wired(Host::Codex, old, Some(&source())).unwrap_or_default();
            assert_eq!(once, wired(Host::Codex, &once, Some(&source())).unwrap_or_default());
            assert_eq!(found(Host::Codex, &once).len(), moments(Host::Codex).len());
            assert_eq!(wired(Host::Codex, &once, None).unwrap_or_default(), old);
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        assert!(wired(Host::ClaudeCode, "{ // comment\n}", Some(&source())).is_err());
        assert!(wired(Host::ClaudeCode, r#"{"hooks":[]}"#, Some(&source())).is_err());
    }
}
