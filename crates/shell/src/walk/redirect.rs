//! Redirections: where a command's bytes come from and where they go.

use super::Walker;
use crate::answer::Span;
use crate::stream::Stream;
use crate::touch::How;
use brush_parser::ast::{self, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, ProcessSubstitutionKind};

/// The redirections of one command, with words already expanded.
pub(crate) struct Plan {
    pub stdin: Stream,
    outputs: Vec<Output>,
    /// Whether any file is a network connection.
    pub connected: bool,
    /// Whether input comes from another descriptor.
    pub duplicated: bool,
    /// Whether the command may not run because one of them cannot be made.
    pub may_fail: bool,
    /// Whether they are those of the shell from here on.
    pub stays_open: bool,
    /// `> >(command)`.
    into: Option<ast::SubshellCommand>,
}

struct Output {
    path: String,
    append: bool,
    /// Whether standard output itself goes here, not only errors.
    stdout: bool,
    span: Span,
}

impl Walker<'_> {
    pub(crate) fn redirects(&mut self, list: &[IoRedirect], stdin: Stream) -> Plan {
        self.input = None;
        let mut plan = Plan {
            stdin,
            outputs: Vec::new(),
            connected: false,
            duplicated: false,
            may_fail: false,
            stays_open: false,
            into: None,
        };
        for redirect in list {
            if self.is_spent() {
                break;
            }
            match redirect {
                IoRedirect::File(fd, kind, target) => self.file_redirect(*fd, kind, target, &mut plan),
                IoRedirect::HereDocument(_, document) => {
                    let text = if document.requires_expansion {
                        self.here_document(&document.doc.value, document.doc.loc.as_ref())
                    } else {
                        document.doc.value.clone()
                    };
                    plan.stdin = Stream::text(text);
                }
                IoRedirect::HereString(_, word) => plan.stdin = Stream::text(self.word_valued(word) + "\n"),
                IoRedirect::OutputAndError(word, append) => {
                    let path = self.word_joined(word);
                    let span = self.span_of(word.loc.as_ref());
                    plan.connected |= is_connection(&path);
                    plan.may_fail |= !always_opens(&path);
                    plan.outputs.push(Output { path, append: *append, stdout: true, span });
                }
            }
        }
        plan
    }

    fn file_redirect(
        &mut self,
        fd: Option<ast::IoFd>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        plan: &mut Plan,
    ) {
        match (kind, target) {
            (_, IoFileRedirectTarget::Fd(from)) => {
                plan.may_fail |= self.closed || !(0..=2).contains(from);
                plan.duplicated |= matches!(kind, IoFileRedirectKind::DuplicateInput);
            }
            (_, IoFileRedirectTarget::ProcessSubstitution(ProcessSubstitutionKind::Read, shell)) => {
                plan.stdin = self.captured(shell)
            }
            (_, IoFileRedirectTarget::ProcessSubstitution(ProcessSubstitutionKind::Write, shell)) => {
                plan.into = Some(shell.clone())
            }
            (
                IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput,
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
            ) => {
                let path = self.word_joined(word);
                plan.duplicated |= matches!(kind, IoFileRedirectKind::DuplicateInput);
                plan.may_fail |= !(always_opens(&path) || self.is_open(&path));
                if matches!(kind, IoFileRedirectKind::Read) {
                    let span = self.span_of(word.loc.as_ref());
                    plan.stdin = self.read_file(&path, span);
                    self.input = (plan.stdin == Stream::Opaque).then(|| path.clone());
                }
            }
            (
                IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::Clobber
                | IoFileRedirectKind::ReadAndWrite
                | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
            ) => {
                let path = self.word_joined(word);
                // `>&2` and `>&-` move descriptors, they name no file.
                let descriptor = matches!(kind, IoFileRedirectKind::DuplicateOutput)
                    && path.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
                plan.may_fail |= if descriptor { !self.is_open(&path) } else { !always_opens(&path) };
                if !descriptor {
                    plan.connected |= is_connection(&path);
                    let append = matches!(kind, IoFileRedirectKind::Append | IoFileRedirectKind::ReadAndWrite);
                    let span = self.span_of(word.loc.as_ref());
                    plan.outputs.push(Output { path, append, stdout: fd.is_none_or(|fd| fd == 1), span });
                }
            }
        }
    }

    /// Whether a descriptor is one that every shell has.
    fn is_open(&mut self, descriptor: &str) -> bool {
        self.closed |= descriptor.ends_with('-');
        matches!(descriptor, "-" | "0-" | "1-" | "2-") || matches!(descriptor, "0" | "1" | "2") && !self.closed
    }

    /// Sends a command's output where the redirections say; what is left for the next command is the answer.
    pub(crate) fn deliver(&mut self, plan: &Plan, out: Stream, ran: bool) -> Stream {
        let silent = !ran || out == Stream::Absent || out == Stream::Text(String::new());
        let mut left = out;
        for output in &plan.outputs {
            let how = match (output.append, silent && output.stdout) {
                (true, _) => How::Append,
                (false, true) => How::Empty,
                (false, false) => How::Overwrite,
            };
            self.write_file(&output.path, how, output.span);
            if output.stdout {
                let path = self.resolve(&output.path);
                if !crate::zone::is_sink(&path) {
                    let content = std::mem::replace(&mut left, Stream::Absent);
                    self.put(path, content, output.append);
                } else {
                    left = Stream::Absent;
                }
            }
        }
        if plan.stays_open {
            self.hold_open(plan);
        }
        if let Some(shell) = &plan.into {
            let saved = self.state.clone();
            self.state.forked();
            let fed = std::mem::replace(&mut left, Stream::Absent);
            self.list(&shell.list, fed);
            let after = std::mem::replace(&mut self.state, saved);
            self.state.may_have_written(after);
        }
        left
    }

    /// The files of `exec > FILE` hold whatever is written from here on, which is not followed.
    fn hold_open(&mut self, plan: &Plan) {
        for output in &plan.outputs {
            let path = self.resolve(&output.path);
            if !crate::zone::is_sink(&path) {
                self.put(path, Stream::Opaque, false);
            }
        }
    }

    /// What a process substitution writes.
    pub(crate) fn captured(&mut self, shell: &ast::SubshellCommand) -> Stream {
        let saved = self.state.clone();
        self.state.forked();
        let out = self.list(&shell.list, Stream::Absent);
        let after = std::mem::replace(&mut self.state, saved);
        self.state.may_have_written(after);
        if out == Stream::Absent { Stream::text("") } else { out }
    }
}

/// Files that are there for everybody.
fn always_opens(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/zero")
}

/// Paths that bash turns into connections.
fn is_connection(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}
