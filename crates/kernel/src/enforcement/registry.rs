//! Handlers by name. Built-in ones come first and cannot be shadowed.

use super::decision::Decision;
use super::handler::{Answer, HandlerName, Proposal};
use super::ladder::{Actuation, Ladder, Rung};
use crate::nearest::suggestion;
use std::collections::BTreeSet;
use std::fmt;

/// A handler that is part of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    propose: fn(&Ladder, &Decision) -> Proposal,
}

/// The handlers that are always there. To add one: a function and a line.
pub const BUILT_IN: &[BuiltIn] = &[OBSERVE, OBEY];

/// Lets every call run.
pub const OBSERVE: BuiltIn =
    BuiltIn { name: "observe", about: "lets every call run and records what was decided", propose: observe };

/// Does what was decided.
pub const OBEY: BuiltIn = BuiltIn { name: "obey", about: "does what was decided", propose: obey };

impl BuiltIn {
    /// What it would do.
    pub fn answer(&self, ladder: &Ladder, decision: &Decision) -> Answer {
        Answer::Proposed((self.propose)(ladder, decision))
    }

    /// Its name, as one that was registered.
    pub fn handler_name(&self) -> HandlerName {
        HandlerName::built_in(self.name)
    }
}

fn observe(ladder: &Ladder, decision: &Decision) -> Proposal {
    act(ladder.softest(), decision, "the built-in handler only observes")
}

fn obey(_: &Ladder, decision: &Decision) -> Proposal {
    act(decision.rung(), decision, "the built-in handler does what was decided")
}

fn act(rung: &Rung, decision: &Decision, reason: &str) -> Proposal {
    Proposal {
        rung: rung.token().to_owned(),
        run: rung.actuation() == Actuation::Run,
        result: None,
        note: decision.reason(),
        handler: String::new(),
        reason: reason.to_owned(),
    }
}

/// A handler that was found by its name.
#[derive(Clone, Copy, Debug)]
pub enum Handler<'r> {
    /// The kernel answers itself.
    BuiltIn(&'static BuiltIn),
    /// Somebody outside has to be asked; what they say is handed back as an [`Answer`].
    Outside(&'r HandlerName),
}

/// The handlers that can be named.
///
/// ```
/// use kernel::enforcement::registry::{Handler, Registry};
/// let registry = Registry::with(["pager"]).unwrap();
/// assert!(matches!(registry.find("pager"), Ok(Handler::Outside(_))));
/// assert!(matches!(registry.find("observe"), Ok(Handler::BuiltIn(_))));
/// let unknown = registry.find("obsrve").unwrap_err().to_string();
/// assert_eq!(unknown, "unknown handler `obsrve`; did you mean `observe`? known are `observe`, `obey`, `pager`");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Registry {
    outside: BTreeSet<HandlerName>,
}

impl Registry {
    /// The built-in handlers and these.
    pub fn with<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Registry, RegistryFault> {
        let mut outside = BTreeSet::new();
        for name in names {
            let parsed = HandlerName::parse(name).map_err(|problem| RegistryFault::Name(name.to_owned(), problem))?;
            // A name that differs only in case would be mistaken for the built-in one.
            if BUILT_IN.iter().any(|built_in| built_in.name.eq_ignore_ascii_case(name)) {
                return Err(RegistryFault::Shadows(name.to_owned()));
            }
            if !outside.insert(parsed) {
                return Err(RegistryFault::Twice(name.to_owned()));
            }
        }
        Ok(Registry { outside })
    }

    /// The handler of that name. There is no silent substitute.
    pub fn find(&self, name: &str) -> Result<Handler<'_>, UnknownHandler> {
        if let Some(built_in) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
            return Ok(Handler::BuiltIn(built_in));
        }
        let found = self.outside.iter().find(|outside| outside.as_str() == name);
        found.map(Handler::Outside).ok_or_else(|| UnknownHandler {
            near: suggestion(name, self.names()),
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    /// Every name, built-in ones first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        BUILT_IN.iter().map(|built_in| built_in.name).chain(self.outside.iter().map(HandlerName::as_str))
    }
}

/// Why a handler cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegistryFault {
    /// Its name is no name.
    Name(String, &'static str),
    /// A built-in one has that name.
    Shadows(String),
    /// Another one has that name.
    Twice(String),
}

impl fmt::Display for RegistryFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegistryFault::Name(name, problem) => write!(formatter, "the name of handler `{name}` {problem}"),
            RegistryFault::Shadows(name) => write!(formatter, "`{name}` is built in and cannot be replaced"),
            RegistryFault::Twice(name) => write!(formatter, "handler `{name}` is registered twice"),
        }
    }
}

impl std::error::Error for RegistryFault {}

/// A name that no handler has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownHandler {
    name: String,
    near: String,
    known: Vec<String>,
}

impl fmt::Display for UnknownHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.join("`, `");
        let near = if self.near.is_empty() { ";" } else { &self.near };
        write!(formatter, "unknown handler `{}`{near} known are `{known}`", self.name)
    }
}

impl std::error::Error for UnknownHandler {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforcement::handler::{Effect, settle};

    #[test]
    fn names_are_taken_once() {
        let check = |names: &[&str], expected: &str| {
            let registry = Registry::with(names.iter().copied());
            assert_eq!(registry.map_or_else(|fault| fault.to_string(), |_| String::new()), expected);
        };
        check(&["pager", "dialog"], "");
        check(&[""], "the name of handler `` is empty");
        check(&["observe"], "`observe` is built in and cannot be replaced");
        check(&["Observe"], "`Observe` is built in and cannot be replaced");
        check(&["pager", "pager"], "handler `pager` is registered twice");
    }

    #[test]
    fn what_the_built_in_handlers_do() {
        let check = |name: &str, decided: &str, expected: &str| {
            let ladder = Ladder::base();
            let decision = Decision::stated(&ladder, decided, "rm", "because").unwrap();
            let Ok(Handler::BuiltIn(built_in)) = Registry::default().find(name).map_err(|fault| fault.to_string())
            else {
                panic!("{name} is not built in");
            };
            let answer = built_in.answer(&ladder, &decision);
            let enforced = settle(&ladder, &decision, &built_in.handler_name(), &answer);
            let has_result = matches!(enforced.effect, Effect::Answer(_));
            let shown = format!("{} {has_result} {}", enforced.rung.token(), enforced.note);
            assert_eq!(shown, expected);
        };
        for decided in ["OBSERVE", "WARN", "BLOCK", "DEFER"] {
            check("observe", decided, "OBSERVE false because");
            check("obey", decided, &format!("{decided} {} because", decided == "BLOCK"));
        }
    }
}
