//! OpenAI's Chat Completions, as Qwen Code and Copilot CLI speak them.

use super::http::Answer;
use super::turn::{Reply, Turn, items, text, word};
use serde_json::{Value, json};

pub fn read(body: &Value) -> Turn {
    let name = |tool: &Value| word(tool.get("function").unwrap_or(&Value::Null), "name").to_owned();
    let mut turn = Turn { tools: items(body, "tools").iter().map(name).collect(), ..Turn::default() };
    for message in items(body, "messages") {
        let content = message.get("content").unwrap_or(&Value::Null);
        match word(message, "role") {
            "tool" => turn.results.push(text(content)),
            "user" => turn.said.push_str(&text(content)),
            "assistant" => items(message, "tool_calls").iter().for_each(|call| turn.called.push_str(&call.to_string())),
            _ => {}
        }
    }
    turn.aside = (turn.tools.len() < 2).then(|| "ok".to_owned());
    turn
}

pub fn write(body: &Value, reply: &Reply, number: u64) -> Answer {
    let (message, end) = match reply {
        Reply::Call(index, call) => {
            let function = json!({ "name": call.tool, "arguments": call.arguments() });
            let call =
                json!({ "index": 0, "id": format!("call_{index}_{number}"), "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
        Reply::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
    };
    let usage = json!({ "prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10 });
    let piece = |object: &str, choice: Value| {
        json!({
            "id": format!("chat_{number}"), "object": object, "created": 0, "model": word(body, "model"),
            "choices": [choice], "usage": usage,
        })
    };
    if body.get("stream") != Some(&Value::Bool(true)) {
        let choice = json!({ "index": 0, "message": message, "finish_reason": end });
        return Answer::json(&piece("chat.completion", choice));
    }
    let events = [
        piece("chat.completion.chunk", json!({ "index": 0, "delta": message, "finish_reason": null })),
        piece("chat.completion.chunk", json!({ "index": 0, "delta": {}, "finish_reason": end })),
    ];
    Answer::events(&events, false, "data: [DONE]\n\n")
}
