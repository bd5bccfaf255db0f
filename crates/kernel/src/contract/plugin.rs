//! A plug-in as a contract names it: a program, an address or a function that is asked about proposals.

use super::shape::{Direction, shape};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

shape! {
    /// A validator, a judge or a handler.
    PLUGIN = "plugin" {
        "command": Direction::Unclear;
        "url": Direction::Unclear;
        "function": Direction::Unclear;
        "timeout": Direction::Neutral;
        "env": Direction::Unclear;
        "required": Direction::Unclear;
        "escalate_below": Direction::MoreNarrows;
    }
}

/// A program, an address or a function that is asked about proposals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plugin {
    /// Who is asked.
    pub source: PluginSource,
    /// How long it may take.
    pub timeout: Duration,
    /// Environment variables a program gets besides `PATH`; nothing else is passed on.
    pub env: Vec<String>,
    /// For a validator: without its answer nothing passes.
    pub required: bool,
    /// For a judge: below this score a person is asked.
    pub escalate_below: Option<Decimal>,
}

/// Who is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PluginSource {
    /// A program and its arguments; never a shell. The question is its standard input, the answer its standard output.
    Command(Vec<String>),
    /// An address the question is posted to.
    Url(String),
    /// A function that the process which decides has registered under this name.
    Function(String),
}

impl Plugin {
    /// The full form.
    pub fn to_json(&self) -> Json {
        let mut members = match &self.source {
            PluginSource::Command(words) => {
                let mut members = vec![("command", Json::texts(words.iter().map(String::as_str)))];
                if !self.env.is_empty() {
                    members.push(("env", Json::texts(self.env.iter().map(String::as_str))));
                }
                members
            }
            PluginSource::Url(address) => vec![("url", Json::text(address))],
            PluginSource::Function(name) => vec![("function", Json::text(name))],
        };
        members.push(("timeout", Json::text(self.timeout.to_string())));
        if !self.required {
            members.push(("required", Json::Bool(false)));
        }
        members.extend(self.escalate_below.map(|score| ("escalate_below", Json::from(score))));
        Json::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}
