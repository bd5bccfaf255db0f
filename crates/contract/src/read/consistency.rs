//! What must hold between the parts of a contract: names that exist, bounds that can be met, codes that are true.

mod guards;
mod headers;
mod programs;

use crate::cursor::{CONTRACT_INVALID, join};
use crate::keys;
use crate::source::{Diagnostic, Place, Severity};
use crate::{plugins, watches, witnesses};
use kernel::argument;
use kernel::contract::{
    Action, Amendable, Amount, Budget, Contract, EffectClass, Executor, Limit, Rule, UndoKind, params,
};
use kernel::nearest::nearest;
use kernel::template::Template;
use std::collections::BTreeSet;
use values::decimal::Decimal;
use values::ids;

/// More actions than this is a generated contract, and nobody reads those.
const ACTIONS_MAX: usize = 1_000;

/// Everything that contradicts itself, by path; places are added by the caller.
pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let mut found = Found::default();
    if contract.actions.len() > ACTIONS_MAX {
        found.at("actions", "a contract holds at most 1,000 actions", Some("split it by responsibility"));
    }
    check_proposal(contract, &mut found);
    check_contract_budgets(contract, &mut found);
    check_drift(contract, &mut found);
    check_resources(contract, &mut found);
    check_escalation(contract, &mut found);
    check_monitors(contract, &mut found);
    plugins::check(contract, &mut found);
    witnesses::check(contract, &mut found);
    watches::check(contract, &mut found);
    for (name, action) in &contract.actions {
        check_action(&join("actions", name), action, contract, &mut found);
    }
    guards::check(contract, &mut found);
    found.0
}

#[derive(Default)]
pub(crate) struct Found(Vec<Diagnostic>);

impl Found {
    pub fn at(&mut self, path: &str, message: impl Into<String>, help: Option<&str>) {
        self.0.push(Diagnostic {
            code: CONTRACT_INVALID,
            severity: Severity::Error,
            path: path.to_owned(),
            place: Place::default(),
            message: message.into(),
            help: help.map(str::to_owned),
        });
    }
}

fn check_proposal(contract: &Contract, found: &mut Found) {
    let rules = &contract.proposal;
    if rules.ttl_default > rules.ttl_max {
        let message =
            format!("the default validity `{}` is longer than the longest `{}`", rules.ttl_default, rules.ttl_max);
        found.at("proposal.ttl", message, Some("raise `max` or lower `default`"));
    }
    let Some(confidence) = rules.confidence else { return };
    let one = Decimal::from(1);
    for (key, value) in [("reject_below", confidence.reject_below), ("escalate_below", confidence.escalate_below)] {
        if value.is_negative() || value > one {
            let path = join("proposal.confidence", key);
            found.at(&path, format!("`{key}` must lie between 0 and 1, not at `{value}`"), None);
        }
    }
    if confidence.reject_below > confidence.escalate_below {
        let message = format!(
            "`reject_below` ({}) is above `escalate_below` ({}), so nobody is ever asked",
            confidence.reject_below, confidence.escalate_below
        );
        found.at("proposal.confidence", message, Some("swap them"));
    }
}

fn check_contract_budgets(contract: &Contract, found: &mut Found) {
    check_budgets("budgets", &contract.budgets, found);
    for (index, budget) in contract.budgets.iter().enumerate() {
        let Some(param) = &budget.sum else { continue };
        if !contract.actions.values().any(|action| params::has(action, param)) {
            let message = format!("no action has the param `{param}` that this budget sums");
            found.at(&format!("budgets.{index}.sum"), message, None);
        }
    }
}

fn check_budgets(path: &str, budgets: &[Budget], found: &mut Found) {
    let mut seen = BTreeSet::new();
    for (index, budget) in budgets.iter().enumerate() {
        let path = format!("{path}.{index}");
        if budget.max <= Decimal::ZERO {
            let message = format!("the budget's `max` must be above 0, not `{}`", budget.max);
            found.at(&join(&path, "max"), message, Some("to allow nothing, remove the action"));
        }
        if budget.sum.is_none() && !budget.max.is_integer() {
            found.at(&join(&path, "max"), format!("a count cannot be `{}`", budget.max), Some("use a whole number"));
        }
        if !seen.insert((&budget.sum, budget.per)) {
            let what = budget.sum.as_deref().unwrap_or("count");
            let message = format!("there are two budgets of `{what}` per `{}`", budget.per);
            found.at(&path, message, Some("keep the tighter one"));
        }
    }
}

fn check_drift(contract: &Contract, found: &mut Found) {
    for drift in &contract.drift {
        let fits = |action: &Action| !action.reads && drift.key.params().all(|param| params::has(action, param));
        if !contract.actions.values().any(fits) {
            let message = format!("no action with an effect has all params of the drift key `{}`", drift.key);
            found.at(&join("drift", drift.key.as_str()), message, Some("check the names in braces"));
        }
    }
}

