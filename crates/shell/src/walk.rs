//! Walks the syntax tree in the order a shell would, keeping what is known and running nothing.

mod beside;
mod compound;
mod document;
mod evaluate;
mod expand;
mod made;
mod merge;
mod on_disk;
mod parameter;
mod redirect;
mod report;
mod scope;
mod script;
mod simple;
mod trap;

use crate::answer::{Classification, Span};
use crate::limits;
use crate::mark;
use crate::stream::Stream;
use crate::view::View;
use brush_parser::ast;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(crate) use made::Made;
pub(crate) use on_disk::{Handed, Weight};
pub(crate) use report::Report;

/// Folders kept in which the shell may still be.
const STAYED_MAX: usize = 8;

/// Stands alone for positional parameters of which neither number nor values are known.
pub(crate) const ANY_WORDS: &str = "\u{E001}\u{E001}";

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
    /// A list of which the values are known and their places are not.
    Scattered(Vec<String>),
}

/// Everything a shell carries from one command to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub variables: BTreeMap<String, Variable>,
    /// Variables whose values are evaluated as arithmetic.
    pub integers: BTreeSet<String>,
    /// Variables that change the letters of what they are given.
    pub folded: BTreeSet<String>,
    /// Variables that keep the value they have.
    pub fixed: BTreeSet<String>,
    /// Variables that may not be set after all.
    pub doubtful: BTreeSet<String>,
    /// What the functions being called hide, innermost last.
    pub scopes: Vec<scope::Scope>,
    /// Variables that are other names of variables; empty until the first value names one.
    pub references: BTreeMap<String, String>,
    /// A name defined in two branches means either body.
    pub functions: BTreeMap<String, Vec<Rc<ast::FunctionBody>>>,
    /// Functions that may not be there after all, so that their names may mean programs.
    pub perhaps: BTreeSet<String>,
    /// Variables that programs see which this shell starts.
    pub handed_on: BTreeSet<String>,
    /// Functions that shells see which this one starts.
    pub exported: BTreeSet<String>,
    pub aliases: BTreeMap<String, String>,
    /// Normalised; starts with a hole after `cd` to an unknown place.
    pub cwd: String,
    /// Where the shell still is if an earlier `cd` failed.
    pub stayed: Vec<String>,
    /// The way the shell came to its working directory, links not followed: `cd ..` goes back on it.
    pub way: String,
    /// Folders that `popd` goes back to.
    pub left: Vec<String>,
    pub positional: Option<Vec<String>>,
    /// Copies of and links to programs of the system, made earlier in the same text.
    pub programs: BTreeMap<String, String>,
    /// Whether a descriptor was connected to another machine.
    pub connection: bool,
    /// Content of files written earlier in the same text.
    pub files: BTreeMap<String, Stream>,
    /// Whether files that are there may be kept from being overwritten.
    pub keeps_files: bool,
    /// Texts that run on a signal.
    pub traps: Vec<trap::Trap>,
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
    /// Whether a `return`, `break` or `continue` may have left the body being walked.
    pub left: bool,
    substitutions: usize,
    /// Whether words came out of a list of which the order is not known.
    pub unordered: bool,
    /// Whether words came out of variables that may not be set.
    pub unsure: bool,
    /// Ways of the shell that were named to be turned on or off.
    pub ways: BTreeSet<String>,
    /// Whether a descriptor that every shell has was closed.
    closed: bool,
    /// The state that the traps met when they were walked last.
    settled: Option<State>,
    is_springing: bool,
    /// Whether a program inside of the one being judged reaches other machines.
    pub talked: bool,
    /// Half-known program names tried so far.
    pub guesses: usize,
    /// Words looked up as paths so far.
    pub looks: usize,
    /// Words that code in another language was given.
    pub given: Vec<Arg>,
    /// Files that a command writes which runs beside this shell: when it does so is not known.
    pub beside: BTreeSet<String>,
    /// Commands that run beside this shell, with the state in which they began.
    jobs: Vec<Job>,
    /// Whether there are more of them than are kept.
    more_jobs: bool,
    /// Whether the program being judged is a file that was read: then those in it say who they are.
    pub was_read: bool,
    /// The file that the command being judged has for its input, if its content is not known from the text.
    pub input: Option<String>,
    /// Files on disk whose text is being walked, innermost last.
    reading: Vec<String>,
    /// Second names that the text itself makes. They lie on disk, so no subshell takes them back.
    pub made: Made,
}

