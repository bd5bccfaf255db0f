//! Answers of people: bound to the exact bytes shown, given once, by someone entitled, judged again.

use super::signing::{self, AnswerToCheck};
use super::{ChangeOutcome, expiry, is_stale, key, not_authorized};
use crate::agent::Actor;
use crate::apply::flow_work;
use crate::apply::known;
use crate::apply::submit;
use crate::apply::taking;
use crate::apply::touched::Touched;
use crate::apply::watching;
use crate::change::{Change, HumanAnswer};
use crate::command::Submission;
use crate::consequence::{Consequence, QuestionEnd, QuestionNotice};
use crate::decide::decide;
use crate::escalation::{
    EscalationRow, EscalationState, GivenAnswer, HumanDecision, PEOPLE, QuestionKind, Vote, hindrance, transition,
};
use crate::event::Event;
use crate::finding::{Code, Effect, Finding, Gate};
use crate::flow::FlowState;
use crate::intent::Intent;
use crate::outcome::{AnsweredIntent, Verdict};
use crate::person::{Identity, Person};
use crate::proposal::Proposal;
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::signed_answer::instead_digest;
use crate::world::{Entity, Key, KeySet, Row, World};
use ledger::ed25519::PublicKey;
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::ids::{Digest, folded, is_same_person};
use values::time::Instant;

pub(super) fn keys_of_answer(actor: &Actor, answer: &HumanAnswer, key: &impl Fn(Entity) -> Key) -> Vec<Key> {
    let question = key(Entity::Escalation(answer.escalation.clone()));
    let person = match actor {
        Actor::Operator(name) => Some(key(person(name))),
        Actor::Monitor(_) | Actor::Agent(_) | Actor::Kernel => None,
    };
    let judged = [answer.original.as_ref(), answer.modified.as_ref()].into_iter().flatten();
    std::iter::once(question).chain(person).chain(judged.flat_map(|submission| submission.touched().keys())).collect()
}

/// A question and the flow it was asked in, as far as it is known.
pub(super) fn keys_of_question(world: &World, change: &Change, name: &str) -> KeySet {
    let flow = question(world, change, name).map(|row| flow_work::key(&change.tenant, &row.flow));
    flow.into_iter().chain([key(change, Entity::Escalation(name.to_owned()))]).collect()
}

/// Where state keeps someone's groups.
pub(super) fn person(name: &str) -> Entity {
    Entity::State(format!("{PEOPLE}{}", folded(name)))
}

/// The groups and the key of someone, as operators wrote them down; no door's word counts.
pub(super) fn person_row(world: &World, change: &Change, name: &str) -> Option<Person> {
    Person::from_json(&world.state(&key(change, person(name)))?.value)
}

fn question<'a>(world: &'a World, change: &Change, name: &str) -> Option<&'a EscalationRow> {
    world.question(&key(change, Entity::Escalation(name.to_owned())))
}