fn check_resources(contract: &Contract, found: &mut Found) {
    for (name, resource) in &contract.resources {
        let path = join("resources", name);
        if let Some(problem) = ids::identifier_problem(name) {
            found.at(&path, format!("the resource name `{name}` {problem}"), None);
        }
        if resource.capacity <= Decimal::ZERO {
            let message = format!("the capacity of `{name}` must be above 0, not `{}`", resource.capacity);
            found.at(&join(&path, "capacity"), message, None);
        }
    }
}

fn check_escalation(contract: &Contract, found: &mut Found) {
    let escalation = &contract.escalation;
    if escalation.quorum == 0 {
        found.at("escalation.quorum", "a quorum of 0 would approve everything", Some("use at least 1"));
    }
    let mut groups = BTreeSet::new();
    for (index, group) in escalation.approvers.iter().enumerate() {
        if !groups.insert(group) {
            found.at(&format!("escalation.approvers.{index}"), format!("`{group}` is listed twice"), None);
        }
    }
    if escalation.valid_after.micros() <= 0 {
        let message = "`valid_after` of no length would call off everything that people approve";
        found.at("escalation.valid_after", message, Some("write how long a worker may take to start it: `15m`"));
    }
    let timeout = &escalation.timeout;
    for (key, step) in [("remind", timeout.remind), ("reroute", timeout.reroute)] {
        if let Some(step) = step.filter(|step| *step >= timeout.after) {
            let message = format!("`{key}` at `{step}` comes when the question is over, after `{}`", timeout.after);
            found.at(&join("escalation.timeout", key), message, Some("raise `after`"));
        }
    }
    if timeout.reroute.is_some() != timeout.reroute_to.is_some() {
        let message = "`reroute` says when and `to` says whom; one of them is missing";
        found.at("escalation.timeout", message, Some("write both, or neither"));
    }
}

fn check_monitors(contract: &Contract, found: &mut Found) {
    let mut seen = BTreeSet::new();
    for (index, monitor) in contract.monitors.iter().enumerate() {
        let Some(id) = monitor.get("id").and_then(|id| id.as_text()) else { continue };
        if !seen.insert(id) {
            found.at(&format!("monitors.{index}.id"), format!("there are two monitors `{id}`"), None);
        }
    }
}

fn check_action(path: &str, action: &Action, contract: &Contract, found: &mut Found) {
    check_schema(path, action, found);
    check_names(path, action, found);
    check_keys(path, action, found);
    for (param, limit) in &action.limits {
        check_limit(&format!("{path}.limits.{param}"), limit, found);
    }
    check_rules(&join(path, "refuse"), &action.refuse, found);
    check_rules(&join(path, action.ask.path()), action.ask.rules(), found);
    check_budgets(&join(path, "budgets"), &action.budgets, found);
    check_reserves(path, action, contract, found);
    check_run(path, action, found);
    check_undo(path, action, found);
    for (param, amendable) in &action.amendable {
        check_amendable(&format!("{path}.amendable.{param}"), param, amendable, action, found);
    }
}

fn check_schema(path: &str, action: &Action, found: &mut Found) {
    let path = join(path, "params");
    if action.params.get("type").and_then(|kind| kind.as_text()) != Some("object") {
        let help = "write `type: object` with `properties`, or a map of short types such as `amount: money EUR`";
        found.at(&path, "the schema of params must have `type: object` at its root", Some(help));
    }
    for param in params::names(action).filter(|param| param.starts_with("__")) {
        let message = format!("a param cannot start with `__`: `{param}`");
        found.at(&format!("{path}.properties.{param}"), message, Some("such keys have a meaning in policies"));
    }
}

/// A key is put together from single values: a list or an object would have every proposal refused.
fn check_keys(path: &str, action: &Action, found: &mut Found) {
    let once = action.once.iter().map(|once| (join(path, "once"), once));
    let states = action.limits.iter().filter_map(|(param, limit)| {
        let state = limit.state.as_ref()?;
        Some((format!("{path}.limits.{param}.state"), &state.key))
    });
    for (path, key) in once.chain(states) {
        key.params().for_each(|param| check_single(&path, (param, "a key"), action, found));
    }
}

