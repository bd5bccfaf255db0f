//! Ways out: whether people can still answer, lift and go on under a contract once it is in force.
//!
//! Operators can always lift a restriction and activate another contract: no contract has a say in that. What a contract
//! can do is ask people whom nobody can reach, or demand answers that nobody can give, or watch with a monitor that trips
//! again after every lift. Such a contract locks the agent in, and whoever activates it should know.

use super::{Contract, Series, Then, Watch};
use crate::monitors::MonitorKind;
use crate::person::Person;
use values::decimal::Decimal;
use values::json::Json;

/// The group that may answer where a contract names none.
const OPERATORS: &str = "operators";

/// A way out that a contract closes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClosedWay {
    /// Which: `answering` or `lifting`.
    pub way: &'static str,
    /// The key of the contract that closes it.
    pub path: String,
    /// In one sentence.
    pub because: String,
}

/// Every way out that a contract closes. Where no person is known yet, nobody can be missing.
pub fn closed(contract: &Contract, people: &[Person]) -> Vec<ClosedWay> {
    let mut found = Vec::new();
    if asks(contract) {
        answering(contract, people, &mut found);
    }
    for (name, watch) in &contract.watch {
        lifting(contract, name, watch, &mut found);
    }
    found
}

/// Whether a person may ever be asked under it.
pub fn asks(contract: &Contract) -> bool {
    let unsure = contract.proposal.confidence.is_some_and(|bounds| bounds.reject_below < bounds.escalate_below);
    let by_action = contract.actions.values().any(|action| !action.ask.is_empty() || !action.judges.is_empty());
    unsure || by_action || contract.watch.values().any(|watch| watch.then == Then::EscalationOnly)
}

fn answering(contract: &Contract, people: &[Person], found: &mut Vec<ClosedWay>) {
    let escalation = &contract.escalation;
    let mut close = |path: &str, because: String| {
        found.push(ClosedWay { way: "answering", path: format!("escalation.{path}"), because });
    };
    if escalation.budget_max == 0 {
        close("budget.max", "people are to be asked and the budget of questions is 0, so nobody ever is".to_owned());
    }
    if escalation.timeout.after.micros() <= 0 {
        close("timeout.after", "a question is over at the instant at which it is asked".to_owned());
    }
    if people.is_empty() {
        return;
    }
    let groups: Vec<&str> = match escalation.approvers.as_slice() {
        [] => vec![OPERATORS],
        groups => groups.iter().chain(&escalation.timeout.reroute_to).map(String::as_str).collect(),
    };
    let entitled = || people.iter().filter(|person| person.groups.iter().any(|own| groups.contains(&own.as_str())));
    let missing = |count: usize| u64::try_from(count).unwrap_or(u64::MAX) < escalation.quorum;
    let (all, named) = (entitled().count(), groups.join(", "));
    let needed = escalation.quorum;
    if missing(all) {
        close("approvers", format!("an answer takes {needed} of {named}, and the people known here include {all}"));
    } else if escalation.signed && missing(entitled().filter(|person| person.key.is_some()).count()) {
        close("signed", format!("an answer takes {needed} of {named} with a key, and too few of them have one"));
    }
}

/// A band that no permitted value stays inside trips again as soon as its window is full.
fn lifting(contract: &Contract, name: &str, watch: &Watch, found: &mut Vec<ClosedWay>) {
    if watch.then.status().is_none() {
        return;
    }
    let (least, most, what) = match (watch.kind, &watch.series) {
        (MonitorKind::Share, _) => (Some(Decimal::ZERO), Some(Decimal::from(1)), "share".to_owned()),
        (MonitorKind::Mean, Series::Param(param)) => {
            let (least, most) = range(contract, watch, param);
            (least, most, format!("permitted `{param}`"))
        }
        (_, _) => return,
    };
    let bound = |key: &str| watch.settings.get(key).and_then(Json::as_number);
    let above = bound("max").zip(least).is_some_and(|(max, least)| least > max);
    let below = bound("min").zip(most).is_some_and(|(min, most)| most < min);
    if above || below {
        let because = format!("no {what} is inside the band, so `{name}` trips again after every lift");
        found.push(ClosedWay { way: "lifting", path: format!("watch.{name}"), because });
    }
}

/// Between what the values of a param lie, whichever watched action brings them. What is not said to be signed is not
/// below zero.
fn range(contract: &Contract, watch: &Watch, param: &str) -> (Option<Decimal>, Option<Decimal>) {
    let watched = contract.actions.iter().filter(|(action, said)| {
        let counts = if watch.actions.is_empty() { !said.reads } else { watch.actions.contains(*action) };
        counts && said.declares(param)
    });
    let limits: Vec<_> = watched.map(|(_, action)| action.limits.get(param)).collect();
    let least = |limit: &Option<&super::Limit>| match limit {
        Some(limit) if limit.signed => limit.min,
        Some(limit) => Some(limit.min.unwrap_or(Decimal::ZERO).max(Decimal::ZERO)),
        None => Some(Decimal::ZERO),
    };
    let every: Option<Vec<Decimal>> = limits.iter().map(least).collect();
    let most: Option<Vec<Decimal>> = limits.iter().map(|limit| limit.and_then(|limit| limit.max)).collect();
    (every.and_then(|least| least.into_iter().min()), most.and_then(|most| most.into_iter().max()))
}
