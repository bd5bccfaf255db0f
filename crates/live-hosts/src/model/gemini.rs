//! Gemini's `generateContent`, as Gemini CLI speaks it.

use super::http::Answer;
use super::turn::{Reply, Turn, items, word};
use crate::script::Input;
use serde_json::{Value, json};

pub fn read(body: &Value) -> Turn {
    let declared = items(body, "tools").iter().flat_map(|tool| items(tool, "functionDeclarations"));
    let mut turn = Turn { tools: declared.map(|tool| word(tool, "name").to_owned()).collect(), ..Turn::default() };
    for content in items(body, "contents") {
        for part in items(content, "parts") {
            if let Some(result) = part.get("functionResponse") {
                turn.results.push(result.get("response").unwrap_or(&Value::Null).to_string());
            } else if let Some(call) = part.get("functionCall") {
                turn.called.push_str(&call.to_string());
            } else if word(content, "role") == "user" {
                turn.said.push_str(word(part, "text"));
            }
        }
    }
    let settings = body.get("generationConfig");
    let wants_form =
        ["responseJsonSchema", "responseSchema"].iter().any(|key| settings.is_some_and(|it| it.get(key).is_some()));
    turn.aside = if wants_form {
        // Which model is to answer, and whose turn it is: members of several forms at once.
        let form = json!({
            "reasoning": "x", "next_speaker": "user", "model_choice": "flash", "complexity_reasoning": "x", "complexity_score": 1,
        });
        Some(form.to_string())
    } else {
        turn.tools.is_empty().then(|| "ok".to_owned())
    };
    turn
}

pub fn write(reply: &Reply, streams: bool) -> Answer {
    let part = match reply {
        Reply::Call(index, call) => {
            let arguments = match &call.input {
                Input::Arguments(arguments) => arguments.clone(),
                Input::Text(text) => json!({ "input": text }),
            };
            json!({ "functionCall": { "id": format!("call_{index}"), "name": call.tool, "args": arguments } })
        }
        Reply::Text(text) => json!({ "text": text }),
    };
    let whole = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10 },
        "modelVersion": "live",
    });
    if streams { Answer::events(&[whole], false, "") } else { Answer::json(&whole) }
}
