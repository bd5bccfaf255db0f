//! What is legal but probably not meant.

use crate::cursor::join;
use crate::source::{Diagnostic, Place, Severity};
use crate::watches;
use kernel::argument;
use kernel::contract::comparison::Comparison;
use kernel::contract::{Action, Amount, Ask, Contract, Executor, Limit, Matching, Role, params};
use kernel::look_alike::Look;
use kernel::template::Template;
use std::collections::BTreeSet;
use values::json::Json;

/// Warnings by path; reading adds places.
pub fn lint(contract: &Contract) -> Vec<Diagnostic> {
    let mut found = Found(Vec::new());
    lint_resources(contract, &mut found);
    lint_plugins(contract, &mut found);
    lint_approvers(contract, &mut found);
    watches::lint(contract, &mut found);
    for (name, action) in &contract.actions {
        let path = join("actions", name);
        lint_reachable(&path, action, contract.role, &mut found);
        lint_ask(&path, action, &mut found);
        lint_contradiction(&path, action, &mut found);
        lint_person(&path, action, &mut found);
        lint_unbounded(&path, action, contract, &mut found);
        lint_params(&path, action, &mut found);
        lint_optional(&path, action, contract, &mut found);
        lint_from(&path, action, &mut found);
        lint_headers(&path, action, &mut found);
        for (param, limit) in &action.limits {
            lint_limit(&format!("{path}.limits.{param}"), limit, &mut found);
        }
        lint_budgets(&path, action, &mut found);
    }
    found.0
}

pub(crate) struct Found(Vec<Diagnostic>);

impl Found {
    pub(crate) fn at(&mut self, code: &'static str, path: &str, message: impl Into<String>, help: &str) {
        self.0.push(Diagnostic {
            code,
            severity: Severity::Warning,
            path: path.to_owned(),
            place: Place::default(),
            message: message.into(),
            help: Some(help.to_owned()),
        });
    }
}

fn lint_resources(contract: &Contract, found: &mut Found) {
    let reserved: BTreeSet<&str> = contract
        .actions
        .values()
        .flat_map(|action| &action.reserves)
        .map(|reserve| reserve.resource.as_str())
        .collect();
    for name in contract.resources.keys().filter(|name| !reserved.contains(name.as_str())) {
        let message = format!("no action reserves `{name}`");
        found.at("UNUSED_RESOURCE", &join("resources", name), message, "add it to `reserves`, or remove it");
    }
}

fn lint_plugins(contract: &Contract, found: &mut Found) {
    for (key, declared) in [("validators", &contract.validators), ("judges", &contract.judges)] {
        let asked = |name: &String| {
            let asks = |action: &Action| action.validators.contains(name) || action.judges.contains(name);
            contract.actions.values().any(asks)
        };
        for name in declared.keys().filter(|name| !asked(name)) {
            let message = format!("no action asks `{name}`");
            found.at("UNUSED_PLUGIN", &join(key, name), message, "name it in an action, or remove it");
        }
    }
}

fn lint_approvers(contract: &Contract, found: &mut Found) {
    let asks = contract.actions.values().any(|action| !action.ask.is_empty());
    let unsure = contract.proposal.confidence.is_some_and(|bounds| bounds.reject_below < bounds.escalate_below);
    let judged = contract.actions.values().any(|action| !action.judges.is_empty());
    if (asks || unsure || judged) && contract.escalation.approvers.is_empty() {
        let message = "people are asked, but no approvers are named, so only the group `operators` may answer";
        found.at("NO_APPROVERS", "escalation.approvers", message, "add `approvers: [GROUP]`");
    }
}

