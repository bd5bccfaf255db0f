//! Codex CLI: Claude Code's form, closed objects, and no question before a tool: `ask` and a bare `allow` make the hook
//! count as failed, and the call runs. So a question is a refusal that says how to approve.

use super::dialect::{Dialect, Form, OffSwitch, Settings, ShellCall};
use super::tools::Kind;
use super::trust::{Place, Standing, Trust};
use super::{Call, Event, nested};
use crate::wiring::toml::{self, OurHook};
use serde_json::{Value, json};
use shell::HostFiles;
use std::path::Path;
use toml_edit::{DocumentMut, Item, TableLike};
use values::ids::Digest;
use values::json::Json;

pub(super) const HOST: Dialect = Dialect {
    word: "codex",
    title: "Codex CLI",
    short_title: "Codex",
    settings: Settings { file: ".codex/config.toml", file_at_home: ".codex/config.toml", form: Form::Toml },
    moments: nested::MOMENTS,
    trust: Some(TRUST),
    skipped_by: &["--disable hooks", "-c features.hooks=false", "--ignore-user-config"],
    home_variable: Some(("CODEX_HOME", ".codex")),
    off_switch: Some(OffSwitch { files: &[".codex/config.toml"], is_off }),
    files: HostFiles { names: &[".codex"], paths: &[], system: &[], logins: &[".codex/auth.json"] },
    configuration: &[".codex/config.toml", ".codex/hooks.json"],
    scratch: &[],
    tools: &[
        (Kind::Shell, &["Bash", "shell", "local_shell", "exec_command", "container.exec"]),
        (Kind::Write, &["apply_patch"]),
        (Kind::Read, &["view_image", "list_mcp_resources", "list_mcp_resource_templates"]),
        // A resource of a server may be a file or an address.
        (Kind::Fetch, &["web_search", "read_mcp_resource"]),
        (Kind::Typing, &["write_stdin"]),
        (
            Kind::Internal,
            &[
                "update_plan",
                "get_goal",
                "create_goal",
                "update_goal",
                "request_user_input",
                "spawn_agent",
                "wait_agent",
            ],
        ),
    ],
    types_into_programs: true,
    blocks_by_exit: true,
    read,
    write: |event, _, reply| nested::write(event, reply, false),
    payload,
};

fn read(event: Event, sent: &Json) -> Result<Call, String> {
    let mut call = nested::read(event, sent)?;
    call.can_ask = false;
    Ok(call)
}

const TRUST: Trust = Trust {
    files: &[".codex/config.toml"],
    standing,
    step: "start `codex` in the workspace, and choose to trust all hooks when it says that hooks need review",
    granted: Some(granted),
};

/// A hook runs if the person's configuration holds its digest; hooks of a workspace run only where the workspace is
/// trusted too.
fn standing(place: &Place<'_>) -> Standing {
    let Ok(document) = place.file(0).parse::<DocumentMut>() else {
        return Standing::Missing("Codex's own configuration cannot be read".to_owned());
    };
    if !place.is_of_user && !is_trusted_project(&document, place.workspace) {
        return Standing::Missing("Codex CLI has not been told to trust the workspace".to_owned());
    }
    let hooks = toml::hooks(place.text);
    let is_trusted = |hook: &&OurHook| {
        let state = at(&document, &["hooks", "state", &key(place.settings, hook)]);
        let Some(state) = state.and_then(Item::as_table_like) else { return false };
        let is_off = state.get("enabled").and_then(Item::as_bool) == Some(false);
        !is_off && state.get("trusted_hash").and_then(Item::as_str) == Some(trusted_hash(hook).as_str())
    };
    let trusted = hooks.iter().filter(is_trusted).count();
    if trusted == hooks.len() && trusted > 0 {
        return Standing::Given;
    }
    Standing::Missing(format!("Codex CLI trusts {trusted} of {} hooks, and runs no others", hooks.len()))
}

fn is_trusted_project(document: &DocumentMut, workspace: &Path) -> bool {
    let level = at(document, &["projects", &workspace.to_string_lossy(), "trust_level"]);
    level.and_then(Item::as_str) == Some("trusted")
}

fn at<'d>(document: &'d DocumentMut, path: &[&str]) -> Option<&'d Item> {
    path.iter().try_fold(document.as_item(), |item, name| item.as_table_like()?.get(name))
}

/// By what Codex knows a hook: the file, the moment, and its place among the hooks of that moment.
fn key(settings: &Path, hook: &OurHook) -> String {
    format!("{}:{}:{}:{}", settings.display(), snake(&hook.moment), hook.group, hook.handler)
}

