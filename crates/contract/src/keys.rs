//! Every key a contract may hold, as data: those of the full form, and those of its tests.

use kernel::reasons::Reason;
use values::ids;

pub use kernel::contract::keys::*;

/// The tests of a contract.
pub static TESTS: Shape = Shape { name: "tests", full: &[], short: &["given", "rows"] };

/// A case that is judged.
pub static TEST_CASE: Shape = Shape {
    name: "test_case",
    full: &[],
    short: &[
        "action",
        "params",
        "confidence",
        "provenance",
        "state",
        "snapshot",
        "justification",
        "flow",
        "step",
        "agent",
        "at",
        "tokens",
        "valid_until",
        "created_at",
        "idempotency_key",
        "advice",
    ],
};

/// A case with its name and what is expected.
pub static TEST_ROW: Shape = Shape {
    name: "test_row",
    full: &[],
    short: &[
        "name",
        "action",
        "params",
        "confidence",
        "provenance",
        "state",
        "snapshot",
        "justification",
        "flow",
        "step",
        "agent",
        "at",
        "tokens",
        "valid_until",
        "created_at",
        "idempotency_key",
        "advice",
        "before",
        "expect",
    ],
};

/// Every shape: those of the full form, then those of tests.
pub fn shapes() -> impl Iterator<Item = &'static Shape> {
    SHAPES.iter().copied().chain([&TESTS, &TEST_CASE, &TEST_ROW])
}

/// A key that is read and kept but acts nowhere yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InertKey {
    /// Path of keys from the document.
    pub path: &'static str,
    /// The name of its property: the definition that holds it, and the key.
    pub property: (&'static str, &'static str),
    /// The only value that does nothing; `None` where no value does anything.
    pub value: Option<&'static str>,
}

/// Every key that does nothing yet.
pub const INERT: &[InertKey] = &[
    InertKey { path: "priority", property: ("contract", "priority"), value: None },
    InertKey { path: "wake_when", property: ("contract", "wake_when"), value: None },
    InertKey { path: "monitors", property: ("contract", "monitors"), value: None },
    InertKey { path: "escalation.timeout.to", property: ("escalation_timeout", "to"), value: Some("agent") },
];

/// Built-in reasons a rule may give: what `ask` and `refuse` mean anyway, and what the facts of a tool call mean.
const REASONS_OF_RULES: &[Reason] = &[
    Reason::NeedsApproval,
    Reason::NotAllowed,
    Reason::Catastrophic,
    Reason::GuardTampering,
    Reason::TouchesCredentials,
    Reason::Destructive,
    Reason::EffectUnknown,
    Reason::OutsideWorkspace,
    Reason::NeedsPrivilege,
    Reason::TalksToStrangers,
    Reason::InstallsSoftware,
    Reason::ToolUnknown,
    Reason::Stalled,
    Reason::NotVerified,
];

/// What is wrong with a reason code a rule wants to give; `None` if nothing is.
pub fn reason_problem(code: &str) -> Option<&'static str> {
    if !ids::is_reason_code(code) {
        return Some("is no reason code: use capital letters, digits and `_`, 3 to 64 of them, a letter first");
    }
    // A rule that gave another built-in code would say something untrue.
    let built_in = Reason::from_code(code).filter(|reason| !REASONS_OF_RULES.contains(reason));
    built_in.map(|_| "is a reason code of the runtime and cannot be given by a rule")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::nearest::nearest;

    #[test]
    fn typing_mistakes_find_their_key() {
        let check = |word: &str, expected: Option<&str>| assert_eq!(nearest(word, ACTION.all()), expected, "{word}");
        check("limts", Some("limits"));
        check("parms", Some("params"));
        check("Once", Some("once"));
        check("budgt", Some("budget"));
        check("zzzzzz", None);
    }

    #[test]
    fn inert_keys_are_keys() {
        for key in INERT {
            let (definition, name) = key.property;
            let shape = shapes().find(|shape| shape.name == definition);
            assert!(shape.is_some_and(|shape| shape.knows(name)), "{}", key.path);
            assert_eq!(key.path.rsplit('.').next(), Some(name));
        }
    }
}