/// Every place that names params, and the names it uses.
fn check_names(path: &str, action: &Action, found: &mut Found) {
    let mut check = |path: String, param: &str| check_param(&path, param, action, found);
    for (param, limit) in &action.limits {
        check(format!("{path}.limits.{param}"), param);
        let state = limit.state.iter().flat_map(|state| state.key.params());
        state.for_each(|name| check(format!("{path}.limits.{param}.state"), name));
    }
    action.leases.iter().for_each(|param| check(join(path, "leases"), param));
    action.from.keys().for_each(|param| check(format!("{path}.from.{param}"), param));
    action.amendable.keys().for_each(|param| check(format!("{path}.amendable.{param}"), param));
    let once = action.once.iter().flat_map(Template::params);
    once.for_each(|param| check(join(path, "once"), param));
    for (index, budget) in action.budgets.iter().enumerate() {
        budget.sum.iter().for_each(|param| check(format!("{path}.budgets.{index}.sum"), param));
    }
    for (index, reserve) in action.reserves.iter().enumerate() {
        if let Amount::Param(param) = &reserve.amount {
            check(format!("{path}.reserves.{index}.amount"), param);
        }
    }
}

fn check_limit(path: &str, limit: &Limit, found: &mut Found) {
    if let (Some(min), Some(max)) = (limit.min, limit.max)
        && min > max
    {
        found.at(path, format!("`min` ({min}) is above `max` ({max})"), Some("swap them"));
    }
    for (key, bound) in [("min", limit.min), ("max", limit.max)] {
        if let Some(bound) = bound.filter(|bound| bound.is_negative() && !limit.signed) {
            let message = format!("`{key}` is `{bound}`, but negative numbers are refused");
            found.at(&join(path, key), message, Some("add `signed: true` if negative numbers are meant"));
        }
    }
    if limit.matching.is_some() && limit.denied.is_empty() {
        found.at(&join(path, "match"), "`match` says how `denied` is looked for, and nothing is denied", None);
    }
}

fn check_rules(path: &str, rules: &[Rule], found: &mut Found) {
    for (index, rule) in rules.iter().enumerate() {
        if let Some(problem) = keys::reason_problem(&rule.reason) {
            let help = "choose a code of your own, such as `RISK_TOO_HIGH`";
            found.at(&format!("{path}.{index}.reason"), format!("`{}` {problem}", rule.reason), Some(help));
        }
    }
}

fn check_reserves(path: &str, action: &Action, contract: &Contract, found: &mut Found) {
    for (index, reserve) in action.reserves.iter().enumerate() {
        let path = format!("{path}.reserves.{index}");
        let Some(resource) = contract.resources.get(&reserve.resource) else {
            let known = contract.resources.keys().map(String::as_str);
            let help = nearest(&reserve.resource, known)
                .map_or("declare it under `resources`".to_owned(), |near| format!("did you mean `{near}`?"));
            found.at(&path, format!("the resource `{}` is not declared", reserve.resource), Some(&help));
            continue;
        };
        if let Amount::Fixed(amount) = reserve.amount {
            if amount <= Decimal::ZERO {
                found.at(&path, format!("the reserved amount must be above 0, not `{amount}`"), None);
            }
            if amount > resource.capacity {
                let message = format!("`{amount}` is more than there is of `{}`", reserve.resource);
                found.at(&path, message, None);
            }
        }
        let unit = match &reserve.amount {
            Amount::Fixed(_) => None,
            Amount::Param(param) => action.limits.get(param).and_then(|limit| limit.unit.as_ref()),
        };
        if let (Some(unit), Some(resource_unit)) = (unit, &resource.unit)
            && unit != resource_unit
        {
            let message = format!("the amount is in `{unit}`, the resource in `{resource_unit}`");
            found.at(&path, message, Some("reserve an amount in the unit of the resource"));
        }
    }
}

fn check_run(path: &str, action: &Action, found: &mut Found) {
    let Some(run) = &action.run else { return };
    let path = join(path, "run");
    match (action.reads, run.class) {
        (true, EffectClass::None) => {}
        (true, class) => {
            let message = format!("a read has no effect, so its class cannot be `{}`", class.word());
            found.at(&join(&path, "class"), message, Some("leave `class` out"));
        }
        (false, EffectClass::None) => {
            found.at(&join(&path, "class"), "class `none` is for reads", Some("write `reads: true`"));
        }
        (false, EffectClass::Local | EffectClass::Keyed | EffectClass::Fenced | EffectClass::Opaque) => {}
    }
    if run.class == EffectClass::Local && matches!(run.executor, Executor::Http(_) | Executor::Command(_)) {
        let message = "class `local` is an effect in the store itself, and nothing is sent or run";
        found.at(&join(&path, "class"), message, Some("write `function: record`, or another class"));
    }
    if let Executor::Command(words) = &run.executor {
        check_command(&join(&path, "command"), words, action, found);
    }
    if let Executor::Http(request) = &run.executor {
        check_request(&join(&path, "http"), request, action, found);
    } else if !run.headers.is_empty() {
        found.at(&join(&path, "headers"), "`headers` belong to `http`", Some("remove them"));
    }
    headers::check(&path, run, found);
}

