//! From the world to the facts a judgement depends on.

use super::flow_work;
use super::touched::{Touched, planned_budgets};
use crate::command::Submission;
use crate::contract::Budget;
use crate::evaluator::Compiled;
use crate::facts::{AncestorFact, BudgetFact, Facts, FlowFact, LeasesFact, SnapshotFact};
use crate::lease::book::LeaseBook;
use crate::plan::PlannedBudget;
use crate::request::{Number, Request};
use crate::snapshot::Snapshot;
use crate::world::{FlowRow, Key, Loaded, ResourceRow, Row, StateRow, World};
use std::borrow::Cow;
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::Instant;

/// Snapshot of live state compiled at the decision.
const CURRENT: &str = "current";

pub(super) fn facts<'a>(world: &'a World, submission: &'a Submission, touched: &'a Touched, at: Instant) -> Facts<'a> {
    let request = submission.request();
    let mut state = BTreeMap::new();
    let mut live = BTreeMap::new();
    for (template, name, key) in &touched.state {
        if let Some(StateRow { value, .. }) = world.state(key) {
            state.insert(template.clone(), value.clone());
            live.insert(name.as_str(), value);
        }
    }
    let snapshot = snapshot_fact(world, submission, touched, &live, at);
    let effect = touched.effect.as_ref().and_then(|(_, key)| world.effect(key));
    let flow = match world.flow(&touched.flow) {
        Some(row) => FlowFact { row: row.clone(), seen: true, aborted: flow_work::aborted(world, &touched.flow) },
        None => FlowFact { row: FlowRow::default(), seen: false, aborted: None },
    };
    Facts {
        request,
        params: seen_params(&request),
        at,
        semantics: world.semantics(),
        refused: submission.prepared.refused_fields(),
        tenant: world.tenant(&touched.tenant),
        agent: world.agent(&touched.agent),
        door: &submission.door,
        flow_id: submission.flow_id(),
        flow,
        budgets: budget_facts(world, &request, &submission.contract, &touched.budgets),
        ancestors: ancestor_facts(world, submission, touched),
        state,
        live,
        snapshot,
        effect_key: touched.effect.as_ref().map(|(name, _)| name.as_str()),
        effect,
        proof: submission.proof.as_deref(),
        proof_used: touched.proof.as_ref().is_some_and(|key| matches!(world.get(key), Loaded::Present(_))),
        resources: touched.resources.iter().map(|(name, key)| (name.as_str(), resource_row(world, key))).collect(),
        leases: touched.leases.as_ref().map_or(LeasesFact::None, |key| leases(world, key)),
        flow_name: touched.flow_name.as_ref().and_then(|key| flow_name(world, key)),
    }
}

fn flow_name<'a>(world: &'a World, key: &Key) -> Option<&'a str> {
    let Loaded::Present(Row::State(StateRow { value, .. })) = world.get(key) else { return None };
    value.as_text()
}

fn leases(world: &World, key: &Key) -> LeasesFact {
    let Loaded::Present(row) = world.get(key) else { return LeasesFact::None };
    let Row::State(StateRow { value, .. }) = row else { return LeasesFact::Damaged };
    LeaseBook::from_json(value).map_or(LeasesFact::Damaged, |book| LeasesFact::Book(Box::new(book)))
}

fn ancestor_facts<'a>(world: &'a World, submission: &'a Submission, touched: &'a Touched) -> Vec<AncestorFact<'a>> {
    let above = submission.ancestors.iter().zip(&touched.ancestors);
    let fact = |(contract, (agent, budgets)): (&'a std::sync::Arc<Compiled>, &'a (Key, BTreeMap<String, Key>))| {
        let request = Request::new(&submission.proposal, contract, &submission.provenance);
        let budgets = budget_facts(world, &request, contract, budgets);
        AncestorFact { agent: world.agent(agent), params: seen_params(&request), request, budgets }
    };
    above.map(fact).collect()
}

/// Decimal text is text at the door, because a JSON number holds fewer digits, and a number to every rule.
fn seen_params<'a>(request: &Request<'a>) -> Cow<'a, Object> {
    let decimals = request.action().map(|action| &action.compiled.plan.decimal_text).filter(|names| !names.is_empty());
    let Some(decimals) = decimals else { return Cow::Borrowed(&request.proposal.params) };
    let mut params = request.proposal.params.clone();
    for name in decimals {
        if let Some(number) = params.get(name).and_then(Json::as_text).and_then(Decimal::parse) {
            params.insert(name.clone(), Json::Number(number));
        }
    }
    Cow::Owned(params)
}

pub(super) fn resource_row(world: &World, key: &Key) -> ResourceRow {
    world.resource(key).cloned().unwrap_or(ResourceRow::UNTOUCHED)
}

fn budget_facts<'a>(
    world: &'a World,
    request: &Request<'a>,
    contract: &'a Compiled,
    keys: &BTreeMap<String, Key>,
) -> Vec<BudgetFact<'a>> {
    let fact = |PlannedBudget { name, rule }: &'a PlannedBudget| {
        let window = keys.get(name).and_then(|key| world.budget(key));
        BudgetFact { name, rule, window, amount: amount(request, rule) }
    };
    planned_budgets(contract, &request.proposal.action).iter().map(fact).collect()
}

/// What a decision takes of a budget; `None` if that is not a number.
pub(super) fn amount(request: &Request<'_>, rule: &Budget) -> Option<Decimal> {
    let Some(param) = &rule.sum else { return Some(Decimal::from(1)) };
    match request.number(param) {
        Number::Is(amount, _) => Some(amount),
        Number::Missing | Number::Not(_) => None,
    }
}

fn snapshot_fact<'a>(
    world: &World,
    submission: &'a Submission,
    touched: &Touched,
    live: &BTreeMap<&str, &Json>,
    at: Instant,
) -> SnapshotFact<'a> {
    let Some(name) = submission.proposal.snapshot.as_deref() else { return SnapshotFact::None };
    if let Some(snapshot) = touched.snapshot.as_ref().and_then(|key| world.snapshot(key)) {
        return SnapshotFact::Known(name, snapshot.clone());
    }
    if name != CURRENT {
        return SnapshotFact::Unknown(name);
    }
    let flow = Some(submission.flow_id().to_owned());
    let state: Object = live.iter().map(|(key, value)| ((*key).to_owned(), (*value).clone())).collect();
    SnapshotFact::Known(name, Snapshot { at, source: CURRENT.to_owned(), flow, state, session: Object::new() })
}
