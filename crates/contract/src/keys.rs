//! Every key a contract may hold, as data: the reader, the suggestions and the published schema all follow it.

use kernel::reasons::Reason;
use values::ids;

/// The keys of one kind of map.
#[derive(Debug)]
pub struct Shape {
    /// What the map is called in messages, and its name in the schema.
    pub name: &'static str,
    /// Keys of the full form.
    pub full: &'static [&'static str],
    /// Keys only the short form has.
    pub short: &'static [&'static str],
}

impl Shape {
    /// Whether the key may stand here.
    pub fn knows(&self, key: &str) -> bool {
        self.all().any(|known| known == key)
    }

    /// Every key, full form first.
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        self.full.iter().chain(self.short).copied()
    }
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal [$($full:literal),*] [$($short:literal),*];)+) => {
        $($(#[$doc])* pub const $constant: Shape = Shape { name: $name, full: &[$($full),*], short: &[$($short),*] };)+
        /// Every shape there is.
        pub const SHAPES: &[&Shape] = &[$(&$constant),+];
    };
}

shapes! {
    /// The document.
    CONTRACT = "contract" [
        "writkeeper", "id", "version", "agent", "role", "mission", "mode", "parent", "priority", "proposal", "budgets",
        "drift", "wake_when", "resources", "validators", "judges", "handlers", "detectors", "enforcement", "witnesses",
        "actions", "escalation", "monitors", "policies", "tests"
    ] ["approvers", "budget"];
    /// What every proposal must satisfy.
    PROPOSAL = "proposal" ["confidence", "ttl", "context_max_age", "retries", "spend"] [];
    /// Thresholds of confidence.
    CONFIDENCE = "confidence" ["reject_below", "escalate_below"] [];
    /// Validity of a proposal.
    TTL = "ttl" ["default", "max"] [];
    /// What a flow may spend.
    SPEND = "spend" ["tokens", "steps"] [];
    /// A windowed budget.
    BUDGET = "budget" ["sum", "count", "max", "per"] [];
    /// How far two values may lie apart.
    TOLERANCE = "tolerance" ["percent", "absolute"] [];
    /// Something limited that actions share.
    RESOURCE = "resource" ["kind", "capacity", "unit"] [];
    /// A validator or a judge.
    PLUGIN = "plugin" ["command", "url", "timeout", "env", "required", "escalate_below"] [];
    /// Settings of detectors.
    DETECTORS = "detectors" [
        "stall", "noop_streak", "breaker", "productivity", "efficiency", "precursor", "dangling_intent"
    ] [];
    /// The same call with the same result.
    STALL = "stall" ["repeat", "stall", "ignore_tools"] [];
    /// Turns without any effect.
    NOOP_STREAK = "noop_streak" ["max"] [];
    /// Failures in a row and in all.
    BREAKER = "breaker" ["max_consecutive", "max_total", "on_trip"] [];
    /// Work that gets less.
    PRODUCTIVITY = "productivity" ["min_steps", "floor"] [];
    /// Work for the tokens.
    EFFICIENCY = "efficiency" ["min_tokens", "floor"] [];
    /// Tools that must have been called before.
    PRECURSOR = "precursor" ["requires", "aliases"] [];
    /// Announced and not done.
    DANGLING_INTENT = "dangling_intent" ["enabled"] [];
    /// How verdicts are enforced.
    ENFORCEMENT = "enforcement" ["rungs", "binding", "confidence", "handler"] [];
    /// A rung of the ladder.
    RUNG = "rung" ["rank", "summary", "runs", "answers"] [];
    /// What confidence is worth.
    RUNGS_BY_CONFIDENCE = "rungs_by_confidence" ["high", "low", "none", "floor", "ceiling"] [];
    /// Somebody else who is asked.
    WITNESS = "witness" ["command", "git", "http", "expect", "timeout"] [];
    /// One action.
    ACTION = "action" [
        "once", "params", "limits", "refuse", "allow", "ask", "budgets", "reserves", "validators", "judges", "leases",
        "from", "impact", "reads", "run", "undo", "amendable"
    ] ["budget"];
    /// Bounds of one param.
    LIMIT = "limit" ["min", "max", "unit", "signed", "allowed", "denied", "match", "script", "state"] [];
    /// A param that must agree with state.
    STATE_MATCH = "state_match" ["key", "tolerance"] [];
    /// Questions about what `allow` does not name.
    ASK_ZONE = "ask_zone" ["zone"] [];
    /// An expression with its reason.
    RULE = "rule" ["when", "reason"] [];
    /// What an action takes.
    RESERVE = "reserve" ["resource", "amount"] [];
    /// Who performs an action.
    RUN = "run" ["http", "command", "function", "host", "class", "timeout", "headers"] [];
    /// How an effect is undone.
    UNDO = "undo" ["kind", "http", "within"] [];
    /// Which bounds may be changed for a while.
    AMENDABLE = "amendable" ["min", "max", "ttl"] [];
    /// Bounds of a bound.
    AMEND_BOUNDS = "amend_bounds" ["floor", "ceiling"] [];
    /// How people are asked.
    ESCALATION = "escalation" [
        "budget", "approvers", "quorum", "timeout", "on_exhausted", "valid_after", "signed"
    ] [];
    /// How often people are asked.
    ESCALATION_BUDGET = "escalation_budget" ["max", "per"] [];
    /// What time does to a question.
    ESCALATION_TIMEOUT = "escalation_timeout" ["remind", "reroute", "to", "after", "then"] [];
    /// The tests of a contract.
    TESTS = "tests" ["given", "rows"] [];
    /// A case that is judged.
    TEST_CASE = "test_case" [
        "action", "params", "confidence", "provenance", "state", "snapshot", "justification", "flow", "step", "agent",
        "at", "tokens", "valid_until", "created_at", "idempotency_key", "advice"
    ] [];
    /// A case with its name and what is expected.
    TEST_ROW = "test_row" [
        "name", "action", "params", "confidence", "provenance", "state", "snapshot", "justification", "flow", "step",
        "agent", "at", "tokens", "valid_until", "created_at", "idempotency_key", "advice", "before", "expect"
    ] [];
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
    InertKey { path: "detectors.breaker.on_trip", property: ("breaker", "on_trip"), value: None },
    InertKey { path: "enforcement.confidence", property: ("enforcement", "confidence"), value: None },
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
            let shape = SHAPES.iter().find(|shape| shape.name == definition);
            assert!(shape.is_some_and(|shape| shape.knows(name)), "{}", key.path);
            assert_eq!(key.path.rsplit('.').next(), Some(name));
        }
    }
}
