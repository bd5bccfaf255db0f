//! Limits: bounds of single params, exact to the last digit.

use crate::bugs::{self, Bug};
use crate::contract::{Limit, Matching};
use crate::decimal::Decimal;
use crate::finding::{Finding, Findings, Gate, shown};
use crate::json::Json;
use crate::reasons::Reason;
use crate::request::{ActionFacts, Number, Request};

pub(super) fn judge(request: &Request<'_>, findings: &mut Findings) {
    let Some(action) = request.action() else { return };
    let refused = findings.refused_fields();
    let present = request.proposal.params.keys().filter(|name| !refused.contains(*name));
    for name in present {
        let limit = action.rules.limits.get(name);
        if let Number::Is(value, unit) = request.number(name) {
            judge_number(request, &action, name, limit, value, unit, findings);
        }
        if let (Some(limit), Some(value)) = (limit, request.param(name)) {
            judge_set(request, name, limit, value, findings);
        }
    }
}

fn judge_number(
    request: &Request<'_>,
    action: &ActionFacts<'_>,
    name: &str,
    limit: Option<&Limit>,
    value: Decimal,
    unit: Option<&str>,
    findings: &mut Findings,
) {
    let finding = |reason| Finding::reject(Gate::Limits, reason).field(name).with("value", request.shown(name));
    let mut below = |problem: String| findings.push(finding(Reason::LimitBelowMinimum).with("problem", problem));
    let signed = limit.is_some_and(|limit| limit.signed) || bugs::on(Bug::W09NegativePasses);
    let min = limit.and_then(|limit| limit.min);
    let unit_text = limit.and_then(|limit| limit.unit.as_deref()).map(|unit| format!(" {unit}")).unwrap_or_default();
    if value.is_negative() && !signed {
        below("a negative number".to_owned());
    } else if value <= Decimal::ZERO && action.compiled.plan.taken.contains(name) && !bugs::on(Bug::W09NegativePasses) {
        below("but amounts that are summed or reserved must be above 0".to_owned());
    } else if let Some(min) = min.filter(|min| value < *min) {
        below(format!("below the minimum of {min}{unit_text}"));
    }
    let Some(limit) = limit else { return };
    if let Some(max) = limit.max.filter(|max| value > *max) {
        findings.push(finding(Reason::LimitExceeded).with("max", format!("{max}{unit_text}")));
    }
    if let (Some(given), Some(expected)) = (unit, limit.unit.as_deref())
        && given != expected
    {
        let problem = format!("is in {given}, not in {expected}");
        findings.push(Finding::reject(Gate::Limits, Reason::ParamInvalid).field(name).with("problem", problem));
    }
}

fn judge_set(request: &Request<'_>, name: &str, limit: &Limit, value: &Json, findings: &mut Findings) {
    // A list passes only if each of its items does.
    let items = match value {
        Json::List(items) => items.as_slice(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => std::slice::from_ref(value),
    };
    let finding = |reason| Finding::reject(Gate::Limits, reason).field(name).with("value", request.shown(name));
    if let Some(allowed) = &limit.allowed
        && !items.iter().all(|item| allowed.contains(item))
    {
        let words: Vec<String> = allowed.iter().map(shown).collect();
        findings.push(finding(Reason::ValueNotAllowed).with("allowed", words.join(", ")));
    }
    let matching = limit.matching.unwrap_or(Matching::Exact);
    for denied in &limit.denied {
        if items.iter().any(|item| contains(item, denied, matching)) {
            findings.push(finding(Reason::ValueDenied).with("denied", denied.as_str()));
        }
    }
}

fn contains(item: &Json, denied: &str, matching: Matching) -> bool {
    let text = shown_whole(item).to_lowercase();
    let denied = denied.to_lowercase();
    match matching {
        Matching::Exact => text == denied,
        Matching::Substring => text.contains(&denied),
    }
}

fn shown_whole(item: &Json) -> String {
    item.as_text().map_or_else(|| item.to_canonical(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::contract::{Limit, Matching};
    use crate::decimal::Decimal;
    use crate::json::Json;
    use crate::testing::{Case, case};

    fn with_limit(name: &'static str, limit: Limit) -> Case {
        case().contract(move |contract| {
            contract.actions.get_mut("pay").unwrap().limits.insert(name.to_owned(), limit.clone());
        })
    }

    #[test]
    fn bounds_are_inclusive_and_exact() {
        let check = |amount: &str, expected: &str| {
            case().params(&format!(r#"{{"amount":{amount}}}"#)).check(expected);
        };
        check("100", "ACCEPT");
        check("100.0000000001", "REJECT LIMIT_EXCEEDED");
        check("0.01", "ACCEPT");
        check("0.009", "REJECT LIMIT_BELOW_MINIMUM");
        check("-5", "REJECT LIMIT_BELOW_MINIMUM");
        check("0", "REJECT LIMIT_BELOW_MINIMUM");
        check("1e2", "ACCEPT");
        check("\"5\"", "REJECT PARAM_INVALID");
        check("true", "REJECT PARAM_INVALID");
        check("null", "REJECT PARAM_MISSING");
    }

    #[test]
    fn negative_numbers_need_to_be_meant() {
        case().params(r#"{"amount":5,"latitude":-33.9}"#).check("REJECT LIMIT_BELOW_MINIMUM");
        let signed = Limit { signed: true, ..Limit::default() };
        with_limit("latitude", signed).params(r#"{"amount":5,"latitude":-33.9}"#).check("ACCEPT");
    }

    #[test]
    fn a_wrong_unit_is_refused() {
        let euros = Limit { unit: Some("EUR".to_owned()), max: Some(Decimal::from(50)), ..Limit::default() };
        let check = |fee: &str, expected: &str| {
            with_limit("fee", euros.clone()).params(&format!(r#"{{"amount":5,"fee":{fee}}}"#)).check(expected);
        };
        check(r#"{"value":5,"unit":"EUR"}"#, "ACCEPT");
        check(r#"{"value":5,"unit":"USD"}"#, "REJECT PARAM_INVALID");
        check(r#"{"value":51,"unit":"EUR"}"#, "REJECT LIMIT_EXCEEDED");
        check(r#"{"value":5}"#, "REJECT PARAM_INVALID");
    }

    #[test]
    fn sets_are_exact_and_denials_ignore_case() {
        let allowed = Limit { allowed: Some(vec![Json::text("late"), Json::text("lost")]), ..Limit::default() };
        let check = |value: &str, expected: &str| {
            with_limit("kind", allowed.clone()).params(&format!(r#"{{"amount":5,"kind":{value}}}"#)).check(expected);
        };
        check(r#""late""#, "ACCEPT");
        check(r#""Late""#, "REJECT VALUE_NOT_ALLOWED");
        check(r#"["late","lost"]"#, "ACCEPT");
        check(r#"["late","other"]"#, "REJECT VALUE_NOT_ALLOWED");
        let denied =
            |matching| Limit { denied: vec!["threat".to_owned()], matching: Some(matching), ..Limit::default() };
        let check = |matching, value: &str, expected: &str| {
            with_limit("note", denied(matching)).params(&format!(r#"{{"amount":5,"note":"{value}"}}"#)).check(expected);
        };
        check(Matching::Substring, "a THREAT!", "REJECT VALUE_DENIED");
        check(Matching::Exact, "a threat", "ACCEPT");
        check(Matching::Exact, "Threat", "REJECT VALUE_DENIED");
    }
}
