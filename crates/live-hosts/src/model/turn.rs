//! One request to a model in our words, whichever interface it came through.

use crate::script::{SUBAGENT, ToolCall};
use serde_json::Value;

/// What a host tells the model.
#[derive(Default, Debug, PartialEq)]
pub struct Turn {
    /// What the model may call, by name.
    pub tools: Vec<String>,
    /// What the person and the host said.
    pub said: String,
    /// Earlier calls of this conversation, as text.
    pub called: String,
    /// What came back from each call so far.
    pub results: Vec<String>,
    /// The answer, where a host asks beside the conversation: for a title, or whose turn it is.
    pub aside: Option<String>,
}

impl Turn {
    /// Whether this is a subagent's conversation: it was told the word, and did not hand the word on itself.
    pub fn is_of_subagent(&self) -> bool {
        self.said.contains(SUBAGENT) && !self.called.contains(SUBAGENT)
    }
}

/// What the model answers.
pub enum Reply {
    /// The n-th call of the conversation.
    Call(usize, ToolCall),
    Text(String),
}

/// All text in a piece of a conversation, in order.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let known = ["text", "content", "output", "error"].iter().find_map(|key| members.get(*key));
            known.map_or_else(|| value.to_string(), text)
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The items of a list, or nothing.
pub fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A member that is text, or nothing.
pub fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
