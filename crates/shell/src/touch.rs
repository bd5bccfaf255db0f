//! What it means that a command reads, writes or removes a path.

use crate::answer::{Capability, Class, Span};
use crate::limits::LOOKS_MAX;
use crate::mark;
use crate::sensitive::{self, Concern};
use crate::stream::Stream;
use crate::walk::{Arg, Walker};
use crate::zone::{self, Zone};

/// How a path is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Created, or touched without losing content.
    Create,
    /// Content added at the end.
    Append,
    /// Content edited in place.
    Modify,
    /// Old content replaced.
    Overwrite,
    /// Old content thrown away, nothing put in its place.
    Empty,
    /// One file removed.
    Remove,
    /// A whole tree removed.
    RemoveTree,
    /// Moved away.
    Move,
    /// A name put in place that leads elsewhere.
    Link,
    /// Mode, owner or attributes changed on one entry.
    Mode,
    /// Mode, owner or attributes changed on a whole tree.
    ModeTree,
}

impl Walker<'_> {
    /// A path is read; what is known of its content is the answer.
    pub fn read_file(&mut self, text: &str, span: Span) -> Stream {
        if text == "-" || text.is_empty() {
            return Stream::Absent;
        }
        if !self.step(span) {
            return Stream::Opaque;
        }
        let path = self.resolve(text);
        for other in self.elsewhere(text) {
            self.read_file(&other, span);
        }
        if let Some(content) = self.state.files.get(&path) {
            return content.clone();
        }
        if zone::is_sink(&path) {
            return network_device(&path).map_or_else(
                || if path == "/dev/null" { Stream::Absent } else { Stream::Opaque },
                |()| {
                    self.report.talks("/dev/tcp");
                    self.report.can_because(
                        Capability::Network,
                        format!("`{}` is a network connection", mark::shown(text)),
                        span,
                    );
                    Stream::Remote
                },
            );
        }
        self.report.reads(&path);
        if text.contains(mark::REMOTE) {
            return Stream::Remote;
        }
        if sensitive::is(Concern::Secret, &path, &self.view) || self.wildcard_meets_secret(&path) {
            self.report.can_because(
                Capability::Credentials,
                format!("`{}` holds secrets or says who is who", mark::shown(text)),
                span,
            );
            return Stream::Secret;
        }
        Stream::Opaque
    }

    /// A path is changed.
    pub fn write_file(&mut self, text: &str, how: How, span: Span) {
        if text.is_empty() || text == "-" {
            return;
        }
        if !self.step(span) {
            return;
        }
        let of_entry = matches!(how, How::Remove | How::RemoveTree | How::Move | How::Link);
        let path = if of_entry { self.resolve_entry(text) } else { self.resolve(text) };
        for other in self.elsewhere(text) {
            self.write_file(&other, how, span);
        }
        if matches!(how, How::Remove | How::RemoveTree | How::Move) {
            self.made.gone(&path);
        }
        if zone::is_sink(&path) {
            if network_device(&path).is_some() {
                self.report.talks("/dev/tcp");
                self.report.can_because(
                    Capability::Network,
                    format!("`{}` is a network connection", mark::shown(text)),
                    span,
                );
            }
            return;
        }
        self.report.writes(&path);
        self.report.raise(Class::Write, "WRITES", format!("changes `{}`", mark::shown(text)), span);
        self.concerns(text, &path, how, span);
        self.loss(text, &path, how, span);
        if !self.made.is_empty() {
            let untouched = self.resolve_untouched(text);
            if untouched != path && !zone::is_sink(&untouched) {
                self.report.writes(&untouched);
                self.concerns(text, &untouched, how, span);
            }
        }
    }

    /// A program may write at a path or below it, as it decides itself.
    pub fn may_write(&mut self, text: &str, span: Span) {
        if text.is_empty() || text == "-" || !self.step(span) {
            return;
        }
        let path = self.resolve(text);
        for other in self.elsewhere(text) {
            self.may_write(&other, span);
        }
        if zone::is_sink(&path) {
            return;
        }
        self.report.may_write(&path);
        self.report.raise(Class::Write, "WRITES", format!("may change `{}`", mark::shown(text)), span);
        self.concerns(text, &path, How::Create, span);
        if !self.made.is_empty() {
            let untouched = self.resolve_untouched(text);
            self.report.may_write(&untouched);
        }
    }

    /// Arguments of a program that no rule describes: it may write to any of them.
    pub fn may_write_words(&mut self, words: &[Arg]) {
        for word in words {
            for piece in pieces(&word.text) {
                let bare = piece.trim_start_matches('-');
                let known = !bare.is_empty() && !mark::has_hole(bare);
                if known && bare.len() == piece.len() && self.step(word.span) {
                    let path = self.resolve(piece);
                    if !zone::is_sink(&path) {
                        self.report.may_write(&path);
                    }
                }
            }
        }
    }

    /// Remembers the paths among the words of a program that is not known to only read.
    pub fn name_words(&mut self, words: &[Arg]) {
        for word in words {
            for piece in pieces(&word.text) {
                if self.looks >= LOOKS_MAX {
                    self.report.unknown("TOO_MANY", "more words than are looked up as paths", word.span);
                    return;
                }
                self.looks += 1;
                let path = self.resolve(piece);
                self.report.named(&path);
                for other in self.elsewhere(piece) {
                    let path = self.resolve(&other);
                    self.report.named(&path);
                }
            }
        }
    }

    /// A new name for what lies at `source`: a link by its own text, or a second name of the same file.
    pub fn linked(&mut self, name: &str, source: &str, symbolic: bool) {
        let target = if symbolic { source.to_owned() } else { self.resolve(source) };
        let entry = self.entry(name);
        let target = match target.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.view.home),
            None => target,
        };
        self.remember_made();
        self.made.link(entry, target);
    }

    /// What lies at `source` comes to lie at `target`, with the links in it.
    pub fn placed(&mut self, target: &str, source: &str) {
        let (from, to) = (self.entry(source), self.entry(target));
        self.remember_made();
        self.made.origin(to, from);
    }

    fn remember_made(&mut self) {
        if self.made.is_full() {
            self.report.unknown("TOO_MANY", "more links than are followed", Span::default());
        }
    }

    /// Capabilities that come from the place, whatever happens to the bytes.
    fn concerns(&mut self, text: &str, path: &str, how: How, span: Span) {
        let shown = mark::shown(text);
        if sensitive::is(Concern::Guard, path, &self.view) {
            self.report.can_because(
                Capability::GuardTampering,
                format!("`{shown}` configures the guard or the agent's host"),
                span,
            );
        }
        let wild = self.wildcard_meets_secret(path);
        let settings = sensitive::is(Concern::Settings, path, &self.view) || wild;
        if settings && !matches!(how, How::Modify | How::Move) {
            self.settings(text, path, how, span);
        } else if sensitive::is(Concern::Secret, path, &self.view) || wild || is_identity(path) {
            self.report.can_because(
                Capability::Credentials,
                format!("`{shown}` holds secrets or says who is who"),
                span,
            );
        }
        let removed = matches!(how, How::Remove | How::RemoveTree);
        if sensitive::is(Concern::Startup, path, &self.view) && !removed {
            self.report.can_because(
                Capability::Persistence,
                format!("`{shown}` is run later by the system or a login"),
                span,
            );
        }
        if matches!(
            crate::path::components(path).next(),
            Some("etc" | "usr" | "boot" | "lib" | "bin" | "sbin" | "sys" | "proc" | "System")
        ) {
            self.report.can(Capability::Privilege);
        }
    }

    /// A project's `.env` is written like any file, but its old content may exist nowhere else.
    fn settings(&mut self, text: &str, path: &str, how: How, span: Span) {
        let loses = match how {
            How::Create | How::Append | How::Mode | How::ModeTree => false,
            How::Overwrite | How::Empty | How::Remove | How::RemoveTree | How::Link | How::Modify | How::Move => true,
        };
        let is_there = match self.view.links {
            Some(links) if mark::is_literal(path) && self.made.is_empty() => links.exists(path),
            Some(_) | None => true,
        };
        if loses && is_there {
            let sentence = format!("replaces `{}`, which may hold the only copy of secrets", mark::shown(text));
            self.report.raise(Class::Destructive, "OVERWRITES", sentence, span);
        }
    }

    /// Whether a build makes the folder again, and it is certain which folder is meant.
    fn is_made_again(&self, path: &str) -> bool {
        self.made.is_empty() && self.state.stayed.is_empty() && crate::build_output::holds(path, &self.view)
    }

    /// The class that comes from what is lost.
    fn loss(&mut self, text: &str, path: &str, how: How, span: Span) {
        let shown = mark::shown(text);
        let place = zone::of(path, &self.state.cwd, self.view.home);
        if (zone::is_device(path) || place == Zone::Device) && how != How::Mode {
            self.report.raise(Class::Catastrophic, "DEVICE", format!("writes to `{shown}`, a device"), span);
            return;
        }
        let vital_file = sensitive::is(Concern::Vital, path, &self.view);
        let class = match how {
            How::Create | How::Mode => Class::Write,
            // A link in place of a system file replaces what it says.
            How::Link => overwrite(path, vital_file),
            How::Append | How::Modify => {
                if vital_file {
                    Class::Destructive
                } else {
                    Class::Write
                }
            }
            How::Overwrite => overwrite(path, vital_file),
            How::Empty => {
                overwrite(path, vital_file).max(if is_scratch(path, place) { Class::Write } else { Class::Destructive })
            }
            How::Remove => {
                if vital_file || matches!(place, Zone::System | Zone::Root) {
                    Class::Catastrophic
                } else if wipes_directory(path) {
                    Class::Destructive
                } else {
                    Class::Write
                }
            }
            How::RemoveTree if place.is_vital() => Class::Catastrophic,
            How::RemoveTree if self.is_made_again(path) => Class::Write,
            How::RemoveTree => Class::Destructive,
            How::Move => {
                if place.is_vital() && place != Zone::MaybeRoot {
                    Class::Catastrophic
                } else {
                    Class::Write
                }
            }
            How::ModeTree => {
                if matches!(place, Zone::Root | Zone::System | Zone::Device) {
                    Class::Catastrophic
                } else {
                    Class::Write
                }
            }
        };
        if class < Class::Destructive {
            return;
        }
        let verb = match how {
            How::Create | How::Mode | How::ModeTree => "changes",
            How::Append | How::Modify => "edits",
            How::Overwrite | How::Link => "overwrites",
            How::Empty => "empties",
            How::Remove | How::RemoveTree => "removes",
            How::Move => "moves away",
        };
        let what = if vital_file { "a file the machine needs" } else { place.name() };
        self.report.raise(class, code_of(how), format!("{verb} `{shown}`, {what}"), span);
    }
}

