//! Copilot CLI: names in camel case, arguments as text, a flat decision.

use super::cursor::argument_text;
use super::dialect::{Dialect, Form, HookEntry, OffSwitch, Settings, ShellCall};
use super::tools::{self, Kind, Tool};
use super::trust::{Place, Standing, Trust, holds_folder};
use super::{Call, Event, HookOutput, Reply, nested, required, text};
use serde_json::{Value, json};
use shell::HostFiles;
use values::json::{Json, Object};

pub(super) const HOST: Dialect = Dialect {
    word: "copilot",
    title: "Copilot CLI",
    short_title: "Copilot",
    settings: Settings {
        file: ".github/hooks/writkeeper.json",
        file_at_home: ".copilot/hooks/writkeeper.json",
        form: Form::Json { version: Some(1), entry },
    },
    moments: &[
        ("preToolUse", Event::PreTool),
        ("postToolUse", Event::PostTool),
        ("agentStop", Event::Stop),
        ("sessionStart", Event::SessionStart),
        ("userPromptSubmitted", Event::Prompt),
    ],
    trust: Some(TRUST),
    skipped_by: &[],
    home_variable: None,
    off_switch: Some(OffSwitch {
        files: &[
            ".github/hooks/writkeeper.json",
            ".github/copilot/settings.json",
            ".github/copilot/settings.local.json",
            ".copilot/settings.json",
            ".copilot/hooks/writkeeper.json",
        ],
        is_off: nested::disables_all_hooks,
    }),
    files: HostFiles {
        names: &[".copilot"],
        // Switches in the second one turn hooks off.
        paths: &[".github/hooks", ".github/copilot", ".config/github-copilot"],
        system: &[],
        logins: &[".config/github-copilot/"],
    },
    configuration: &[
        ".github/hooks/writkeeper.json",
        ".github/copilot/settings.json",
        ".github/copilot/settings.local.json",
        ".copilot/settings.json",
        ".copilot/config.json",
        ".copilot/hooks/writkeeper.json",
    ],
    scratch: &[".copilot/session-state"],
    tools: &[
        (Kind::Shell, &["bash", "shell"]),
        (Kind::Write, &["edit", "create", "str_replace_editor", "apply_patch"]),
        (Kind::Read, &["view", "glob", "read_bash", "list_bash"]),
        (Kind::Search, &["grep", "rg"]),
        (Kind::Fetch, &["web_fetch", "web_search", "fetch", "fetch_webpage"]),
        (
            Kind::Internal,
            &[
                "task",
                "skill",
                "report_intent",
                "ask_user",
                "stop_bash",
                "update_todo",
                "list_agents",
                "read_agent",
                "write_agent",
                // Tables of the session, in a database of the host.
                "sql",
                "session_store_sql",
                "fetch_copilot_cli_documentation",
            ],
        ),
    ],
    types_into_programs: false,
    blocks_by_exit: false,
    read,
    write,
    payload,
};

const TRUST: Trust = Trust {
    files: &[".copilot/config.json"],
    standing,
    step: "start `copilot` in the workspace and trust the folder for good, or start it with `--trust-folder`",
    granted: Some(granted),
};

/// Names of the list of trusted folders; the second is of older versions.
const FOLDERS: [&str; 2] = ["trustedFolders", "trusted_folders"];

/// Hooks of a workspace run in trusted folders only, and in silence where there is nobody to ask; a person's own run
/// everywhere.
fn standing(place: &Place<'_>) -> Standing {
    if place.is_of_user {
        return Standing::Needless;
    }
    let document = config(place).unwrap_or_default();
    let lists = FOLDERS.iter().filter_map(|name| document.get(*name)?.as_array());
    let mut folders = lists.flatten().filter_map(Value::as_str);
    if folders.any(|folder| holds_folder(folder, place.workspace)) {
        return Standing::Given;
    }
    Standing::Missing("the folder is not among `trustedFolders`, and elsewhere Copilot CLI runs no hooks".to_owned())
}

/// The file begins with comments, in versions that say who writes it.
fn config(place: &Place<'_>) -> Result<Value, serde_json::Error> {
    let (_, body) = comments(place.file(0));
    if body.trim().is_empty() { Ok(json!({})) } else { serde_json::from_str(&body) }
}