pub(super) fn answer(world: &mut World, change: &Change, answer: &HumanAnswer, at: Instant) -> ChangeOutcome {
    let name = &answer.escalation;
    let Some(row) = question(world, change, name).filter(|row| row.kind != QuestionKind::Doubt) else {
        let finding = Finding::reject(Gate::Escalation, Reason::ApprovalUnknown);
        return ChangeOutcome::refused(finding.with("question", name.as_str()));
    };
    let mut row = row.clone();
    if row.state != EscalationState::Open && !bugs::on(Bug::W15AnsweredTwice) {
        return already(name, &row, Vec::new());
    }
    if row.is_late(at) {
        let (row, record) = expired(world, change, name, row, at);
        // Time answered first, and that is a change, though the answer is refused.
        return already(name, &row, vec![record]);
    }
    // What is answered is the proposal under the contract of this moment.
    let Some(shown_now) = shown_now(world, change, answer, &row) else { return ChangeOutcome::Prepare };
    let (person, decision, key_of_person) = match entitled(world, change, answer, &row, (shown_now, at)) {
        Ok(said) => said,
        Err(finding) => return ChangeOutcome::refused(*finding),
    };
    if decision != HumanDecision::Abort {
        let digest = match agreed_to(answer, decision, &row, shown_now) {
            Ok(digest) => digest,
            Err(outcome) => return *outcome,
        };
        let votes = vote(&mut row, Vote { digest, person: person.clone(), at });
        if votes < row.quorum {
            let (question, state, quorum) = (name.clone(), row.state, row.quorum);
            world.put(key(change, Entity::Escalation(name.clone())), Row::Escalation(Box::new(row)));
            return ChangeOutcome::done(Event::VoteCounted { question, state, votes, quorum });
        }
    }
    let mut called_off = Vec::new();
    let intent = match decision {
        HumanDecision::Abort => None,
        HumanDecision::Override if row.kind == QuestionKind::Request => None,
        HumanDecision::Override | HumanDecision::Modify => {
            let submission = if decision == HumanDecision::Override { &answer.original } else { &answer.modified };
            let Some(submission) = submission else { return ChangeOutcome::Prepare };
            let id =
                if decision == HumanDecision::Override { row.intent.clone() } else { submission.ids.intent.clone() };
            match accept(world, submission, &id, &mut called_off, at) {
                Reassessment::Stale => return ChangeOutcome::Prepare,
                Reassessment::Need { keys } => return ChangeOutcome::Need { keys },
                // The question stays open, and whoever agreed has agreed.
                Reassessment::Refused { findings } => {
                    let event = Some(Event::AnswerRefused(QuestionEnd::of(name, &row)));
                    world.put(key(change, Entity::Escalation(name.clone())), Row::Escalation(Box::new(row)));
                    return ChangeOutcome::Refused { findings, event, records: called_off };
                }
                Reassessment::Accepted { intent } => intent,
            }
        }
    };
    let from = if bugs::on(Bug::W15AnsweredTwice) { EscalationState::Open } else { row.state };
    let Some(state) = transition(from, Some(decision)) else { return already(name, &row, called_off) };
    row.state = state;
    let made = intent.as_ref().map(|intent| intent.id.clone());
    row.answer = Some(given_answer(answer, (person, key_of_person), (decision, made), at));
    let event = Event::QuestionAnswered(QuestionEnd::of(name, &row));
    flow_work::end_question(world, &flow_work::key(&change.tenant, &row.flow), name);
    world.put(key(change, Entity::Escalation(name.clone())), Row::Escalation(Box::new(row)));
    ChangeOutcome::Done { event, intent: intent.map(AnsweredIntent::Made), records: called_off }
}

/// What is kept of an answer, once it ended its question.
fn given_answer(
    answer: &HumanAnswer,
    (person, key): (String, Option<PublicKey>),
    (decision, intent): (HumanDecision, Option<String>),
    at: Instant,
) -> GivenAnswer {
    let Identity { os_user, login, .. } = answer.identity.clone();
    let (decision, person) = (Some(decision), Some(person));
    GivenAnswer { decision, person, intent, os_user, login, key, ..GivenAnswer::by_nobody(answer.reason.clone(), at) }
}

/// Counts someone's vote once, and says how many agree: only if they agree to the same thing.
pub(super) fn vote(row: &mut EscalationRow, cast: Vote) -> u64 {
    let digest = cast.digest;
    row.votes.retain(|vote| !is_same_person(&vote.person, &cast.person));
    row.votes.push(cast);
    row.votes.iter().filter(|vote| vote.digest == digest).count() as u64
}

/// The digest of what a person is shown now; `None` if the answer was formed under a contract that no longer counts.
fn shown_now(world: &World, change: &Change, answer: &HumanAnswer, row: &EscalationRow) -> Option<Digest> {
    let in_force =
        world.agent(&key(change, Entity::Agent(row.agent.clone()))).and_then(|agent| agent.contract_for(&row.flow));
    let formed = answer.original.as_ref().map(|original| original.contract.digest);
    match (in_force, formed) {
        (Some(in_force), Some(formed)) if in_force != formed => None,
        (_, Some(formed)) => Some(row.shown_digest(formed)),
        (_, None) => Some(row.digest),
    }
}

