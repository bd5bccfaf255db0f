//! Anthropic's Messages, as Claude Code speaks them.

use super::http::Answer;
use super::turn::{Reply, Turn, items, text, word};
use crate::script::Input;
use serde_json::{Value, json};

pub fn read(body: &Value) -> Turn {
    let mut turn = Turn {
        tools: items(body, "tools").iter().map(|tool| word(tool, "name").to_owned()).collect(),
        ..Turn::default()
    };
    for message in items(body, "messages") {
        let is_person = word(message, "role") == "user";
        let content = message.get("content").unwrap_or(&Value::Null);
        let Some(blocks) = content.as_array() else {
            if is_person {
                turn.said.push_str(&text(content));
            }
            continue;
        };
        for block in blocks {
            match word(block, "type") {
                "tool_result" => turn.results.push(text(block.get("content").unwrap_or(&Value::Null))),
                "tool_use" => turn.called.push_str(&block.to_string()),
                _ if is_person => turn.said.push_str(&text(block)),
                _ => {}
            }
        }
    }
    // A question for a title comes without the agent's tools.
    turn.aside = (turn.tools.len() < 2).then(|| r#"{"title":"live"}"#.to_owned());
    turn
}

pub fn write(body: &Value, reply: &Reply, number: u64) -> Answer {
    let (block, start, delta, stop) = match reply {
        Reply::Call(index, call) => {
            let input = match &call.input {
                Input::Arguments(arguments) => arguments.clone(),
                Input::Text(text) => json!({ "input": text }),
            };
            let id = format!("toolu_{number}_{index}");
            let block = json!({ "type": "tool_use", "id": id, "name": call.tool, "input": input });
            let start = json!({ "type": "tool_use", "id": id, "name": call.tool, "input": {} });
            let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
            (block, start, delta, "tool_use")
        }
        Reply::Text(text) => {
            let block = json!({ "type": "text", "text": text });
            let start = json!({ "type": "text", "text": "" });
            (block, start, json!({ "type": "text_delta", "text": text }), "end_turn")
        }
    };
    let message = |content: Vec<&Value>, stop: Value| {
        json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": word(body, "model"),
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": { "input_tokens": 5, "output_tokens": 5 },
        })
    };
    if body.get("stream") != Some(&Value::Bool(true)) {
        return Answer::json(&message(vec![&block], json!(stop)));
    }
    let events = [
        json!({ "type": "message_start", "message": message(Vec::new(), Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": 5 },
        }),
        json!({ "type": "message_stop" }),
    ];
    Answer::events(&events, true, "")
}
