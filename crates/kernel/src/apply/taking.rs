//! What a verdict takes: retries on REJECT, questions on ESCALATE, budgets and reservations on ACCEPT.

use super::known::{amount, resource_row};
use super::submit::{Assessment, is_known};
use super::touched::{ESCALATIONS, Touched, is_local, planned_budgets};
use super::watching;
use super::{asking, attending, flow_work, settling};
use crate::agent::{Actor, AgentStatus, Restriction};
use crate::budget::Window;
use crate::command::Submission;
use crate::contract::{Escalation, Executor, Impact, OnExhausted};
use crate::decide::Judgement;
use crate::escalation::{EscalationRow, EscalationState, QuestionKind, Reroute};
use crate::evaluator::Compiled;
use crate::finding::{Code, Effect, Finding};
use crate::flow::Latest;
use crate::intent::{Intent, IntentFacts, IntentRow, IntentState, Running, Step};
use crate::outcome::Verdict;
use crate::reasons::Reason;
use crate::request::Request;
use crate::semantics::Semantics;
use crate::world::{EffectRow, Entity, FlowRow, Key, ResourceRow, Row, StateRow, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

pub(super) fn take(
    world: &mut World,
    submission: &Arc<Submission>,
    touched: &Touched,
    assessment: &Assessment,
    at: Instant,
) {
    let Assessment { judgement, intent, question, .. } = assessment;
    let latest = match (judgement.verdict, intent, question) {
        (Verdict::Reject, _, _) => Latest::Rejected,
        (Verdict::Escalate, _, Some(question)) => Latest::Question(question.id.clone()),
        (Verdict::Escalate, _, None) => Latest::Question(submission.ids.escalation.clone()),
        (Verdict::Accept, Some(intent), _) => Latest::Intent(intent.id.clone()),
        (Verdict::Accept, None, _) => Latest::Done,
    };
    count_step(world, submission, touched, judgement, latest, at);
    match judgement.verdict {
        Verdict::Reject => {
            let asked_in_vain = Code::Known(Reason::EscalationBudgetExhausted);
            if judgement.findings.iter().any(|finding| finding.code == asked_in_vain) {
                exhaust(world, &submission.contract, &touched.agent, at);
            }
            if attending::is_spent(&judgement.findings) {
                attending::tighten(world, &touched.agent, &submission.contract.contract.escalation, at);
            }
        }
        // A person is being asked already.
        Verdict::Escalate if question.as_ref().is_some_and(|question| question.repeated) => {}
        Verdict::Escalate => ask(world, submission, touched, judgement, at),
        Verdict::Accept => accept(world, submission, touched, intent.as_ref(), false, at),
    }
}

/// A stranger, and an agent in a flow that is not its own, uses nothing of it up.
fn count_step(
    world: &mut World,
    submission: &Submission,
    touched: &Touched,
    judgement: &Judgement,
    latest: Latest,
    at: Instant,
) {
    let mut flow = world.flow(&touched.flow).cloned().unwrap_or_else(|| FlowRow {
        agent: submission.proposal.agent.clone(),
        opened_at: Some(at),
        ..FlowRow::default()
    });
    let refused = |reason: Reason| judgement.findings.iter().any(|finding| finding.code == Code::Known(reason));
    let foreign = refused(Reason::FlowUnknown) || refused(Reason::FlowClosed);
    if !is_known(world, submission, touched) || flow.agent != submission.proposal.agent || foreign {
        return;
    }
    flow.steps = flow.steps.saturating_add(1);
    flow.tokens = flow.tokens.saturating_add(submission.proposal.tokens);
    flow.latest = Some(latest);
    if judgement.verdict == Verdict::Reject
        && counts_as_retry(&judgement.findings, world.semantics())
        && !bugs::on(Bug::W05RetriesUncounted)
    {
        flow.rejected = flow.rejected.saturating_add(1);
    }
    world.put(touched.flow.clone(), Row::Flow(flow));
}

/// A duplicate is not a failed attempt at reasoning, and neither is a switch that someone else pulled.
fn counts_as_retry(findings: &[Finding], semantics: Semantics) -> bool {
    let excused = |code: &Code| match code {
        Code::Known(Reason::AlreadyDone | Reason::InProgress) => !semantics.counts_duplicates(),
        Code::Known(reason) => matches!(reason, Reason::Halted | Reason::GroupHalted),
        Code::Custom { .. } => false,
    };
    findings.iter().any(|finding| finding.effect == Effect::Reject && !excused(&finding.code))
}

/// What becomes of an agent whose questions are used up and who asks for another.
pub(super) fn exhaust(world: &mut World, contract: &Compiled, key: &Key, at: Instant) {
    let passive = contract.contract.escalation.on_exhausted == OnExhausted::Passive;
    let Some(agent) = world.agent(key).filter(|_| passive) else { return };
    let by = Actor::Kernel.text();
    // Asking again in vain adds nothing.
    if agent.restrictions.iter().any(|known| known.status == AgentStatus::Passive && known.by == by) {
        return;
    }
    let mut agent = agent.clone();
    agent.restrictions.push(Restriction {
        status: AgentStatus::Passive,
        by,
        because: format!("its {ESCALATIONS} are used up"),
        at,
        actions: BTreeSet::new(),
    });
    world.put(key.clone(), Row::Agent(Box::new(agent)));
}

/// A question takes one of the budget and holds nothing else while a person thinks.
fn ask(world: &mut World, submission: &Arc<Submission>, touched: &Touched, judgement: &Judgement, at: Instant) {
    let rules = &submission.contract.contract.escalation;
    if !bugs::on(Bug::W03QuestionsUncounted) {
        let mut asked = world.budget(&touched.escalations).cloned().unwrap_or_default();
        asked.take(at, rules.budget_per, Decimal::from(1));
        world.put(touched.escalations.clone(), Row::Budget(asked));
    }
    attending::take(world, &submission.tenant, rules, at);
    let asking = judgement.findings.iter().filter(|finding| finding.effect == Effect::Escalate);
    let proposal = submission.proposal.to_json(submission.proposal.params.clone());
    let row = EscalationRow {
        kind: QuestionKind::Proposal,
        state: EscalationState::Open,
        agent: submission.proposal.agent.clone(),
        by: submission.door.by.clone(),
        flow: submission.flow_id().to_owned(),
        proposal_id: submission.proposal_id().to_owned(),
        digest: EscalationRow::digest_of(&proposal, submission.contract.digest),
        proposal,
        contract: submission.contract.digest,
        reasons: asking.map(|finding| finding.code.as_str().to_owned()).collect(),
        impact: submission.request().action().map_or(Impact::High, |action| action.rules.impact),
        approvers: rules.approvers.clone(),
        quorum: rules.quorum,
        signed: rules.signed,
        asked_at: at,
        deadline: Some(at.plus(rules.timeout.after)),
        remind: rules.timeout.remind.map(|after| at.plus(after)),
        reroute: reroute(rules, at),
        votes: Vec::new(),
        answer: None,
        provenance: submission.provenance.to_json(),
        intent: submission.ids.intent.clone(),
        advice: submission.advice.clone(),
        request: None,
    };
    let entity = Entity::Escalation(submission.ids.escalation.clone());
    world.put(Key { tenant: submission.tenant.clone(), entity }, Row::Escalation(Box::new(row)));
    flow_work::open_question(world, &touched.flow, &submission.ids.escalation);
    asking::remember(world, submission, touched, &submission.ids.escalation);
}

/// The digest of the exact bytes a person is shown.
pub(super) fn shown_digest(submission: &Submission) -> Digest {
    let proposal = submission.proposal.to_json(submission.proposal.params.clone());
    EscalationRow::digest_of(&proposal, submission.contract.digest)
}

/// Whom the contract passes the question on to; a group may be written `group:NAME`.
pub(super) fn reroute(rules: &Escalation, at: Instant) -> Option<Reroute> {
    let (after, to) = rules.timeout.reroute.zip(rules.timeout.reroute_to.as_deref())?;
    Some(Reroute { at: at.plus(after), to: to.strip_prefix("group:").unwrap_or(to).to_owned(), told: false })
}

/// Takes budgets, holds resources, and keeps the intent and its business key; `approved` if a person said so.
pub(super) fn accept(
    world: &mut World,
    submission: &Arc<Submission>,
    touched: &Touched,
    intent: Option<&Arc<Intent>>,
    approved: bool,
    at: Instant,
) {
    take_budgets(world, &submission.request(), &submission.contract, &touched.budgets, at);
    for (contract, (_, keys)) in submission.ancestors.iter().zip(&touched.ancestors) {
        let request = Request::new(&submission.proposal, contract, &submission.provenance);
        take_budgets(world, &request, contract, keys, at);
    }
    let Some(intent) = intent else { return };
    for hold in &intent.holds {
        let Some(key) = touched.resources.get(&hold.resource) else { continue };
        let row = resource_row(world, key);
        // The gate has proved that the sum fits the capacity, so it cannot overflow.
        let held = row.held.checked_add(hold.amount).unwrap_or(row.held);
        world.put(key.clone(), Row::Resource(ResourceRow { held, ..row }));
    }
    let mut fence = 0;
    if let Some((_, key)) = &touched.effect {
        fence = world.effect(key).map_or(0, |before| before.fence);
        world.put(key.clone(), Row::Effect(EffectRow { fence, ..EffectRow::by(intent.id.clone()) }));
    }
    let watched = watching::waiting(world, submission, touched);
    let (local, by_caller) = (is_local(submission), submission.door.performer.is_outside());
    let handed_out = !local && (by_caller || is_hosts(submission));
    let state = if handed_out { IntentState::HandedOut } else { IntentState::Ready };
    let running = (!local && !by_caller)
        .then(|| Box::new(Running { epoch: fence, approved, watched, ..running(submission, intent) }));
    // Whoever asked and performs it owes no report; nothing of it can be called off.
    if running.is_some() {
        flow_work::open_intent(world, &touched.flow, &intent.id);
    }
    let row = IntentRow { state, accepted_at: at, facts: IntentFacts::Made(intent.clone()), running };
    let entity = Entity::Intent(intent.id.clone());
    world.put(Key { tenant: submission.tenant.clone(), entity }, Row::Intent(Box::new(row)));
    if let Some(key) = &touched.local {
        perform_locally(world, submission, key, intent, at);
    }
}

/// An effect in our own store happens with its decision, so there is nothing anyone could lose.
fn perform_locally(world: &mut World, submission: &Submission, key: &Key, intent: &Intent, at: Instant) {
    let version = world.state(key).map_or(0, |row| row.version);
    let value = Json::object([
        ("intent", Json::text(intent.id())),
        ("agent", Json::text(submission.proposal.agent.as_str())),
        ("action", Json::text(submission.proposal.action.as_str())),
        ("params", Json::Object(submission.shown_params())),
        ("at", Json::text(at.to_string())),
    ]);
    world.put(key.clone(), Row::State(StateRow { value, version: version.saturating_add(1) }));
    // A fresh intent refuses nothing.
    let _ = settling::step(world, &submission.tenant, intent.id(), Step::Local, at, |_| {});
}

/// What whoever performs it needs, and what is needed when nobody knows what became of it.
fn running(submission: &Submission, intent: &Intent) -> Running {
    let shown = submission.shown_params();
    let withheld = submission.proposal.params.iter().filter(|(name, value)| shown.get(*name) != Some(*value));
    let rules = &submission.contract.contract.escalation;
    let mut running = Running::new(intent.order());
    running.secrets = withheld.map(|(name, value)| (name.clone(), value.clone())).collect();
    running.by_host = is_hosts(submission);
    running.above = submission.ancestors.iter().map(|contract| contract.contract.agent.clone()).collect();
    running.approvers = rules.approvers.clone();
    running.quorum = rules.quorum;
    running.signed = rules.signed;
    running
}

/// Whether the contract leaves performing to the agent's host.
fn is_hosts(submission: &Submission) -> bool {
    let run = submission.request().action().and_then(|action| action.rules.run.as_ref());
    run.is_none_or(|run| matches!(run.executor, Executor::Host))
}

fn take_budgets(
    world: &mut World,
    request: &Request<'_>,
    contract: &Compiled,
    keys: &BTreeMap<String, Key>,
    at: Instant,
) {
    let planned = planned_budgets(contract, &request.proposal.action);
    for (place, budget) in planned.iter().enumerate() {
        // Two budgets of one name share one window and take once: as the last of them says.
        if planned.iter().skip(place + 1).any(|later| later.name == budget.name) {
            continue;
        }
        let (per, amount) = (budget.rule.per, amount(request, &budget.rule));
        let Some(amount) = amount.filter(|amount| *amount > Decimal::ZERO) else { continue };
        let Some(key) = keys.get(&budget.name) else { continue };
        let take = |row: &mut Row| {
            if let Row::Budget(window) = row {
                window.take(at, per, amount);
            }
        };
        world.update(key, || Row::Budget(Window::default()), take);
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::Actor;
    use crate::change::Act;
    use crate::contract::{Ask, EffectClass, Executor, OnExhausted, Rule, Run};
    use crate::testing::{Case, case};
    use crate::world::{Entity, FlowRow, Row};
    use values::json::Json;
    use values::time::Duration;

    fn flow(case: &Case, name: &str) -> Option<FlowRow> {
        match case.row(Entity::Flow(name.to_owned())) {
            Some(Row::Flow(row)) => Some(row.clone()),
            _ => None,
        }
    }

    #[test]
    fn steps_count_in_ones_own_flow_and_only_failed_reasoning_is_a_retry() {
        let case = case().once("pay:{amount}").flow("f").tokens(7).check("ACCEPT");
        let case = case.check("REJECT IN_PROGRESS").amount(500).check("REJECT LIMIT_EXCEEDED");
        let row = flow(&case, "f").unwrap();
        assert_eq!((row.steps, row.rejected, row.tokens, row.opened_at), (3, 1, 21, Some(case.now())));
        assert_eq!(row.agent, "bot");
        // A stranger uses nothing of it up, and opens none.
        let case = case.agent("eve").check("REJECT AGENT_UNKNOWN, FLOW_UNKNOWN, LIMIT_EXCEEDED");
        assert_eq!(flow(&case, "f").map(|row| row.steps), Some(3));
        let case = case.flow("g").check("REJECT AGENT_UNKNOWN, LIMIT_EXCEEDED");
        assert_eq!(flow(&case, "g"), None);
        // Neither does someone whom the registry knows and the contract is not for.
        let boss = self::case().above(Some("ACTIVE"), |_| {}).agent("boss").flow("h").check("REJECT AGENT_UNKNOWN");
        assert_eq!(flow(&boss, "h"), None);
        // What is closed counts nothing any more.
        let mut closed = self::case().flow("f").check("ACCEPT");
        let end = Act::EndFlow { flow: "f".to_owned(), event: crate::flow::FlowEvent::Close };
        closed.change(Actor::Operator("ann".to_owned()), end);
        let closed = closed.amount(6).check("REJECT FLOW_CLOSED");
        assert_eq!(flow(&closed, "f").map(|row| row.steps), Some(1));
    }

    #[test]
    fn a_question_says_what_is_asked_of_whom_and_until_when() {
        let case = case().ask("amount<=50", "BIG").contract(|contract| {
            let timeout = &mut contract.escalation.timeout;
            (timeout.remind, timeout.reroute) = (Some(Duration::from_secs(60)), Some(Duration::from_secs(300)));
            timeout.reroute_to = Some("group:bosses".to_owned());
        });
        let case = case.amount(40).check("ESCALATE BIG");
        let Some(Row::Escalation(row)) = case.row(Entity::Escalation("e-1".to_owned())) else { panic!("no question") };
        let after = |seconds: i64| case.now().plus(Duration::from_secs(seconds));
        assert_eq!(
            (row.reasons.as_slice(), row.approvers.as_slice()),
            (&["BIG".to_owned()][..], &["desk".to_owned()][..])
        );
        assert_eq!((row.deadline, row.remind), (Some(after(900)), Some(after(60))));
        let reroute = row.reroute.as_ref().map(|reroute| (reroute.at, reroute.to.as_str(), reroute.told));
        assert_eq!(reroute, Some((after(300), "bosses", false)));
    }

    #[test]
    fn asking_in_vain_makes_passive_once_and_only_where_the_contract_says_so() {
        // Reading is what a passive agent still may, so it can ask in vain again.
        let asking = |then: OnExhausted| {
            case().action("look").params(r#"{"amount":40}"#).contract(move |contract| {
                (contract.escalation.budget_max, contract.escalation.on_exhausted) = (0, then);
                let look = contract.actions.get_mut("look").unwrap();
                look.params = Json::parse(br#"{"type":"object","properties":{"amount":{}}}"#).unwrap().into();
                look.ask = Ask::Triggers(vec![Rule { when: "amount<=50".to_owned(), reason: "BIG".to_owned() }]);
            })
        };
        let restrictions = |case: &Case| match case.row(Entity::Agent("bot".to_owned())) {
            Some(Row::Agent(row)) => row.restrictions.len(),
            other => panic!("no agent: {other:?}"),
        };
        let vain = "REJECT ESCALATION_BUDGET_EXHAUSTED";
        let case = asking(OnExhausted::Passive).check(vain);
        assert_eq!(restrictions(&case), 1);
        assert_eq!(restrictions(&case.check(vain)), 1);
        assert_eq!(restrictions(&asking(OnExhausted::Passive).agent_status("PASSIVE").check(vain)), 2, "another's");
        assert_eq!(restrictions(&asking(OnExhausted::Abort).check(vain)), 0);
        assert_eq!(restrictions(&case_refused()), 0);
    }

    fn case_refused() -> Case {
        case().amount(500).check("REJECT LIMIT_EXCEEDED")
    }

    #[test]
    fn whoever_performs_it_gets_what_is_withheld_and_owes_a_report_if_it_is_the_host() {
        let schema = Json::parse(br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#).unwrap();
        let http = Executor::Http("POST http://127.0.0.1/pay".to_owned());
        let started = |case: Case| {
            let case =
                case.contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone().into());
            let case = case.params(r#"{"amount":5,"pin":"1234"}"#).check("ACCEPT");
            match case.row(Entity::Intent("i-1".to_owned())) {
                Some(Row::Intent(row)) => row.as_ref().clone(),
                other => panic!("no intent: {other:?}"),
            }
        };
        for (executor, state, by_host) in [(http.clone(), "READY", false), (Executor::Host, "HANDED_OUT", true)] {
            let row = started(case().run(executor, EffectClass::Keyed));
            let running = row.running.unwrap();
            assert_eq!((row.state.word(), running.by_host), (state, by_host));
            assert_eq!(Json::Object(running.secrets).to_canonical(), r#"{"pin":"1234"}"#);
            assert_eq!((running.approvers.as_slice(), running.quorum), (&["desk".to_owned()][..], 1));
        }
        // Whoever asks may perform it, and then owes nothing but an answer when asked.
        let run = Run {
            executor: http,
            class: EffectClass::Keyed,
            timeout: Duration::from_secs(5),
            headers: Default::default(),
        };
        let by_caller = case().contract(|contract| contract.actions.get_mut("pay").unwrap().run = Some(run.clone()));
        let row = started(by_caller);
        assert_eq!((row.state.word(), row.running), ("HANDED_OUT", None));
    }
}