fn comments(text: &str) -> (String, String) {
    let (comments, body): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.trim_start().starts_with("//"));
    (comments.iter().map(|line| format!("{line}\n")).collect(), body.join("\n"))
}

fn granted(place: &Place<'_>) -> Result<Vec<String>, String> {
    let mut document = config(place).map_err(|error| error.to_string())?;
    let root = document.as_object_mut().ok_or("it is not an object")?;
    let [name, older] = FOLDERS;
    let name = if root.contains_key(older) && !root.contains_key(name) { older } else { name };
    let folders = root.entry(name).or_insert_with(|| json!([]));
    let folders = folders.as_array_mut().ok_or_else(|| format!("`{name}` is not a list"))?;
    folders.push(json!(place.workspace));
    let (comments, _) = comments(place.file(0));
    Ok(vec![format!("{comments}{document:#}\n")])
}

fn read(event: Event, sent: &Json) -> Result<Call, String> {
    let known: &[&str] = match event {
        Event::PreTool => &["preToolUse"],
        Event::PostTool => &["postToolUse"],
        Event::Stop => &["agentStop", "subagentStop"],
        Event::SessionStart => &["sessionStart"],
        Event::Prompt => &["userPromptSubmitted"],
    };
    // Not every version names the moment; one that names another is not believed.
    let said = text(sent, "hookEventName").or_else(|| text(sent, "hook_event_name"));
    if let Some(name) = said.filter(|name| !known.contains(name)) {
        return Err(format!("the event is `{name}`, which is not `{}` for {}", known.join("` or `"), event.word()));
    }
    let result = sent.get("toolResult");
    let kind = result.and_then(|result| text(result, "resultType"));
    let mut call = Call {
        moment: said.or(known.first().copied()).unwrap_or_default().to_owned(),
        session: text(sent, "sessionId").unwrap_or("copilot").to_owned(),
        cwd: required(sent, "cwd")?,
        id: text(sent, "toolCallId").map(str::to_owned),
        name: String::new(),
        input: Object::new(),
        tool: Tool::Nothing,
        result: result.cloned(),
        failed: kind.is_some_and(|kind| kind != "success") || nested::failed(result),
        prompt: None,
        can_ask: true,
        stop_refused_before: sent.get("stopHookActive").and_then(Json::as_bool).unwrap_or(false),
    };
    match event {
        Event::PreTool | Event::PostTool => {
            call.name = required(sent, "toolName")?;
            call.input = argument_text(sent, "toolArgs")?;
            call.tool = tools::recognise(&call.name, &call.input);
            // Tools of servers are called `SERVER-TOOL`, and nothing else says that they are of a server.
            if let (Tool::Other, None, Some((server, _))) = (
                &call.tool,
                tools::kind(&call.name),
                call.name.split_once('-').filter(|(server, tool)| !server.is_empty() && !tool.is_empty()),
            ) {
                call.tool = Tool::Mcp { server: server.to_owned() };
            }
        }
        Event::Prompt => call.prompt = Some(required(sent, "prompt")?),
        Event::Stop | Event::SessionStart => {}
    }
    Ok(call)
}

fn write(event: Event, _moment: &str, reply: &Reply) -> HookOutput {
    let decision = |word: &str, why: &str| json!({ "permissionDecision": word, "permissionDecisionReason": why });
    HookOutput::object(&match (event, reply) {
        (_, Reply::Pass) | (Event::Stop, Reply::Warn(_)) => json!({}),
        (Event::PreTool, Reply::Deny(why)) => decision("deny", why),
        (Event::PreTool, Reply::Ask(why)) => decision("ask", why),
        (Event::Stop | Event::Prompt, Reply::Deny(why) | Reply::Ask(why)) => {
            json!({ "decision": "block", "reason": why })
        }
        (_, Reply::Warn(said)) | (Event::PostTool | Event::SessionStart, Reply::Deny(said) | Reply::Ask(said)) => {
            json!({ "additionalContext": said })
        }
    })
}

fn entry(entry: &HookEntry<'_>) -> Value {
    json!({ "type": "command", "bash": entry.command, "timeoutSec": entry.seconds })
}

fn payload(call: &ShellCall<'_>) -> Value {
    json!({
        "sessionId": call.session, "timestamp": 1_767_225_600_000_u64, "cwd": call.cwd, "toolName": "bash",
        "toolArgs": json!({ "command": call.command }).to_string(),
    })
}
