//! Limits: bounds of single params, exact to the last digit.

use crate::contract::{Limit, Matching, Script};
use crate::finding::{Finding, Findings, Gate, shown};
use crate::look_alike::{Look, plain, script_problem};
use crate::reasons::Reason;
use crate::request::{ActionFacts, Number, Request};
use std::collections::BTreeMap;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::Json;

pub(super) fn judge(request: &Request<'_>, findings: &mut Findings) {
    let Some(action) = request.action() else { return };
    judge_within(request, &action.rules.limits, findings);
}

/// Judges under limits that may differ from the contract's: someone amended them.
pub(crate) fn judge_within(request: &Request<'_>, limits: &BTreeMap<String, Limit>, findings: &mut Findings) {
    let Some(action) = request.action() else { return };
    let refused = findings.refused_fields();
    let present = request.proposal.params.keys().filter(|name| !refused.contains(*name));
    for name in present {
        let limit = limits.get(name);
        match request.number(name) {
            Number::Is(value, unit) => judge_number(request, &action, name, limit, value, unit, findings),
            Number::Missing | Number::Not(_) => judge_inside(request, name, limit, findings),
        }
        if let (Some(limit), Some(value)) = (limit, request.proposal.params.get(name)) {
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
    if let (Some(given), None) = (unit, limit.and_then(|limit| limit.unit.as_deref())) {
        let problem = format!("is in {}, and the contract names no unit for it", shown(&Json::text(given)));
        findings.push(Finding::reject(Gate::Limits, Reason::ParamInvalid).field(name).with("problem", problem));
    }
    let Some(limit) = limit else { return };
    if let Some(max) = limit.max.filter(|max| value > *max) {
        findings.push(finding(Reason::LimitExceeded).with("max", format!("{max}{unit_text}")));
    }
    if let (Some(given), Some(expected)) = (unit, limit.unit.as_deref())
        && given != expected
    {
        let problem = format!("is in {}, not in {expected}", shown(&Json::text(given)));
        findings.push(Finding::reject(Gate::Limits, Reason::ParamInvalid).field(name).with("problem", problem));
    }
}

/// Negative numbers inside lists and objects are refused too, unless the param is said to be signed.
fn judge_inside(request: &Request<'_>, name: &str, limit: Option<&Limit>, findings: &mut Findings) {
    let signed = limit.is_some_and(|limit| limit.signed) || bugs::on(Bug::W09NegativePasses);
    if signed || !request.param(name).is_some_and(has_negative) {
        return;
    }
    let finding =
        Finding::reject(Gate::Limits, Reason::LimitBelowMinimum).field(name).with("value", request.shown(name));
    findings.push(finding.with("problem", "which contains a negative number"));
}

fn has_negative(value: &Json) -> bool {
    match value {
        Json::Number(number) => number.is_negative(),
        Json::List(items) => items.iter().any(has_negative),
        Json::Object(members) => members.values().any(has_negative),
        Json::Null | Json::Bool(_) | Json::Text(_) => false,
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
    judge_script(request, name, limit, items, findings);
    let matching = limit.matching.unwrap_or(Matching::Exact);
    for denied in &limit.denied {
        let small = denied.to_lowercase();
        let as_written = |text: &str| match matching {
            Matching::Exact => text.to_lowercase() == small,
            Matching::Substring => text.to_lowercase().contains(&small),
        };
        let look = Look::of(denied);
        let as_seen = |text: &str| match matching {
            Matching::Exact => Look::of(text).is_like(&look),
            Matching::Substring => Look::of(text).contains(&look),
        };
        let finding = |looks: &str| finding(Reason::ValueDenied).with("denied", denied.as_str()).with("looks", looks);
        if items.iter().any(|item| contains(item, &as_written)) {
            findings.push(finding(""));
        } else if !bugs::on(Bug::LookAlikesPass) && items.iter().any(|item| contains(item, &as_seen)) {
            findings.push(finding(": what it holds looks like that"));
        }
    }
}

/// Letters of several scripts, full-width forms and invisible characters make two identifiers look the same.
fn judge_script(request: &Request<'_>, name: &str, limit: &Limit, items: &[Json], findings: &mut Findings) {
    let Some(Script::Single) = limit.script else { return };
    let mut texts = items.iter().filter_map(Json::as_text);
    let Some((text, problem)) = texts.find_map(|text| Some((text, script_problem(text)?))) else { return };
    let secret = request.action().is_some_and(|action| action.compiled.plan.secret.contains(name));
    let looks = if secret { String::new() } else { format!(", and looks like `{}`", shown(&Json::text(plain(text)))) };
    let finding = Finding::reject(Gate::Limits, Reason::ParamInvalid).field(name);
    findings.push(finding.with("problem", format!("{problem}{looks}")));
}

/// Whether a text is hit anywhere in a value, however deep, as a value or as a key.
fn contains(item: &Json, hit: &dyn Fn(&str) -> bool) -> bool {
    match item {
        Json::Text(text) => hit(text),
        Json::Null | Json::Bool(_) | Json::Number(_) => hit(&item.to_canonical()),
        Json::List(items) => items.iter().any(|item| contains(item, hit)),
        Json::Object(members) => members.iter().any(|(key, value)| hit(key) || contains(value, hit)),
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::{Limit, Matching, Script};
    use crate::testing::{Case, case};
    use values::decimal::Decimal;
    use values::json::Json;

    #[test]
    fn allowed_values_are_not_what_only_looks_like_them() {
        let allowed = Limit { allowed: Some(vec![Json::text("late")]), ..Limit::default() };
        let check = |value: &str, expected: &str| {
            with_limit("kind", allowed.clone()).params(&format!(r#"{{"amount":5,"kind":"{value}"}}"#)).check(expected);
        };
        check("late", "ACCEPT");
        for like in ["l\u{0430}te", "\u{FF4C}ate", "la\u{200B}te"] {
            check(like, "REJECT VALUE_NOT_ALLOWED");
        }
    }

    #[test]
    fn identifiers_of_one_script() {
        let single = Limit { script: Some(Script::Single), ..Limit::default() };
        let check = |value: &str, expected: &str| {
            with_limit("kind", single.clone()).params(&format!(r#"{{"amount":5,"kind":{value}}}"#)).check(expected);
        };
        check(r#""ann-7""#, "ACCEPT");
        check("\"\u{0430}\u{043D}\u{043D}\u{0430}\"", "ACCEPT");
        check("7", "ACCEPT");
        for deceptive in ["\u{0430}nn", "\u{FF41}nn", "an\u{200B}n"] {
            check(&format!("\"{deceptive}\""), "REJECT PARAM_INVALID");
            check(&format!("[\"ann\", \"{deceptive}\"]"), "REJECT PARAM_INVALID");
        }
    }

    #[test]
    fn a_finding_says_what_it_looked_like() {
        let said = |limit: Limit, value: &str| {
            let case = with_limit("note", limit).params(&format!(r#"{{"amount":5,"note":"{value}"}}"#));
            case.messages()
        };
        let denied = Limit { denied: vec!["mallory".to_owned()], ..Limit::default() };
        let written = ["`note` contains the denied value mallory"];
        assert_eq!(said(denied.clone(), "Mallory"), written);
        let looks = ["`note` contains the denied value mallory: what it holds looks like that"];
        assert_eq!(said(denied, "m\u{0430}llory"), looks);
        let single = Limit { script: Some(Script::Single), ..Limit::default() };
        let mixed = ["`note` mixes letters of several scripts, and looks like `paypal`"];
        assert_eq!(said(single, "\u{0440}aypal"), mixed);
    }

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
        case().params(r#"{"amount":{"value":5,"unit":"BTC"}}"#).check("REJECT PARAM_INVALID");
    }

    #[test]
    fn negative_numbers_cannot_hide_inside() {
        case().params(r#"{"amount":5,"kind":[1,-5]}"#).check("REJECT LIMIT_BELOW_MINIMUM");
        case().params(r#"{"amount":5,"kind":{"a":{"b":-5}}}"#).check("REJECT LIMIT_BELOW_MINIMUM");
        let signed = Limit { signed: true, ..Limit::default() };
        with_limit("kind", signed).params(r#"{"amount":5,"kind":[1,-5]}"#).check("ACCEPT");
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
        check("null", "REJECT VALUE_NOT_ALLOWED");
        let denied =
            |matching| Limit { denied: vec!["threat".to_owned()], matching: Some(matching), ..Limit::default() };
        let check = |matching, value: &str, expected: &str| {
            with_limit("note", denied(matching)).params(&format!(r#"{{"amount":5,"note":"{value}"}}"#)).check(expected);
        };
        check(Matching::Substring, "a THREAT!", "REJECT VALUE_DENIED");
        check(Matching::Exact, "a threat", "ACCEPT");
        check(Matching::Exact, "Threat", "REJECT VALUE_DENIED");
        for like in ["thre\u{0430}t", "th\u{FF52}eat", "thr\u{200B}eat", "\u{0422}HREAT"] {
            check(Matching::Exact, like, "REJECT VALUE_DENIED");
            check(Matching::Substring, &format!("a {like}!"), "REJECT VALUE_DENIED");
        }
        check(Matching::Exact, "treat", "ACCEPT");
        let nested = r#"{"amount":5,"note":[{"a":["a \"threat\""]}]}"#;
        with_limit("note", denied(Matching::Substring)).params(nested).check("REJECT VALUE_DENIED");
    }
}
