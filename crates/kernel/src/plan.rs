//! What an action's rules come down to, worked out once when the contract is compiled.

use crate::contract::{Action, Amount, Budget, Contract, DriftKey};
use std::collections::BTreeSet;
use values::json::Json;

/// Everything about an action that does not depend on the proposal.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// The budgets that apply, the contract's own first.
    pub budgets: Vec<PlannedBudget>,
    /// Params with a numeric limit, a budget or a reservation: mandatory numbers.
    pub numeric: BTreeSet<String>,
    /// Params that a budget sums or a reservation takes.
    pub taken: BTreeSet<String>,
    /// Params that are never shown.
    pub secret: BTreeSet<String>,
    /// Params declared as decimal text.
    pub decimal_text: BTreeSet<String>,
    /// Drift keys that apply: those whose params the action declares.
    pub drift: Vec<DriftKey>,
}

/// A budget with its name.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedBudget {
    /// Its name in keys and sentences.
    pub name: String,
    /// The rule.
    pub rule: Budget,
}

impl Plan {
    /// Works the plan out.
    pub fn of(contract: &Contract, name: &str, action: &Action) -> Plan {
        let declares = |param: &str| declared(action).any(|(known, _)| known == param);
        let of_contract = contract.budgets.iter().filter(|budget| budget.sum.as_deref().is_none_or(declares));
        let of_contract = of_contract.map(|budget| planned("all actions", budget));
        let budgets: Vec<PlannedBudget> =
            of_contract.chain(action.budgets.iter().map(|budget| planned(name, budget))).collect();
        let summed = budgets.iter().filter_map(|budget| budget.rule.sum.clone());
        let reserved = action.reserves.iter().filter_map(|reserve| match &reserve.amount {
            Amount::Param(param) => Some(param.clone()),
            Amount::Fixed(_) => None,
        });
        let taken: BTreeSet<String> = summed.chain(reserved).collect();
        let limited = action.limits.iter().filter(|(_, limit)| limit.is_numeric()).map(|(param, _)| param.clone());
        let marked = |key: &str, value: Json| {
            let matching = declared(action).filter(move |(_, schema)| schema.get(key) == Some(&value));
            matching.map(|(param, _)| param.to_owned()).collect::<BTreeSet<String>>()
        };
        Plan {
            numeric: limited.chain(taken.iter().cloned()).collect(),
            taken,
            secret: marked("secret", Json::Bool(true)),
            decimal_text: marked("format", Json::text("decimal")),
            drift: contract.drift.iter().filter(|drift| drift.key.params().all(declares)).cloned().collect(),
            budgets,
        }
    }
}

fn declared(action: &Action) -> impl Iterator<Item = (&str, &Json)> {
    let properties = action.params.get("properties").and_then(Json::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

fn planned(whose: &str, budget: &Budget) -> PlannedBudget {
    let what = budget.sum.as_ref().map_or_else(|| "count".to_owned(), |param| format!("sum of {param}"));
    PlannedBudget { name: format!("{what} for {whose} per {}", budget.per), rule: budget.clone() }
}
