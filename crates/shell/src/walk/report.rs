//! Collects findings while the tree is walked.

use crate::answer::{Capability, Class, Classification, Reason, Span};
use crate::limits::{KEPT_MAX, NAMED_MAX, REASONS_MAX};
use crate::path::Path;
use crate::walk::Weight;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub class: Class,
    pub capabilities: BTreeSet<Capability>,
    reasons: Vec<Reason>,
    reads: Vec<Path>,
    writes: Vec<Path>,
    may_write: Vec<Path>,
    trees: Vec<Path>,
    sweeps: Vec<Path>,
    named: BTreeSet<String>,
    talkers: BTreeSet<String>,
    argv: Vec<Vec<String>>,
    in_files: Vec<Vec<String>>,
    started: Vec<(String, Vec<String>)>,
    /// Set where what runs was brought along by a program that is listed.
    pub is_brought: bool,
    /// Set where commands are not listed: the same text is walked again, or what was typed is listed already.
    pub is_quiet: bool,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            class: Class::Read,
            capabilities: BTreeSet::new(),
            reasons: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            may_write: Vec::new(),
            trees: Vec::new(),
            sweeps: Vec::new(),
            named: BTreeSet::new(),
            talkers: BTreeSet::new(),
            argv: Vec::new(),
            in_files: Vec::new(),
            started: Vec::new(),
            is_brought: false,
            is_quiet: false,
        }
    }
}