/// What Codex remembers of a hook that a person trusted: a digest of its moment, command line and patience.
fn trusted_hash(hook: &OurHook) -> String {
    const SECONDS_IF_UNSAID: i64 = 600;
    let mut handler = vec![
        ("async", Json::Bool(false)),
        ("command", Json::text(hook.command.as_str())),
        ("timeout", Json::from(u64::try_from(hook.seconds.unwrap_or(SECONDS_IF_UNSAID)).unwrap_or_default())),
        ("type", Json::text("command")),
    ];
    handler.extend(hook.status.as_ref().map(|status| ("statusMessage", Json::text(status.as_str()))));
    let handler = Json::Object(handler.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let mut group = vec![("event_name", Json::text(snake(&hook.moment))), ("hooks", Json::List(vec![handler]))];
    group.extend(hook.matcher.as_ref().map(|matcher| ("matcher", Json::text(matcher.as_str()))));
    let group = Json::Object(group.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    format!("sha256:{}", Digest::of(group.to_canonical()))
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

/// What Codex's own dialog would write. Tables that are there are changed in place, others stand at the end: a table put
/// in elsewhere could end up between our marks.
fn granted(place: &Place<'_>) -> Result<Vec<String>, String> {
    let mut document = place.file(0).parse::<DocumentMut>().map_err(|error| error.to_string())?;
    let mut wanted = Vec::new();
    if !place.is_of_user {
        let project = place.workspace.to_string_lossy().into_owned();
        wanted.push((["projects".to_owned(), project].to_vec(), "trust_level", "trusted".to_owned()));
    }
    for hook in toml::hooks(place.text) {
        let path = ["hooks".to_owned(), "state".to_owned(), key(place.settings, &hook)].to_vec();
        wanted.push((path, "trusted_hash", trusted_hash(&hook)));
    }
    let mut behind = String::new();
    for (path, name, value) in wanted {
        match existing(document.as_table_mut(), &path) {
            Some(table) => {
                table.insert(name, toml_edit::value(value));
                table.remove("enabled");
            }
            None => {
                let quoted = |part: &String| Value::String(part.clone()).to_string();
                let bare = |part: &String| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let header = path.iter().map(|part| if bare(part) { part.clone() } else { quoted(part) });
                let header = header.collect::<Vec<_>>().join(".");
                behind.push_str(&format!("\n[{header}]\n{name} = {}\n", Value::String(value)));
            }
        }
    }
    let text = format!("{document}{behind}");
    // Where a person wrote these tables in one line, nothing can stand behind them.
    text.parse::<DocumentMut>().map_err(|error| format!("its tables cannot be extended: {error}"))?;
    Ok(vec![text])
}

fn existing<'t>(table: &'t mut dyn TableLike, path: &[String]) -> Option<&'t mut dyn TableLike> {
    let Some((first, rest)) = path.split_first() else { return Some(table) };
    existing(table.get_mut(first)?.as_table_like_mut()?, rest)
}

/// `hooks = false` among the features, in a table of its own or as one line.
fn is_off(text: &str) -> bool {
    let mut is_among_features = false;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let plain: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
        if plain.starts_with('[') {
            is_among_features = plain == "[features]";
        }
        let inline = plain.strip_prefix("features={").is_some_and(|rest| rest.contains("hooks=false"));
        if plain == "features.hooks=false" || inline || is_among_features && plain == "hooks=false" {
            return true;
        }
    }
    false
}

fn payload(call: &ShellCall<'_>) -> Value {
    json!({
        "session_id": call.session, "turn_id": "1", "transcript_path": null, "cwd": call.cwd, "model": "m",
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_use_id": call.id, "tool_name": "Bash",
        "tool_input": { "command": call.command },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_known_by_the_digest_that_codex_computes() {
        let hook = OurHook {
            moment: "PreToolUse".to_owned(),
            group: 1,
            handler: 0,
            command: "/bin/sh -c ': writkeeper-guard; x' ü".to_owned(),
            seconds: Some(60),
            matcher: None,
            status: None,
        };
        assert_eq!(key(Path::new("/w/.codex/config.toml"), &hook), "/w/.codex/config.toml:pre_tool_use:1:0");
        // Digests of texts that were put together by hand, by another implementation of SHA-256.
        assert_eq!(trusted_hash(&hook), "sha256:26b2d37eea1de504d852e1f5453995fbfcaa4589833533b464bf9c8990cfa2b9");
        let other = OurHook {
            moment: "Stop".to_owned(),
            command: "c".to_owned(),
            seconds: None,
            matcher: Some("x".to_owned()),
            status: Some("s".to_owned()),
            ..hook
        };
        assert_eq!(trusted_hash(&other), "sha256:bc1cd73972ee772a6ba36c0afc72a68b3fb18a10a8a10a1ec134b2af816fd715");
    }

    #[test]
    fn hooks_of_others_come_first() {
        let text = "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'mine'\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\n\
                    command = 'too'\n[[hooks.Stop.hooks]]\ncommand = ': writkeeper-guard; x'\ntimeout = 7\n";
        let found: Vec<_> =
            toml::hooks(text).into_iter().map(|hook| (hook.group, hook.handler, hook.seconds)).collect();
        assert_eq!(found, [(1, 1, Some(7))]);
    }

    #[test]
    fn hooks_are_off_only_among_the_features() {
        let check = |text: &str, expected: bool| assert_eq!(is_off(text), expected, "{text}");
        check("[features]\nhooks = false # for now\n", true);
        check("features.hooks=false\n", true);
        check("features = { x = 1, hooks = false }\n", true);
        check("[features]\nhooks = true\n[other]\nhooks = false\n", false);
        check("# [features]\n# hooks = false\n", false);
    }
}
