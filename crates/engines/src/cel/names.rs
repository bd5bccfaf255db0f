//! The names an expression may use, and what to say about others.

use super::tree::Function;
use kernel::nearest::suggestion;

/// What a mistaken `state[…]` is told.
pub(super) const DYNAMIC_STATE_KEY: &str =
    "state keys must be written out; use a template over params such as `state[\"accounts/{account}/balance\"]`";

/// A name every expression sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Root {
    Params,
    State,
    Agent,
    Action,
    Confidence,
}

impl Root {
    const WORDS: [&'static str; 5] = ["params", "state", "agent", "action", "confidence"];

    pub(super) fn from_word(word: &str) -> Option<Root> {
        Some(match word {
            "params" => Root::Params,
            "state" => Root::State,
            "agent" => Root::Agent,
            "action" => Root::Action,
            "confidence" => Root::Confidence,
            _ => return None,
        })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Root::Params => "params",
            Root::State => "state",
            Root::Agent => "agent",
            Root::Action => "action",
            Root::Confidence => "confidence",
        }
    }
}

/// What to say about a name nobody knows.
pub(super) fn unknown(name: &str, locals: &[String]) -> String {
    let known = Root::WORDS.into_iter().chain(locals.iter().map(String::as_str));
    let hint = suggestion(name, known);
    format!("`{name}` is not known; if it is a param write `params.{name}`{hint}")
}

/// What to say about a function nobody knows.
pub(super) fn unknown_function(name: &str) -> String {
    match name {
        "timestamp" | "duration" | "type" | "dyn" | "uint" | "bytes" | "bool" => {
            format!("`{name}` is not supported")
        }
        "all" | "exists" | "exists_one" | "filter" | "map" => {
            format!("`{name}` is written `list.{name}(item, …)`")
        }
        "has" => "`has` takes one field, such as `has(params.note)`".to_owned(),
        _ => format!("there is no function `{name}`{}", suggestion(name, Function::WORDS.iter().copied())),
    }
}
