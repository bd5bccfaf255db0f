//! What a function keeps to itself: `local`, and `declare` inside of it, end with the call. Scopes are dynamic: what is
//! called sees what its caller hides.

use super::{Arg, State, Variable, Walker};
use crate::answer::Span;
use crate::mark;
use crate::sensitive;
use crate::zone;
use std::collections::BTreeMap;

/// What a local variable hides until its function returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    variable: Option<Variable>,
    reference: Option<String>,
    integer: bool,
    folded: bool,
    /// Whether it may not have been set.
    perhaps_unset: bool,
    /// Whether the variable may not have been made local after all.
    doubtful: bool,
}

/// The local variables of one call.
pub(crate) type Scope = BTreeMap<String, Hidden>;

impl State {
    fn hidden(&mut self, name: &str) -> Hidden {
        Hidden {
            variable: self.variables.remove(name),
            reference: self.references.remove(name),
            integer: self.integers.remove(name),
            folded: self.folded.remove(name),
            perhaps_unset: self.doubtful.remove(name),
            doubtful: false,
        }
    }

    /// Both states are possible: what is local in one of them only is local perhaps.
    pub(crate) fn join_scopes(&mut self, other: &State) {
        for (own, theirs) in self.scopes.iter_mut().zip(&other.scopes) {
            for (name, hidden) in own.iter_mut() {
                hidden.doubtful |= theirs.get(name) != Some(&*hidden);
            }
            for (name, hidden) in theirs {
                own.entry(name.clone()).or_insert_with(|| Hidden { doubtful: true, ..hidden.clone() });
            }
        }
    }
}

impl Walker<'_> {
    /// One of two values: the worse one where that is certain, else an unknown one. What either names is remembered.
    pub(crate) fn one_of(&mut self, own: &Variable, other: &Variable) -> Variable {
        for value in [own, other] {
            let texts = match value {
                Variable::Scalar(text) => std::slice::from_ref(text),
                Variable::List(items) | Variable::Scattered(items) => items.as_slice(),
            };
            for text in texts.iter().filter(|text| mark::is_literal(text) && !text.is_empty()) {
                self.name_words(&[Arg::new(text.clone(), Span::default())]);
                if sensitive::is(sensitive::Concern::Secret, &self.resolve(text), &self.view) {
                    self.read_file(text, Span::default());
                }
                if text.starts_with('/') && zone::of(text, &self.state.cwd, self.view.home).is_vital() {
                    return value.clone();
                }
            }
        }
        Variable::Scalar(mark::OUTPUT.to_string())
    }

    fn uncover(&mut self, name: &str, hidden: Hidden) {
        let own = self.state.hidden(name);
        let unsure = hidden.doubtful && Hidden { doubtful: false, ..hidden.clone() } != own;
        let reference = match (hidden.reference, own.reference) {
            (Some(_), _) | (_, Some(_)) if unsure => Some(mark::OUTPUT.to_string()),
            (before, _) => before,
        };
        let variable = match (hidden.variable, own.variable) {
            (Some(before), Some(own)) if unsure => Some(self.one_of(&before, &own)),
            (before, own) if unsure => before.or(own),
            (before, _) => before,
        };
        let state = &mut self.state;
        if !hidden.doubtful {
            state.fixed.remove(name);
        }
        state.references.extend(reference.map(|target| (name.to_owned(), target)));
        state.variables.extend(variable.map(|value| (name.to_owned(), value)));
        if hidden.integer {
            state.integers.insert(name.to_owned());
        }
        if hidden.folded {
            state.folded.insert(name.to_owned());
        }
        if hidden.perhaps_unset || own.perhaps_unset && unsure {
            state.doubtful.insert(name.to_owned());
        }
    }

    pub(crate) fn open_scope(&mut self) {
        self.state.scopes.push(Scope::new());
    }

    /// The call is over: what it hid is there again.
    pub(crate) fn close_scope(&mut self) {
        for (name, hidden) in self.state.scopes.pop().unwrap_or_default() {
            self.uncover(&name, hidden);
        }
    }

    /// `local name`; whether a function is being called at all.
    pub(crate) fn localise(&mut self, name: &str, inherits: bool) -> bool {
        let base = name.split('[').next().unwrap_or(name).trim_end_matches('+');
        let Some(scope) = self.state.scopes.last() else { return false };
        // What keeps its value cannot be hidden either.
        if !scope.contains_key(base) && !self.state.fixed.contains(base) {
            let hidden = self.state.hidden(base);
            if let (true, Some(value)) = (inherits, &hidden.variable) {
                self.state.variables.insert(base.to_owned(), value.clone());
            }
            if let Some(scope) = self.state.scopes.last_mut() {
                scope.insert(base.to_owned(), hidden);
            }
        }
        true
    }

    /// `unset name` of what a caller made local shows what that hid; `false` where nobody did.
    pub(crate) fn uncovered(&mut self, name: &str) -> bool {
        if self.state.fixed.contains(name) {
            return false;
        }
        let depth = self.state.scopes.iter().rposition(|scope| scope.contains_key(name));
        let is_callers = depth.is_some_and(|depth| depth + 1 < self.state.scopes.len());
        let hidden = depth.filter(|_| is_callers).and_then(|depth| self.state.scopes.get_mut(depth)?.remove(name));
        let found = hidden.is_some();
        if let Some(hidden) = hidden {
            self.uncover(name, hidden);
        }
        found
    }

    /// `declare -g name=value` where a local variable hides the one that is meant; `false` where none does.
    pub(crate) fn assign_hidden(&mut self, name: &str, value: &Variable) -> bool {
        let outermost = self.state.scopes.iter_mut().find_map(|scope| scope.get_mut(name));
        let found = outermost.is_some();
        if let Some(hidden) = outermost {
            hidden.variable = Some(value.clone());
        }
        found
    }
}