/// What a vote is for. Something else that cannot be read as a proposal of the same agent is nothing to agree to.
fn agreed_to(
    answer: &HumanAnswer,
    decision: HumanDecision,
    row: &EscalationRow,
    shown_now: Digest,
) -> Result<Digest, Box<ChangeOutcome>> {
    if decision != HumanDecision::Modify {
        return Ok(shown_now);
    }
    if row.kind == QuestionKind::Request {
        let problem = "takes the place of a proposal, and this question has none".to_owned();
        let finding = Finding::reject(Gate::Escalation, Reason::ParamInvalid).field("instead").with("problem", problem);
        return Err(Box::new(ChangeOutcome::refused(finding)));
    }
    let own = |formed: &&Arc<Submission>| formed.proposal.agent == row.agent && formed.flow_id() == row.flow;
    if let Some(submission) = answer.modified.as_ref().filter(own) {
        let proposal = submission.proposal.to_json(submission.proposal.params.clone());
        return Ok(EscalationRow::digest_of(&proposal, submission.contract.digest));
    }
    // Without the original the question was not there yet when the command was formed.
    if answer.original.is_none() {
        return Err(Box::new(ChangeOutcome::Prepare));
    }
    let problem = format!("is missing, or is no proposal of agent `{}`", row.agent);
    let finding = Finding::reject(Gate::Escalation, Reason::ParamInvalid).field("instead").with("problem", problem);
    Err(Box::new(ChangeOutcome::refused(finding)))
}

/// The second answer gets the first.
fn already(name: &str, row: &EscalationRow, records: Vec<Record>) -> ChangeOutcome {
    let said = row.answer.as_ref().map(|answer| match (&answer.decision, &answer.person) {
        (Some(decision), Some(person)) => format!("{} by {person}", decision.word()),
        (Some(decision), None) => decision.word().to_owned(),
        (None, _) => answer.reason.clone(),
    });
    let finding = Finding::reject(Gate::Escalation, Reason::AlreadyAnswered).with("question", name);
    let findings = vec![finding.with("answer", said.unwrap_or_default())];
    ChangeOutcome::Refused { findings, event: Some(Event::AnswerRefused(QuestionEnd::of(name, row))), records }
}

/// Who says what; an unknown word, the wrong person or other bytes are no answer.
fn entitled(
    world: &World,
    change: &Change,
    answer: &HumanAnswer,
    row: &EscalationRow,
    (shown_now, at): (Digest, Instant),
) -> Result<(String, HumanDecision, Option<PublicKey>), Box<Finding>> {
    let Actor::Operator(person) = &change.actor else {
        return Err(Box::new(not_authorized(change, "answer for a person".to_owned())));
    };
    let Some(decision) = HumanDecision::from_word(&answer.decision) else {
        let problem = format!("is `{}`, not one of {}", answer.decision, HumanDecision::WORDS.join(", "));
        let finding = Finding::reject(Gate::Escalation, Reason::ParamInvalid).field("decision");
        return Err(Box::new(finding.with("problem", problem)));
    };
    may_answer(world, change, person, row, at)?;
    let as_asked = answer.digest == row.digest;
    // No needs no second look: it is no under every contract.
    let is_no = decision == HumanDecision::Abort;
    let is_altered = !row.is_as_asked() && !is_no;
    let bound = answer.digest == shown_now || as_asked && is_no;
    let other = !bound || is_altered || answer.original.as_ref().is_some_and(|formed| !is_asked(formed, row));
    if other && !bugs::on(Bug::AnswerUnbound) {
        let changed = match (is_altered, as_asked) {
            (true, _) => ": the question in the store is not the one that was asked, so it can only be denied",
            (false, true) => ": another contract is in force since the question was asked",
            (false, false) => "",
        };
        let finding = Finding::reject(Gate::Escalation, Reason::ApprovalMismatch);
        return Err(Box::new(finding.with("because", changed)));
    }
    let key = signing::signer(world, change, &given(answer, person), is_signature_demanded(answer, row))?;
    Ok((person.clone(), decision, key))
}

/// Signatures that were demanded when it was asked, or are demanded now.
fn is_signature_demanded(answer: &HumanAnswer, row: &EscalationRow) -> bool {
    row.signed || answer.original.as_ref().is_some_and(|formed| formed.contract.contract.escalation.signed)
}

fn given<'a>(answer: &'a HumanAnswer, person: &'a str) -> AnswerToCheck<'a> {
    AnswerToCheck {
        question: &answer.escalation,
        person,
        digest: answer.digest,
        decision: &answer.decision,
        instead: answer.modified.as_ref().map(|formed| instead_digest(&formed.proposal)),
        reason: &answer.reason,
        identity: &answer.identity,
    }
}

