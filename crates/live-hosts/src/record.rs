//! What each host sends to its hooks, kept as fixtures: one file for each moment and tool, without what differs by run.

use crate::hosts::{Host, Trust};
use crate::model::Model;
use crate::outcome::{Outcome, Word};
use crate::places::{self, CACHE, WORKSPACE, mark};
use crate::process;
use crate::script::{Script, step};
use crate::site::Site;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the namespace leaves what it recorded, from the cache.
const FOLDER: &str = "recorded";

const PATIENCE: Duration = Duration::from_secs(120);

/// Members whose value is another one in each run.
const PASSING: &[(&str, &str)] = &[
    ("session_id", "live-session"),
    ("sessionId", "live-session"),
    ("turn_id", "live-turn"),
    ("prompt_id", "live-prompt"),
    ("tool_use_id", "live-call"),
    ("tool_call_id", "live-call"),
    ("agent_id", "live-agent"),
    ("agentId", "live-agent"),
    ("parentAgentId", "live-session"),
    ("transcript_path", "/dev/null"),
    ("transcriptPath", "/dev/null"),
    ("outputFile", "/dev/null"),
];

/// Plays one session in which everything is allowed, and keeps every payload.
pub fn inside(host: &dyn Host) -> Result<Outcome> {
    let folder = PathBuf::from(format!("{CACHE}/{FOLDER}/{}", host.word()));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let (listener, port) = Model::listen()?;
    Site::fresh(host, Trust::Given, port, &["--observe"])?;
    listen_in(&folder)?;
    let readme = places::inside("README.md").to_string_lossy().into_owned();
    let file = places::inside("new.txt").to_string_lossy().into_owned();
    let mut calls = vec![host.shell("ls"), host.read(&readme), host.write(&file, "new")];
    calls.extend(host.edit(&readme, "a file to read", "a file that was read"));
    calls.push(host.mcp(&mark("mcp")));
    calls.extend(host.ordinary());
    calls.push(host.subagent());
    calls.push(host.shell("ls"));
    let subagent = vec![step(host.shell("ls"))];
    let script = Script { main: calls.into_iter().map(step).collect(), subagent };
    let model = Model::play(listener, port, script, String::new());
    process::run(&mut host.start(Trust::Given, port), PATIENCE)?;
    drop(model);
    let kept = fs::read_dir(&folder)?.count();
    Ok(Outcome::new(if kept == 0 { Word::NotRun } else { Word::Passed }, format!("{kept} payloads")))
}

/// Puts a program in the binary's place that writes down what a hook is sent before the real one gets it.
fn listen_in(folder: &Path) -> Result<()> {
    let real = format!("{}/real-writkeeper", places::PROGRAMS);
    fs::rename(places::binary(), &real)?;
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = hook ]; then\n  file=$(mktemp '{}'/\"$2\".XXXXXXXX)\n  cat > \"$file\"\n  \
         exec {real} \"$@\" < \"$file\"\nfi\nexec {real} \"$@\"\n",
        folder.display()
    );
    fs::write(places::binary(), text)?;
    Ok(fs::set_permissions(places::binary(), fs::Permissions::from_mode(0o755))?)
}

/// Writes the fixtures of a host into a folder of its name: the first payload of each moment and tool.
pub fn keep(cache: &Path, host: &dyn Host, folder: &Path) -> Result<usize> {
    let recorded = cache.join(FOLDER).join(host.word());
    let mut files: Vec<PathBuf> = fs::read_dir(&recorded)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
    let target = folder.join(host.word());
    fs::create_dir_all(&target)?;
    let own: Vec<String> = host.ordinary().into_iter().chain([host.subagent()]).map(|call| call.tool).collect();
    let mut written = Vec::new();
    for path in files {
        let event = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(&path)?;
        let mut payload: Value = serde_json::from_str(&text).with_context(|| format!("`{}`", path.display()))?;
        let name = name(&event, &payload);
        // What comes back from the host's own tools is prose of the host.
        let is_prose = event == "post-tool" && own.iter().any(|tool| name.ends_with(&format!(".live.{tool}")));
        if is_prose || written.contains(&name) {
            continue;
        }
        scrub(&mut payload);
        let shown = serde_json::to_string_pretty(&payload)?.replace(WORKSPACE, "{{cwd}}");
        let shown = shown.replace(&places::mcp_server().0, "/usr/bin/scratch-server");
        fs::write(target.join(format!("{name}.json")), format!("{shown}\n"))?;
        written.push(name);
    }
    Ok(written.len())
}

/// The fixture's name: the moment, that it is live, and the tool.
fn name(event: &str, payload: &Value) -> String {
    let text = |key: &str| payload.get(key).and_then(Value::as_str);
    let tool = text("tool_name").or_else(|| text("toolName")).unwrap_or_default();
    let is_subagent = ["agent_id", "parentAgentId"].iter().any(|key| payload.get(*key).is_some());
    let parts = [event, "live", tool, if is_subagent { "subagent" } else { "" }];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(".")
}

/// Takes out what differs from run to run, and puts a place for the command.
fn scrub(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(scrub),
        Value::Object(members) => {
            for key in ["tool_input", "toolArgs"] {
                if let Some(Value::Object(input)) = members.get_mut(key) {
                    put_place_for_command(input);
                }
            }
            for (key, member) in members.iter_mut() {
                match PASSING.iter().find(|(name, _)| name == key) {
                    Some((_, text)) => *member = json!(text),
                    None if key == "timestamp" && member.is_number() => *member = json!(1_794_960_000_000_u64),
                    None if key == "timestamp" => *member = json!("2026-11-18T00:00:00.000Z"),
                    None if key == "duration_ms" => *member = json!(7),
                    None => scrub(member),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn put_place_for_command(input: &mut Map<String, Value>) {
    if input.get("command").and_then(Value::as_str) == Some("ls") {
        input.insert("command".to_owned(), json!("{{command}}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_taken_out() {
        let mut payload = json!({
            "session_id": "8c1f", "timestamp": 5, "tool_name": "Bash", "tool_input": { "command": "ls" }, "agent_id": "x",
            "tool_response": { "agentId": "y", "stdout": "a" }, "duration_ms": 12,
        });
        assert_eq!(name("pre-tool", &payload), "pre-tool.live.Bash.subagent");
        scrub(&mut payload);
        let expected = json!({
            "session_id": "live-session", "timestamp": 1_794_960_000_000_u64, "tool_name": "Bash",
            "tool_input": { "command": "{{command}}" }, "agent_id": "live-agent",
            "tool_response": { "agentId": "live-agent", "stdout": "a" }, "duration_ms": 7,
        });
        assert_eq!(payload, expected);
    }
}
