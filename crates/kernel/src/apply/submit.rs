//! Submitting a proposal: load, judge, take what an acceptance takes, answer and record.

use super::asking::{self, Before};
use super::attending;
use super::known;
use super::taking;
use super::touched::Touched;
use super::watching::{self, Observed};
use super::{expiry, flow_work, standing};
use crate::advice;
use crate::budget::Window;
use crate::command::Submission;
use crate::contract::Resource;
use crate::decide::{Judgement, decide, fold};
use crate::facts::{Facts, SnapshotFact};
use crate::finding::{Code, Finding, Findings, Gate};
use crate::gates::{reservations, validity};
use crate::intent::{BudgetDraw, Hold, Intent};
use crate::outcome::{Answer, AnsweredIntent, AskedQuestion, Done, Outcome, Verdict};
use crate::reasons::Reason;
use crate::record::{DecisionRecord, Record};
use crate::semantics::Semantics;
use crate::snapshot::Snapshot;
use crate::world::{KeySet, Loaded, Row, StoredAnswer, World};
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::time::Instant;

pub(super) fn apply(world: &mut World, submission: &Arc<Submission>, at: Instant) -> Outcome {
    let touched = submission.touched();
    if !world.is_complete() {
        let missing = world.missing(touched.named());
        if !missing.is_empty() {
            return Outcome::Need(missing);
        }
        let mut named = flow_work::above(world, &touched.flow);
        named.extend(asking::known(world, touched));
        named.extend(watching::apart(world, submission, touched));
        let missing = world.missing(&named);
        if !missing.is_empty() {
            return Outcome::Need(missing);
        }
    }
    if let Some(outcome) = answered_before(world, submission, touched, at) {
        return outcome;
    }
    if let Some(outcome) = id_of_another(world, submission, touched, at) {
        return outcome;
    }
    if standing::is_stale(world, submission, touched) {
        return Outcome::Prepare;
    }
    let mut records = Vec::new();
    let mut assessment = assess(world, submission, touched, at);
    let may_help = expiry::may_help(&assessment.judgement.findings);
    let missing = missing_to_ask(world, submission, touched, (may_help, assessment.would_ask), at);
    if !missing.is_empty() {
        return Outcome::Need(missing);
    }
    if may_help {
        match expiry::call_off_expired(world, &submission.tenant, at) {
            Err(needed) => return Outcome::Need(needed),
            Ok(called_off) if called_off.is_empty() => {}
            Ok(called_off) => {
                records = called_off;
                assessment = assess(world, submission, touched, at);
            }
        }
    }
    taking::take(world, submission, touched, &assessment, at);
    watching::take(world, submission, touched, &assessment.observed, at);
    records.extend(world.take_raised());
    let Assessment { judgement, intent, question, snapshot, .. } = assessment;
    let answer = Answer {
        id: submission.proposal_id().to_owned(),
        verdict: judgement.verdict,
        findings: judgement.findings.into(),
        intent: intent.map(AnsweredIntent::Made),
        question,
    };
    // Only the agent itself uses a proof up: a stranger who signs the same bytes must not spoil it. One that was refused
    // as used before stays with the proposal that used it first.
    let key = world.agent(&touched.agent).and_then(|agent| agent.key.as_ref());
    let own = key.zip(submission.proof.as_ref()).is_some_and(|(key, proof)| proof.is_signed_by(key));
    let proof = touched.proof.clone().filter(|key| own && !matches!(world.get(key), Loaded::Present(_)));
    // The first proposal of an id keeps it.
    let named = touched.named.clone().filter(|key| !matches!(world.get(key), Loaded::Present(_)));
    for key in [touched.idempotency.clone(), named, proof].into_iter().flatten() {
        let stored = StoredAnswer { fingerprint: submission.proposal.fingerprint, answer: answer.clone(), at };
        world.put_for_record(key, Row::Idempotency(Box::new(stored)), records.len());
    }
    let unrecorded = bugs::on(Bug::W09SuspendedUnrecorded)
        && answer.findings.iter().any(|finding| finding.code == Code::Known(Reason::AgentSuspended));
    if !unrecorded {
        records.push(record(submission, &answer, snapshot, at));
    }
    Outcome::Done(Box::new(Done { answer, event: None, records }))
}