impl Report {
    /// Raises the class; a class above read carries its reason.
    pub fn raise(&mut self, class: Class, code: &'static str, sentence: impl Into<String>, span: Span) {
        self.class = self.class.max(class);
        if class > Class::Read
            && (self.reasons.len() < REASONS_MAX || class >= Class::Destructive && self.reasons.len() < KEPT_MAX)
        {
            let reason = Reason { code, sentence: sentence.into(), span, class };
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }

    pub fn unknown(&mut self, code: &'static str, sentence: impl Into<String>, span: Span) {
        self.raise(Class::Unknown, code, sentence, span);
    }

    pub fn can(&mut self, capability: Capability) {
        self.capabilities.insert(capability);
    }

    /// A capability that deserves a sentence of its own.
    pub fn can_because(&mut self, capability: Capability, sentence: impl Into<String>, span: Span) {
        self.capabilities.insert(capability);
        if self.reasons.len() < REASONS_MAX {
            let code = match capability {
                Capability::Exec => "EXEC",
                Capability::Network => "NETWORK",
                Capability::Privilege => "PRIVILEGE",
                Capability::Credentials => "CREDENTIALS",
                Capability::Persistence => "PERSISTENCE",
                Capability::GuardTampering => "GUARD_TAMPERING",
            };
            let reason = Reason { code, sentence: sentence.into(), span, class: Class::Read };
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }

    pub fn reads(&mut self, path: &str) {
        keep(&mut self.reads, path);
    }

    pub fn writes(&mut self, path: &str) {
        let kept = keep(&mut self.writes, path);
        self.or_too_many(kept);
    }

    /// What was written so far, for people.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.writes.iter().chain(&self.may_write).map(Path::as_str)
    }

    /// A program decides for itself what it writes at this path or below it.
    pub fn may_write(&mut self, path: &str) {
        let kept = keep(&mut self.may_write, path);
        self.or_too_many(kept);
    }

    /// A working tree that is changed as a whole.
    pub fn tree(&mut self, path: &str) {
        let kept = keep(&mut self.trees, path);
        self.or_too_many(kept);
    }

    /// A folder that is read with everything in it.
    pub fn sweeps(&mut self, path: &str) {
        let kept = keep(&mut self.sweeps, path);
        self.or_too_many(kept);
    }

    /// Whether a working tree was changed as a whole.
    pub fn has_trees(&self) -> bool {
        !self.trees.is_empty()
    }

    /// A path that a program was handed that is not known to only read.
    pub fn named(&mut self, path: &str) {
        let kept = self.named.len() < NAMED_MAX;
        if kept {
            self.named.insert(crate::mark::shown(path));
        }
        self.or_too_many(kept);
    }

    pub fn ran(&mut self, argv: Vec<String>) {
        if self.is_quiet {
            return;
        }
        let kept = self.argv.len() < KEPT_MAX;
        if kept {
            self.argv.push(argv);
        }
        self.or_too_many(kept);
    }

    /// A program that was started by a path.
    pub fn started(&mut self, path: &str, argv: Vec<String>) {
        if self.is_quiet {
            return;
        }
        let kept = self.started.len() < KEPT_MAX;
        if kept {
            self.started.push((crate::mark::shown(path), argv));
        }
        self.or_too_many(kept);
    }

    /// The program listed before the last one. What is walked again was listed, and judged, the first time.
    pub fn before_last(&self) -> Option<&str> {
        let before = self.argv.len().checked_sub(2).and_then(|at| self.argv.get(at));
        before.and_then(|argv| argv.first()).map(String::as_str)
    }

    /// How many commands are listed.
    pub fn listed(&self) -> usize {
        self.argv.len()
    }

    /// Forgets commands listed from a place on that were listed before it.
    pub fn unlist_repeated(&mut self, from: usize) {
        let later = self.argv.split_off(from.min(self.argv.len()));
        for argv in later {
            if !self.argv.contains(&argv) {
                self.argv.push(argv);
            }
        }
    }

    /// Somebody reaches another machine.
    pub fn talks(&mut self, name: &str) {
        let kept = self.talkers.len() < KEPT_MAX;
        if kept {
            self.talkers.insert(crate::mark::shown(name));
        }
        self.or_too_many(kept);
    }

    /// What is not kept is not compared with anything, so nobody knows what it does.
    fn or_too_many(&mut self, kept: bool) {
        if !kept {
            self.unknown("TOO_MANY", "more paths and commands than are judged", Span::default());
        }
    }

    /// Keeps the capabilities and paths gathered so far, but caps the class at `ceiling`.
    pub fn cap_class(&mut self, before: Class, ceiling: Class) {
        self.class = before.max(self.class.min(ceiling));
    }

    /// Takes in what was found in a file that is run.
    pub fn take_in(&mut self, mut found: Self, file: &str, weight: Weight, is_doubted: bool) {
        let reads_secrets = found.capabilities.contains(&Capability::Credentials);
        match weight {
            Weight::Typed => {
                if !is_doubted {
                    found.capabilities.remove(&Capability::Credentials);
                }
            }
            Weight::Program => {
                // A program that knows the name of a secret does not betray it.
                if reads_secrets {
                    found.class = found.class.max(Class::Unknown);
                }
                found.capabilities.retain(|kind| matches!(kind, Capability::Exec | Capability::GuardTampering));
                found.talkers.clear();
                found.sweeps.clear();
            }
            Weight::Build => {
                found.capabilities.retain(|kind| matches!(kind, Capability::Exec | Capability::GuardTampering));
                found.talkers.clear();
                found.sweeps.clear();
                found.argv.clear();
                found.in_files.clear();
                found.trees.clear();
            }
        }
        let counts = |class: Class| match (weight, class) {
            (_, Class::Read | Class::Write | Class::Catastrophic) | (Weight::Typed, Class::Destructive) => true,
            (Weight::Typed, Class::Unknown) | (Weight::Program, Class::Unknown | Class::Destructive) => is_doubted,
            (Weight::Build, Class::Unknown | Class::Destructive) => false,
        };
        if !counts(found.class) {
            let kept = found.reasons.iter().map(|reason| reason.class).filter(|class| counts(*class));
            found.class = kept.max().unwrap_or(Class::Write);
        }
        found.class = found.class.max(Class::Write);
        if weight != Weight::Typed || !is_doubted {
            let is_known = |path: &Path| !path.as_str().contains(['<', '$']);
            found.writes.retain(is_known);
            found.may_write.retain(is_known);
        }
        if weight != Weight::Typed {
            found.may_write.clear();
        }
        for reason in found.reasons.into_iter().filter(|reason| counts(reason.class)) {
            if self.reasons.len() < KEPT_MAX {
                self.reasons.push(Reason { sentence: format!("in `{file}`: {}", reason.sentence), ..reason });
            }
        }
        self.class = self.class.max(found.class);
        self.capabilities.append(&mut found.capabilities);
        found.reads.iter().for_each(|path| self.reads(path.as_str()));
        found.writes.iter().for_each(|path| self.writes(path.as_str()));
        found.may_write.iter().for_each(|path| self.may_write(path.as_str()));
        found.trees.iter().for_each(|path| self.tree(path.as_str()));
        found.sweeps.iter().for_each(|path| self.sweeps(path.as_str()));
        if weight == Weight::Typed {
            found.named.iter().for_each(|path| self.named(path));
        }
        found.talkers.iter().for_each(|name| self.talks(name));
        let room = KEPT_MAX.saturating_sub(self.in_files.len());
        let is_over = found.argv.len() + found.in_files.len() > room;
        self.in_files.extend(found.argv.into_iter().chain(found.in_files).take(room));
        self.or_too_many(!is_over || !is_doubted);
        found.started.into_iter().for_each(|(path, argv)| self.started(&path, argv));
    }

    pub fn into_classification(mut self) -> Classification {
        self.reasons.sort_by(|a, b| b.class.cmp(&a.class).then(a.span.cmp(&b.span)));
        Classification {
            class: self.class,
            capabilities: self.capabilities,
            reasons: self.reasons,
            reads: self.reads,
            writes: self.writes,
            may_write: self.may_write,
            trees: self.trees,
            sweeps: self.sweeps,
            named: self.named.iter().map(|path| Path::from_resolved(path)).collect(),
            talkers: self.talkers,
            argv: self.argv,
            in_files: self.in_files,
            started: self.started.into_iter().map(|(path, words)| (Path::from_resolved(&path), words)).collect(),
        }
    }
}

/// Whether there was room for it.
fn keep(list: &mut Vec<Path>, path: &str) -> bool {
    let path = Path::from_resolved(path);
    if list.contains(&path) {
        return true;
    }
    let room = list.len() < KEPT_MAX;
    if room {
        list.push(path);
    }
    room
}
