//! What the scripted model does: one tool call after the other, each of which may depend on what was heard before.

use serde_json::Value;

/// What a tool is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Named arguments.
    Arguments(Value),
    /// Plain text, as Codex's `apply_patch` takes it.
    Text(String),
}

/// One call of a tool as the model writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub tool: String,
    /// The group of tools it belongs to, where a host has such groups.
    pub namespace: Option<&'static str>,
    pub input: Input,
}

impl ToolCall {
    /// A call with named arguments.
    pub fn new(tool: &str, arguments: Value) -> ToolCall {
        ToolCall { tool: tool.to_owned(), namespace: None, input: Input::Arguments(arguments) }
    }

    /// The same call in a group of tools.
    pub fn of(self, namespace: &'static str) -> ToolCall {
        ToolCall { namespace: Some(namespace), ..self }
    }

    /// The arguments as JSON text.
    pub fn arguments(&self) -> String {
        match &self.input {
            Input::Arguments(arguments) => arguments.to_string(),
            Input::Text(text) => Value::from(text.as_str()).to_string(),
        }
    }
}

/// A call that is made when its turn comes, from the results so far; it may do something beside that first.
pub type Step = Box<dyn Fn(&[String]) -> ToolCall + Send + Sync>;

/// A call that depends on nothing.
pub fn step(call: ToolCall) -> Step {
    Box::new(move |_| call.clone())
}

/// A call before which something happens that the host does not see.
pub fn after(deed: impl Fn(&[String]) + Send + Sync + 'static, call: ToolCall) -> Step {
    Box::new(move |heard| {
        deed(heard);
        call.clone()
    })
}

/// The word in a task by which the conversation of a subagent is known.
pub const SUBAGENT: &str = "LIVE-SUBAGENT";

/// A whole session.
#[derive(Default)]
pub struct Script {
    pub main: Vec<Step>,
    pub subagent: Vec<Step>,
}

impl Script {
    /// A session without a subagent.
    pub fn of(main: Vec<Step>) -> Script {
        Script { main, subagent: Vec::new() }
    }
}
