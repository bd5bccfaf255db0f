//! Submitting a proposal: load, judge, take what an acceptance takes, answer and record.

use super::touched::{ESCALATIONS, Touched};
use crate::agent::{Actor, AgentRow, AgentStatus, Restriction};
use crate::budget::Window;
use crate::bugs::{self, Bug};
use crate::command::Submission;
use crate::contract::{Budget, OnExhausted, Resource};
use crate::decide::{Judgement, decide, fold};
use crate::decimal::Decimal;
use crate::facts::{BudgetFact, Facts, SnapshotFact};
use crate::finding::{Code, Effect, Finding, Findings, Gate};
use crate::gates::{reservations, validity};
use crate::intent::{Hold, Intent};
use crate::json::{Json, Object};
use crate::outcome::{Answer, AnsweredIntent, Done, Outcome, Verdict};
use crate::plan::PlannedBudget;
use crate::reasons::Reason;
use crate::record::{DecisionRecord, Record};
use crate::request::{Number, Request};
use crate::snapshot::Snapshot;
use crate::time::{Duration, Instant};
use crate::world::{EffectRow, FlowRow, Key, Loaded, ResourceRow, Row, StateRow, StoredAnswer, World};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Snapshot of live state compiled at the decision.
const CURRENT: &str = "current";

pub(super) fn apply(world: &mut World, submission: &Arc<Submission>, at: Instant) -> Outcome {
    let touched = Touched::by(submission);
    if !world.is_complete() {
        let missing = world.missing(&touched.keys());
        if !missing.is_empty() {
            return Outcome::Need(missing);
        }
    }
    if let Some(outcome) = answered_before(world, submission, &touched, at) {
        return outcome;
    }
    let (judgement, intent, snapshot) = {
        let facts = facts(world, submission, &touched, at);
        let judgement = judge(&facts, submission, world, &touched);
        let intent = (judgement.verdict == Verdict::Accept).then(|| intent(&facts, submission)).flatten();
        let snapshot = match facts.snapshot {
            SnapshotFact::Known(_, snapshot) => Some(snapshot),
            SnapshotFact::None | SnapshotFact::Unknown(_) => None,
        };
        (judgement, intent, snapshot)
    };
    take(world, submission, &touched, &judgement, intent.as_deref(), at);
    let answer = Answer {
        id: submission.proposal_id().to_owned(),
        verdict: judgement.verdict,
        findings: judgement.findings.into(),
        intent: intent.map(AnsweredIntent::Made),
    };
    if let Some(key) = touched.idempotency {
        let stored = StoredAnswer { fingerprint: submission.proposal.fingerprint, answer: answer.clone() };
        world.put(key, Row::Idempotency(Box::new(stored)));
    }
    let unrecorded = bugs::on(Bug::W09SuspendedUnrecorded)
        && answer.findings.iter().any(|finding| finding.code == Code::Known(Reason::AgentSuspended));
    let records = if unrecorded { Vec::new() } else { vec![record(submission, &answer, snapshot, at)] };
    Outcome::Done(Box::new(Done { answer, records }))
}

fn record(submission: &Arc<Submission>, answer: &Answer, snapshot: Option<Snapshot>, at: Instant) -> Record {
    let answer = answer.clone();
    Record::Decision(Box::new(DecisionRecord { submission: submission.clone(), answer, snapshot, at }))
}

/// The stored answer for an idempotency key, or the refusal of a key used for something else.
fn answered_before(world: &World, submission: &Arc<Submission>, touched: &Touched, at: Instant) -> Option<Outcome> {
    let Loaded::Present(Row::Idempotency(stored)) = world.get(touched.idempotency.as_ref()?) else { return None };
    if stored.fingerprint == submission.proposal.fingerprint {
        return Some(Outcome::Done(Box::new(Done { answer: stored.answer.clone(), records: Vec::new() })));
    }
    let key = submission.proposal.idempotency_key.clone().unwrap_or_default();
    let finding = Finding::reject(Gate::Shape, Reason::IdempotencyKeyReused).field("idempotency_key").with("key", key);
    let answer = Answer {
        id: submission.proposal_id().to_owned(),
        verdict: Verdict::Reject,
        findings: Arc::from([finding]),
        intent: None,
    };
    let record = record(submission, &answer, None, at);
    Some(Outcome::Done(Box::new(Done { answer, records: vec![record] })))
}

