//! Two states of which either may be the one the shell is in.

use super::{ANY_WORDS, Arg, STAYED_MAX, State, Variable, Walker};
use crate::answer::Span;
use crate::limits::LOOP_ROUNDS_MAX;
use crate::mark;
use crate::stream::Stream;
use std::rc::Rc;

impl Walker<'_> {
    /// Keeps what two possible states agree on; where they differ the value is unknown.
    pub(crate) fn join(&mut self, other: &State) {
        for (name, value) in &other.variables {
            match self.state.variables.get(name).cloned() {
                Some(mine) if mine == *value => {}
                // Assigned on one side only: the assignment is the interesting case.
                None => {
                    self.state.variables.insert(name.clone(), value.clone());
                    self.state.doubtful.insert(name.clone());
                }
                Some(mine) => {
                    let either = self.one_of(&mine, value);
                    self.state.variables.insert(name.clone(), either);
                }
            }
        }
        let own = &mut self.state;
        let alone = own.variables.keys().filter(|name| !other.variables.contains_key(*name));
        own.doubtful.extend(alone.cloned().collect::<Vec<_>>());
        own.doubtful.extend(other.doubtful.iter().cloned());
        if own.positional != other.positional {
            own.positional = match (own.positional.take(), other.positional.clone()) {
                // Set on one side only: the setting is the interesting case.
                (Some(items), None) | (None, Some(items)) => {
                    own.doubtful.insert("@".to_owned());
                    Some(items)
                }
                (Some(_), Some(_)) | (None, None) => Some(vec![ANY_WORDS.to_owned()]),
            };
        }
        own.integers.extend(other.integers.iter().cloned());
        for (name, target) in &other.references {
            let known = own.references.entry(name.clone()).or_insert_with(|| target.clone());
            if known != target {
                *known = mark::OUTPUT.to_string();
            }
        }
        own.join_names(other);
        own.join_programs(other);
        own.folded.extend(other.folded.iter().cloned());
        own.fixed.extend(other.fixed.iter().cloned());
        own.join_scopes(other);
        own.join_traps(other);
        own.join_files(other);
        self.join_folders(other);
    }

    /// Whether the shell is in the one folder or in the other is not known.
    fn join_folders(&mut self, other: &State) {
        let own = &mut self.state;
        for folder in &other.stayed {
            if !own.stayed.contains(folder) {
                own.stayed.push(folder.clone());
            }
        }
        if own.cwd == other.cwd {
            return;
        }
        // The more dangerous of the two places decides, and the other one is remembered.
        let vital = crate::zone::of(&other.cwd, "/", self.view.home).is_vital();
        let worse = vital || !other.cwd.starts_with('/');
        let rest = if worse { std::mem::replace(&mut own.cwd, other.cwd.clone()) } else { other.cwd.clone() };
        if rest.starts_with('/') && !own.stayed.contains(&rest) {
            own.stayed.push(rest);
        }
        if own.stayed.len() > STAYED_MAX {
            own.stayed.truncate(STAYED_MAX);
            self.report.unknown("TOO_MANY", "more changes of folder than are followed", Span::default());
        }
    }

    /// A command that may have failed before it did anything: the state is the one it left or the one it met.
    pub(crate) fn perhaps_ran(&mut self, mut before: State) {
        // What it found out about files is not unlearned.
        before.files.retain(|path, _| self.state.files.contains_key(path));
        self.join(&before);
    }

    /// What is written to a file; what lay there may be there still.
    pub(crate) fn put(&mut self, path: String, content: Stream, append: bool) {
        let content = if content == Stream::Absent { Stream::text("") } else { content };
        let in_doubt = self.state.keeps_files || self.beside.contains(&path);
        let whole = match self.state.files.remove(&path) {
            Some(before) if append => before.then(content),
            Some(before) if in_doubt => either(before, content),
            Some(_) | None => content,
        };
        self.state.files.insert(path, whole);
    }

    /// A program that another one starts, perhaps never: nothing but what it writes stays.
    pub(crate) fn run_perhaps(&mut self, words: Vec<Arg>, span: Span) -> Stream {
        let saved = self.state.clone();
        let out = self.run(words, Stream::Absent, span);
        let after = std::mem::replace(&mut self.state, saved);
        self.state.may_have_written(after);
        out
    }

    /// What a command prints that may not run. Where it names a place that must not be lost, it counts as printed.
    pub(crate) fn perhaps_printed(&mut self, out: Stream) -> Stream {
        let Stream::Text(text) = &out else { return out };
        let words = text.split_whitespace().map(ToOwned::to_owned).collect();
        let nothing = Variable::Scalar(String::new());
        if text.is_empty()
            || self.one_of(&Variable::List(words), &nothing) != Variable::Scalar(mark::OUTPUT.to_string())
        {
            return out;
        }
        out.blurred()
    }

    /// What one of two commands prints, as `a || b`.
    pub(crate) fn either_printed(&mut self, first: Stream, second: Stream) -> Stream {
        let second = self.perhaps_printed(second);
        let is_worse = matches!(&second, Stream::Text(text) if !text.is_empty()) && first != Stream::Remote;
        if is_worse { second } else { either(first, second) }
    }

    /// A text that may run at any time, and often: what it set has no certain value any more.
    pub(crate) fn perhaps_often(&mut self, before: &State) {
        let unknown = Variable::Scalar(mark::OUTPUT.to_string());
        let own = &mut self.state;
        for (name, value) in &mut own.variables {
            if before.variables.get(name) != Some(value) {
                own.fixed.insert(name.clone());
                value.clone_from(&unknown);
            }
        }
        if own.cwd != before.cwd {
            own.cwd = mark::OUTPUT.to_string();
        }
        self.join(before);
    }
}