/// Someone of the groups that may, and never whoever proposed.
pub(super) fn may_answer(
    world: &World,
    change: &Change,
    person: &str,
    row: &EscalationRow,
    at: Instant,
) -> Result<(), Box<Finding>> {
    let (entitled, own) = (row.entitled(at), person_row(world, change, person).unwrap_or_default());
    let problem = hindrance(row, person, &own.groups, at);
    if let Some(problem) = problem.filter(|_| !bugs::on(Bug::W15AnswerFromAnyone)) {
        let finding = Finding::reject(Gate::Escalation, Reason::ApproverNotEntitled).with("person", person);
        return Err(Box::new(finding.with("problem", problem).with("approvers", entitled.join(", "))));
    }
    Ok(())
}

/// Whether a proposal that was formed again is the one in question; whoever formed it is not believed.
fn is_asked(formed: &Submission, row: &EscalationRow) -> bool {
    let asked = Proposal::from_json(row.proposal.clone());
    let same = asked.is_ok_and(|asked| asked.fingerprint == formed.proposal.fingerprint);
    same && formed.proposal.agent == row.agent && formed.flow_id() == row.flow
}

/// What comes of a proposal when it is judged again at an answer.
enum Reassessment {
    /// It was formed under a contract that no longer counts.
    Stale,
    Need {
        keys: KeySet,
    },
    Refused {
        findings: Vec<Finding>,
    },
    Accepted {
        intent: Option<Arc<Intent>>,
    },
}

/// Judges again at the answer. A person takes the place of what asked for one and of the proposal's own time; nothing
/// else is overridden. What nobody started in time makes room, as it does for a proposal.
fn accept(
    world: &mut World,
    submission: &Arc<Submission>,
    intent: &str,
    called_off: &mut Vec<Record>,
    at: Instant,
) -> Reassessment {
    let touched = submission.touched();
    let mut named = flow_work::above(world, &touched.flow);
    named.extend(watching::apart(world, submission, touched));
    let missing = world.missing(&named);
    if !missing.is_empty() {
        return Reassessment::Need { keys: missing };
    }
    if is_stale(world, submission, touched) {
        return Reassessment::Stale;
    }
    let mut judged = judged(world, submission, touched, intent, at);
    if expiry::may_help(&judged.0) {
        match expiry::call_off_expired(world, &submission.tenant, at) {
            Err(keys) => return Reassessment::Need { keys },
            Ok(records) if records.is_empty() => {}
            Ok(records) => {
                *called_off = records;
                judged = self::judged(world, submission, touched, intent, at);
            }
        }
    }
    let (against, intent) = judged;
    if !against.is_empty() {
        return Reassessment::Refused { findings: against };
    }
    let observed = watching::observed(&known::facts(world, submission, touched, at), Verdict::Accept, &[]);
    taking::accept(world, submission, touched, intent.as_ref(), true, at);
    watching::take(world, submission, touched, &watching::of_accepted(submission, observed), at);
    Reassessment::Accepted { intent }
}

/// What still stands against it, and what it becomes if nothing does.
fn judged(
    world: &World,
    submission: &Arc<Submission>,
    touched: &Touched,
    intent: &str,
    at: Instant,
) -> (Vec<Finding>, Option<Arc<Intent>>) {
    let facts = known::facts(world, submission, touched, at);
    let judgement = decide(&facts, submit::prepared(&facts, submission));
    // The proposal came before the flow was closed; only what was aborted stays refused.
    let finishing = facts.flow.row.state == FlowState::Closed && facts.flow.aborted.is_none();
    let asked_before = |finding: &Finding| finishing && finding.code == Code::Known(Reason::FlowClosed);
    let against = judgement.findings.into_iter().filter(|finding| stands(finding) && !asked_before(finding));
    let against: Vec<Finding> = against.collect();
    let valid_until = at.plus(submission.contract.contract.escalation.valid_after);
    let intent = against.is_empty().then(|| submit::intent(&facts, submission, intent, valid_until)).flatten();
    (against, intent)
}