fn facts<'a>(world: &'a World, submission: &'a Submission, touched: &'a Touched, at: Instant) -> Facts<'a> {
    let request = submission.request();
    let mut state = BTreeMap::new();
    let mut live = BTreeMap::new();
    for (template, name, key) in &touched.state {
        if let Loaded::Present(Row::State(StateRow { value, .. })) = world.get(key) {
            state.insert(template.clone(), value.clone());
            live.insert(name.as_str(), value);
        }
    }
    let snapshot = snapshot_fact(world, submission, touched, &live, at);
    let effect = touched.effect.as_ref().and_then(|(_, key)| effect_row(world, key));
    Facts {
        request,
        params: seen_params(&request),
        at,
        refused: submission.prepared.refused_fields(),
        agent: agent_row(world, &touched.agent),
        flow_id: submission.flow_id(),
        flow: flow_row(world, &touched.flow),
        budgets: budget_facts(world, submission, touched),
        state,
        live,
        snapshot,
        effect_key: touched.effect.as_ref().map(|(name, _)| name.as_str()),
        effect,
        resources: touched.resources.iter().map(|(name, key)| (name.as_str(), resource_row(world, key))).collect(),
    }
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

fn agent_row<'a>(world: &'a World, key: &Key) -> Option<&'a AgentRow> {
    let Loaded::Present(Row::Agent(agent)) = world.get(key) else { return None };
    Some(agent)
}

fn effect_row<'a>(world: &'a World, key: &Key) -> Option<&'a EffectRow> {
    let Loaded::Present(Row::Effect(effect)) = world.get(key) else { return None };
    Some(effect)
}

fn flow_row(world: &World, key: &Key) -> FlowRow {
    let Loaded::Present(Row::Flow(flow)) = world.get(key) else { return FlowRow::default() };
    flow.clone()
}

fn resource_row(world: &World, key: &Key) -> ResourceRow {
    let Loaded::Present(Row::Resource(row)) = world.get(key) else { return ResourceRow::UNTOUCHED };
    row.clone()
}

fn window<'a>(world: &'a World, key: &Key) -> Option<&'a Window> {
    let Loaded::Present(Row::Budget(window)) = world.get(key) else { return None };
    Some(window)
}

fn budget_facts<'a>(world: &'a World, submission: &'a Submission, touched: &Touched) -> Vec<BudgetFact<'a>> {
    let request = submission.request();
    let planned = request.action().map(|action| action.compiled.plan.budgets.as_slice()).unwrap_or_default();
    let fact = |PlannedBudget { name, rule }: &'a PlannedBudget| {
        let window = touched.budgets.get(name).and_then(|key| window(world, key));
        let amount = amount(&request, rule);
        BudgetFact { name, rule, window, amount }
    };
    planned.iter().map(fact).collect()
}

fn snapshot_fact<'a>(
    world: &World,
    submission: &'a Submission,
    touched: &Touched,
    live: &BTreeMap<&str, &Json>,
    at: Instant,
) -> SnapshotFact<'a> {
    let Some(name) = submission.proposal.snapshot.as_deref() else { return SnapshotFact::None };
    let stored = touched.snapshot.as_ref().map(|key| world.get(key));
    if let Some(Loaded::Present(Row::Snapshot(snapshot))) = stored {
        return SnapshotFact::Known(name, snapshot.clone());
    }
    if name != CURRENT {
        return SnapshotFact::Unknown(name);
    }
    let flow = Some(submission.flow_id().to_owned());
    let state: Object = live.iter().map(|(key, value)| ((*key).to_owned(), (*value).clone())).collect();
    SnapshotFact::Known(name, Snapshot { at, source: CURRENT.to_owned(), flow, state, session: Object::new() })
}

