//! What opening and ending a flow tell.

use super::Event;
use crate::consequence::text_or_null;
use crate::flow::FlowState;
use crate::stored::{text_of, texts_of};
use values::json::Json;

/// A flow that was opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenedFlow {
    pub flow: String,
    pub agent: String,
    /// The flow it came out of.
    pub parent: Option<String>,
    /// The first of its line.
    pub root: Option<String>,
}

impl OpenedFlow {
    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("flow", Json::text(self.flow.as_str())),
            ("agent", Json::text(self.agent.as_str())),
            ("parent", Json::from(self.parent.clone())),
            ("root", Json::from(self.root.clone())),
        ])
    }

    pub(super) fn read(json: &Json) -> Option<OpenedFlow> {
        Some(OpenedFlow {
            flow: text_of(json, "flow")?,
            agent: text_of(json, "agent")?,
            parent: text_or_null(json, "parent")?,
            root: text_or_null(json, "root")?,
        })
    }
}

/// A flow that takes no more proposals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClosedFlow {
    pub flow: String,
    /// Intents that come to their end all the same.
    pub going_on: Vec<String>,
    /// Questions that may still be answered.
    pub questions: Vec<String>,
    /// Whether something else is open in it.
    pub unlisted: bool,
}

/// A flow that was broken off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbortedFlow {
    pub flow: String,
    /// Intents that nobody had started.
    pub called_off: Vec<String>,
    /// Intents that may have been sent: somebody must say what became of them.
    pub to_settle: Vec<String>,
    /// Questions that ended with it.
    pub questions: Vec<String>,
    /// Whether something else was open in it.
    pub unlisted: bool,
}

impl ClosedFlow {
    pub(super) fn to_json(&self) -> Json {
        let lists = [("going_on", &self.going_on), ("questions", &self.questions)];
        end_json(&self.flow, FlowState::Closed, &lists, self.unlisted)
    }
}

impl AbortedFlow {
    pub(super) fn to_json(&self) -> Json {
        let lists = [("called_off", &self.called_off), ("to_settle", &self.to_settle), ("questions", &self.questions)];
        end_json(&self.flow, FlowState::Aborted, &lists, self.unlisted)
    }
}

fn end_json(flow: &str, state: FlowState, lists: &[(&str, &Vec<String>)], unlisted: bool) -> Json {
    let head = [("flow", Json::text(flow)), ("state", Json::text(state.word()))];
    let lists = lists.iter().map(|(key, names)| (*key, Json::texts(names.iter().map(String::as_str))));
    let tail = unlisted.then_some(("unlisted", Json::Bool(true)));
    Json::Object(head.into_iter().chain(lists).chain(tail).map(|(key, value)| (key.to_owned(), value)).collect())
}

pub(super) fn read_end(json: &Json) -> Option<Event> {
    let (flow, questions) = (text_of(json, "flow")?, texts_of(json, "questions")?);
    let unlisted = json.get("unlisted").is_some();
    match FlowState::from_word(json.get("state")?.as_text()?)? {
        FlowState::Open => None,
        FlowState::Closed => {
            Some(Event::FlowClosed(ClosedFlow { flow, going_on: texts_of(json, "going_on")?, questions, unlisted }))
        }
        FlowState::Aborted => Some(Event::FlowAborted(AbortedFlow {
            flow,
            called_off: texts_of(json, "called_off")?,
            to_settle: texts_of(json, "to_settle")?,
            questions,
            unlisted,
        })),
    }
}
