//! Who performs an action and how.

use super::members::{Members, map};
use super::shape::{Direction, shape};
use super::words;
use std::collections::BTreeMap;
use values::json::Json;
use values::time::Duration;

shape! {
    /// Who performs an action.
    RUN = "run" {
        "http": Direction::Unclear;
        "command": Direction::Unclear;
        "function": Direction::Unclear;
        "host": Direction::Unclear;
        "class": Direction::Unclear;
        "timeout": Direction::Neutral;
        "headers": Direction::Unclear;
    }
}

words! {
    /// What the receiving side guarantees about repeated requests.
    EffectClass {
        /// No effect at all: a read.
        None = "none",
        /// The effect is in our own store.
        Local = "local",
        /// The provider de-duplicates by our key.
        Keyed = "keyed",
        /// The provider refuses older fence epochs.
        Fenced = "fenced",
        /// Neither: never repeated without a person.
        Opaque = "opaque",
    }
}

words! {
    /// Which kind of executor performs an action: the key under `run`.
    ExecutorKind {
        Http = "http",
        Command = "command",
        Function = "function",
        Host = "host",
    }
}

/// Who performs an action and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Who.
    pub executor: Executor,
    /// What the receiving side guarantees.
    pub class: EffectClass,
    /// How long it may take.
    pub timeout: Duration,
    /// Headers of an HTTP request; secrets by reference only.
    pub headers: BTreeMap<String, String>,
}

impl Run {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        let (word, value) = self.executor.member();
        object.put(word, value);
        object.put("class", Json::text(self.class.word()));
        object.put("timeout", Json::text(self.timeout.to_string()));
        if !self.headers.is_empty() {
            object.put("headers", map(&self.headers, |value| Json::text(value)));
        }
        object.done()
    }
}

/// Who performs an action.
#[derive(Clone, PartialEq, Debug)]
pub enum Executor {
    /// An HTTP request: method and address.
    Http(String),
    /// A program and its arguments; never a shell.
    Command(Vec<String>),
    /// A function registered in the process.
    Function(String),
    /// The agent host performs and reports it.
    Host,
}

impl Executor {
    /// Which kind it is.
    pub fn kind(&self) -> ExecutorKind {
        match self {
            Executor::Http(_) => ExecutorKind::Http,
            Executor::Command(_) => ExecutorKind::Command,
            Executor::Function(_) => ExecutorKind::Function,
            Executor::Host => ExecutorKind::Host,
        }
    }

    /// The key under `run` and its value.
    pub fn member(&self) -> (&'static str, Json) {
        let value = match self {
            Executor::Http(request) => Json::text(request.as_str()),
            Executor::Command(words) => Json::texts(words.iter().map(String::as_str)),
            Executor::Function(name) => Json::text(name.as_str()),
            Executor::Host => Json::Bool(true),
        };
        (self.kind().word(), value)
    }

    /// Reads the [`member`](Executor::member) of an object.
    pub fn read(json: &Json) -> Option<Executor> {
        if let Some(request) = json.get("http") {
            return Some(Executor::Http(request.as_text()?.to_owned()));
        }
        if let Some(words) = json.get("command") {
            let words = words.as_list()?.iter().map(|word| Some(word.as_text()?.to_owned()));
            return Some(Executor::Command(words.collect::<Option<_>>()?));
        }
        if let Some(name) = json.get("function") {
            return Some(Executor::Function(name.as_text()?.to_owned()));
        }
        json.get("host")?.as_bool()?.then_some(Executor::Host)
    }

    /// What is performed, in a few words: a request, a program or a function.
    pub fn summary(&self) -> String {
        match self {
            Executor::Http(request) => request.clone(),
            Executor::Command(words) => words.first().cloned().unwrap_or_default(),
            Executor::Function(name) => format!("function {name}"),
            Executor::Host => "the agent's host".to_owned(),
        }
    }
}