/// What is looked at only when someone is to be asked. Making room may lead there too, and changes something; so both are
/// loaded in one round, before anything is changed.
fn missing_to_ask(
    world: &World,
    submission: &Submission,
    touched: &Touched,
    (may_help, would_ask): (bool, bool),
    at: Instant,
) -> KeySet {
    let mut missing = if may_help || would_ask { asking::missing(world, submission, touched) } else { KeySet::new() };
    if may_help {
        missing.extend(expiry::missing(world, &submission.tenant, at));
    }
    missing
}

/// The question that an escalation opens.
fn question(submission: &Submission, at: Instant) -> AskedQuestion {
    let deadline = at.plus(submission.contract.contract.escalation.timeout.after);
    let digest = (!submission.holds_secrets()).then(|| taking::shown_digest(submission));
    AskedQuestion { id: submission.ids.escalation.clone(), digest, deadline, repeated: false }
}

/// What comes of a proposal in the world as it is.
pub(super) struct Assessment {
    pub(super) judgement: Judgement,
    /// What an acceptance permits.
    pub(super) intent: Option<Arc<Intent>>,
    /// What people are asked, where they are.
    pub(super) question: Option<AskedQuestion>,
    /// Whether a person would be asked if nothing else stood against asking.
    would_ask: bool,
    /// What monitors take of it.
    observed: Observed,
    /// What the agent had seen.
    snapshot: Option<Snapshot>,
}

fn assess(world: &World, submission: &Arc<Submission>, touched: &Touched, at: Instant) -> Assessment {
    let facts = known::facts(world, submission, touched, at);
    let (judgement, repeated, would_ask) = judge(&facts, submission, world, touched);
    let valid_until = validity::valid_until(&facts);
    let accepted = judgement.verdict == Verdict::Accept;
    let intent = accepted.then(|| intent(&facts, submission, &submission.ids.intent, valid_until)).flatten();
    let asks = judgement.verdict == Verdict::Escalate;
    let question = repeated.or_else(|| asks.then(|| question(submission, at)));
    let observed = watching::observed(&facts, judgement.verdict, &judgement.findings);
    let snapshot = match facts.snapshot {
        SnapshotFact::Known(_, snapshot) => Some(snapshot),
        SnapshotFact::None | SnapshotFact::Unknown(_) => None,
    };
    Assessment { judgement, intent, question, would_ask, observed, snapshot }
}

fn record(submission: &Arc<Submission>, answer: &Answer, snapshot: Option<Snapshot>, at: Instant) -> Record {
    let (submission, answer, semantics) = (submission.clone(), answer.clone(), Semantics::CURRENT);
    Record::Decision(Arc::new(DecisionRecord { submission, answer, snapshot, at, semantics }))
}

/// The stored answer for an idempotency key, or the refusal of a key used for something else. A forgotten key was never
/// used, whether or not its row is still there.
fn answered_before(world: &World, submission: &Arc<Submission>, touched: &Touched, at: Instant) -> Option<Outcome> {
    let stored = world.stored_answer(touched.idempotency.as_ref()?)?;
    let is_forgotten = world.tenant(&touched.tenant).is_some_and(|tenant| tenant.forgets(stored.at));
    if is_forgotten && !bugs::on(Bug::KeysKeptForEver) {
        return None;
    }
    if bugs::on(Bug::W01KeyForgotten) {
        return None;
    }
    if stored.fingerprint == submission.proposal.fingerprint {
        let done = Done { answer: stored.answer.clone(), event: None, records: Vec::new() };
        return Some(Outcome::Done(Box::new(done)));
    }
    let key = submission.proposal.idempotency_key.clone().unwrap_or_default();
    let finding = Finding::reject(Gate::Shape, Reason::IdempotencyKeyReused).field("idempotency_key").with("key", key);
    Some(refused(submission, finding, at))
}

