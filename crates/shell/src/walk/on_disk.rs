//! Files on disk that a command would run: judged by what is in them, where the caller can look.
//!
//! What is certain always counts. What is only in doubt counts while nobody has looked at the file: a person who let it
//! run once is not asked about the same content again, and a script that lay there before is the project's own.

use super::{Report, Walker};
use crate::answer::Span;
use crate::mark;
use crate::stream::Stream;
use crate::view::Content;

/// What is known of a file that a program is handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// What the text itself says of it.
    Told(Stream),
    /// The file lies on disk and holds this.
    OnDisk(String),
    /// The file lies on disk, and what it holds is not seen.
    Unseen,
}

/// How much of what is found in a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// All of it, as if it had been typed.
    Typed,
    /// A program: it has files, connections and settings of its own, so only harm counts.
    Program,
    /// What a build does is its own business: only catastrophes, and files that must not be written.
    Build,
}

impl Walker<'_> {
    /// A file that is run or applied: as this text wrote it, else as it lies on disk.
    pub fn handed_file(&mut self, text: &str, span: Span) -> Handed {
        let content = self.read_file(text, span);
        if content != Stream::Opaque {
            return Handed::Told(content);
        }
        let path = self.resolve(text);
        match self.looks_at(&path) {
            Some(links) => match links.text(&path) {
                Content::Seen(text) => Handed::OnDisk(mark::cleaned(&text).into_owned()),
                Content::Unseen => Handed::Unseen,
                Content::Missing => Handed::Told(content),
            },
            None => Handed::Told(content),
        }
    }

    /// The disk, if what lies at a path is what lies there when the command runs.
    pub fn looks_at(&self, path: &str) -> Option<&dyn crate::view::Links> {
        let is_here =
            !matches!(self.state.cwd.as_str(), crate::act::container::INSIDE | crate::act::wrapper::REMOTE_LOGIN);
        let is_known = path.starts_with('/') && mark::is_literal(path) && !self.state.files.contains_key(path);
        self.view.links.filter(|_| is_here && is_known)
    }

    /// Whether a doubt about a file on disk is still to be raised.
    fn is_doubted(&self, path: &str) -> bool {
        self.view.links.is_some_and(|links| !links.is_settled(path))
    }

    /// A file that is run although nobody can see what is in it.
    pub fn unseen(&mut self, text: &str, span: Span) {
        let path = self.resolve(text);
        if self.is_doubted(&path) {
            let sentence =
                format!("what `{}` holds cannot be seen: it is too large or of no known form", mark::shown(text));
            self.report.unknown("UNSEEN", sentence, span);
        }
    }

    /// Something that is applied or unpacked and comes from where nobody looks. Without a disk nobody looks anywhere.
    pub fn not_seen(&mut self, what: &str, span: Span) {
        if self.view.links.is_some() {
            self.report.unknown("UNSEEN", format!("{what} cannot be seen before it is used"), span);
        }
    }

    /// Whether any command stands before the one being judged.
    pub fn is_preceded(&self) -> bool {
        self.report.before_last().is_some()
    }

    /// Whether the command before the one being judged is one of these programs: what it prints lay here before.
    pub fn is_printed_by(&self, programs: &[&str]) -> bool {
        self.report.before_last().is_some_and(|name| programs.contains(&name))
    }

    /// Walks what a file on disk holds, and keeps of it what has weight.
    pub fn within_file(&mut self, file: &str, weight: Weight, walk: impl FnOnce(&mut Self) -> Stream) -> Stream {
        let path = self.resolve(file);
        // A script that starts itself again does nothing that was not seen.
        if self.reading.contains(&path) {
            return Stream::Opaque;
        }
        let is_doubted = self.is_doubted(&path) && !(weight == Weight::Program && self.is_output(&path));
        let mut fresh = Report::default();
        (fresh.is_brought, fresh.is_quiet) = (self.report.is_brought, self.report.is_quiet);
        let before = std::mem::replace(&mut self.report, fresh);
        self.reading.push(path);
        let out = walk(self);
        self.reading.pop();
        let found = std::mem::replace(&mut self.report, before);
        self.report.take_in(found, &mark::shown(file), weight, is_doubted);
        self.was_read = true;
        out
    }

    /// Whether a build puts files there: such a program changes at each build.
    fn is_output(&self, path: &str) -> bool {
        crate::build_output::holds(path, &self.view)
    }
}
