//! Codex CLI: Claude Code's form, closed objects, and no question before a tool: `ask` and a bare `allow` make the hook
//! count as failed, and the call runs. So a question is a refusal that says how to approve.

use super::dialect::{Dialect, Form, OffSwitch, Settings, ShellCall};
use super::tools::Kind;
use super::{Call, Event, nested};
use serde_json::{Value, json};
use shell::HostFiles;
use values::json::Json;

pub(super) const HOST: Dialect = Dialect {
    word: "codex",
    title: "Codex CLI",
    short_title: "Codex",
    settings: Settings { file: ".codex/config.toml", is_read_at_home: true, form: Form::Toml },
    moments: nested::MOMENTS,
    off_switch: Some(OffSwitch { files: &[".codex/config.toml"], is_off }),
    files: HostFiles { names: &[".codex"], paths: &[], system: &[], logins: &[".codex/auth.json"] },
    configuration: &[".codex/config.toml", ".codex/hooks.json"],
    scratch: &[],
    tools: &[
        (Kind::Shell, &["Bash", "shell", "local_shell", "exec_command", "container.exec"]),
        (Kind::Write, &["apply_patch"]),
        (Kind::Fetch, &["web_search"]),
        (Kind::Typing, &["write_stdin"]),
        (Kind::Internal, &["update_plan"]),
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
    fn hooks_are_off_only_among_the_features() {
        let check = |text: &str, expected: bool| assert_eq!(is_off(text), expected, "{text}");
        check("[features]\nhooks = false # for now\n", true);
        check("features.hooks=false\n", true);
        check("features = { x = 1, hooks = false }\n", true);
        check("[features]\nhooks = true\n[other]\nhooks = false\n", false);
        check("# [features]\n# hooks = false\n", false);
    }
}