/// An id names one proposal of an agent. The same proposal may come again; another one under its id is refused, or
/// nobody could tell later which of them an id means.
fn id_of_another(world: &World, submission: &Arc<Submission>, touched: &Touched, at: Instant) -> Option<Outcome> {
    let first = world.stored_answer(touched.named.as_ref()?)?;
    if first.fingerprint == submission.proposal.fingerprint || bugs::on(Bug::IdForgotten) {
        return None;
    }
    let id = submission.proposal_id();
    let finding = Finding::reject(Gate::Shape, Reason::ProposalIdReused).field("id").with("id", id);
    Some(refused(submission, finding.with("agent", submission.proposal.agent.as_str()), at))
}

/// Refused before anything is judged; it uses nothing up.
fn refused(submission: &Arc<Submission>, finding: Finding, at: Instant) -> Outcome {
    let answer = Answer {
        id: submission.proposal_id().to_owned(),
        verdict: Verdict::Reject,
        findings: Arc::from([finding]),
        intent: None,
        question: None,
    };
    let record = record(submission, &answer, None, at);
    Outcome::Done(Box::new(Done { answer, event: None, records: vec![record] }))
}

/// What was found outside the lock, with amended limits where someone amended them.
pub(super) fn prepared(facts: &Facts<'_>, submission: &Submission) -> Findings {
    let mut findings = match facts.agent {
        Some(agent) if !agent.amendments.is_empty() && standing::is_amended(submission, agent) => {
            standing::with_amended_limits(submission, agent, facts.at)
        }
        Some(_) | None => submission.prepared.clone(),
    };
    advice::judge(submission, &mut findings);
    findings
}

/// All gates, and then whether a person is asked at all: not twice about one effect, and not when the budget of questions
/// is empty. The question is one that was asked before; the last says whether the gates alone would ask.
fn judge(
    facts: &Facts<'_>,
    submission: &Submission,
    world: &World,
    touched: &Touched,
) -> (Judgement, Option<AskedQuestion>, bool) {
    let judgement = decide(facts, prepared(facts, submission));
    if judgement.verdict != Verdict::Escalate {
        return (judgement, None, false);
    }
    match asking::before(world, submission, touched, facts.at) {
        Before::Nothing => {}
        Before::Open(question, finding) => return (with(judgement, finding), Some(question), true),
        Before::Refused(finding) => return (with(judgement, finding), None, true),
    }
    let rules = &submission.contract.contract.escalation;
    let fits =
        |asked: &Window| asked.fits(facts.at, rules.budget_per, Decimal::from(1), Decimal::from(rules.budget_max));
    if world.budget(&touched.escalations).is_none_or(fits) && rules.budget_max > 0 {
        return match attending::spent(world, &submission.tenant, rules, facts.at) {
            Some(finding) => (with(judgement, finding), None, true),
            None => (judgement, None, true),
        };
    }
    let exhausted = Finding::reject(Gate::Escalation, Reason::EscalationBudgetExhausted)
        .with("agent", submission.proposal.agent.as_str())
        .with("max", rules.budget_max)
        .with("per", rules.budget_per.to_string());
    (with(judgement, exhausted), None, true)
}

/// A judgement with one finding more.
fn with(judgement: Judgement, finding: Finding) -> Judgement {
    let mut findings = Findings::default();
    judgement.findings.into_iter().chain([finding]).for_each(|finding| findings.push(finding));
    let findings = findings.into_ordered();
    Judgement { verdict: fold(&findings), findings }
}