fn stands(finding: &Finding) -> bool {
    let replaced = match finding.code {
        Code::Known(Reason::SnapshotStale | Reason::ReasoningExhaustion) => true,
        // The person takes responsibility for what a passive agent asked; what is worse than that still stands.
        Code::Known(Reason::AgentPassive) => !bugs::on(Bug::AnswerStoppedByPassive),
        // The flow paid for its step and its tokens when the question was asked.
        Code::Known(Reason::BudgetExceeded) => finding.gate == Gate::Retry,
        Code::Known(_) | Code::Custom { .. } => false,
    };
    // The question was signed when it was asked; the answer is the person's.
    let own = matches!(finding.gate, Gate::Validity | Gate::Proof);
    finding.effect == Effect::Reject && !own && !replaced
}

/// What time does: people are reminded, others may answer too, and at last nobody has answered and it is over.
pub(super) fn expire(world: &mut World, change: &Change, names: &[String], at: Instant) -> ChangeOutcome {
    if !matches!(change.actor, Actor::Kernel | Actor::Operator(_)) {
        return ChangeOutcome::refused(not_authorized(change, "end questions".to_owned()));
    }
    let mut records = Vec::new();
    let (mut over, mut reminded, mut rerouted) = (0, 0, 0);
    for name in names {
        // Whether something happened is no question that time answers.
        let asked = question(world, change, name).filter(|row| row.kind != QuestionKind::Doubt);
        let due = asked.filter(|row| row.due().is_some_and(|due| at >= due)).cloned();
        let Some(mut row) = due else { continue };
        if row.is_late(at) {
            records.push(expired(world, change, name, row, at).1);
            over += 1;
            continue;
        }
        if let Some(reroute) = row.reroute.as_mut().filter(|reroute| at >= reroute.at && !reroute.told) {
            reroute.told = true;
            rerouted += 1;
            let notice = Consequence::QuestionRerouted(notice(name, &row, at));
            records.push(following(change, notice, at));
        }
        if row.remind.is_some_and(|remind| at >= remind) {
            row.remind = None;
            reminded += 1;
            let notice = Consequence::QuestionReminded(notice(name, &row, at));
            records.push(following(change, notice, at));
        }
        world.put(key(change, Entity::Escalation(name.clone())), Row::Escalation(Box::new(row)));
    }
    ChangeOutcome::followed_by(Event::QuestionsExpired { expired: over, reminded, rerouted }, records)
}

/// What is needed to carry a message to people.
fn notice(name: &str, row: &EscalationRow, at: Instant) -> QuestionNotice {
    QuestionNotice {
        question: name.to_owned(),
        proposal: row.proposal_id.clone(),
        approvers: row.entitled(at).into_iter().map(str::to_owned).collect(),
        deadline: row.deadline,
    }
}

fn following(change: &Change, consequence: Consequence, at: Instant) -> Record {
    Record::Event(Arc::new(EventRecord::following(&change.tenant, consequence, at)))
}

fn expired(
    world: &mut World,
    change: &Change,
    name: &str,
    mut row: EscalationRow,
    at: Instant,
) -> (EscalationRow, Record) {
    row.state = transition(row.state, None).unwrap_or(row.state);
    let reason = "nobody answered in time".to_owned();
    row.answer = Some(GivenAnswer::by_nobody(reason, at));
    let end = QuestionEnd::of(name, &row);
    flow_work::end_question(world, &flow_work::key(&change.tenant, &row.flow), name);
    world.put(key(change, Entity::Escalation(name.to_owned())), Row::Escalation(Box::new(row.clone())));
    (row, following(change, Consequence::QuestionExpired(end), at))
}

/// Ends a question with its flow; whether it was open.
pub(super) fn abort(world: &mut World, change: &Change, name: &str, records: &mut Vec<Record>, at: Instant) -> bool {
    let open = question(world, change, name).filter(|row| row.kind != QuestionKind::Doubt);
    let Some(mut row) = open.cloned() else { return false };
    let Some(state) = transition(row.state, Some(HumanDecision::Abort)) else { return false };
    row.state = state;
    let reason = format!("its flow was aborted by {}", change.actor.text());
    row.answer = Some(GivenAnswer::by_nobody(reason, at));
    let end = QuestionEnd::of(name, &row);
    flow_work::end_question(world, &flow_work::key(&change.tenant, &row.flow), name);
    world.put(key(change, Entity::Escalation(name.to_owned())), Row::Escalation(Box::new(row)));
    records.push(following(change, Consequence::QuestionAborted(end), at));
    true
}
