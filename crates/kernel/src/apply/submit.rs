//! Submitting a proposal: load, judge, take what an acceptance takes, answer and record.

use super::touched::{ESCALATIONS, Touched, budget_name};
use crate::agent::{AgentRow, AgentStatus};
use crate::budget::Window;
use crate::bugs::{self, Bug};
use crate::command::Submission;
use crate::contract::{OnExhausted, Resource};
use crate::decide::{Judgement, decide, fold};
use crate::decimal::Decimal;
use crate::facts::{BudgetFact, Facts, SnapshotFact};
use crate::finding::{Code, Effect, Finding, Findings, Gate};
use crate::gates::{reservations, validity};
use crate::ids::Digest;
use crate::intent::{Hold, Intent};
use crate::json::{Json, Object};
use crate::outcome::{Answer, Done, Outcome, Verdict};
use crate::reasons::Reason;
use crate::record::{Record, RecordKind};
use crate::request::Number;
use crate::snapshot::Snapshot;
use crate::time::Instant;
use crate::world::{EffectRow, FlowRow, Key, Loaded, ResourceRow, Row, StoredAnswer, World};
use std::collections::BTreeMap;

/// Snapshot of live state compiled at the decision.
const CURRENT: &str = "current";

pub(super) fn apply(world: &mut World, submission: &Submission, at: Instant) -> Outcome {
    let touched = Touched::by(submission);
    let missing = world.missing(&touched.keys());
    if !missing.is_empty() {
        return Outcome::Need(missing);
    }
    if let Some(outcome) = answered_before(world, submission, &touched, at) {
        return outcome;
    }
    let (judgement, intent, snapshot_id) = {
        let facts = facts(world, submission, &touched, at);
        let judgement = judge(&facts, submission, world, &touched);
        let intent = (judgement.verdict == Verdict::Accept).then(|| intent(&facts, submission)).flatten();
        let snapshot_id = match &facts.snapshot {
            SnapshotFact::Known(_, snapshot) => Some(snapshot.id()),
            SnapshotFact::None | SnapshotFact::Unknown(_) => None,
        };
        (judgement, intent, snapshot_id)
    };
    take(world, submission, &touched, &judgement, intent.as_ref(), at);
    let answer = Answer {
        id: submission.proposal_id().to_owned(),
        verdict: judgement.verdict,
        findings: judgement.findings,
        intent,
    };
    if let Some(key) = touched.idempotency {
        let stored = StoredAnswer { fingerprint: submission.proposal.fingerprint, answer: answer.clone() };
        world.put(key, Row::Idempotency(Box::new(stored)));
    }
    let unrecorded = bugs::on(Bug::W09SuspendedUnrecorded)
        && answer.findings.iter().any(|finding| finding.code == Code::Known(Reason::AgentSuspended));
    let records = if unrecorded { Vec::new() } else { vec![record(submission, &answer, snapshot_id, at)] };
    Outcome::Done(Box::new(Done { answer, records }))
}

/// The stored answer for an idempotency key, or the refusal of a key used for something else.
fn answered_before(world: &World, submission: &Submission, touched: &Touched, at: Instant) -> Option<Outcome> {
    let Loaded::Present(Row::Idempotency(stored)) = world.get(touched.idempotency.as_ref()?) else { return None };
    if stored.fingerprint == submission.proposal.fingerprint {
        return Some(Outcome::Done(Box::new(Done { answer: stored.answer.clone(), records: Vec::new() })));
    }
    let key = submission.proposal.idempotency_key.clone().unwrap_or_default();
    let finding = Finding::reject(Gate::Shape, Reason::IdempotencyKeyReused).field("idempotency_key").with("key", key);
    let answer = Answer {
        id: submission.proposal_id().to_owned(),
        verdict: Verdict::Reject,
        findings: vec![finding],
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
        if let Loaded::Present(Row::State(value)) = world.get(key) {
            state.insert(template.clone(), value.clone());
            live.insert(name.clone(), value.clone());
        }
    }
    let snapshot = snapshot_fact(world, submission, touched, &live, at);
    let effect = touched.effect.as_ref().and_then(|(_, key)| effect_row(world, key));
    Facts {
        request,
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

fn window(world: &World, key: &Key) -> Window {
    let Loaded::Present(Row::Budget(window)) = world.get(key) else { return Window::default() };
    window.clone()
}

fn budget_facts<'a>(world: &World, submission: &'a Submission, touched: &Touched) -> Vec<BudgetFact<'a>> {
    let request = submission.request();
    let fact = |(scope, rule): (&str, &'a crate::contract::Budget)| {
        let name = budget_name(scope, rule);
        let window = touched.budgets.get(&name).map(|key| window(world, key)).unwrap_or_default();
        let amount = match &rule.sum {
            None => Some(Decimal::from(1)),
            Some(param) => match request.number(param) {
                Number::Is(amount, _) => Some(amount),
                Number::Missing | Number::Not(_) => None,
            },
        };
        BudgetFact { name, rule, window, amount }
    };
    request.budgets().into_iter().map(fact).collect()
}