/// What an acceptance permits; `None` where nothing is caused.
pub(super) fn intent(
    facts: &Facts<'_>,
    submission: &Arc<Submission>,
    id: &str,
    valid_until: Instant,
) -> Option<Arc<Intent>> {
    let effect_key = facts.effect_key?.to_owned();
    let resources = &submission.contract.contract.resources;
    let hold = |(name, amount): (&str, Option<Decimal>)| {
        let Resource { kind, unit, .. } = resources.get(name)?;
        Some(Hold { resource: name.to_owned(), amount: amount?, kind: *kind, unit: unit.clone() })
    };
    Some(Arc::new(Intent {
        id: id.to_owned(),
        submission: submission.clone(),
        effect_key,
        valid_until,
        holds: reservations::wanted(&facts.request).into_iter().filter_map(hold).collect(),
        taken: taken(facts, submission),
    }))
}

/// What an acceptance takes of budgets: its own, and those of every contract above.
fn taken(facts: &Facts<'_>, submission: &Submission) -> Vec<BudgetDraw> {
    let own = (submission.proposal.agent.as_str(), &facts.budgets);
    let above = facts.ancestors.iter().map(|ancestor| {
        let name = ancestor.request.compiled.contract.agent.as_str();
        (name, &ancestor.budgets)
    });
    let mut taken: Vec<BudgetDraw> = Vec::new();
    for (agent, budgets) in std::iter::once(own).chain(above) {
        for budget in budgets {
            let Some(amount) = budget.amount.filter(|amount| *amount > Decimal::ZERO) else { continue };
            // Two budgets of one name share one window and take once.
            let again = taken.iter().any(|earlier| earlier.agent == agent && earlier.budget == budget.name);
            if !again {
                taken.push(BudgetDraw { agent: agent.to_owned(), budget: budget.name.to_owned(), amount });
            }
        }
    }
    taken
}

