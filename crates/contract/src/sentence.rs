//! What a contract comes to, one plain sentence per action: what passes, when a person is asked, what is refused.

mod bounds;
mod verdict_lines;

use crate::watches;
use kernel::contract::{
    Action, AmendBounds, Amendable, Amount, Budget, Contract, Limit, Origin, ResourceKind, Role, UndoKind, params,
};
use kernel::finding::visible;
use std::collections::BTreeSet;
use std::fmt;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

/// The sentence about one action, or about all of them together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// The action; `None` for what holds for every proposal.
    pub action: Option<String>,
    /// The clauses, in the order they are read.
    pub clauses: Vec<String>,
}

impl Sentence {
    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("action", Json::from(self.action.clone())),
            ("clauses", Json::texts(self.clauses.iter().map(String::as_str))),
            ("sentence", Json::text(self.to_string())),
        ])
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.action.as_deref().unwrap_or("every proposal");
        formatter.write_str(&visible(&format!("{subject}: {}", self.clauses.join("; "))))
    }
}

/// One sentence per action, in the order of their names; before them one about what holds for every proposal, if
/// anything does.
///
/// ```
/// use contract::{read::read, sentence::sentences, source::Node};
/// use values::json::Json;
/// let text = br#"{"agent": "bot", "approvers": ["desk"], "actions": {"pay": {"params": {"amount": "money EUR"},
///     "allow": "amount <= 25", "ask": "amount <= 50"}}}"#;
/// let contract = read(&Node::from_json(&Json::parse(text).unwrap())).unwrap().contract;
/// let said = sentences(&contract)[0].to_string();
/// assert_eq!(said, "pay: passes when amount <= 25; a person is asked when amount <= 50; otherwise refused");
/// ```
pub fn sentences(contract: &Contract) -> Vec<Sentence> {
    let together = of_all(contract);
    let together = (!together.is_empty()).then_some(Sentence { action: None, clauses: together });
    let each = contract
        .actions
        .iter()
        .map(|(name, action)| Sentence { action: Some(name.clone()), clauses: of_action(contract, action) });
    together.into_iter().chain(each).collect()
}

fn of_all(contract: &Contract) -> Vec<String> {
    let mut clauses = Vec::new();
    if let Some(confidence) = contract.proposal.confidence {
        let (reject, escalate) = (confidence.reject_below, confidence.escalate_below);
        if reject > Decimal::ZERO {
            clauses.push(format!("refused when confidence < {reject}"));
        }
        if escalate > reject {
            clauses.push(format!("a person is asked when confidence < {escalate}"));
        }
    }
    clauses.extend(contract.budgets.iter().map(|budget| {
        let unit = budget
            .sum
            .as_deref()
            .and_then(|param| contract.actions.values().find_map(|action| action.limits.get(param)?.unit.as_deref()));
        format!("{} over all actions", budget_clause(budget, unit, true))
    }));
    if let Some(age) = contract.proposal.context_max_age {
        clauses.push(format!("what the agent saw is at most {} old", spaced(age)));
    }
    clauses.extend(
        contract
            .drift
            .iter()
            .map(|drift| format!("refused when state {} moved {}", drift.key, bounds::by(&drift.tolerance))),
    );
    if contract.policies.is_some() {
        clauses.push("refused when a policy forbids it".to_owned());
    }
    clauses.extend(watches::clauses(contract));
    clauses
}

fn of_action(contract: &Contract, action: &Action) -> Vec<String> {
    let mut clauses = Vec::new();
    if action.reads {
        clauses.push("only reads".to_owned());
    }
    match (contract.role, action.reads) {
        (Role::Executor, _) | (Role::Strategist | Role::Monitor, true) => {}
        (Role::Strategist, false) => {
            clauses.push("a person is always asked, because a strategist only plans".to_owned());
        }
        (Role::Monitor, false) => return vec!["always refused, because a monitor has no effects".to_owned()],
        (Role::Interface, _) => return vec!["always refused, because an interface only relays".to_owned()],
    }
    clauses.extend(verdict_lines::clauses(action));
    clauses.extend(action.limits.iter().flat_map(|(param, limit)| bounds::clauses(param, limit)));
    clauses.extend(action.from.iter().map(|(param, origins)| from_clause(param, origins)));
    clauses.extend(action.budgets.iter().map(|budget| {
        let limit = budget.sum.as_ref().and_then(|param| action.limits.get(param));
        budget_clause(budget, limit.and_then(|limit| limit.unit.as_deref()), names_its_param(action, budget, limit))
    }));
    clauses.extend(action.reserves.iter().map(|reserve| {
        let amount = match &reserve.amount {
            Amount::Fixed(amount) => amount.to_string(),
            Amount::Param(param) => param.clone(),
        };
        format!("takes {amount} from {}", of_resource(contract, &reserve.resource))
    }));
    clauses.extend(once_clause(action));
    let asked = [("validator", "must agree", &action.validators), ("judge", "may ask a person", &action.judges)];
    for (kind, does, names) in asked {
        clauses.extend(names.iter().map(|name| format!("the {kind} {name} {does}")));
    }
    clauses.extend(action.leases.iter().map(|param| format!("no path in {param} may be leased to another")));
    clauses.extend(undo_clause(action));
    clauses.extend(action.amendable.iter().flat_map(|(param, amendable)| amend_clauses(param, amendable)));
    clauses
}