impl State {
    fn join_names(&mut self, other: &State) {
        let alone = self.functions.keys().filter(|name| !other.functions.contains_key(*name));
        let missing = other.functions.keys().filter(|name| !self.functions.contains_key(*name));
        let doubted: Vec<String> = alone.chain(missing).chain(&other.perhaps).cloned().collect();
        self.perhaps.extend(doubted);
        self.exported.retain(|name| other.exported.contains(name));
        self.handed_on.retain(|name| other.handed_on.contains(name));
        for (name, bodies) in &other.functions {
            let known = self.functions.entry(name.clone()).or_default();
            for body in bodies {
                if known.len() < LOOP_ROUNDS_MAX && !known.iter().any(|own| Rc::ptr_eq(own, body)) {
                    known.push(Rc::clone(body));
                }
            }
        }
        for (name, text) in &other.aliases {
            let known = self.aliases.entry(name.clone()).or_insert_with(|| text.clone());
            if known != text {
                *known = mark::OUTPUT.to_string();
            }
        }
    }

    /// A name that may mean either of two programs means one that is not known.
    fn join_programs(&mut self, other: &State) {
        for (path, program) in &other.programs {
            let known = self.programs.entry(path.clone()).or_insert_with(|| program.clone());
            if known != program {
                *known = mark::OUTPUT.to_string();
            }
        }
    }

    /// The shell of this state ends, and `saved` goes on: what lies on disk stays.
    pub(crate) fn returned(&mut self, saved: State) {
        let files = std::mem::take(&mut self.files);
        let programs = std::mem::take(&mut self.programs);
        *self = State { files, programs, ..saved };
    }

    /// What another shell left on disk, if it ran at all, or has come so far.
    pub(crate) fn may_have_written(&mut self, other: State) {
        self.join_files(&other);
        self.join_programs(&other);
    }

    /// The state of a shell that a program starts: it knows the functions that were handed on, if it is of the same kind.
    pub(crate) fn started(&mut self, is_same_kind: bool) {
        let exported = &self.exported;
        self.functions.retain(|name, _| exported.contains(name));
        if !is_same_kind {
            self.perhaps.extend(self.functions.keys().cloned());
        }
        self.aliases.clear();
        // What is not handed on is there only if the shell itself was given it.
        let alone: Vec<String> =
            self.variables.keys().filter(|name| !self.handed_on.contains(*name)).cloned().collect();
        self.doubtful.extend(alone);
    }

    fn join_files(&mut self, other: &State) {
        for (path, content) in &other.files {
            let content = match self.files.get(path) {
                Some(mine) => either(mine.clone(), content.clone()),
                None => content.clone(),
            };
            self.files.insert(path.clone(), content);
        }
    }
}

/// One of two streams.
pub(crate) fn either(first: Stream, second: Stream) -> Stream {
    if first == second || second == Stream::Absent {
        first
    } else if first == Stream::Absent {
        second
    } else {
        match (&first, &second) {
            (Stream::Remote, _) | (_, Stream::Remote) => Stream::Remote,
            (Stream::Absent | Stream::Text(_) | Stream::Secret | Stream::Opaque, _) => Stream::Opaque,
        }
    }
}
