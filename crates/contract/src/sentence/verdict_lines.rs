//! The clauses of `refuse`, `allow` and `ask`.

use super::{has_params, listed};
use crate::short_form::{NEEDS_APPROVAL, NOT_ALLOWED, bare_names};
use kernel::contract::{Action, Ask, Rule};

/// What is refused first, what passes, what is asked about, and what becomes of the rest.
pub(super) fn clauses(action: &Action) -> Vec<String> {
    if action.refuse.iter().any(|rule| is_true(&rule.when)) {
        return vec!["always refused".to_owned()];
    }
    let mut clauses: Vec<String> =
        action.refuse.iter().map(|rule| format!("refused {}", when(rule, NOT_ALLOWED))).collect();
    match &action.ask {
        Ask::Zone(rules) => clauses.extend(zone(action, rules)),
        Ask::Triggers(rules) => clauses.extend(triggers(action, rules)),
    }
    clauses
}

/// `allow` passes, else the zone asks, else it is refused.
fn zone(action: &Action, rules: &[Rule]) -> Vec<String> {
    let allow = action.allow.as_deref().unwrap_or("false");
    if is_true(allow) {
        return vec![passes(action)];
    }
    let mut clauses = Vec::new();
    if !is_false(allow) {
        clauses.push(format!("passes when {}", shown(allow)));
    }
    let asks_always = rules.iter().any(|rule| is_true(&rule.when));
    match (asks_always, clauses.is_empty()) {
        (true, true) => clauses.push("a person is always asked".to_owned()),
        (true, false) => clauses.push("otherwise a person is asked".to_owned()),
        (false, _) => {
            clauses.push(asked(rules));
            clauses.push("otherwise refused".to_owned());
        }
    }
    clauses
}

/// Triggers ask first, also about what `allow` names; then `allow` passes, and the rest is refused.
fn triggers(action: &Action, rules: &[Rule]) -> Vec<String> {
    if rules.iter().any(|rule| is_true(&rule.when)) {
        return vec!["a person is always asked".to_owned()];
    }
    let questions = (!rules.is_empty()).then(|| asked(rules));
    let is_asked = questions.is_some();
    let rest = match action.allow.as_deref() {
        Some(allow) if is_false(allow) && is_asked => vec!["otherwise refused".to_owned()],
        Some(allow) if is_false(allow) => vec!["always refused".to_owned()],
        Some(allow) if !is_true(allow) => {
            vec![format!("passes when {}", shown(allow)), "otherwise refused".to_owned()]
        }
        Some(_) | None if is_asked => vec!["otherwise passes".to_owned()],
        Some(_) | None => vec![passes(action)],
    };
    questions.into_iter().chain(rest).collect()
}

fn passes(action: &Action) -> String {
    if has_params(action) { "passes with any params that fit" } else { "passes" }.to_owned()
}

fn asked(rules: &[Rule]) -> String {
    let when: Vec<String> = rules.iter().map(|rule| when(rule, NEEDS_APPROVAL)).collect();
    let when: Vec<&str> = when.iter().map(String::as_str).collect();
    format!("a person is asked {}", listed(&when, "or"))
}

/// The condition, and the reason where it says more than the key itself.
fn when(rule: &Rule, plain: &str) -> String {
    let reason = if rule.reason == plain { String::new() } else { format!(" ({})", rule.reason) };
    format!("when {}{reason}", shown(&rule.when))
}

/// Longer expressions are cut: the contract itself says the rest.
const SHOWN_CHARS_MAX: usize = 160;

/// An expression as people write it in the short form, on one line.
fn shown(expression: &str) -> String {
    let one_line: Vec<&str> = expression.split_whitespace().collect();
    let short = bare_names::shorten(&one_line.join(" "));
    match short.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", short.get(..end).unwrap_or_default()),
        None => short,
    }
}

fn is_true(expression: &str) -> bool {
    expression.trim() == "true"
}

fn is_false(expression: &str) -> bool {
    expression.trim() == "false"
}