/// Two params in one unit, or a unit that stands nowhere else, would leave open what is summed.
fn names_its_param(action: &Action, budget: &Budget, limit: Option<&Limit>) -> bool {
    let unit = limit.and_then(|limit| limit.unit.as_ref());
    let same = action.limits.iter().filter(|(_, other)| unit.is_some() && other.unit.as_ref() == unit);
    budget.sum.is_some() && (unit.is_none() || same.count() > 1)
}

fn budget_clause(budget: &Budget, unit: Option<&str>, names_param: bool) -> String {
    let (max, per) = (budget.max, spaced(budget.per));
    let Some(param) = &budget.sum else {
        let times = if max == Decimal::from(1) { "once".to_owned() } else { format!("{max} times") };
        return format!("at most {times} per {per}");
    };
    let unit = unit.map(|unit| format!(" {unit}")).unwrap_or_default();
    let of = if names_param { format!(" of {param}") } else { String::new() };
    format!("at most {max}{unit}{of} per {per}")
}

fn of_resource(contract: &Contract, name: &str) -> String {
    let Some(resource) = contract.resources.get(name) else { return name.to_owned() };
    let unit = resource.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    let kind = match resource.kind {
        ResourceKind::Stock => "in stock",
        ResourceKind::Slots => "at a time",
    };
    format!("{name} ({}{unit} {kind})", resource.capacity)
}

/// `once: "refund:{order_id}"` is once per order.
fn once_clause(action: &Action) -> Option<String> {
    let once = action.once.as_ref()?;
    let names: Vec<&str> = once.params().map(|param| param.strip_suffix("_id").unwrap_or(param)).collect();
    Some(match names.as_slice() {
        [] => "once, ever".to_owned(),
        names => format!("once per {}", listed(names, "and")),
    })
}

fn from_clause(param: &str, origins: &BTreeSet<Origin>) -> String {
    let words: Vec<&str> = origins
        .iter()
        .map(|origin| match origin {
            Origin::User => "the user",
            Origin::State => "state",
            Origin::Tool => "tool output",
            Origin::Nowhere => "nowhere",
        })
        .collect();
    format!("{param} only from {}", listed(&words, "or"))
}

fn undo_clause(action: &Action) -> Option<String> {
    let within = action.undo.within.map(|within| format!(" within {}", spaced(within))).unwrap_or_default();
    match action.undo.kind {
        UndoKind::Revert => Some(format!("can be reverted{within}")),
        UndoKind::CloseAll => Some(format!("undone together with its flow{within}")),
        UndoKind::Noop if !action.reads => Some("leaves nothing to undo".to_owned()),
        // A person looks at it: so it is with everything that says nothing else.
        UndoKind::AlertHuman | UndoKind::Noop => None,
    }
}

fn amend_clauses(param: &str, amendable: &Amendable) -> Vec<String> {
    let bounds = [("minimum", amendable.min), ("maximum", amendable.max)];
    let clause = |(name, bounds): (&str, Option<AmendBounds>)| {
        let bounds = bounds?;
        let (floor, ceiling, ttl) = (bounds.floor, bounds.ceiling, spaced(amendable.ttl));
        Some(format!("an operator may set the {name} of {param} between {floor} and {ceiling} for {ttl} at most"))
    };
    bounds.into_iter().filter_map(clause).collect()
}

/// `24h` as `24 h`, `5m` as `5 min`.
fn spaced(length: Duration) -> String {
    let text = length.to_string();
    let digits = text.find(|next: char| next.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).unwrap_or((text.as_str(), ""));
    format!("{number} {}", if unit == "m" { "min" } else { unit })
}

/// `a`, `a or b`, `a, b or c`.
fn listed(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// Whether the action has params at all.
fn has_params(action: &Action) -> bool {
    params::names(action).next().is_some() || !params::is_closed(action)
}

#[cfg(test)]
mod rows;
