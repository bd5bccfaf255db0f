//! Policies that cannot be evaluated are found when the contract is checked, not at the first decision.

use super::infer::{self, Surroundings};
use super::room::with_room;
use super::types::{Presence, Record, Type};
use super::wording;
use crate::fault::CompileFault;
use cedar_policy::{EntityId, EntityTypeName, EntityUid, PolicySet};
use cedar_policy_core::ast::{self, ActionConstraint};
use kernel::contract::{Action, Contract};
use std::collections::BTreeSet;

/// What is wrong with policies that compile.
#[derive(Default, Debug)]
pub struct Doubts {
    /// Parts that err whenever they are reached.
    pub errors: Vec<CompileFault>,
    /// Parts that err for some proposals.
    pub warnings: Vec<CompileFault>,
}

/// Looks through every policy with the types of every action it applies to. What has no declared type passes.
pub fn check(text: &str, contract: &Contract) -> Doubts {
    with_room(|| check_here(text, contract))
}

fn check_here(text: &str, contract: &Contract) -> Doubts {
    let mut doubts = Doubts::default();
    let Ok(set) = text.parse::<PolicySet>() else { return doubts };
    let mut policies: Vec<&ast::Policy> = set.as_ref().policies().collect();
    policies.sort_by_key(|policy| policy.loc().map(wording::span).map(|span| span.start));
    for policy in policies {
        check_policy(policy, contract, &mut doubts);
    }
    doubts
}

fn check_policy(policy: &ast::Policy, contract: &Contract, doubts: &mut Doubts) {
    let Some(condition) = policy.non_scope_constraints() else { return };
    let policy_name = name(policy);
    let applicable: Vec<(&String, Surroundings)> = contract
        .actions
        .iter()
        .filter_map(|(name, action)| Some((name, surroundings(policy, contract, name, action)?)))
        .collect();
    // One place is reported once, for the first action that it concerns.
    let mut reported = BTreeSet::new();
    for (action, surroundings) in &applicable {
        let found = infer::condition(condition, surroundings);
        let whose = match applicable.len() {
            1 => format!("policy `{policy_name}`"),
            _ => format!("policy `{policy_name}` for `{action}`"),
        };
        let mut note = |fault: CompileFault| {
            let new = reported.insert(fault.span.as_ref().map(|span| (span.start, span.end)));
            new.then(|| CompileFault { problem: format!("{whose}: {}", fault.problem), ..fault })
        };
        doubts.errors.extend(found.errors.into_iter().filter_map(&mut note));
        doubts.warnings.extend(found.warnings.into_iter().filter_map(&mut note));
    }
}

fn name(policy: &ast::Policy) -> String {
    let id = policy.annotations().find(|(key, _)| key.to_string() == "id").map(|(_, value)| value.val.to_string());
    id.unwrap_or_else(|| policy.id().to_string())
}

fn surroundings(policy: &ast::Policy, contract: &Contract, name: &str, action: &Action) -> Option<Surroundings> {
    let action_type: EntityTypeName = "Action".parse().ok()?;
    let entity = EntityUid::from_type_name_and_id(action_type, EntityId::new(name)).to_string();
    let applies = match policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::In(several) => several.iter().any(|one| one.to_string() == entity),
        ActionConstraint::Eq(one) => one.to_string() == entity,
    };
    applies.then(|| Surroundings { action: entity, context: context(contract, name, action) })
}

fn context(contract: &Contract, name: &str, action: &Action) -> Type {
    let text = || Type::Text(None);
    let agent = Record::of([("id", text(), Presence::Always), ("role", text(), Presence::Always)]);
    // With thresholds a proposal that says nothing is refused anyway.
    let confidence = if contract.proposal.confidence.is_some() { Presence::Always } else { Presence::Optional };
    Type::Record(Record::of([
        ("params", Type::Record(Record::of_params(&action.params)), Presence::Always),
        ("state", Type::Unknown, Presence::Always),
        ("agent", Type::Record(agent), Presence::Always),
        ("action", Type::Text(Some(name.to_owned())), Presence::Always),
        ("confidence", Type::Decimal, confidence),
    ]))
}

#[cfg(test)]
mod tests;