fn lint_reachable(path: &str, action: &Action, role: Role, found: &mut Found) {
    let cannot_act = match role {
        Role::Monitor | Role::Interface => !action.reads,
        Role::Executor | Role::Strategist => false,
    };
    if cannot_act {
        let message = format!("the role `{}` has no effects, so this is always refused", role.word());
        found.at("NEVER_ACCEPTED", path, message, "mark it `reads: true`, or change the role");
    }
    let allows_nothing = action.allow.as_deref().map(str::trim) == Some("false") && action.ask.is_empty();
    if allows_nothing {
        let message = "nothing is allowed and nobody is asked, so this is always refused";
        found.at("NEVER_ACCEPTED", &join(path, "allow"), message, "widen `allow`, add `ask`, or remove the action");
    }
    if let Some(index) = action.refuse.iter().position(|rule| rule.when.trim() == "true") {
        let message = "this refuses everything";
        found.at("NEVER_ACCEPTED", &format!("{path}.refuse.{index}"), message, "narrow `when`");
    }
}

/// A question nobody can ever be asked reads like a safeguard and is none.
fn lint_ask(path: &str, action: &Action, found: &mut Found) {
    let allow = action.allow.as_deref().and_then(Comparison::parse);
    let is_zone = matches!(action.ask, Ask::Zone(_));
    for (index, rule) in action.ask.rules().iter().enumerate() {
        let path = format!("{path}.{}.{index}", action.ask.path());
        let Some(asked) = Comparison::parse(&rule.when) else { continue };
        let limit = action.limits.get(asked.param);
        let (min, max) = (limit.and_then(|limit| limit.min), limit.and_then(|limit| limit.max));
        if asked.never_within(min, max) {
            let message = format!("the limit of `{}` refuses first, so nobody is ever asked", asked.param);
            found.at("UNREACHABLE_ASK", &path, message, "raise the limit, or remove the question");
        } else if is_zone && allow.as_ref().is_some_and(|allow| allow.covers(&asked)) {
            let message = "`allow` already lets all of this pass, so nobody is ever asked";
            found.at("UNREACHABLE_ASK", &path, message, "ask for more than `allow` lets pass");
        }
    }
}

/// A line that asks for two things of one param which no value has both reads like a rule and never acts.
fn lint_contradiction(path: &str, action: &Action, found: &mut Found) {
    let allow = action.allow.iter().map(|text| (join(path, "allow"), text));
    let asked = action.ask.rules().iter().enumerate();
    let asked = asked.map(|(index, rule)| (format!("{path}.{}.{index}", action.ask.path()), &rule.when));
    let refused = action.refuse.iter().enumerate();
    let refused = refused.map(|(index, rule)| (format!("{path}.refuse.{index}"), &rule.when));
    for (path, text) in allow.chain(asked).chain(refused) {
        let joined = Comparison::joined(text);
        let mut pairs = joined.iter().flat_map(|one| joined.iter().map(move |other| (one, other)));
        if let Some((one, _)) = pairs.find(|(one, other)| one.excludes(other)) {
            let message = format!("no `{}` is both, so this is never true", one.param);
            found.at("NEVER_TRUE", &path, message, "write `||` where either is enough, or correct a bound");
        }
    }
}

/// Often `ask: n > 2` is written where `ask: [{ when: n > 2 }]` was meant.
fn lint_person(path: &str, action: &Action, found: &mut Found) {
    let names_nothing = action.allow.as_deref().is_some_and(|allow| allow.trim() == "false");
    let asks_always = action.ask.rules().iter().any(|rule| rule.when.trim() == "true");
    // `ask: true` alone says outright that a person is always asked.
    let is_overruled = match &action.ask {
        Ask::Triggers(_) => asks_always && action.allow.is_some() && !names_nothing,
        Ask::Zone(_) => false,
    };
    if is_overruled || (names_nothing && !action.ask.is_empty() && !asks_always) {
        let message = "nothing ever passes without a person";
        let help = "to let the rest pass, write `allow`, or `ask` as a list: `ask: [{ when: … }]`";
        found.at("ONLY_WITH_A_PERSON", &join(path, "ask"), message, help);
    }
}

