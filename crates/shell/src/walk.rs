//! Walks the syntax tree in the order a shell would, keeping what is known and running nothing.

mod compound;
mod expand;
mod parameter;
mod redirect;
mod report;
mod script;
mod simple;

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast;

use crate::answer::{Classification, Span};
use crate::limits;
use crate::stream::Stream;
use crate::view::View;

pub(crate) use report::Report;

/// One word of a command after expansion, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arg {
    pub text: String,
    pub span: Span,
    /// Whether the word was an unquoted expansion, which may be several words or none.
    pub loose: bool,
}

impl Arg {
    pub fn new(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span, loose: false }
    }
}

/// A shell variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Scalar(String),
    List(Vec<String>),
}

/// Everything a shell carries from one command to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub variables: BTreeMap<String, Variable>,
    pub functions: BTreeMap<String, Rc<ast::FunctionBody>>,
    pub aliases: BTreeMap<String, String>,
    /// Normalised; starts with a hole after `cd` to an unknown place.
    pub cwd: String,
    pub positional: Option<Vec<String>>,
    /// Copies of and links to programs of the system, made earlier in the same text.
    pub programs: BTreeMap<String, String>,
    /// Whether a descriptor was connected to another machine.
    pub connection: bool,
    /// Content of files written earlier in the same text.
    pub files: BTreeMap<String, Stream>,
}

pub(crate) struct Walker<'v> {
    pub view: View<'v>,
    pub report: Report,
    pub state: State,
    /// Set while walking a text inside the text; every span then is that of the outer word.
    origin: Option<Span>,
    /// Byte offset of each character of the outermost text when it is not ASCII.
    offsets: Vec<usize>,
    depth: usize,
    steps: usize,
    work: usize,
    /// Functions being called, innermost last.
    calls: Vec<(String, Rc<ast::FunctionBody>)>,
    /// Whether the command being walked shares the machine with a sibling it started.
    forks: bool,
    substitutions: usize,
    /// Half-known program names tried so far.
    pub guesses: usize,
}

/// Classifies the text. The only door to the walker.
pub(crate) fn classify(command: &str, view: &View<'_>) -> Classification {
    let mut walker = Walker::new(view);
    if !command.is_ascii() {
        walker.offsets = command.char_indices().map(|(offset, _)| offset).chain([command.len()]).collect();
    }
    walker.script(command, Stream::Absent);
    walker.report.into_classification()
}

impl<'v> Walker<'v> {
    fn new(view: &View<'v>) -> Self {
        let state = State { cwd: crate::path::normalise(view.cwd, "/"), ..State::default() };
        Self {
            view: *view,
            report: Report::default(),
            state,
            origin: None,
            offsets: Vec::new(),
            depth: 0,
            steps: 0,
            work: 0,
            calls: Vec::new(),
            forks: false,
            substitutions: 0,
            guesses: 0,
        }
    }

    /// Walks a text found inside the text (`sh -c`, `eval`, a decoded pipe) in a shell of its own.
    pub fn inner(&mut self, text: &str, stdin: Stream, span: Span) -> Stream {
        let saved = self.state.clone();
        let out = self.inline(text, stdin, span);
        self.state = saved;
        out
    }

    /// Walks a text found inside the text in the same shell (`eval`, `source`).
    pub fn inline(&mut self, text: &str, stdin: Stream, span: Span) -> Stream {
        if self.depth >= limits::DEPTH_MAX {
            self.report.unknown("TOO_DEEP", "text is nested too deeply to follow", span);
            return Stream::Opaque;
        }
        let origin = self.origin;
        self.origin = Some(origin.unwrap_or(span));
        self.depth += 1;
        let out = self.script(&crate::mark::as_source(text), stdin);
        self.depth -= 1;
        self.origin = origin;
        out
    }

    /// Whether the text being walked was found inside another text.
    pub fn is_nested(&self) -> bool {
        self.depth > 0
    }

    /// Maps a grammar location to bytes of the outermost text.
    fn span_of(&self, location: Option<&brush_parser::SourceSpan>) -> Span {
        if let Some(origin) = self.origin {
            return origin;
        }
        let Some(location) = location else { return Span::default() };
        Span { start: self.byte(location.start.index), end: self.byte(location.end.index) }
    }

    fn byte(&self, index: usize) -> usize {
        if self.offsets.is_empty() {
            index
        } else {
            self.offsets.get(index).or(self.offsets.last()).copied().unwrap_or(index)
        }
    }

    /// Goes one level into an operand that is scanned by recursion; `false` at the bottom.
    pub fn deeper(&mut self) -> bool {
        self.depth += 1;
        if self.depth > limits::DEPTH_MAX {
            self.depth -= 1;
            self.report.unknown(
                "TOO_DEEP",
                "expansions are nested too deeply to follow",
                self.origin.unwrap_or_default(),
            );
            return false;
        }
        true
    }

    pub fn shallower(&mut self) {
        self.depth -= 1;
    }

    /// Spends one step; `false` when the text asks for more than is walked.
    pub fn step(&mut self, span: Span) -> bool {
        self.steps += 1;
        if self.steps == limits::STEPS_MAX {
            self.report.unknown("TOO_MANY", "more commands than are followed", span);
        }
        self.steps < limits::STEPS_MAX
    }

    /// Whether the steps are spent; loops end here.
    fn is_spent(&self) -> bool {
        self.steps >= limits::STEPS_MAX
    }

    /// A path operand against the working directory of this point, links followed.
    pub fn resolve(&self, text: &str) -> String {
        let expanded = match text.strip_prefix('~') {
            Some("") => self.view.home.to_owned(),
            Some(rest) if rest.starts_with('/') => format!("{}{rest}", self.view.home),
            Some(_) | None => text.to_owned(),
        };
        let keep_slash = expanded.ends_with('/') && expanded.chars().next().is_some_and(crate::mark::is_hole);
        let mut path = crate::path::normalise(&expanded, &self.state.cwd);
        if keep_slash {
            path.push('/');
        }
        if self.view.links.is_some() { crate::path::follow(&path, &self.view) } else { path }
    }
}