fn snapshot_fact<'a>(
    world: &World,
    submission: &'a Submission,
    touched: &Touched,
    live: &BTreeMap<String, Json>,
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
    let state: Object = live.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    SnapshotFact::Known(name, Snapshot { at, source: CURRENT.to_owned(), flow, state })
}

/// All gates, and then the budget of questions: when it is empty, nobody is asked.
fn judge(facts: &Facts<'_>, submission: &Submission, world: &World, touched: &Touched) -> Judgement {
    let judgement = decide(facts, submission.prepared.clone());
    let rules = &submission.contract.contract.escalation;
    let asked = window(world, &touched.escalations);
    let may_ask = asked.fits(facts.at, rules.budget_per, Decimal::from(1), Decimal::from(rules.budget_max));
    if judgement.verdict != Verdict::Escalate || may_ask {
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

fn intent(facts: &Facts<'_>, submission: &Submission) -> Option<Intent> {
    let action = facts.request.action()?;
    let effect_key = facts.effect_key?.to_owned();
    let resources = &submission.contract.contract.resources;
    let hold = |(name, amount): (&str, Option<Decimal>)| {
        let Resource { kind, unit, .. } = resources.get(name)?;
        Some(Hold { resource: name.to_owned(), amount: amount?, kind: *kind, unit: unit.clone() })
    };
    Some(Intent {
        id: submission.ids.intent.clone(),
        proposal: submission.proposal_id().to_owned(),
        flow: submission.flow_id().to_owned(),
        agent: submission.proposal.agent.clone(),
        action: submission.proposal.action.clone(),
        params: committed_params(submission),
        effect_key,
        run: action.rules.run.clone(),
        undo: action.rules.undo.clone(),
        impact: action.rules.impact,
        valid_until: validity::valid_until(facts),
        holds: reservations::wanted(&facts.request).into_iter().filter_map(hold).collect(),
        contract: submission.contract.digest,
    })
}

/// The params as records and intents hold them: secret ones only as commitments.
fn committed_params(submission: &Submission) -> Object {
    let request = submission.request();
    let Some(action) = request.action() else { return submission.proposal.params.clone() };
    let commit = |(name, value): (&String, &Json)| {
        if !action.is_secret(name) {
            return (name.clone(), value.clone());
        }
        let parts = [submission.proposal_id().as_bytes(), name.as_bytes(), &value.to_canonical().into_bytes()];
        (name.clone(), Json::object([("commitment", Json::text(Digest::of_parts(&parts).to_string()))]))
    };
    submission.proposal.params.iter().map(commit).collect()
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
            exhaust(world, submission, touched, &judgement.findings);
        }
        Verdict::Escalate => {
            let rules = &submission.contract.contract.escalation;
            let mut asked = window(world, &touched.escalations);
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

fn exhaust(world: &mut World, submission: &Submission, touched: &Touched, findings: &[Finding]) {
    let exhausted = findings.iter().any(|finding| finding.code == Code::Known(Reason::EscalationBudgetExhausted));
    let passive = submission.contract.contract.escalation.on_exhausted == OnExhausted::Passive;
    let Some(agent) = agent_row(world, &touched.agent).cloned().filter(|_| exhausted && passive) else { return };
    // Harder states stay as they are.
    if agent.status != AgentStatus::Active {
        return;
    }
    let because = Some(format!("its {ESCALATIONS} are used up"));
    world.put(touched.agent.clone(), Row::Agent(AgentRow { status: AgentStatus::Passive, because, ..agent }));
}

fn take_budgets(world: &mut World, submission: &Submission, touched: &Touched, at: Instant) {
    let mut taken = BTreeMap::new();
    for fact in budget_facts(world, submission, touched) {
        let Some(amount) = fact.amount.filter(|amount| *amount > Decimal::ZERO) else { continue };
        let mut window = fact.window;
        window.take(at, fact.rule.per, amount);
        // Two budgets of one name share one window and take once.
        taken.entry(fact.name).or_insert(window);
    }
    for (name, window) in taken {
        if let Some(key) = touched.budgets.get(&name) {
            world.put(key.clone(), Row::Budget(window));
        }
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
        world.put(key.clone(), Row::Effect(EffectRow { intent: intent.id.clone(), done: false }));
    }
}

fn record(submission: &Submission, answer: &Answer, snapshot_id: Option<String>, at: Instant) -> Record {
    let contract = &submission.contract.contract;
    let named = Json::object([
        ("id", Json::text(contract.id.as_str())),
        ("version", Json::text(contract.version.to_string())),
        ("digest", Json::text(submission.contract.digest.to_string())),
        ("mission", Json::text(contract.mission.as_str())),
    ]);
    let escalation = (answer.verdict == Verdict::Escalate).then(|| escalation(submission, at));
    Record::new(
        RecordKind::Decision,
        &submission.tenant,
        [
            ("at", Json::text(at.to_string())),
            ("proposal_id", Json::text(answer.id.as_str())),
            ("flow", Json::text(submission.flow_id())),
            ("agent", Json::text(submission.proposal.agent.as_str())),
            ("proposal", submission.proposal.to_json(committed_params(submission))),
            ("fingerprint", Json::text(submission.proposal.fingerprint.to_string())),
            ("contract", named),
            ("mode", Json::text(contract.mode.word())),
            ("snapshot", Json::from(snapshot_id)),
            ("verdict", Json::text(answer.verdict.word())),
            ("findings", Json::List(answer.findings.iter().map(Finding::to_record).collect())),
            ("intent", answer.intent.as_ref().map_or(Json::Null, Intent::to_json)),
            ("escalation", escalation.unwrap_or(Json::Null)),
        ],
    )
}

/// The question a person will see: who may answer, how many must, and what time does to it.
fn escalation(submission: &Submission, at: Instant) -> Json {
    let rules = &submission.contract.contract.escalation;
    let later =
        |duration: Option<crate::time::Duration>| Json::from(duration.map(|duration| at.plus(duration).to_string()));
    let impact = submission.request().action().map_or("HIGH", |action| action.rules.impact.word());
    Json::object([
        ("approvers", Json::texts(rules.approvers.iter().map(String::as_str))),
        ("quorum", Json::from(rules.quorum)),
        ("impact", Json::text(impact)),
        ("remind_at", later(rules.timeout.remind)),
        ("reroute_at", later(rules.timeout.reroute)),
        ("reroute_to", Json::from(rules.timeout.reroute_to.clone())),
        ("deadline", Json::text(at.plus(rules.timeout.after).to_string())),
        ("then", Json::text(rules.timeout.then.word())),
        ("undo", Json::text(submission.request().action().map_or("NOOP", |action| action.rules.undo.kind.word()))),
    ])
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
            assert!(record.body.get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn secrets_enter_answers_and_records_as_commitments() {
        let secret = crate::json::Json::parse(br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#);
        let schema = secret.unwrap();
        let case = case().contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone());
        let done = case.params(r#"{"amount":5,"pin":"very-secret"}"#).check("ACCEPT").last.unwrap();
        assert!(!format!("{done:?}").contains("very-secret"));
    }
}