/// An effect that nothing but the shape of its params stands before.
fn lint_unbounded(path: &str, action: &Action, contract: &Contract, found: &mut Found) {
    let bounds = |limit: &Limit| {
        let number = limit.min.is_some() || limit.max.is_some();
        number || limit.allowed.is_some() || !limit.denied.is_empty() || limit.state.is_some()
    };
    let is_open = action.allow.as_deref().is_none_or(|allow| allow.trim() == "true");
    let is_ruled = !is_open || !action.ask.is_empty() || !action.refuse.is_empty() || !action.from.is_empty();
    let is_bounded = action.limits.values().any(bounds)
        || !action.budgets.is_empty()
        || !action.reserves.is_empty()
        || !contract.budgets.is_empty();
    let is_judged = !action.validators.is_empty()
        || !action.judges.is_empty()
        || action.leases.is_some()
        || contract.policies.is_some()
        || contract.proposal.confidence.is_some();
    let may_act = matches!(contract.role, Role::Executor | Role::Strategist);
    if may_act && !(action.reads || is_ruled || is_bounded || is_judged) {
        let message = "everything that fits its params passes";
        found.at("EVERYTHING_PASSES", path, message, "add `allow`, `ask`, `limits` or a `budget`");
    }
}

fn lint_params(path: &str, action: &Action, found: &mut Found) {
    if !params::is_closed(action) {
        let message = "params the schema does not name will pass";
        found.at("OPEN_PARAMS", &join(path, "params"), message, "add `additionalProperties: false`");
    }
    let limited = action.limits.iter().filter(|(_, limit)| limit.is_numeric()).map(|(param, _)| param.as_str());
    let summed = action.budgets.iter().filter_map(|budget| budget.sum.as_deref());
    let reserved = action.reserves.iter().filter_map(|reserve| match &reserve.amount {
        Amount::Param(param) => Some(param.as_str()),
        Amount::Fixed(_) => None,
    });
    let mandatory: BTreeSet<&str> = limited.chain(summed).chain(reserved).collect();
    for param in mandatory.into_iter().filter(|param| !params::is_required(action, param)) {
        let message = format!("`{param}` is optional, but its limit, budget or reservation makes it mandatory");
        let help = "make it required, or move it into an action of its own";
        found.at("OPTIONAL_BUT_MANDATORY", &join(path, "params"), message, help);
    }
}

/// A param that an agent may leave out, where nothing can be put together without it.
fn lint_optional(path: &str, action: &Action, contract: &Contract, found: &mut Found) {
    let numeric = |param: &str| action.limits.get(param).is_some_and(Limit::is_numeric);
    let budgets = || action.budgets.iter().chain(&contract.budgets);
    let summed = |param: &str| budgets().any(|budget| budget.sum.as_deref() == Some(param));
    let is_optional = |param: &&str| {
        let declared = params::has(action, param) && !params::is_required(action, param);
        declared && !numeric(param) && !summed(param)
    };
    let help = "make it required";
    for param in action.once.iter().flat_map(Template::params).filter(is_optional) {
        let message =
            format!("`{param}` is optional, and a proposal without it is refused: its effect has no key then");
        found.at("OPTIONAL_IN_KEY", &join(path, "once"), message, help);
    }
    let run = action.run.as_ref().map(|run| &run.executor);
    let undo = action.undo.http.iter().map(|request| (join(path, "undo.http"), request.as_str(), "an undo"));
    let texts: Vec<(String, &str, &str)> = match run {
        Some(Executor::Http(request)) => vec![(join(path, "run.http"), request.as_str(), "what was accepted")],
        Some(Executor::Command(_) | Executor::Function(_) | Executor::Host) | None => Vec::new(),
    };
    for (path, request, what) in texts.into_iter().chain(undo) {
        let Ok(template) = Template::parse(request) else { continue };
        for param in template.params().filter(is_optional) {
            let message = format!("`{param}` is optional, and {what} without it cannot be sent: the address needs it");
            found.at("OPTIONAL_IN_ADDRESS", &path, message, help);
        }
    }
    let Some(Executor::Command(words)) = run else { return };
    for (index, word) in words.iter().enumerate() {
        for param in argument::params(word).filter(is_optional) {
            let message = format!("`{param}` is optional, and what was accepted without it cannot be run");
            found.at("OPTIONAL_IN_ADDRESS", &format!("{path}.run.command.{index}"), message, help);
        }
    }
}

