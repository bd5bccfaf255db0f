//! Cursor: a moment for each kind of call, and `permission` in the answer. A stop can only be followed up.

use super::dialect::{Dialect, Form, HookEntry, Settings, ShellCall};
use super::tools::{self, Kind, Tool};
use super::trust::{Standing, Trust};
use super::{Call, Event, HookOutput, Reply, moment, required, text};
use serde_json::{Value, json};
use shell::HostFiles;
use values::json::{Json, Object};

pub(super) const HOST: Dialect = Dialect {
    word: "cursor",
    title: "Cursor",
    short_title: "Cursor",
    settings: Settings {
        file: ".cursor/hooks.json",
        file_at_home: ".cursor/hooks.json",
        form: Form::Json { version: Some(1), entry },
    },
    moments: &[
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
    trust: Some(Trust {
        files: &[],
        standing: |place| match place.is_of_user {
            true => Standing::Needless,
            false => {
                Standing::Unreadable("Cursor keeps in a database of its own which workspaces it trusts".to_owned())
            }
        },
        step: "open the workspace in Cursor and trust it",
        granted: None,
    }),
    skipped_by: &[],
    home_variable: None,
    off_switch: None,
    files: HostFiles { names: &[".cursor"], paths: &[], system: &[], logins: &[".config/cursor/auth.json"] },
    configuration: &[".cursor/hooks.json", ".cursor/mcp.json"],
    scratch: &[".cursor/plans"],
    tools: &[
        (Kind::Shell, &["Shell", "run_terminal_cmd"]),
        (
            Kind::Write,
            &[
                "Write",
                "StrReplace",
                "Delete",
                "EditNotebook",
                "TabWrite",
                "ApplyPatch",
                "delete_file",
                "edit_file",
                "search_replace",
            ],
        ),
        (Kind::Read, &["Read", "Glob", "LS", "ReadLints", "TabRead", "read_file", "list_dir", "glob_file_search"]),
        (Kind::Search, &["Grep", "SemanticSearch", "grep_search", "codebase_search"]),
        (Kind::Fetch, &["WebFetch", "WebSearch", "web_search"]),
        (Kind::Internal, &["TodoWrite", "Task", "todo_write"]),
    ],
    types_into_programs: false,
    blocks_by_exit: false,
    read,
    write,
    payload,
};

/// Moments at which the host shows our question to a person; elsewhere `ask` is not acted on.
const ASKS: &[&str] = &["beforeShellExecution", "beforeMCPExecution"];

fn read(event: Event, sent: &Json) -> Result<Call, String> {
    let known: &[&str] = match event {
        Event::PreTool => &["beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "preToolUse"],
        Event::PostTool => &["afterFileEdit", "afterShellExecution", "afterMCPExecution", "postToolUse"],
        Event::Stop => &["stop"],
        Event::SessionStart => &["sessionStart"],
        Event::Prompt => &["beforeSubmitPrompt"],
    };
    let moment = moment(sent, event, known)?;
    let root = sent.get("workspace_roots").and_then(Json::as_list).and_then(|roots| roots.first()?.as_text());
    let cwd = text(sent, "cwd").filter(|cwd| !cwd.is_empty()).or(root).unwrap_or_default();
    let mut call = Call {
        can_ask: ASKS.contains(&moment.as_str()),
        moment,
        session: required(sent, "conversation_id")?,
        cwd: cwd.to_owned(),
        id: text(sent, "tool_use_id").map(str::to_owned),
        name: String::new(),
        input: Object::new(),
        tool: Tool::Nothing,
        result: None,
        failed: false,
        prompt: None,
        stop_refused_before: sent.get("loop_count").and_then(Json::as_number).is_some_and(|count| count > 0.into()),
    };
    match event {
        Event::PreTool | Event::PostTool => take_tool(&mut call, sent)?,
        Event::Prompt => call.prompt = Some(required(sent, "prompt")?),
        Event::Stop | Event::SessionStart => {}
    }
    Ok(call)
}

fn take_tool(call: &mut Call, sent: &Json) -> Result<(), String> {
    let member = |key: &str| Object::from([(key.to_owned(), sent.get(key).cloned().unwrap_or(Json::Null))]);
    match call.moment.as_str() {
        "beforeShellExecution" | "afterShellExecution" => {
            call.name = "Shell".to_owned();
            call.tool = Tool::Shell { command: required(sent, "command")? };
            call.input = member("command");
            call.result = sent.get("output").cloned();
        }
        "beforeReadFile" => {
            call.name = "Read".to_owned();
            call.tool = Tool::Read { paths: vec![required(sent, "file_path")?] };
            call.input = member("file_path");
        }
        "afterFileEdit" => {
            call.name = "Write".to_owned();
            call.tool = Tool::Write { paths: vec![required(sent, "file_path")?] };
            call.input = member("file_path");
            call.result = sent.get("edits").cloned();
        }
        "beforeMCPExecution" | "afterMCPExecution" => {
            call.name = required(sent, "tool_name")?;
            call.input = argument_text(sent, "tool_input")?;
            let server = text(sent, "server").or_else(|| text(sent, "url")).or_else(|| text(sent, "command"));
            call.tool = Tool::Mcp { server: server.unwrap_or("unnamed").to_owned() };
            call.result = sent.get("result_json").cloned();
        }
        _ => {
            call.name = required(sent, "tool_name")?;
            call.input = argument_text(sent, "tool_input")?;
            call.tool = tools::recognise(&call.name, &call.input);
            call.result = sent.get("tool_output").cloned();
        }
    }
    Ok(())
}

/// Arguments that are an object, or an object as text.
pub(super) fn argument_text(sent: &Json, key: &str) -> Result<Object, String> {
    match sent.get(key) {
        Some(Json::Object(input)) => Ok(input.clone()),
        Some(Json::Text(text)) if text.trim().is_empty() => Ok(Object::new()),
        Some(Json::Text(text)) => match Json::parse_within(text.as_bytes(), &values::json::Bounds::FILE) {
            Ok(Json::Object(input)) => Ok(input),
            Ok(other) => Err(format!("`{key}` holds {}, not an object", other.kind())),
            Err(refusal) => Err(format!("`{key}` is not strict JSON: {refusal}")),
        },
        Some(Json::Null) | None => Ok(Object::new()),
        Some(other) => Err(format!("`{key}` is {}, neither an object nor text", other.kind())),
    }
}

fn write(event: Event, moment: &str, reply: &Reply) -> HookOutput {
    let permission = |word: &str, why: &str| json!({ "permission": word, "user_message": why, "agent_message": why });
    HookOutput::object(&match (event, reply) {
        (Event::PreTool, Reply::Pass) => json!({ "permission": "allow" }),
        (Event::PreTool, Reply::Warn(said)) => json!({ "permission": "allow", "agent_message": said }),
        (Event::PreTool, Reply::Ask(why)) if ASKS.contains(&moment) => permission("ask", why),
        (Event::PreTool, Reply::Deny(why) | Reply::Ask(why)) => permission("deny", why),
        (Event::Prompt, Reply::Deny(why) | Reply::Ask(why)) => json!({ "continue": false, "user_message": why }),
        (Event::Prompt, Reply::Pass | Reply::Warn(_)) => json!({ "continue": true }),
        (Event::Stop, Reply::Deny(why) | Reply::Ask(why)) => json!({ "followup_message": why }),
        (Event::SessionStart, Reply::Warn(said) | Reply::Deny(said) | Reply::Ask(said)) => {
            json!({ "additional_context": said })
        }
        (Event::PostTool, Reply::Warn(said) | Reply::Deny(said) | Reply::Ask(said)) => {
            json!({ "additional_context": said })
        }
        (Event::Stop, Reply::Warn(_)) | (Event::PostTool | Event::Stop | Event::SessionStart, Reply::Pass) => json!({}),
    })
}

fn entry(entry: &HookEntry<'_>) -> Value {
    let mut hook = json!({ "command": entry.command, "timeout": entry.seconds });
    if let Some(hook) = hook.as_object_mut() {
        if entry.fails_closed {
            hook.insert("failClosed".to_owned(), json!(true));
        }
        if entry.moment == "preToolUse" {
            // Commands and MCP tools have moments of their own, at which a person can be asked.
            hook.insert("matcher".to_owned(), json!("^(?!Shell$|MCP:|Read$).*"));
        }
    }
    hook
}

fn payload(call: &ShellCall<'_>) -> Value {
    json!({
        "conversation_id": call.session, "generation_id": call.id, "hook_event_name": "beforeShellExecution",
        "command": call.command, "cwd": call.cwd, "workspace_roots": [call.cwd],
    })
}