/// Addresses may hold params in braces.
fn check_request(path: &str, request: &str, action: &Action, found: &mut Found) {
    match Template::parse(request) {
        Err(problem) => found.at(path, format!("the address `{request}` {problem}"), None),
        Ok(template) => template.params().for_each(|param| {
            check_param(path, param, action, found);
            check_single(path, (param, "an address"), action, found);
        }),
    }
}

/// What is put together from params takes single values: with a list or an object it could never be put together.
fn check_single(path: &str, (param, whole): (&str, &str), action: &Action, found: &mut Found) {
    let kinds = params::kinds(action, param);
    let is_many = |kind: &&str| matches!(*kind, "array" | "object");
    let Some(kind) = kinds.first().filter(|_| kinds.iter().all(is_many)) else { return };
    let what = if *kind == "array" { "a list" } else { "an object" };
    let message = format!("`{param}` is {what}, and {whole} is made of single values");
    found.at(path, message, Some("name a param that is text, a number or a boolean, such as an id"));
}

fn check_param(path: &str, param: &str, action: &Action, found: &mut Found) {
    if !params::has(action, param) {
        let near = nearest(param, params::names(action)).map(|near| format!("did you mean `{near}`?"));
        found.at(path, format!("the action has no param `{param}`"), near.as_deref());
    }
}

/// Arguments may hold params in braces; which program runs, and what a shell or an interpreter is told, may not depend on
/// them.
fn check_command(path: &str, words: &[String], action: &Action, found: &mut Found) {
    let mut by_shell = false;
    for (index, (word, runner)) in words.iter().zip(programs::runners(words)).enumerate() {
        let path = format!("{path}.{index}");
        for param in argument::params(word) {
            check_param(&path, param, action, found);
            check_single(&path, (param, "an argument"), action, found);
            let stdin = "leave it out: every param is on standard input, as JSON";
            if index == 0 {
                found.at(&path, format!("which program is run cannot depend on the param `{param}`"), None);
            } else if by_shell {
                let message = format!("a shell would read `{param}` as a part of its program");
                found.at(&path, message, Some(stdin));
            } else if let Some(runner) = runner {
                let message = format!("`{runner}` would run what `{param}` says in `{word}`");
                let help = "write the program or script file out, and hand the param as an argument behind it; every param \
                            is also on standard input, as JSON";
                found.at(&path, message, Some(help));
            } else if params::is_secret(action, param) {
                let message = format!("`{param}` is secret, and arguments are seen by everyone on the machine");
                found.at(&path, message, Some(stdin));
            }
        }
        by_shell |= programs::is_shell(word);
    }
}

fn check_undo(path: &str, action: &Action, found: &mut Found) {
    let path = join(path, "undo");
    match (action.undo.kind, &action.undo.http) {
        (UndoKind::Revert, None) => {
            found.at(&path, "`REVERT` needs the request that reverts", Some("add `http: POST https://…`"));
        }
        (UndoKind::Revert | UndoKind::CloseAll, Some(request)) => {
            check_request(&join(&path, "http"), request, action, found);
        }
        (UndoKind::AlertHuman | UndoKind::Noop, Some(_)) => {
            let message = format!("`{}` sends no request", action.undo.kind.word());
            found.at(&join(&path, "http"), message, Some("use `kind: REVERT`, or remove `http`"));
        }
        (UndoKind::CloseAll | UndoKind::AlertHuman | UndoKind::Noop, None) => {}
    }
}

fn check_amendable(path: &str, param: &str, amendable: &Amendable, action: &Action, found: &mut Found) {
    if amendable.min.is_none() && amendable.max.is_none() {
        found.at(path, format!("nothing of `{param}` is amendable"), Some("add `max: { floor: …, ceiling: … }`"));
    }
    let limit = action.limits.get(param);
    let bounds = [
        ("min", amendable.min, limit.and_then(|limit| limit.min)),
        ("max", amendable.max, limit.and_then(|limit| limit.max)),
    ];
    for (key, bounds, bound) in bounds {
        let Some(bounds) = bounds else { continue };
        let path = join(path, key);
        if bounds.floor > bounds.ceiling {
            let message = format!("`floor` ({}) is above `ceiling` ({})", bounds.floor, bounds.ceiling);
            found.at(&path, message, Some("swap them"));
        }
        match bound {
            None => {
                let help = format!("give `limits.{param}` a `{key}`");
                found.at(&path, format!("`{param}` has no `{key}` that could be amended"), Some(&help));
            }
            Some(bound) if bound < bounds.floor || bound > bounds.ceiling => {
                let message = format!("the `{key}` of `{param}` is `{bound}`, outside its own floor and ceiling");
                found.at(&path, message, None);
            }
            Some(_) => {}
        }
    }
}
