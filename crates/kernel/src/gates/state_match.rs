//! State match: a param must agree with what live state says now.

use crate::contract::Tolerance;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use values::decimal::Decimal;
use values::json::Json;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(action) = facts.request.action() else { return };
    for (name, limit) in &action.rules.limits {
        let Some(rule) = &limit.state else { continue };
        if facts.refused.contains(name) {
            continue;
        }
        let value = facts.request.param(name);
        let live = facts.state.get(rule.key.as_str());
        if is_within(value, live, rule.tolerance) {
            continue;
        }
        let finding = Finding::reject(Gate::Limits, Reason::StateMismatch).field(name.as_str());
        findings.push(
            finding
                .with("value", facts.request.shown(name))
                .with("key", rule.key.as_str())
                .with("live", live.cloned().unwrap_or_else(|| Json::text("absent")))
                .with("tolerance", tolerance_text(rule.tolerance)),
        );
    }
}

/// Whether two values lie within a tolerance, measured against the second. Missing is never within.
pub fn is_within(value: Option<&Json>, reference: Option<&Json>, tolerance: Tolerance) -> bool {
    let (Some(value), Some(reference)) = (value, reference) else { return false };
    match tolerance {
        Tolerance::Exact => value == reference && *value != Json::Null,
        Tolerance::Absolute(most) => distance(value, reference).is_some_and(|distance| distance <= most),
        Tolerance::Percent(percent) => {
            let most = reference.as_number().and_then(|reference| reference.abs().checked_mul(percent));
            let scaled = distance(value, reference).and_then(|distance| distance.checked_mul(Decimal::from(100)));
            matches!((scaled, most), (Some(scaled), Some(most)) if scaled <= most)
        }
    }
}

fn distance(value: &Json, reference: &Json) -> Option<Decimal> {
    value.as_number()?.checked_sub(reference.as_number()?).map(Decimal::abs)
}

/// The tolerance in words.
pub fn tolerance_text(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Exact => "none".to_owned(),
        Tolerance::Percent(percent) => format!("{percent} %"),
        Tolerance::Absolute(most) => most.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, reference: &str, tolerance: Tolerance, expected: bool) {
        let parse = |text: &str| Json::parse(text.as_bytes()).unwrap();
        assert_eq!(is_within(Some(&parse(value)), Some(&parse(reference)), tolerance), expected, "{value} {reference}");
    }

    #[test]
    fn tolerances_are_inclusive_and_exact() {
        let percent = Tolerance::Percent(Decimal::from(2));
        check("102", "100", percent, true);
        check("102.0000001", "100", percent, false);
        check("98", "100", percent, true);
        check("0", "0", percent, true);
        check("0.1", "0", percent, false);
        check("-102", "-100", percent, true);
        check("1e28", "1e-28", percent, false);
        let absolute = Tolerance::Absolute(Decimal::parse("0.5").unwrap());
        check("1", "1.5", absolute, true);
        check("1", "1.51", absolute, false);
        check("\"1\"", "\"1\"", absolute, false);
        check("\"open\"", "\"open\"", Tolerance::Exact, true);
        check("1.0", "1", Tolerance::Exact, true);
        check("null", "null", Tolerance::Exact, false);
    }

    #[test]
    fn missing_is_never_within() {
        let zero = Json::Number(Decimal::ZERO);
        let absolute = Tolerance::Absolute(Decimal::from(1));
        assert!(!is_within(None, Some(&zero), absolute));
        assert!(!is_within(Some(&zero), None, absolute));
        assert!(!is_within(None, None, Tolerance::Exact));
    }
}