/// Whether the agent is one the registry knows and the contract is for.
pub(super) fn is_known(world: &World, submission: &Submission, touched: &Touched) -> bool {
    submission.proposal.agent == submission.contract.contract.agent && world.agent(&touched.agent).is_some()
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
    fn an_id_names_one_proposal_of_an_agent() {
        let case = case().once("pay:{amount}").id("mine").amount(5).check("ACCEPT");
        let case = case.amount(6).flow("f").check("REJECT PROPOSAL_ID_REUSED");
        let line = case.last.as_ref().unwrap().answer.to_line();
        assert!(line.contains("proposal id `mine` was used before by agent `bot` for another proposal"), "{line}");
        let Some(crate::world::Row::Flow(_)) = case.row(crate::world::Entity::Flow("f-1".to_owned())) else {
            panic!("the first has its flow")
        };
        assert_eq!(case.row(crate::world::Entity::Flow("f".to_owned())), None, "it uses nothing up");
        // The same proposal is judged again, and a key still gets its stored answer first.
        let again = self::case().once("pay:{amount}").id("mine").amount(5).check("ACCEPT");
        let again = again.check("REJECT IN_PROGRESS").id("other").amount(6).check("ACCEPT");
        // Another agent's ids are its own.
        again.id("mine").agent("eve").amount(7).check("REJECT AGENT_UNKNOWN");
    }

    #[test]
    fn a_rejection_is_remembered_too() {
        let case = case().idempotency_key("k").amount(500).check("REJECT LIMIT_EXCEEDED");
        let first = case.last.clone().unwrap();
        let second = case.check("REJECT LIMIT_EXCEEDED").last.unwrap();
        assert_eq!(first.answer, second.answer);
    }

    #[test]
    fn an_empty_budget_of_questions_makes_passive_where_the_contract_says_so() {
        let mut case = case().ask("amount<=50", "BIG").amount(40);
        for _ in 0..3 {
            case = case.check("ESCALATE BIG");
        }
        let case = case.check("REJECT ESCALATION_BUDGET_EXHAUSTED");
        case.amount(60).check("REJECT AGENT_PASSIVE");
    }

    #[test]
    fn two_budgets_of_one_name_take_once_and_contracts_above_pay_too() {
        use crate::contract::{Budget, EffectClass, Executor};
        use crate::world::{Entity, Row};
        use values::decimal::Decimal;
        let per = values::time::Duration::from_secs(3600);
        let sum = || Budget { sum: Some("amount".to_owned()), max: Decimal::from(20), per };
        let count = || Budget { sum: None, max: Decimal::from(9), per };
        let case = case().contract(|contract| contract.actions.get_mut("pay").unwrap().budgets.extend([sum(), sum()]));
        let case =
            case.above(Some("ACTIVE"), |above| above.actions.get_mut("pay").unwrap().budgets.extend([sum(), count()]));
        let case = case.run(Executor::Host, EffectClass::Opaque).amount(5).check("ACCEPT");
        let Some(Row::Intent(row)) = case.row(Entity::Intent("i-1".to_owned())) else { panic!("no intent") };
        let taken: Vec<_> =
            row.facts.taken().iter().map(|taken| (taken.agent.as_str(), taken.amount.to_string())).collect();
        assert_eq!(taken, [("bot", "5".to_owned()), ("boss", "5".to_owned()), ("boss", "1".to_owned())]);
        for taken in row.facts.taken() {
            let budget = Entity::Budget(taken.agent.clone(), taken.budget.clone());
            let Some(Row::Budget(window)) = case.row(budget) else { panic!("no budget") };
            assert_eq!(window.used(case.now(), per), Some(taken.amount), "{taken:?}");
        }
        assert_eq!(row.running.as_ref().map(|running| running.above.clone()), Some(vec!["boss".to_owned()]));
    }

    #[test]
    fn what_is_not_loaded_is_asked_for_before_anything_is_judged() {
        use crate::apply::{apply, touches};
        use crate::outcome::Outcome;
        use crate::world::{Entity, World};
        let mut case = case().reserve("pool", 100, "amount").once("pay:{amount}").flow("f").idempotency_key("k");
        let command = case.command();
        let names = |keys: &crate::world::KeySet| keys.iter().map(|key| key.entity.clone()).collect::<Vec<_>>();
        let expected = [
            Entity::Tenant,
            Entity::Idempotency("bot".to_owned(), "k".to_owned()),
            Entity::Agent("bot".to_owned()),
            Entity::Flow("f".to_owned()),
            Entity::Effect("pay:5".to_owned()),
            Entity::Resource("pool".to_owned()),
            Entity::Budget("bot".to_owned(), "escalations".to_owned()),
        ];
        assert_eq!(names(&touches(&command)), expected);
        let mut world = World::slice();
        let Outcome::Need(keys) = apply(&mut world, &command, case.now()) else { panic!("nothing is loaded") };
        assert_eq!(names(&keys), expected);
        keys.into_iter().for_each(|key| world.load(key, None));
        let Outcome::Done(done) = apply(&mut world, &command, case.now()) else { panic!("everything is loaded") };
        assert_eq!(done.answer.reasons(), ["AGENT_UNKNOWN"]);
    }

    #[test]
    fn without_a_budget_of_questions_nobody_is_asked() {
        let case = case().ask("amount<=50", "BIG").contract(|contract| contract.escalation.budget_max = 0);
        case.amount(40).check("REJECT ESCALATION_BUDGET_EXHAUSTED");
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
        let secret =
            values::json::Json::parse(br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#);
        let schema = secret.unwrap();
        let case = case().contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone().into());
        let done = case.params(r#"{"amount":5,"pin":"very-secret"}"#).check("ACCEPT").last.unwrap();
        let shown: String = done.records.iter().map(|record| record.body().to_canonical()).collect();
        assert!(shown.contains(r#""pin":{"secret":true}"#), "{shown}");
        assert!(shown.contains(r#""fingerprint":null"#), "a digest of a short secret gives it away");
        assert!(!shown.contains("very-secret"));
        assert!(!done.answer.to_line().contains("very-secret"));
    }
}
