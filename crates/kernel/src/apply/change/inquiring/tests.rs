//! Questions on an agent's own request, through the fold.

use crate::agent::Actor;
use crate::change::{Act, Asking, HumanAnswer, Inquiry};
use crate::command::{Command, Submission};
use crate::contract::{Impact, OnExhausted};
use crate::escalation::{AgentRequest, EscalationRow};
use crate::flow::FlowEvent;
use crate::outcome::Done;
use crate::proposal::Proposal;
use crate::testing::{Case, case};
use crate::world::{Entity, Row};
use std::sync::Arc;
use values::json::{Json, Object};

fn bot() -> Actor {
    Actor::Agent("bot".to_owned())
}

fn operator(name: &str) -> Actor {
    Actor::Operator(name.to_owned())
}

/// An agent with an open flow `f`, a desk with ann, and so many questions an hour.
fn asking(max: u64, then: OnExhausted) -> Case {
    let case = case().flow("f").amount(5).state(r#"{"people/ann":["desk"],"people/bob":["sales"]}"#);
    case.contract(move |contract| {
        (contract.escalation.budget_max, contract.escalation.on_exhausted) = (max, then);
    })
    .check("ACCEPT")
}

fn formed(case: &mut Case) -> Arc<Submission> {
    match case.command() {
        Command::Submit(submission) => submission,
        other @ (Command::Refuse(_) | Command::Change(_)) => panic!("no proposal: {other:?}"),
    }
}

fn ask_with(case: &mut Case, actor: Actor, question: &str, change: impl Fn(&mut Inquiry)) -> Done {
    let contract = formed(case).contract.clone();
    let request = AgentRequest { reason: "unsure".to_owned(), context: Object::new() };
    let (agent, flow) = ("bot".to_owned(), "f".to_owned());
    let mut inquiry = Inquiry { agent, flow, request, proposal: None, impact: Impact::Low };
    change(&mut inquiry);
    let (proposal_id, intent) = (format!("p-{question}"), format!("i-{question}"));
    case.change(
        actor,
        Act::Ask(Box::new(Asking { inquiry, question: question.to_owned(), proposal_id, intent, contract })),
    )
}

fn ask(case: &mut Case, question: &str) -> String {
    told(&ask_with(case, bot(), question, |_| {}))
}

fn told(done: &Done) -> String {
    if done.answer.findings.is_empty() { "ACCEPT".to_owned() } else { done.answer.reasons().join("+") }
}

fn question(case: &Case, name: &str) -> EscalationRow {
    match case.row(Entity::Escalation(name.to_owned())) {
        Some(Row::Escalation(row)) => row.as_ref().clone(),
        other => panic!("no question {name}: {other:?}"),
    }
}

fn answer(case: &mut Case, who: &str, name: &str, decision: &str, original: Option<Arc<Submission>>) -> Done {
    let digest = question(case, name).digest;
    let answer = HumanAnswer {
        escalation: name.to_owned(),
        decision: decision.to_owned(),
        digest,
        reason: "because".to_owned(),
        modified: None,
        original,
        identity: crate::person::Identity::default(),
    };
    case.change(operator(who), Act::Answer(Box::new(answer)))
}

#[test]
fn a_question_takes_of_the_budget_and_has_the_contracts_deadline() {
    let mut case = asking(2, OnExhausted::Abort);
    assert_eq!(ask(&mut case, "q1"), "ACCEPT");
    let row = question(&case, "q1");
    assert_eq!((row.kind.word(), row.reasons.as_slice()), ("request", &["AGENT_ASKS".to_owned()][..]));
    assert_eq!(row.deadline, Some(case.now().plus(values::time::Duration::from_secs(900))));
    assert_eq!(row.approvers, ["desk"]);
    assert_eq!(ask(&mut case, "q2"), "ACCEPT");
    assert_eq!(ask(&mut case, "q3"), "ESCALATION_BUDGET_EXHAUSTED");
    // A gate's question counts on the same budget.
    let mut case = case.ask("amount<=50", "BIG").amount(40).check("REJECT ESCALATION_BUDGET_EXHAUSTED");
    case.later(3_601);
    assert_eq!(ask(&mut case, "q4"), "ACCEPT");
}

#[test]
fn asking_in_vain_makes_passive_where_the_contract_says_so() {
    let mut case = asking(1, OnExhausted::Passive);
    assert_eq!([ask(&mut case, "q1"), ask(&mut case, "q2")], ["ACCEPT", "ESCALATION_BUDGET_EXHAUSTED"]);
    let case = case.amount(6).check("REJECT AGENT_PASSIVE");
    // An answer is never refused because its asker is passive.
    let mut case = case;
    assert_eq!(told(&answer(&mut case, "ann", "q1", "OVERRIDE", None)), "ACCEPT");
}

#[test]
fn without_a_proposal_nothing_follows_from_an_answer_but_the_answer() {
    let mut case = asking(9, OnExhausted::Abort);
    ask(&mut case, "q1");
    assert_eq!(told(&answer(&mut case, "bob", "q1", "OVERRIDE", None)), "APPROVER_NOT_ENTITLED");
    assert_eq!(told(&answer(&mut case, "ann", "q1", "MODIFY", None)), "PARAM_INVALID");
    let done = answer(&mut case, "ann", "q1", "OVERRIDE", None);
    assert_eq!((told(&done), done.answer.intent.is_none()), ("ACCEPT".to_owned(), true));
    assert_eq!(question(&case, "q1").state.word(), "OVERRIDDEN");
    assert_eq!(told(&answer(&mut case, "ann", "q1", "ABORT", None)), "ALREADY_ANSWERED");
}

#[test]
fn an_approved_proposal_is_judged_again_and_becomes_an_intent() {
    let mut case = asking(9, OnExhausted::Abort).amount(7);
    let own = formed(&mut case);
    let proposal = Proposal::from_json(own.proposal.to_json(own.proposal.params.clone())).unwrap();
    let done = ask_with(&mut case, bot(), "q1", |inquiry| inquiry.proposal = Some(proposal.clone()));
    assert_eq!(told(&done), "ACCEPT");
    assert_eq!(question(&case, "q1").kind.word(), "proposal");
    let ids = crate::command::MintedIds { intent: "i-q1".to_owned(), ..own.ids.clone() };
    let original = Submission::new(own.tenant.clone(), proposal, own.contract.clone(), own.provenance.clone(), ids);
    let done = answer(&mut case, "ann", "q1", "OVERRIDE", Some(Arc::new(original)));
    assert_eq!(done.answer.intent.as_ref().map(|intent| intent.id()), Some("i-q1"), "{}", done.answer.to_line());
}

#[test]
fn w15_whoever_asks_in_an_agents_name_is_named_and_does_not_approve_it() {
    let check = |actor: Actor, with_proposal: bool, by: Option<&str>, ann: &str| {
        let mut case = asking(9, OnExhausted::Abort).amount(7);
        let own = formed(&mut case);
        let proposal = Proposal::from_json(own.proposal.to_json(own.proposal.params.clone())).unwrap();
        let wanted = with_proposal.then(|| proposal.clone());
        assert_eq!(
            told(&ask_with(&mut case, actor.clone(), "q1", |inquiry| inquiry.proposal.clone_from(&wanted))),
            "ACCEPT"
        );
        assert_eq!(question(&case, "q1").by.as_deref(), by, "{actor:?}");
        let ids = crate::command::MintedIds { intent: "i-q1".to_owned(), ..own.ids.clone() };
        let original = Submission::new(own.tenant.clone(), proposal, own.contract.clone(), own.provenance.clone(), ids);
        let original = with_proposal.then(|| Arc::new(original));
        assert_eq!(told(&answer(&mut case, "ann", "q1", "OVERRIDE", original)), ann, "{actor:?} {with_proposal}");
    };
    for with_proposal in [true, false] {
        check(bot(), with_proposal, None, "ACCEPT");
        check(operator("otto"), with_proposal, Some("operator:otto"), "ACCEPT");
        check(operator("ann"), with_proposal, Some("operator:ann"), "APPROVER_NOT_ENTITLED");
        check(operator("Ann"), with_proposal, Some("operator:Ann"), "APPROVER_NOT_ENTITLED");
        check(Actor::Kernel, with_proposal, Some("kernel"), "ACCEPT");
    }
}

#[test]
fn the_digest_covers_what_the_agent_says() {
    let mut case = asking(9, OnExhausted::Abort);
    let mut digests = std::collections::BTreeSet::new();
    for (name, reason, context) in [("a", "unsure", "{}"), ("b", "sure", "{}"), ("c", "unsure", r#"{"x":1}"#)] {
        let context = Json::parse(context.as_bytes()).unwrap().as_object().unwrap().clone();
        ask_with(&mut case, bot(), name, |inquiry| {
            inquiry.request = AgentRequest { reason: reason.to_owned(), context: context.clone() };
        });
        digests.insert(question(&case, name).digest);
    }
    assert_eq!(digests.len(), 3);
}

#[test]
fn only_in_ones_own_open_flow_and_only_while_nobody_stopped_it() {
    let check = |mut case: Case, actor: Actor, change: &dyn Fn(&mut Inquiry), expected: &str| {
        assert_eq!(told(&ask_with(&mut case, actor, "q", change)), expected);
    };
    let fresh = || asking(9, OnExhausted::Abort);
    check(fresh(), bot(), &|_| {}, "ACCEPT");
    check(fresh(), operator("ann"), &|_| {}, "ACCEPT");
    check(fresh(), Actor::Agent("eve".to_owned()), &|_| {}, "FLOW_UNKNOWN");
    check(fresh(), bot(), &|inquiry| inquiry.agent = "eve".to_owned(), "FLOW_UNKNOWN");
    check(fresh(), bot(), &|inquiry| inquiry.flow = "g".to_owned(), "FLOW_UNKNOWN");
    check(fresh(), bot(), &|inquiry| inquiry.request.reason = " ".to_owned(), "PARAM_INVALID");
    check(fresh(), bot(), &|inquiry| inquiry.request.reason = "x".repeat(2_049), "PARAM_INVALID");
    let large =
        |inquiry: &mut Inquiry| drop(inquiry.request.context.insert("x".to_owned(), Json::text("x".repeat(17_000))));
    check(fresh(), bot(), &large, "PARAM_INVALID");
    check(fresh().halted("ann", "fire"), bot(), &|_| {}, "HALTED");
    let mut over = fresh();
    over.change(operator("ann"), Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Close });
    check(over, bot(), &|_| {}, "FLOW_CLOSED");
    let mut stopped = fresh();
    let (agent, because) = ("bot".to_owned(), "odd".to_owned());
    let status = crate::agent::AgentStatus::Suspended;
    stopped.change(operator("ann"), Act::Restrict { agent, status, because, actions: Vec::new() });
    check(stopped, bot(), &|_| {}, "AGENT_SUSPENDED");
}

#[test]
fn time_and_the_end_of_the_flow_end_it() {
    let mut case = asking(9, OnExhausted::Abort);
    ask(&mut case, "q1");
    ask(&mut case, "q2");
    case.change(operator("ann"), Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Abort });
    assert_eq!(question(&case, "q1").state.word(), "ABORTED");
    let mut case = asking(9, OnExhausted::Abort);
    ask(&mut case, "q1");
    case.later(901);
    case.change(Actor::Kernel, Act::ExpireQuestions(vec!["q1".to_owned()]));
    assert_eq!(question(&case, "q1").state.word(), "EXPIRED");
}

