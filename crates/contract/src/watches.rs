//! Reading and checking what a contract watches.

use crate::cursor::{Fields, Report, join};
use crate::lint::Found as Warnings;
use crate::read::consistency::Found;
use kernel::contract::{Action, Contract, Limit, Series, WATCHES_MAX, Watch, params};
use kernel::monitors::MonitorKind;
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::ids;
use values::json::Json;

/// The monitors of the document, in either form.
pub(crate) fn read_all(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Watch> {
    let entries = fields.get("watch").map(|spot| spot.entries(report)).unwrap_or_default();
    let mut watches = BTreeMap::new();
    for (member, spot) in &entries {
        match Watch::read(&spot.node.to_json()) {
            Ok(watch) => {
                watches.insert(member.key.clone(), watch);
            }
            Err(fault) => {
                let written = Fields { spot: spot.clone() };
                let place = written.get(&fault.key).unwrap_or_else(|| spot.clone());
                place.fail(report, format!("`{}`: {}", spot.path, fault.problem), None);
            }
        }
    }
    watches
}

/// What must hold about them.
pub(crate) fn check(contract: &Contract, found: &mut Found) {
    if contract.watch.len() > WATCHES_MAX {
        found.at("watch", format!("a contract has at most {WATCHES_MAX} monitors"), None);
    }
    for (name, watch) in &contract.watch {
        let path = join("watch", name);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if ids::identifier_problem(name).is_some() || !name.chars().all(is_plain) {
            found.at(&path, format!("`{name}` is no name for a monitor"), Some("use letters, digits, `-` and `_`"));
        }
        for (key, actions) in [("actions", &watch.actions), ("revoke", &watch.revoke)] {
            for action in actions.iter().filter(|action| !contract.actions.contains_key(*action)) {
                found.at(&join(&path, key), format!("there is no action `{action}`"), None);
            }
        }
        check_series(&path, watch, contract, found);
    }
}

fn check_series(path: &str, watch: &Watch, contract: &Contract, found: &mut Found) {
    let chosen = |(name, action): &(&String, &Action)| {
        if watch.actions.is_empty() { !action.reads } else { watch.actions.contains(*name) }
    };
    let watched: Vec<(&String, &Action)> = contract.actions.iter().filter(chosen).collect();
    for param in watch.series.params() {
        let lacking = watched.iter().find(|(_, action)| !action.declares(param));
        match lacking {
            Some((action, _)) if !watch.actions.is_empty() => {
                found.at(&join(path, "of"), format!("action `{action}` has no param `{param}`"), None);
            }
            Some(_) if !watched.iter().any(|(_, action)| action.declares(param)) => {
                found.at(&join(path, "of"), format!("no action has a param `{param}`"), None);
            }
            Some(_) | None => {}
        }
    }
    for param in watch.series.params() {
        let declaring = watched.iter().filter(|(_, action)| action.declares(param));
        let never: Option<Vec<String>> = declaring.map(|(_, action)| params::not_a_number(action, param)).collect();
        if let Some(kind) = never.and_then(|never| never.into_iter().next()) {
            let message = format!("`{param}` is {kind}, and a monitor measures numbers");
            found.at(&join(path, "of"), message, Some("watch a numeric param, or a `share` of an expression over it"));
        }
    }
    check_share(path, watch, found);
    if watched.is_empty() && matches!(watch.series, Series::When(_) | Series::Failed) {
        found.at(path, "there is no action that it could watch", Some("name one under `actions:`"));
    }
}

/// A share lies from 0 to 1: what is no bound to it looks like a watch and is none.
fn check_share(path: &str, watch: &Watch, found: &mut Found) {
    if watch.kind != MonitorKind::Share {
        return;
    }
    let bound = |key: &str| watch.settings.get(key).and_then(Json::as_number);
    if let Some(max) = bound("max").filter(|max| *max >= Decimal::from(1)) {
        let message = format!("a share is never above `max` {max}, so this can never trip");
        found.at(&join(path, "max"), message, Some("write a number below 1"));
    }
    if let Some(min) = bound("min").filter(|min| *min <= Decimal::ZERO) {
        let message = format!("a share is never below `min` {min}, so this can never trip");
        found.at(&join(path, "min"), message, Some("write a number above 0"));
    }
}

/// What is legal about them and probably not meant.
pub(crate) fn lint(contract: &Contract, found: &mut Warnings) {
    for (name, watch) in &contract.watch {
        let path = join("watch", name);
        let counts = |(action, said): &(&String, &Action)| {
            if watch.actions.is_empty() { !said.reads } else { watch.actions.contains(*action) }
        };
        let watched: Vec<&Action> = contract.actions.iter().filter(counts).map(|(_, action)| action).collect();
        for param in watch.series.params() {
            let optional = |action: &&Action| action.declares(param) && !must_come(contract, action, param);
            if watched.iter().copied().any(|action| optional(&action)) {
                let message = format!("`{param}` is optional: an agent that leaves it out is not measured");
                found.at(
                    "MONITOR_OPTIONAL",
                    &join(&path, "of"),
                    message,
                    "make it required, or give it a numeric limit",
                );
            }
        }
        lint_domain(&path, watch, &watched, found);
        lint_bounds(&path, watch, &watched, found);
        let is_count = watch.settings.get("over").is_none_or(|over| over.as_number().is_some());
        if is_count && watch.settings.contains_key("at_least") {
            let message = "a window by count is full at `over` values, so `at_least` does nothing";
            found.at("MONITOR_AT_LEAST", &join(&path, "at_least"), message, "remove it, or write `over` as a time");
        }
    }
}

/// Whether a proposal without the param is refused.
fn must_come(contract: &Contract, action: &Action, param: &str) -> bool {
    let budgets = action.budgets.iter().chain(&contract.budgets);
    let is_summed = budgets.into_iter().any(|budget| budget.sum.as_deref() == Some(param));
    params::is_required(action, param) || is_summed || action.limits.get(param).is_some_and(Limit::is_numeric)
}

/// The bounds of some kinds hold for numbers from 0 to 1, or from `low` to `high`; others are not taken, or cut off.
fn lint_domain(path: &str, watch: &Watch, watched: &[&Action], found: &mut Warnings) {
    let Series::Param(param) = &watch.series else { return };
    let setting = |key: &str, unset: i64| match watch.settings.get(key) {
        Some(Json::Text(text)) => Decimal::parse(text),
        Some(value) => value.as_number(),
        None => Some(Decimal::from(unset)),
    };
    let clamps = watch.kind == MonitorKind::ESr;
    if !clamps && !matches!(watch.kind, MonitorKind::HddmA | MonitorKind::HddmW) {
        return;
    }
    let (becomes, fix) = match clamps {
        true => ("measured as the nearer of the two", "set `low` and `high` to the limits of the param"),
        false => ("not measured", "limit the param to 0 to 1, or watch an expression"),
    };
    let (Some(low), Some(high)) = (setting("low", 0), setting("high", 1)) else { return };
    let fits = |limit: &Limit| {
        let least = limit.min.or((!limit.signed).then_some(Decimal::ZERO));
        least.is_some_and(|least| least >= low) && limit.max.is_some_and(|most| most <= high)
    };
    let declaring = || watched.iter().filter(|action| action.declares(param));
    if declaring().any(|action| !action.limits.get(param).is_some_and(fits)) {
        let kind = watch.kind.word();
        let message =
            format!("`{kind}` takes numbers from {low} to {high}, and `{param}` may be others, which are {becomes}");
        found.at("MONITOR_DOMAIN", &join(path, "of"), message, fix);
    }
}

/// A bound that no permitted value passes never trips.
fn lint_bounds(path: &str, watch: &Watch, watched: &[&Action], found: &mut Warnings) {
    let (MonitorKind::Mean, Series::Param(param)) = (watch.kind, &watch.series) else { return };
    let limits: Vec<Option<&Limit>> =
        watched.iter().filter(|action| action.declares(param)).map(|action| action.limits.get(param)).collect();
    let bound = |key: &str| watch.settings.get(key).and_then(Json::as_number);
    let every =
        |fits: &dyn Fn(&Limit) -> bool| !limits.is_empty() && limits.iter().all(|limit| limit.is_some_and(fits));
    if let Some(max) = bound("max").filter(|max| every(&|limit| limit.max.is_some_and(|most| most <= *max))) {
        let message = format!("no permitted `{param}` is above {max}, so `max` can never trip");
        found.at("MONITOR_NEVER_TRIPS", &join(path, "max"), message, "lower it below the limit of the param");
    }
    if let Some(min) = bound("min").filter(|min| every(&|limit| limit.min.is_some_and(|least| least >= *min))) {
        let message = format!("no permitted `{param}` is below {min}, so `min` can never trip");
        found.at("MONITOR_NEVER_TRIPS", &join(path, "min"), message, "raise it above the limit of the param");
    }
}

/// What the monitors come to, one sentence each.
pub(crate) fn clauses(contract: &Contract) -> Vec<String> {
    let clause = |(name, watch): (&String, &Watch)| {
        let settings = watch.settings.iter().map(|(key, value)| {
            let text = value.as_text().map_or_else(|| value.to_canonical(), str::to_owned);
            format!("{key} {text}")
        });
        let settings: Vec<String> = settings.collect();
        let then = match &watch.revoke {
            revoked if revoked.is_empty() => watch.then.word().to_owned(),
            revoked => format!("{} ({})", watch.then.word(), revoked.iter().cloned().collect::<Vec<_>>().join(", ")),
        };
        let (kind, series) = (watch.kind.word(), watch.series.words());
        format!("monitor {name} watches the {kind} of {series} ({}) and on alarm {then}", settings.join(", "))
    };
    contract.watch.iter().map(clause).collect()
}
