//! The form that Claude Code began and that Codex and Qwen Code share: flat members in, a nested decision out.

use super::dialect::{HookEntry, ShellCall};
use super::tools::{self, Tool};
use super::{Call, Event, HookOutput, Reply, moment, required, text};
use serde_json::{Value, json};
use values::json::{Json, Object};

/// Modes in which the host asks nobody, so that a question would be an approval.
const NOBODY_IS_ASKED: &[&str] = &["bypassPermissions", "dontAsk", "yolo"];

/// The moments that are wired.
pub const MOMENTS: &[(&str, Event)] = &[
    ("PreToolUse", Event::PreTool),
    ("PostToolUse", Event::PostTool),
    ("Stop", Event::Stop),
    ("SessionStart", Event::SessionStart),
    ("UserPromptSubmit", Event::Prompt),
];

/// The name of our entry, where entries have names.
pub const ENTRY_NAME: &str = "writkeeper";

/// An entry with a name, as Gemini CLI and Qwen Code have it; they wait for milliseconds.
pub fn named_entry(entry: &HookEntry<'_>) -> Value {
    let milliseconds = u64::from(entry.seconds) * 1000;
    json!({ "hooks": [
        { "name": ENTRY_NAME, "type": "command", "command": entry.command, "timeout": milliseconds },
    ] })
}

/// Whether settings hold `disableAllHooks`, at the top or among the hooks.
pub fn disables_all_hooks(text: &str) -> bool {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return false };
    let places = [Some(&document), document.get("hooks")];
    places.into_iter().flatten().any(|place| place.get("disableAllHooks") == Some(&Value::Bool(true)))
}

/// What the host sends before it runs a command with this tool.
pub fn payload(call: &ShellCall<'_>, tool: &str) -> Value {
    json!({
        "session_id": call.session, "transcript_path": "/dev/null", "cwd": call.cwd, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_use_id": call.id, "tool_name": tool,
        "tool_input": { "command": call.command },
    })
}

/// Reads a call.
pub fn read(event: Event, sent: &Json) -> Result<Call, String> {
    let known: &[&str] = match event {
        Event::PreTool => &["PreToolUse"],
        Event::PostTool => &["PostToolUse", "PostToolUseFailure"],
        Event::Stop => &["Stop", "SubagentStop"],
        Event::SessionStart => &["SessionStart"],
        Event::Prompt => &["UserPromptSubmit"],
    };
    let moment = moment(sent, event, known)?;
    let failed = moment == "PostToolUseFailure" || failed(sent.get("tool_response"));
    let mut call = Call {
        moment,
        session: required(sent, "session_id")?,
        cwd: required(sent, "cwd")?,
        id: text(sent, "tool_use_id").map(str::to_owned),
        name: String::new(),
        input: Object::new(),
        tool: Tool::Nothing,
        result: sent.get("tool_response").or_else(|| sent.get("error")).cloned(),
        failed,
        prompt: None,
        can_ask: !text(sent, "permission_mode").is_some_and(|mode| NOBODY_IS_ASKED.contains(&mode)),
        stop_refused_before: sent.get("stop_hook_active").and_then(Json::as_bool).unwrap_or(false),
    };
    match event {
        Event::PreTool | Event::PostTool => take_tool(&mut call, sent)?,
        Event::Prompt => call.prompt = Some(required(sent, "prompt")?),
        Event::Stop | Event::SessionStart => {}
    }
    Ok(call)
}

/// Takes over tool and input.
pub fn take_tool(call: &mut Call, sent: &Json) -> Result<(), String> {
    call.name = required(sent, "tool_name")?;
    call.input = match sent.get("tool_input") {
        Some(Json::Object(input)) => input.clone(),
        // Tools without arguments are sent with null or not at all.
        Some(Json::Null) | None => Object::new(),
        Some(Json::Text(text)) => Object::from([("input".to_owned(), Json::text(text.as_str()))]),
        Some(other) => return Err(format!("`tool_input` is {}, not an object", other.kind())),
    };
    call.tool = tools::recognise(&call.name, &call.input);
    Ok(())
}

/// Whether a result says that the tool failed.
pub fn failed(result: Option<&Json>) -> bool {
    let Some(result) = result else { return false };
    let flag = |key: &str| result.get(key).and_then(Json::as_bool);
    let error = matches!(result.get("error"), Some(error) if *error != Json::Null);
    let exit = result.get("exit_code").or_else(|| result.get("exitCode")).and_then(Json::as_number);
    flag("is_error") == Some(true)
        || flag("success") == Some(false)
        || error
        || exit.is_some_and(|code| code != values::decimal::Decimal::ZERO)
}

/// Writes a reply. `asks` says whether the host shows our question to a person.
pub fn write(event: Event, reply: &Reply, asks: bool) -> HookOutput {
    let name = MOMENTS.iter().find(|(_, known)| *known == event).map_or("", |(name, _)| *name);
    let decision = |word: &str, why: &str| {
        json!({ "hookSpecificOutput": {
            "hookEventName": name, "permissionDecision": word, "permissionDecisionReason": why,
        } })
    };
    let context = |said: &str| json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": said } });
    let object = match (event, reply) {
        (_, Reply::Pass) | (Event::Stop, Reply::Warn(_)) => json!({}),
        (Event::PreTool, Reply::Deny(why)) => decision("deny", why),
        (Event::PreTool, Reply::Ask(why)) if asks => decision("ask", why),
        (Event::PreTool, Reply::Ask(why)) => decision("deny", why),
        (Event::PreTool | Event::PostTool | Event::SessionStart | Event::Prompt, Reply::Warn(said)) => context(said),
        (Event::SessionStart, Reply::Deny(said) | Reply::Ask(said)) => context(said),
        (Event::PostTool | Event::Stop | Event::Prompt, Reply::Deny(why) | Reply::Ask(why)) => {
            json!({ "decision": "block", "reason": why })
        }
    };
    HookOutput::object(&object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_switch_that_is_off_is_one() {
        let check = |text: &str, expected: bool| assert_eq!(disables_all_hooks(text), expected, "{text}");
        check(r#"{"disableAllHooks": true}"#, true);
        check(r#"{"hooks": {"disableAllHooks": true}}"#, true);
        check(r#"{"disableAllHooks": false}"#, false);
        check(r#"{"disableAllHooks": "true"}"#, false);
        check(r#"{"env": {"disableAllHooks": true}}"#, false);
        check("{", false);
    }
}