fn lint_from(path: &str, action: &Action, found: &mut Found) {
    let guards = !action.from.is_empty();
    if guards && !action.from.keys().any(|param| params::is_required(action, param)) {
        let message = "`from` guards optional params only; an agent can leave them out";
        found.at("FROM_ONLY_OPTIONAL", &join(path, "from"), message, "make one of them required");
    }
}

fn lint_headers(path: &str, action: &Action, found: &mut Found) {
    const SECRETIVE: &[&str] = &["auth", "token", "key", "secret", "cookie", "password"];
    let headers = action.run.iter().flat_map(|run| &run.headers);
    for (name, value) in headers {
        let lower = name.to_lowercase();
        if SECRETIVE.iter().any(|word| lower.contains(word)) && !value.contains("secret://") {
            let message = format!("the header `{name}` looks like a secret written into the contract");
            let help = "write `secret://env/NAME` or `secret://file/PATH`";
            found.at("SECRET_IN_CONTRACT", &format!("{path}.run.headers.{name}"), message, help);
        }
    }
}

fn lint_limit(path: &str, limit: &Limit, found: &mut Found) {
    for value in limit.allowed.iter().flatten() {
        let denied = value.as_text().is_some_and(|text| is_denied(limit, text));
        let outside = value.as_number().is_some_and(|number| {
            limit.min.is_some_and(|min| number < min)
                || limit.max.is_some_and(|max| number > max)
                || (number.is_negative() && !limit.signed)
        });
        if denied || outside {
            let message = format!("`{}` is allowed here and refused by the same limit", shown(value));
            found.at("CONTRADICTORY_LIMIT", &join(path, "allowed"), message, "remove it from one of them");
        }
    }
}

fn is_denied(limit: &Limit, text: &str) -> bool {
    let look = Look::of(text);
    limit.denied.iter().any(|denied| match limit.matching {
        Some(Matching::Substring) => look.contains(&Look::of(denied)),
        Some(Matching::Exact) | None => look.is_like(&Look::of(denied)),
    })
}

fn shown(value: &Json) -> String {
    value.as_text().map_or_else(|| value.to_canonical(), str::to_owned)
}

