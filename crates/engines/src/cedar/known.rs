//! Which members of the context are known to be there, once a condition has turned out true or false.

use super::types::Type;
use std::collections::BTreeSet;

/// Names from the context down: `[params, note]`.
pub(super) type Path = Vec<String>;

/// Members that are there; none where this point cannot be reached, so that anything holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known(Option<BTreeSet<Path>>);

impl Known {
    /// Nothing is known.
    pub(super) fn nothing() -> Known {
        Known(Some(BTreeSet::new()))
    }

    /// This point is never reached.
    pub(super) fn never() -> Known {
        Known(None)
    }

    /// Exactly these are there.
    pub(super) fn these(paths: impl IntoIterator<Item = Path>) -> Known {
        Known(Some(paths.into_iter().collect()))
    }

    pub(super) fn is_never(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.as_ref().is_none_or(|paths| paths.contains(path))
    }

    /// Both have been passed.
    pub(super) fn and(&self, other: &Known) -> Known {
        let (Some(left), Some(right)) = (&self.0, &other.0) else { return Known::never() };
        Known(Some(left.union(right).cloned().collect()))
    }

    /// One of the two has been passed.
    pub(super) fn or(&self, other: &Known) -> Known {
        match (&self.0, &other.0) {
            (Some(left), Some(right)) => Known(Some(left.intersection(right).cloned().collect())),
            (None, _) => other.clone(),
            (_, None) => self.clone(),
        }
    }
}

/// The type of an expression, and what is known behind it.
#[derive(Debug)]
pub(super) struct Inferred {
    pub(super) kind: Type,
    pub(super) when_true: Known,
    pub(super) when_false: Known,
}

impl Inferred {
    pub(super) fn of(kind: Type) -> Inferred {
        let known = Inferred { kind, when_true: Known::nothing(), when_false: Known::nothing() };
        known.closed()
    }

    pub(super) fn condition(answer: Option<bool>, when_true: Known, when_false: Known) -> Inferred {
        Inferred { kind: Type::Bool(answer), when_true, when_false }.closed()
    }

    /// A constant leaves one way only.
    fn closed(mut self) -> Inferred {
        match self.answer() {
            Some(true) => self.when_false = Known::never(),
            Some(false) => self.when_true = Known::never(),
            None => {}
        }
        self
    }

    pub(super) fn answer(&self) -> Option<bool> {
        if let Type::Bool(answer) = self.kind { answer } else { None }
    }
}
