//! Gemini CLI: flat decisions. `continue: false` would end the whole session, so it is never sent.

use super::tools::Tool;
use super::{Call, Event, Printed, Reply, moment, nested, required, text};
use serde_json::json;
use values::json::{Json, Object};

pub(super) fn read(event: Event, sent: &Json) -> Result<Call, String> {
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

pub(super) fn write(event: Event, reply: &Reply) -> Printed {
    let name = match event {
        Event::PreTool => "BeforeTool",
        Event::PostTool => "AfterTool",
        Event::Stop => "AfterAgent",
        Event::SessionStart => "SessionStart",
        Event::Prompt => "BeforeAgent",
    };
    let context = |said: &str| json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": said } });
    Printed::object(&match (event, reply) {
        (_, Reply::Pass) | (Event::Stop, Reply::Warn(_)) => json!({}),
        (_, Reply::Warn(said)) | (Event::SessionStart, Reply::Deny(said) | Reply::Ask(said)) => context(said),
        (Event::PreTool | Event::PostTool | Event::Stop | Event::Prompt, Reply::Deny(why) | Reply::Ask(why)) => {
            json!({ "decision": "deny", "reason": why })
        }
    })
}
