//! Texts that run later: `trap`. They meet whatever state the shell is in by then, so they are walked again whenever
//! that has changed.

use super::{Arg, State, Walker, script};
use crate::answer::Span;
use crate::stream::Stream;
use brush_parser::ast;
use std::rc::Rc;

/// Traps in force at one time that are followed.
const TRAPS_MAX: usize = 8;

/// A text that waits for one of these signals.
#[derive(Clone, Debug)]
pub(crate) struct Trap {
    program: Rc<ast::Program>,
    signals: Vec<String>,
    span: Span,
}

impl Trap {
    /// Nothing runs after it, so what it sets does not matter.
    fn is_last(&self) -> bool {
        self.signals.iter().all(|signal| signal == "EXIT")
    }

    fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.program, &other.program) && self.signals == other.signals
    }
}

impl State {
    /// The state of a shell that this one starts: it takes over only traps that are set for functions too.
    pub(crate) fn forked(&mut self) {
        let stays = |signal: &String| matches!(signal.as_str(), "DEBUG" | "ERR" | "RETURN");
        self.traps.retain(|trap| trap.signals.iter().any(stays));
    }

    pub(crate) fn join_traps(&mut self, other: &State) {
        for trap in &other.traps {
            if !self.traps.iter().any(|own| own.is_same(trap)) {
                self.traps.push(trap.clone());
            }
        }
    }

    fn has_same_traps(&self, other: &State) -> bool {
        self.traps.len() == other.traps.len() && self.traps.iter().zip(&other.traps).all(|(a, b)| a.is_same(b))
    }

    pub(crate) fn has_same_functions(&self, other: &State) -> bool {
        self.functions.len() == other.functions.len()
            && self.perhaps == other.perhaps
            && self.functions.iter().zip(&other.functions).all(|(own, theirs)| {
                own.0 == theirs.0
                    && own.1.len() == theirs.1.len()
                    && own.1.iter().zip(theirs.1).all(|(a, b)| Rc::ptr_eq(a, b))
            })
    }

    /// Whether a text would do the same in both states.
    fn is_as(&self, other: &State) -> bool {
        self.cwd == other.cwd
            && self.stayed == other.stayed
            && self.positional == other.positional
            && self.variables == other.variables
            && self.references == other.references
            && self.aliases == other.aliases
            && self.programs == other.programs
            && self.files == other.files
            && self.has_same_traps(other)
            && self.has_same_functions(other)
    }
}

impl Walker<'_> {
    /// `trap text signals`.
    pub(crate) fn set_trap(&mut self, text: &str, signals: &[Arg], span: Span) {
        self.clear_traps(signals);
        let signals: Vec<String> = signals.iter().map(|signal| named(&signal.text)).collect();
        let Some(program) = script::parsed(text) else {
            self.deferred(text, span);
            return;
        };
        let trap = Trap { program: Rc::new(program), signals, span };
        if trap.is_last() {
            // Walked as a text once, for what its length costs.
            self.apart(text, Stream::Opaque, span);
        } else {
            self.deferred(text, span);
        }
        if self.state.traps.len() >= TRAPS_MAX {
            self.report.unknown("TOO_MANY", "more traps than are followed", span);
            return;
        }
        self.state.traps.push(trap);
        self.settled = Some(self.state.clone());
    }

    /// `trap - signals`.
    pub(crate) fn clear_traps(&mut self, signals: &[Arg]) {
        let cleared: Vec<String> = signals.iter().map(|signal| named(&signal.text)).collect();
        for trap in &mut self.state.traps {
            trap.signals.retain(|signal| !cleared.contains(signal));
        }
        self.state.traps.retain(|trap| !trap.signals.is_empty());
    }

    /// Walks the traps in force once more if they would meet another state than the last time.
    pub(crate) fn spring(&mut self) {
        let settled = self.settled.as_ref().is_some_and(|settled| settled.is_as(&self.state));
        if self.state.traps.is_empty() || self.is_springing || settled || self.is_spent() {
            return;
        }
        self.is_springing = true;
        let (origin, left, forks) = (self.origin, self.left, std::mem::replace(&mut self.forks, false));
        // The functions being called at this point are not those that call the trap.
        let calls = std::mem::take(&mut self.calls);
        let listed = self.report.listed();
        for trap in self.state.traps.clone() {
            self.origin = Some(origin.unwrap_or(trap.span));
            let before = self.state.clone();
            self.program(&trap.program, Stream::Opaque);
            if trap.is_last() {
                self.state = before;
            } else {
                self.perhaps_often(&before);
            }
        }
        self.report.unlist_repeated(listed);
        (self.origin, self.left, self.forks, self.calls) = (origin, left, forks, calls);
        self.is_springing = false;
        self.settled = Some(self.state.clone());
    }
}

/// One name for each signal, where it has several.
fn named(signal: &str) -> String {
    let upper = signal.to_ascii_uppercase();
    match upper.strip_prefix("SIG").unwrap_or(&upper) {
        "0" => "EXIT".to_owned(),
        name => name.to_owned(),
    }
}
