//! OpenAI's Responses, as Codex speaks them.

use super::http::Answer;
use super::turn::{Reply, Turn, items, text, word};
use crate::script::Input;
use serde_json::{Value, json};

pub fn read(body: &Value) -> Turn {
    let name = |tool: &Value| {
        [word(tool, "name"), word(tool, "type")].into_iter().find(|name| !name.is_empty()).map(str::to_owned)
    };
    let mut turn = Turn { tools: items(body, "tools").iter().filter_map(name).collect(), ..Turn::default() };
    turn.said.push_str(body.get("input").and_then(Value::as_str).unwrap_or_default());
    for item in items(body, "input") {
        match word(item, "type") {
            kind if kind.ends_with("_call_output") || kind == "tool_search_output" => {
                turn.results.push(text(item.get("output").unwrap_or(&Value::Null)));
            }
            kind if kind.ends_with("_call") => turn.called.push_str(&item.to_string()),
            _ if word(item, "role") == "user" => turn.said.push_str(&text(item)),
            _ => {}
        }
    }
    turn.aside = turn.tools.is_empty().then(|| "ok".to_owned());
    turn
}

pub fn write(body: &Value, reply: &Reply, number: u64) -> Answer {
    let item = match reply {
        Reply::Call(index, call) => {
            let (id, call_id) = (format!("item_{number}"), format!("call_{index}"));
            let mut item = match &call.input {
                Input::Arguments(arguments) => json!({
                    "type": "function_call", "id": id, "call_id": call_id, "name": call.tool,
                    "arguments": arguments.to_string(), "status": "completed",
                }),
                Input::Text(text) => json!({
                    "type": "custom_tool_call", "id": id, "call_id": call_id, "name": call.tool, "input": text,
                    "status": "completed",
                }),
            };
            if let (Some(namespace), Some(item)) = (call.namespace, item.as_object_mut()) {
                item.insert("namespace".to_owned(), json!(namespace));
            }
            item
        }
        Reply::Text(text) => json!({
            "type": "message", "id": format!("item_{number}"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
    };
    let id = format!("resp_{number}");
    let whole = json!({
        "id": id, "object": "response", "status": "completed", "model": word(body, "model"), "output": [item],
        "usage": {
            "input_tokens": 5, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 5,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 10,
        },
    });
    if body.get("stream") != Some(&Value::Bool(true)) {
        return Answer::json(&whole);
    }
    let begun = json!({ "id": id, "object": "response", "status": "in_progress", "output": [] });
    let events = [
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": whole }),
    ];
    Answer::events(&events, true, "")
}