/// All gates, and then the budget of questions: when it is empty, nobody is asked.
fn judge(facts: &Facts<'_>, submission: &Submission, world: &World, touched: &Touched) -> Judgement {
    let judgement = decide(facts, submission.prepared.clone());
    let rules = &submission.contract.contract.escalation;
    let fits =
        |asked: &Window| asked.fits(facts.at, rules.budget_per, Decimal::from(1), Decimal::from(rules.budget_max));
    if judgement.verdict != Verdict::Escalate
        || window(world, &touched.escalations).is_none_or(fits) && rules.budget_max > 0
    {
        return judgement;
    }
    let mut findings = Findings::default();
    for finding in judgement.findings {
        findings.push(finding);
    }
    findings.push(
        Finding::reject(Gate::Escalation, Reason::EscalationBudgetExhausted)
            .with("agent", submission.proposal.agent.as_str())
            .with("max", rules.budget_max)
            .with("per", rules.budget_per.to_string()),
    );
    let findings = findings.into_ordered();
    Judgement { verdict: fold(&findings), findings }
}

fn intent(facts: &Facts<'_>, submission: &Arc<Submission>) -> Option<Arc<Intent>> {
    let effect_key = facts.effect_key?.to_owned();
    let resources = &submission.contract.contract.resources;
    let hold = |(name, amount): (&str, Option<Decimal>)| {
        let Resource { kind, unit, .. } = resources.get(name)?;
        Some(Hold { resource: name.to_owned(), amount: amount?, kind: *kind, unit: unit.clone() })
    };
    Some(Arc::new(Intent {
        submission: submission.clone(),
        effect_key,
        valid_until: validity::valid_until(facts),
        holds: reservations::wanted(&facts.request).into_iter().filter_map(hold).collect(),
        taken: Vec::new(),
    }))
}

/// What the verdict takes: retries on REJECT, questions on ESCALATE, budgets and reservations on ACCEPT.
fn take(
    world: &mut World,
    submission: &Submission,
    touched: &Touched,
    judgement: &Judgement,
    intent: Option<&Intent>,
    at: Instant,
) {
    let mut flow = flow_row(world, &touched.flow);
    flow.steps = flow.steps.saturating_add(1);
    flow.tokens = flow.tokens.saturating_add(submission.proposal.tokens);
    match judgement.verdict {
        Verdict::Reject => {
            if counts_as_retry(&judgement.findings) {
                flow.rejected = flow.rejected.saturating_add(1);
            }
            exhaust(world, submission, touched, &judgement.findings, at);
        }
        Verdict::Escalate => {
            let rules = &submission.contract.contract.escalation;
            let mut asked = window(world, &touched.escalations).cloned().unwrap_or_default();
            asked.take(at, rules.budget_per, Decimal::from(1));
            world.put(touched.escalations.clone(), Row::Budget(asked));
        }
        Verdict::Accept => {
            take_budgets(world, submission, touched, at);
            hold(world, touched, intent);
        }
    }
    world.put(touched.flow.clone(), Row::Flow(flow));
}

/// A duplicate is not a failed attempt at reasoning.
fn counts_as_retry(findings: &[Finding]) -> bool {
    let duplicate = |code: &Code| matches!(code, Code::Known(Reason::AlreadyDone | Reason::InProgress));
    findings.iter().any(|finding| finding.effect == Effect::Reject && !duplicate(&finding.code))
}

fn exhaust(world: &mut World, submission: &Submission, touched: &Touched, findings: &[Finding], at: Instant) {
    let exhausted = findings.iter().any(|finding| finding.code == Code::Known(Reason::EscalationBudgetExhausted));
    let passive = submission.contract.contract.escalation.on_exhausted == OnExhausted::Passive;
    let Some(agent) = agent_row(world, &touched.agent).cloned().filter(|_| exhausted && passive) else { return };
    let mut agent = agent;
    agent.restrictions.push(Restriction {
        status: AgentStatus::Passive,
        by: Actor::Kernel.text(),
        because: format!("its {ESCALATIONS} are used up"),
        at,
        actions: BTreeSet::new(),
    });
    world.put(touched.agent.clone(), Row::Agent(Box::new(agent)));
}