fn lint_budgets(path: &str, action: &Action, found: &mut Found) {
    for (index, budget) in action.budgets.iter().enumerate() {
        let min = budget.sum.as_ref().and_then(|param| action.limits.get(param)).and_then(|limit| limit.min);
        if let Some(min) = min.filter(|min| *min > budget.max) {
            let message = format!("the smallest amount, `{min}`, is above the whole budget, `{}`", budget.max);
            found.at("NEVER_ACCEPTED", &format!("{path}.budgets.{index}"), message, "raise `max`, or lower the limit");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{read::read, source::Node};
    use values::json::Json;

    /// Warnings as `CODE path`, for a contract with one action `pay`.
    fn check(action: &str, top: &str, expected: &[&str]) {
        let text = format!(r#"{{"agent": "bot", "approvers": ["desk"]{top}, "actions": {{"pay": {action}}}}}"#);
        let reading = read(&Node::from_json(&Json::parse(text.as_bytes()).unwrap())).unwrap();
        let found: Vec<String> =
            reading.warnings.iter().map(|warning| format!("{} {}", warning.code, warning.path)).collect();
        assert_eq!(found, expected, "{text}");
    }

    fn check_action(members: &str, expected: &[&str]) {
        check(
            &format!(r#"{{"params": {{"a": "number", "t": "text", "o": "optional number"}}, {members}}}"#),
            "",
            expected,
        );
    }

    #[test]
    fn questions_nobody_is_asked() {
        let ask = "UNREACHABLE_ASK actions.pay.ask.0";
        check_action(r#""allow": "a <= 25", "ask": "a <= 50""#, &[]);
        check_action(r#""allow": "a <= 50", "ask": "a <= 25""#, &["UNREACHABLE_ASK actions.pay.ask.zone.0"]);
        check_action(r#""allow": "a <= 50", "ask": [{"when": "a <= 25"}]"#, &[]);
        check_action(r#""limits": {"a": {"max": 50}}, "ask": [{"when": "a > 50"}]"#, &[ask]);
        check_action(r#""limits": {"a": {"max": 50}}, "ask": [{"when": "a >= 50"}]"#, &[]);
        check_action(r#""limits": {"a": {"min": 5}}, "ask": [{"when": "a < 5"}]"#, &[ask]);
    }

    #[test]
    fn lines_that_are_never_true() {
        check_action(r#""allow": "a <= 25 && a >= 30""#, &["NEVER_TRUE actions.pay.allow"]);
        check_action(r#""allow": "a <= 25 || a >= 30""#, &[]);
        check_action(r#""refuse": "a > 5 && a < 5""#, &["NEVER_TRUE actions.pay.refuse.0"]);
        check_action(r#""allow": "true", "ask": [{"when": "a > 9 && a < 3"}]"#, &["NEVER_TRUE actions.pay.ask.0"]);
    }

    #[test]
    fn actions_that_are_always_refused() {
        check_action(r#""allow": "false""#, &["NEVER_ACCEPTED actions.pay.allow"]);
        check_action(r#""allow": "false", "ask": "true""#, &[]);
        check_action(r#""refuse": "true""#, &["NEVER_ACCEPTED actions.pay.refuse.0"]);
        let budget = r#""limits": {"a": {"min": 9}}, "budget": {"sum": "a", "max": 5, "per": "1h"}"#;
        check_action(budget, &["NEVER_ACCEPTED actions.pay.budgets.0"]);
        check("{}", r#", "role": "MONITOR""#, &["NEVER_ACCEPTED actions.pay"]);
        check(r#"{"reads": true}"#, r#", "role": "MONITOR""#, &[]);
    }

    #[test]
    fn actions_that_never_pass_without_a_person() {
        let alone = "ONLY_WITH_A_PERSON actions.pay.ask";
        check_action(r#""ask": "a > 2""#, &[alone]);
        check_action(r#""ask": "true""#, &[]);
        check_action(r#""ask": [{"when": "a > 2"}]"#, &[]);
        check_action(r#""ask": [{"when": "true"}]"#, &[]);
        check_action(r#""allow": "a < 9", "ask": [{"when": "true"}]"#, &[alone]);
        check_action(r#""allow": "false", "ask": [{"when": "a > 2"}]"#, &[alone]);
        check_action(r#""allow": "a < 2", "ask": "true""#, &[]);
    }

    #[test]
    fn actions_that_pass_whatever_is_proposed() {
        let open = "EVERYTHING_PASSES actions.pay";
        check_action(r#""impact": "LOW""#, &[open]);
        check_action(r#""allow": "true""#, &[open]);
        check(r#"{"params": {"a": "money EUR"}}"#, "", &[open]);
        check(r#"{"params": {"a": "money EUR"}, "limits": {"a": {"max": 5}}}"#, "", &[]);
        check_action(r#""reads": true"#, &[]);
        for bound in [
            r#""allow": "a < 2""#,
            r#""refuse": "a > 2""#,
            r#""ask": [{"when": "a > 2"}]"#,
            r#""limits": {"t": {"denied": ["x"]}}"#,
            r#""budget": {"sum": "a", "max": 5, "per": "1h"}"#,
            r#""from": {"t": "user"}"#,
        ] {
            check_action(bound, &[]);
        }
        for top in [
            r#", "budget": {"count": true, "max": 5, "per": "1h"}"#,
            r#", "proposal": {"confidence": {"reject_below": 0.5}}"#,
            r#", "policies": "forbid (principal, action, resource);""#,
        ] {
            check("{}", top, &[]);
        }
    }

    #[test]
    fn limits_against_themselves() {
        let code = "CONTRADICTORY_LIMIT actions.pay.limits.t.allowed";
        check_action(r#""limits": {"t": {"allowed": ["x", "y"], "denied": ["X"]}}"#, &[code]);
        check_action(r#""limits": {"t": {"allowed": ["xy"], "denied": ["X"], "match": "substring"}}"#, &[code]);
        check_action(r#""limits": {"t": {"allowed": ["xy"], "denied": ["X"]}}"#, &[]);
        let outside = r#""limits": {"a": {"allowed": [1, 9], "max": 5}}"#;
        check_action(outside, &["CONTRADICTORY_LIMIT actions.pay.limits.a.allowed"]);
    }

    #[test]
    fn things_that_guard_nothing() {
        check_action(r#""limits": {"o": {"max": 5}}"#, &["OPTIONAL_BUT_MANDATORY actions.pay.params"]);
        let both = ["EVERYTHING_PASSES actions.pay", "OPTIONAL_BUT_MANDATORY actions.pay.params"];
        check_action(r#""limits": {"o": {"unit": "EUR"}}"#, &both);
        check_action(r#""allow": "a < 2", "limits": {"o": {"signed": true}}"#, &[]);
        check(r#"{"params": {"o": "optional signed number"}, "refuse": "o < 2"}"#, "", &[]);
        check_action(r#""from": {"o": "user"}"#, &["FROM_ONLY_OPTIONAL actions.pay.from"]);
        check_action(r#""from": {"o": "user", "t": "user"}"#, &[]);
        check(
            r#"{"params": {"type": "object", "properties": {}}, "reads": true}"#,
            "",
            &["OPEN_PARAMS actions.pay.params"],
        );
        let resources = r#", "resources": {"pool": {"kind": "stock", "capacity": 1}}"#;
        check(r#"{"reads": true}"#, resources, &["UNUSED_RESOURCE resources.pool"]);
        check(r#"{"ask": "true"}"#, r#", "escalation": {"quorum": 1}"#, &[]);
    }

    #[test]
    fn params_that_may_be_missing_where_they_are_needed() {
        check_action(r#""allow": "a < 2", "once": "pay:{t}""#, &[]);
        check_action(r#""allow": "a < 2", "once": "pay:{o}""#, &["OPTIONAL_IN_KEY actions.pay.once"]);
        let limited = r#""once": "pay:{o}", "limits": {"o": {"max": 5}}"#;
        check_action(limited, &["OPTIONAL_BUT_MANDATORY actions.pay.params"]);
        let run = |address: &str| format!(r#""allow": "a < 2", "run": "POST https://h/{address}""#);
        check_action(&run("{t}"), &[]);
        check_action(&run("{o}"), &["OPTIONAL_IN_ADDRESS actions.pay.run.http"]);
        let undo = r#""allow": "a < 2", "undo": {"kind": "REVERT", "http": "POST https://h/{o}"}"#;
        check_action(undo, &["OPTIONAL_IN_ADDRESS actions.pay.undo.http"]);
        let program = r#""allow": "a < 2", "run": {"command": ["/bin/pay", "--to", "{o}"]}"#;
        check_action(program, &["OPTIONAL_IN_ADDRESS actions.pay.run.command.2"]);
    }

    #[test]
    fn secrets_in_the_text() {
        let run = |value: &str| {
            format!(r#""reads": true, "run": {{"http": "GET http://h", "headers": {{"Authorization": "{value}"}}}}"#)
        };
        check_action(&run("Bearer abc"), &["SECRET_IN_CONTRACT actions.pay.run.headers.Authorization"]);
        check_action(&run("secret://env/TOKEN"), &[]);
    }

    #[test]
    fn nobody_to_ask() {
        let text = br#"{"agent": "bot", "actions": {"pay": {"ask": "true"}}}"#;
        let reading = read(&Node::from_json(&Json::parse(text).unwrap())).unwrap();
        assert_eq!(reading.warnings[0].code, "NO_APPROVERS");
    }
}
