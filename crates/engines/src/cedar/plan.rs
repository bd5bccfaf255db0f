//! What is prepared for each action: the policies that can apply to it and what they look at.

mod entities;

use super::decimal::DecimalMaker;
use super::set_of;
use super::walk::{self, Seen, Touches};
use crate::declared::{self, Shape};
use crate::fault::{CompileFault, only_place};
use cedar_policy::{EntityId, EntityTypeName, EntityUid, Policy, PolicySet};
use kernel::contract::Action;
use kernel::evaluator::Reads;
use kernel::nearest::suggestion;
use std::collections::BTreeMap;

/// What is prepared for one action.
pub(super) struct Plan {
    pub(super) policies: PolicySet,
    pub(super) action: EntityUid,
    pub(super) reads: Reads,
    pub(super) touches: Touches,
    pub(super) decimal: DecimalMaker,
    /// How the numbers in params enter the context.
    pub(super) shape: Shape,
}

/// A plan for every action, and everything the policies look at. Policies come with their text and where it begins.
pub(super) fn plans(
    policies: &[(Policy, &str, usize)],
    actions: &BTreeMap<String, Action>,
) -> Result<(BTreeMap<String, Option<Plan>>, Reads), CompileFault> {
    let mut seen = Vec::with_capacity(policies.len());
    let mut all = Reads::default();
    for (policy, text, begins) in policies {
        let walked = walked(policy, actions).map_err(|fault| within(fault, text, *begins))?;
        add(&mut all, &walked.reads);
        seen.push((policy, walked));
    }
    let mut plans = BTreeMap::new();
    for (name, action) in actions {
        plans.insert(name.clone(), plan(name, action, &seen)?);
    }
    Ok((plans, all))
}

fn walked(policy: &Policy, actions: &BTreeMap<String, Action>) -> Result<Seen, Refused> {
    let name = super::name(policy);
    let refused = |problem: String| (CompileFault::whole(format!("policy `{name}`: {problem}")), None);
    let est = policy.to_json().map_err(|error| refused(error.to_string()))?;
    entities::check(&est).map_err(refused)?;
    let seen = walk::policy(&est).map_err(refused)?;
    for action in &seen.named_actions {
        if !actions.contains_key(action) {
            let hint = suggestion(action, actions.keys().map(String::as_str));
            return Err(named(refused(format!("there is no action `{action}`{hint}")), action));
        }
    }
    match undeclared(&seen, actions) {
        Some((param, problem)) => Err(named(refused(problem), param)),
        None => Ok(seen),
    }
}

/// The policy that is wrong, and in it the name that is wrong where it stands there once.
fn within((fault, name): Refused, text: &str, begins: usize) -> CompileFault {
    let word = name.and_then(|name| only_place(text, "", &name));
    let span = word.unwrap_or(0..text.lines().next().unwrap_or_default().len());
    CompileFault { span: Some(begins + span.start..begins + span.end), ..fault }
}

/// Why a policy is refused, and the name in it that is to blame.
type Refused = (CompileFault, Option<String>);

fn named((fault, _): Refused, name: &str) -> Refused {
    (fault, Some(name.to_owned()))
}

/// A param that none of the policy's actions declares: it would always be absent.
fn undeclared<'s>(seen: &'s Seen, actions: &BTreeMap<String, Action>) -> Option<(&'s str, String)> {
    let applicable: Vec<&Action> =
        actions.iter().filter(|(name, _)| applies(seen, name)).map(|(_, action)| action).collect();
    let template_params = seen.reads.state.iter().flat_map(|template| template.params());
    for param in seen.reads.params.iter().map(String::as_str).chain(template_params) {
        if applicable.iter().all(|action| declared::missing(&action.params, param)) {
            let known = applicable.iter().flat_map(|action| declared::names(&action.params));
            return Some((param, format!("there is no param `{param}`{}", suggestion(param, known))));
        }
    }
    None
}

fn applies(seen: &Seen, action: &str) -> bool {
    seen.only_actions.as_ref().is_none_or(|only| only.contains(action))
}

fn plan(name: &str, action: &Action, seen: &[(&Policy, Seen)]) -> Result<Option<Plan>, CompileFault> {
    let applicable: Vec<&(&Policy, Seen)> = seen.iter().filter(|(_, seen)| applies(seen, name)).collect();
    if applicable.is_empty() {
        return Ok(None);
    }
    let mut reads = Reads::default();
    let mut touches = Touches::default();
    for (_, seen) in &applicable {
        add(&mut reads, &seen.reads);
        touches.params |= seen.touches.params;
        touches.state |= seen.touches.state;
        touches.agent |= seen.touches.agent;
        touches.action |= seen.touches.action;
    }
    // A key over params that this action does not have cannot be rendered; to the policy it is absent.
    reads.state.retain(|template| template.params().all(|param| !declared::missing(&action.params, param)));
    let action_type: EntityTypeName =
        "Action".parse().map_err(|_| CompileFault::whole("`Action` is not a type name"))?;
    Ok(Some(Plan {
        policies: set_of(&applicable.iter().map(|(policy, _)| *policy).collect::<Vec<_>>())?,
        action: EntityUid::from_type_name_and_id(action_type, EntityId::new(name)),
        reads,
        touches,
        decimal: DecimalMaker::new()?,
        shape: Shape::of(&action.params),
    }))
}

fn add(all: &mut Reads, more: &Reads) {
    all.params.extend(more.params.iter().cloned());
    all.all_params |= more.all_params;
    all.state.extend(more.state.iter().cloned());
    all.confidence |= more.confidence;
}