/// Longest word that is looked at as a path.
const WORD_BYTES_MAX: usize = 1024;

/// A word as the paths it may hold: `--out=PATH`, `-oPATH`, `key:PATH`, `@PATH`.
pub(crate) fn pieces(word: &str) -> Vec<&str> {
    if word.is_empty() || word.len() > WORD_BYTES_MAX || word.contains(char::is_whitespace) {
        return Vec::new();
    }
    let mut found = vec![word];
    if word.starts_with('-') && !word.starts_with("--") {
        found.extend(word.char_indices().nth(2).and_then(|(at, _)| word.get(at..)));
    }
    if word.contains(['=', ':', ',', '@']) && !word.contains("://") {
        found.extend(word.split(['=', ':', ',', '@']).filter(|piece| !piece.is_empty()));
    }
    if let Some(path) = word.split("file://").nth(1) {
        found.push(path);
    }
    found
}

const fn code_of(how: How) -> &'static str {
    match how {
        How::Remove | How::RemoveTree => "REMOVES",
        How::Create | How::Append | How::Modify | How::Overwrite | How::Empty | How::Link => "OVERWRITES",
        How::Move => "MOVES",
        How::Mode | How::ModeTree => "MODES",
    }
}

/// Replacing the content of a system file; other files are an ordinary edit.
fn overwrite(path: &str, vital_file: bool) -> Class {
    if vital_file {
        return Class::Catastrophic;
    }
    match crate::path::components(path).next() {
        Some("boot" | "bin" | "sbin" | "lib" | "lib64") => Class::Catastrophic,
        Some("etc") => Class::Destructive,
        Some(_) | None => Class::Write,
    }
}

/// Emptying a log, a temporary file or shell output costs nothing that is missed.
fn is_scratch(path: &str, place: Zone) -> bool {
    place == Zone::Temp
        || path.ends_with(".log")
        || path.ends_with(".tmp")
        || path.ends_with(".out")
        || mark::has_hole(path)
}

/// `rm *` and friends: every file of a directory.
fn wipes_directory(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    last == "\u{E010}" || last == "\u{E003}" || last == ".\u{E010}" || last == "\u{E010}.\u{E010}"
}

/// Files that decide which name means which user or machine.
fn is_identity(path: &str) -> bool {
    matches!(
        path,
        "/etc/hosts"
            | "/etc/resolv.conf"
            | "/etc/nsswitch.conf"
            | "/etc/group"
            | "/etc/hosts.allow"
            | "/etc/hosts.equiv"
            | "/etc/login.defs"
    )
}

fn network_device(path: &str) -> Option<()> {
    (path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")).then_some(())
}