#[test]
fn a_note_is_bounded_and_of_ones_own_flow() {
    let mut case = asking(9, OnExhausted::Abort);
    let mut note = |actor: Actor, name: &str, bytes: usize| {
        let details = Object::from([("x".to_owned(), Json::text("x".repeat(bytes)))]);
        told(&case.change(actor, Act::Note { flow: "f".to_owned(), name: name.to_owned(), details }))
    };
    assert_eq!(note(bot(), "PROPOSAL_ACCEPT", 3), "ACCEPT");
    assert_eq!(note(bot(), "any name: ż", 3), "ACCEPT");
    assert_eq!(note(bot(), " ", 3), "PARAM_INVALID");
    assert_eq!(note(bot(), "a\nb", 3), "PARAM_INVALID");
    assert_eq!(note(bot(), &"x".repeat(129), 3), "PARAM_INVALID");
    assert_eq!(note(bot(), "LARGE", 17_000), "PARAM_INVALID");
    assert_eq!(note(Actor::Agent("eve".to_owned()), "FOREIGN", 3), "FLOW_UNKNOWN");
    // What is over can still be remarked upon.
    case.change(operator("ann"), Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Close });
    let note = Act::Note { flow: "f".to_owned(), name: "LATE".to_owned(), details: Object::new() };
    assert_eq!(told(&case.change(bot(), note)), "ACCEPT");
}
