//! Reading and checking what a contract watches.

use crate::cursor::{Fields, Report, join};
use crate::read::consistency::Found;
use kernel::contract::{Action, Contract, Series, WATCHES_MAX, Watch};
use std::collections::BTreeMap;
use values::ids;

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
    if watched.is_empty() && matches!(watch.series, Series::When(_) | Series::Failed) {
        found.at(path, "there is no action that it could watch", Some("name one under `actions:`"));
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
