//! Gemini CLI: flat decisions. `continue: false` would end the whole session, so it is never sent.

use super::dialect::{Dialect, Form, OffSwitch, Settings, ShellCall};
use super::tools::{Kind, Tool};
use super::trust::{self, Trust};
use super::{Call, Event, HookOutput, Reply, moment, nested, required, text};
use crate::wrapper::MARK;
use serde_json::{Value, json};
use shell::HostFiles;
use values::json::{Json, Object};

pub(super) const HOST: Dialect = Dialect {
    word: "gemini",
    title: "Gemini CLI",
    short_title: "Gemini",
    settings: Settings {
        file: ".gemini/settings.json",
        file_at_home: ".gemini/settings.json",
        form: Form::Json { version: None, entry: nested::named_entry },
    },
    moments: &[
        ("BeforeTool", Event::PreTool),
        ("AfterTool", Event::PostTool),
        ("AfterAgent", Event::Stop),
        ("SessionStart", Event::SessionStart),
        ("BeforeAgent", Event::Prompt),
    ],
    trust: Some(Trust {
        files: &[".gemini/trustedFolders.json", ".gemini/settings.json"],
        standing: |place| trust::in_folder_list(place, true),
        step: "start `gemini` in the workspace and trust the folder",
        granted: Some(trust::with_folder_in_list),
    }),
    skipped_by: &["--skip-trust (hooks of a workspace)"],
    home_variable: None,
    off_switch: Some(OffSwitch { files: &[".gemini/settings.json"], is_off }),
    files: HostFiles {
        names: &[".gemini"],
        paths: &[],
        system: &[],
        logins: &[".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
    },
    configuration: &[".gemini/settings.json", ".gemini/trustedFolders.json"],
    scratch: &[".gemini/tmp"],
    tools: &[
        (Kind::Shell, &["run_shell_command"]),
        (Kind::Write, &["write_file", "replace"]),
        (Kind::Read, &["read_file", "list_directory", "glob", "list_background_processes", "read_background_output"]),
        (Kind::Search, &["search_file_content", "grep_search", "read_many_files"]),
        (Kind::Fetch, &["web_fetch", "google_web_search"]),
        (
            Kind::Internal,
            &[
                "write_todos",
                "enter_plan_mode",
                "exit_plan_mode",
                "ask_user",
                "update_topic",
                "invoke_agent",
                "activate_skill",
            ],
        ),
    ],
    types_into_programs: false,
    blocks_by_exit: true,
    read,
    write,
    payload,
};

fn read(event: Event, sent: &Json) -> Result<Call, String> {
    let known: &[&str] = match event {
        Event::PreTool => &["BeforeTool"],
        Event::PostTool => &["AfterTool"],
        Event::Stop => &["AfterAgent"],
        Event::SessionStart => &["SessionStart"],
        Event::Prompt => &["BeforeAgent"],
    };
    let mut call = Call {
        moment: moment(sent, event, known)?,
        session: required(sent, "session_id")?,
        cwd: required(sent, "cwd")?,
        id: text(sent, "tool_use_id").map(str::to_owned),
        name: String::new(),
        input: Object::new(),
        tool: Tool::Nothing,
        result: sent.get("tool_response").cloned(),
        failed: nested::failed(sent.get("tool_response")),
        prompt: None,
        can_ask: false,
        stop_refused_before: sent.get("stop_hook_active").and_then(Json::as_bool).unwrap_or(false),
    };
    match event {
        Event::PreTool | Event::PostTool => nested::take_tool(&mut call, sent)?,
        Event::Prompt => call.prompt = Some(required(sent, "prompt")?),
        Event::Stop | Event::SessionStart => {}
    }
    // The host says which server a tool belongs to; the name alone does not.
    if let Some(server) = sent.get("mcp_context").and_then(|context| context.get("server_name")).and_then(Json::as_text)
    {
        call.tool = Tool::Mcp { server: server.to_owned() };
    }
    Ok(call)
}

fn write(event: Event, _moment: &str, reply: &Reply) -> HookOutput {
    let name = match event {
        Event::PreTool => "BeforeTool",
        Event::PostTool => "AfterTool",
        Event::Stop => "AfterAgent",
        Event::SessionStart => "SessionStart",
        Event::Prompt => "BeforeAgent",
    };
    let context = |said: &str| json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": said } });
    HookOutput::object(&match (event, reply) {
        (_, Reply::Pass) | (Event::Stop, Reply::Warn(_)) => json!({}),
        (_, Reply::Warn(said)) | (Event::SessionStart, Reply::Deny(said) | Reply::Ask(said)) => context(said),
        (Event::PreTool | Event::PostTool | Event::Stop | Event::Prompt, Reply::Deny(why) | Reply::Ask(why)) => {
            json!({ "decision": "deny", "reason": why })
        }
    })
}

/// Hooks as a whole, or ours by its name or by its command line.
fn is_off(text: &str) -> bool {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return false };
    let ours = |name: &Value| name.as_str().is_some_and(|name| name == nested::ENTRY_NAME || name.contains(MARK));
    let config = document.get("hooksConfig");
    let named = config.and_then(|config| config.get("disabled")).and_then(Value::as_array);
    config.and_then(|config| config.get("enabled")) == Some(&Value::Bool(false))
        || named.is_some_and(|names| names.iter().any(ours))
}

fn payload(call: &ShellCall<'_>) -> Value {
    json!({
        "session_id": call.session, "transcript_path": "/dev/null", "cwd": call.cwd, "hook_event_name": "BeforeTool",
        "timestamp": "2026-01-01T00:00:00Z", "tool_name": "run_shell_command",
        "tool_input": { "command": call.command },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_off_as_a_whole_or_by_name() {
        let check = |text: &str, expected: bool| assert_eq!(is_off(text), expected, "{text}");
        check(r#"{"hooksConfig": {"enabled": false}}"#, true);
        check(r#"{"hooksConfig": {"disabled": ["x", "writkeeper"]}}"#, true);
        check(r#"{"hooksConfig": {"enabled": true, "disabled": ["x"]}}"#, false);
        check("{", false);
    }
}