/// A command that runs beside its shell: it meets what is written while it runs.
struct Job {
    list: ast::AndOrList,
    state: State,
    origin: Option<Span>,
}

/// Classifies the text. The only door to the walker.
pub(crate) fn classify(command: &str, view: &View<'_>) -> Classification {
    let mut walker = Walker::new(view);
    if !command.is_ascii() {
        walker.offsets = command.char_indices().map(|(offset, _)| offset).chain([command.len()]).collect();
    }
    walker.script(command, Stream::Absent);
    walker.late();
    if !walker.made.is_empty() {
        // What runs beside it or goes round in a loop meets the names that were made further down.
        walker.again(view);
        walker.script(command, Stream::Absent);
    }
    walker.report.into_classification()
}

impl<'v> Walker<'v> {
    fn new(view: &View<'v>) -> Self {
        let cwd = crate::path::normalise(view.cwd, "/");
        let state = State { way: cwd.clone(), cwd, ..State::default() };
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
            left: false,
            substitutions: 0,
            unordered: false,
            unsure: false,
            ways: BTreeSet::new(),
            closed: false,
            settled: None,
            is_springing: false,
            talked: false,
            guesses: 0,
            looks: 0,
            given: Vec::new(),
            beside: BTreeSet::new(),
            jobs: Vec::new(),
            more_jobs: false,
            was_read: false,
            input: None,
            reading: Vec::new(),
            made: Made::default(),
        }
    }

    /// Back to the start, with what was found and made so far.
    fn again(&mut self, view: &View<'v>) {
        let fresh = Self::new(view);
        let offsets = std::mem::take(&mut self.offsets);
        let (mut report, made) = (std::mem::take(&mut self.report), std::mem::take(&mut self.made));
        report.is_quiet = true;
        *self = Self { report, made, offsets, ..fresh };
    }

    /// Walks a text found inside the text (`sh -c`, a decoded pipe) in a shell that a program starts, or does not.
    pub fn inner(&mut self, text: &str, stdin: Stream, span: Span) -> Stream {
        let saved = self.state.clone();
        self.state.started(false);
        let out = self.apart(text, stdin, span);
        let after = std::mem::replace(&mut self.state, saved);
        self.state.may_have_written(after);
        out
    }

    /// The same in a copy of this shell: `$(…)`, and texts that it runs by itself.
    pub fn apart(&mut self, text: &str, stdin: Stream, span: Span) -> Stream {
        let saved = self.state.clone();
        self.state.forked();
        let out = self.inline(text, stdin, span);
        self.state.returned(saved);
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
        let expanded = self.at_home(text);
        let keep_slash = expanded.ends_with('/') && expanded.chars().next().is_some_and(crate::mark::is_hole);
        let mut path = crate::path::real(&expanded, &self.state.cwd, &|path| self.target(path));
        if keep_slash {
            path.push('/');
        }
        path
    }

    fn target(&self, path: &str) -> Option<String> {
        // The system's own links to where a process is mean the process that the command becomes; those of another
        // process lead where it is.
        if let Some((process, link)) = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')) {
            let own = matches!(process, "self" | "thread-self");
            match link.rsplit_once('/').map_or(link, |(_, last)| last) {
                "cwd" if own => return Some(self.state.cwd.clone()),
                "root" => return Some("/".to_owned()),
                _ => {}
            }
        }
        self.made.target(path, &self.view)
    }

    /// The same without the names that this text makes: whether a command before this one ran is never certain.
    pub fn resolve_untouched(&self, text: &str) -> String {
        let on_disk = |path: &str| self.view.links.and_then(|links| links.target(path));
        crate::path::real(&self.at_home(text), &self.state.cwd, &on_disk)
    }

    /// The entry itself, for what changes a name and not what the name leads to.
    pub fn resolve_entry(&self, text: &str) -> String {
        if self.made.is_empty() {
            return self.resolve(text);
        }
        let entry = self.entry(text);
        let on_disk = |path: &str| self.view.links.and_then(|links| links.target(path));
        crate::path::real(&entry, "/", &on_disk)
    }

    /// Where an entry lies, whether or not it is a link.
    pub fn entry(&self, text: &str) -> String {
        let text = if text.len() > 1 { text.trim_end_matches('/') } else { text };
        let (folder, name) = text.rsplit_once('/').unwrap_or((".", text));
        if matches!(name, "" | "." | "..") || name.starts_with('~') {
            return self.resolve(text);
        }
        let folder = self.resolve(if folder.is_empty() { "/" } else { folder });
        crate::path::real(name, &folder, &|_| None)
    }

    fn at_home(&self, text: &str) -> String {
        match text.strip_prefix('~') {
            Some("") => self.view.home.to_owned(),
            Some(rest) if rest.starts_with('/') => format!("{}{rest}", self.view.home),
            Some(_) | None => text.to_owned(),
        }
    }

    /// `cd`: a shell goes by the way it came, unless it is told to go by the folders themselves.
    pub fn enter(&mut self, text: &str, physical: bool) {
        let plain = |path: &str, cwd: &str| {
            crate::path::real(path, cwd, &|path| self.view.links.and_then(|links| links.target(path)))
        };
        let expanded = self.at_home(text);
        if !self.state.cwd.starts_with('/')
            && !expanded.starts_with('/')
            && expanded.split('/').any(|part| part == "..")
        {
            // What lies above a place that is not known is not known either.
            self.state.cwd = mark::OUTPUT.to_string();
            return;
        }
        let came_here = crate::path::real(&self.state.way, "/", &|path| self.target(path));
        let from = if came_here == self.state.cwd { self.state.way.clone() } else { self.state.cwd.clone() };
        let way = if physical { self.resolve(text) } else { crate::path::normalise(&expanded, &from) };
        let mut cwd = crate::path::real(&way, "/", &|path| self.target(path));
        if !self.made.is_empty() {
            let untouched = plain(&way, "/");
            // Both may be there: which of them it is, is known only when it runs.
            if untouched != cwd && self.view.links.is_some_and(|links| links.is_folder(&untouched)) {
                cwd = crate::mark::OUTPUT.to_string();
            }
        }
        self.may_stay(&expanded, &cwd);
        self.state.way = if cwd.starts_with('/') { way } else { cwd.clone() };
        self.state.cwd = cwd;
    }

    /// Remembers where the shell is if the folder it is told to enter is not there.
    fn may_stay(&mut self, text: &str, cwd: &str) {
        let Some(links) = self.view.links else { return };
        let there = links.is_folder(cwd) || self.made.may_be_folder(cwd) && !links.exists(cwd);
        let certain = there && !self.made.may_be_gone(cwd) && !self.report.has_trees();
        let absolute = text.starts_with('/') || !cwd.starts_with('/');
        if certain && absolute {
            self.state.stayed.clear();
            return;
        }
        let entered: Vec<String> =
            self.state.stayed.iter().filter(|_| !absolute).map(|from| crate::path::normalise(text, from)).collect();
        self.state.stayed.extend(entered);
        if !certain && self.state.cwd.starts_with('/') {
            self.state.stayed.push(self.state.cwd.clone());
        }
        self.state.stayed.sort();
        self.state.stayed.dedup();
        self.state.stayed.retain(|folder| folder != cwd);
        if self.state.stayed.len() > STAYED_MAX {
            self.report.unknown("TOO_MANY", "more changes of folder than are followed", Span::default());
            self.state.stayed.truncate(STAYED_MAX);
        }
    }

    /// What a relative path means where the shell still is if a `cd` failed.
    pub fn elsewhere(&self, text: &str) -> Vec<String> {
        let fixed = text.starts_with(['/', '~']) || text.chars().next().is_none_or(mark::is_hole);
        if fixed { Vec::new() } else { self.state.stayed.iter().map(|from| format!("{from}/{text}")).collect() }
    }
}