fn take_budgets(world: &mut World, submission: &Submission, touched: &Touched, at: Instant) {
    let request = submission.request();
    let planned = request.action().map(|action| action.compiled.plan.budgets.as_slice()).unwrap_or_default();
    // Two budgets of one name share one window and take once.
    let amounts: BTreeMap<&str, (Duration, Option<Decimal>)> = planned
        .iter()
        .map(|budget| (budget.name.as_str(), (budget.rule.per, amount(&request, &budget.rule))))
        .collect();
    for (name, (per, amount)) in amounts {
        let Some(amount) = amount.filter(|amount| *amount > Decimal::ZERO) else { continue };
        let Some(key) = touched.budgets.get(name) else { continue };
        let take = |row: &mut Row| {
            if let Row::Budget(window) = row {
                window.take(at, per, amount);
            }
        };
        world.update(key, || Row::Budget(Window::default()), take);
    }
}

/// What a decision takes of a budget; `None` if that is not a number.
fn amount(request: &Request<'_>, rule: &Budget) -> Option<Decimal> {
    let Some(param) = &rule.sum else { return Some(Decimal::from(1)) };
    match request.number(param) {
        Number::Is(amount, _) => Some(amount),
        Number::Missing | Number::Not(_) => None,
    }
}

fn hold(world: &mut World, touched: &Touched, intent: Option<&Intent>) {
    let Some(intent) = intent else { return };
    for hold in &intent.holds {
        let Some(key) = touched.resources.get(&hold.resource) else { continue };
        let row = resource_row(world, key);
        // The gate has proved that the sum fits the capacity, so it cannot overflow.
        let held = row.held.checked_add(hold.amount).unwrap_or(row.held);
        world.put(key.clone(), Row::Resource(ResourceRow { held, ..row }));
    }
    if let Some((_, key)) = &touched.effect {
        world.put(key.clone(), Row::Effect(EffectRow { intent: intent.id().to_owned(), done: false }));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn the_same_key_and_bytes_get_the_same_answer() {
        let case = case().idempotency_key("k").amount(5).check("ACCEPT");
        let first = case.last.clone().unwrap();
        let case = case.check("ACCEPT");
        let second = case.last.clone().unwrap();
        assert_eq!(first.answer.to_line(), second.answer.to_line());
        assert!(second.records.is_empty(), "an answer given again is not a new decision");
        case.amount(6).check("REJECT IDEMPOTENCY_KEY_REUSED");
    }

    #[test]
    fn a_rejection_is_remembered_too() {
        let case = case().idempotency_key("k").amount(500).check("REJECT LIMIT_EXCEEDED");
        let first = case.last.clone().unwrap();
        let second = case.check("REJECT LIMIT_EXCEEDED").last.unwrap();
        assert_eq!(first.answer, second.answer);
    }

    #[test]
    fn an_empty_budget_of_questions_rejects_and_makes_passive() {
        let mut case = case().ask("amount<=50", "BIG").amount(40);
        for _ in 0..3 {
            case = case.check("ESCALATE BIG");
        }
        let case = case.check("REJECT ESCALATION_BUDGET_EXHAUSTED");
        case.amount(60).check("REJECT AGENT_PASSIVE");
    }

    #[test]
    fn every_decision_leaves_one_record_with_its_contract() {
        let done = case().agent_status("SUSPENDED").check("REJECT AGENT_SUSPENDED").last.unwrap();
        let [record] = done.records.as_slice() else { panic!("one record") };
        for key in ["version", "semantics", "tenant", "kind", "at", "contract", "verdict", "findings", "fingerprint"] {
            assert!(record.body().get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn secrets_never_enter_answers_and_records() {
        let secret = crate::json::Json::parse(br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#);
        let schema = secret.unwrap();
        let case = case().contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone());
        let done = case.params(r#"{"amount":5,"pin":"very-secret"}"#).check("ACCEPT").last.unwrap();
        let shown: String = done.records.iter().map(|record| record.body().to_canonical()).collect();
        assert!(shown.contains(r#""pin":{"secret":true}"#), "{shown}");
        assert!(shown.contains(r#""fingerprint":null"#), "a digest of a short secret gives it away");
        assert!(!shown.contains("very-secret"));
        assert!(!done.answer.to_line().contains("very-secret"));
    }
}
