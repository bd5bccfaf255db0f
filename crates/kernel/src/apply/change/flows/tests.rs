//! What ending a flow does to what is open in it, through the fold.

use crate::agent::Actor;
use crate::change::{Act, HumanAnswer};
use crate::contract::{Budget, EffectClass, Executor};
use crate::event::{AbortedFlow, Event};
use crate::flow::{FlowEvent, FlowState, Latest, OPEN_WORK_MAX};
use crate::intent::{IntentRow, Observed};
use crate::outcome::Done;
use crate::testing::{Case, case};
use crate::world::{Entity, FlowRow, Row};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn ann() -> Actor {
    Actor::Operator("ann".to_owned())
}

/// Pays out of a pool of 10 and a budget of 10, in flow `f`; 5 and more asks a person.
fn paying() -> Case {
    let budget = Budget { sum: Some("amount".to_owned()), max: Decimal::from(10), per: DAY };
    let http = Executor::Http("POST http://127.0.0.1/pay".to_owned());
    let case = case().once("pay:{amount}").reserve("pool", 10, "amount").run(http, EffectClass::Keyed);
    let case = case.contract(move |contract| contract.actions.get_mut("pay").unwrap().budgets.push(budget.clone()));
    case.allow("amount<=4").zone("amount<=9", "BIG").flow("f").amount(4)
}

fn end(case: &mut Case, flow: &str, event: FlowEvent) -> Done {
    case.change(ann(), Act::EndFlow { flow: flow.to_owned(), event })
}

fn claim(case: &mut Case, intent: &str) -> Done {
    let (intent, worker) = (intent.to_owned(), "w".to_owned());
    case.change(Actor::Kernel, Act::Claim { intent, worker, lease: Duration::from_secs(10) })
}

fn start(case: &mut Case, intent: &str) -> Done {
    let attempt = row(case, intent).running.unwrap().digest();
    case.change(Actor::Kernel, Act::Start { intent: intent.to_owned(), epoch: 1, attempt })
}

fn observe(case: &mut Case, intent: &str, observed: Observed) -> Done {
    let (intent, detail) = (intent.to_owned(), String::new());
    case.change(Actor::Kernel, Act::Outcome { intent, epoch: 1, observed, result: None, detail })
}

fn row(case: &Case, intent: &str) -> IntentRow {
    match case.row(Entity::Intent(intent.to_owned())) {
        Some(Row::Intent(row)) => row.as_ref().clone(),
        other => panic!("no intent {intent}: {other:?}"),
    }
}

fn flow(case: &Case, name: &str) -> FlowRow {
    match case.row(Entity::Flow(name.to_owned())) {
        Some(Row::Flow(row)) => row.clone(),
        other => panic!("no flow {name}: {other:?}"),
    }
}

/// What is held of the pool, used up of it, and used of the budget.
fn books(case: &Case) -> String {
    let Some(Row::Resource(pool)) = case.row(Entity::Resource("pool".to_owned())) else { panic!("no pool") };
    let taken = row(case, "i-1").facts.taken().first().unwrap().clone();
    let Some(Row::Budget(window)) = case.row(Entity::Budget(taken.agent, taken.budget)) else { panic!("no budget") };
    format!("{}/{}/{}", pool.held, pool.consumed, window.used(case.now(), DAY).unwrap())
}

fn told(done: &Done) -> String {
    match &done.event {
        Some(event) if done.answer.findings.is_empty() => event.to_json().to_canonical(),
        Some(_) | None => done.answer.reasons().join("+"),
    }
}

fn aborted(done: &Done) -> &AbortedFlow {
    match done.event.as_deref() {
        Some(Event::FlowAborted(aborted)) => aborted,
        other => panic!("not aborted: {other:?}"),
    }
}

fn open_child(case: &mut Case, name: &str, parent: &str) -> String {
    let (flow, agent, parent) = (name.to_owned(), "bot".to_owned(), Some(parent.to_owned()));
    let done = case.change(ann(), Act::OpenFlow { flow, agent, parent });
    if done.answer.findings.is_empty() { "opened".to_owned() } else { done.answer.reasons().join("+") }
}

#[test]
fn w08_an_aborted_flow_calls_off_what_was_not_started_and_gives_it_back() {
    for claimed in [false, true] {
        let mut case = paying().check("ACCEPT");
        assert_eq!(books(&case), "4/0/4");
        if claimed {
            claim(&mut case, "i-1");
        }
        let done = end(&mut case, "f", FlowEvent::Abort);
        let body = r#"{"called_off":["i-1"],"flow":"f","questions":[],"state":"ABORTED","to_settle":[]}"#;
        assert_eq!(told(&done), body);
        assert_eq!((row(&case, "i-1").state.word(), books(&case).as_str()), ("CANCELLED", "0/0/0"));
        assert_eq!((flow(&case, "f").state, flow(&case, "f").intents.len()), (FlowState::Aborted, 0));
        let kinds: Vec<String> = done.records.iter().map(|record| kind(&record.body())).collect();
        assert_eq!(kinds, ["intent_moved", "end_flow"]);
        assert_eq!(told(&claim(&mut case, "i-1")), "STEP_REFUSED");
        // The business effect is free again, elsewhere.
        case.flow("g").check("ACCEPT");
    }
}

fn kind(body: &Json) -> String {
    body.get("kind").and_then(Json::as_text).unwrap_or_default().to_owned()
}

#[test]
fn w08_what_may_have_been_sent_stays_and_is_settled_by_who_knows() {
    for (observed, state, left) in [(Observed::Positive, "SUCCEEDED", "0/4/4"), (Observed::Negative, "FAILED", "0/0/0")]
    {
        let mut case = paying().check("ACCEPT");
        claim(&mut case, "i-1");
        start(&mut case, "i-1");
        let done = end(&mut case, "f", FlowEvent::Abort);
        let body = r#"{"called_off":[],"flow":"f","questions":[],"state":"ABORTED","to_settle":["i-1"]}"#;
        assert_eq!(told(&done), body);
        assert_eq!((row(&case, "i-1").state.word(), books(&case).as_str()), ("IN_FLIGHT", "4/0/4"));
        assert_eq!(flow(&case, "f").intents, ["i-1"], "it is still to be settled");
        observe(&mut case, "i-1", observed);
        assert_eq!((row(&case, "i-1").state.word(), books(&case).as_str()), (state, left));
        assert_eq!(flow(&case, "f").intents.len(), 0);
    }
}

#[test]
fn what_is_in_doubt_in_an_aborted_flow_is_not_tried_again_without_a_person() {
    let mut case = paying().check("ACCEPT");
    claim(&mut case, "i-1");
    start(&mut case, "i-1");
    observe(&mut case, "i-1", Observed::Unknown);
    assert_eq!(row(&case, "i-1").running.unwrap().question, None, "a keyed effect is tried again");
    end(&mut case, "f", FlowEvent::Abort);
    case.later(60);
    case.change(Actor::Kernel, Act::ExpireIntents);
    assert_eq!(row(&case, "i-1").state.word(), "READY");
    assert_eq!(told(&claim(&mut case, "i-1")), "FLOW_CLOSED");
    let row = row(&case, "i-1");
    assert_eq!((row.state.word(), row.running.unwrap().question.is_some()), ("IN_DOUBT", true));
    assert_eq!(books(&case), "4/0/4", "doubt keeps everything");
}

#[test]
fn an_aborted_flow_ends_its_questions_and_an_answer_comes_too_late() {
    let mut case = paying().amount(6).check("ESCALATE BIG");
    assert_eq!(flow(&case, "f").questions, ["e-1"]);
    let done = end(&mut case, "f", FlowEvent::Abort);
    let body = r#"{"called_off":[],"flow":"f","questions":["e-1"],"state":"ABORTED","to_settle":[]}"#;
    assert_eq!(told(&done), body);
    let kinds: Vec<String> = done.records.iter().map(|record| kind(&record.body())).collect();
    assert_eq!(kinds, ["question_aborted", "end_flow"]);
    let Some(Row::Escalation(question)) = case.row(Entity::Escalation("e-1".to_owned())) else { panic!("gone") };
    let question = question.clone();
    let reason = question.answer.as_ref().map(|answer| answer.reason.as_str());
    assert_eq!((question.state.word(), reason), ("ABORTED", Some("its flow was aborted by operator:ann")));
    let answer = HumanAnswer {
        escalation: "e-1".to_owned(),
        decision: "OVERRIDE".to_owned(),
        digest: question.digest,
        reason: "fine".to_owned(),
        original: None,
        modified: None,
        identity: crate::person::Identity::default(),
    };
    let done = case.change(ann(), Act::Answer(Box::new(answer)));
    assert_eq!(done.answer.reasons(), ["ALREADY_ANSWERED"]);
    assert!(done.answer.to_line().contains("its flow was aborted by operator:ann"), "{}", done.answer.to_line());
}

#[test]
fn a_closed_flow_takes_no_proposals_and_lets_accepted_work_finish() {
    let mut case = paying().check("ACCEPT").amount(6).check("ESCALATE BIG");
    let done = end(&mut case, "f", FlowEvent::Close);
    assert_eq!(told(&done), r#"{"flow":"f","going_on":["i-1"],"questions":["e-2"],"state":"CLOSED"}"#);
    let mut case = case.amount(3).check("REJECT FLOW_CLOSED");
    assert!(case.last.as_ref().unwrap().answer.to_line().contains("flow `f` is CLOSED"));
    claim(&mut case, "i-1");
    start(&mut case, "i-1");
    observe(&mut case, "i-1", Observed::Positive);
    assert_eq!(row(&case, "i-1").state.word(), "SUCCEEDED");
    assert_eq!((flow(&case, "f").state, flow(&case, "f").intents.len()), (FlowState::Closed, 0));
    // It is over: what is closed cannot be aborted any more.
    assert_eq!(told(&end(&mut case, "f", FlowEvent::Abort)), "STEP_REFUSED");
}

#[test]
fn aborting_a_flow_stops_the_flows_below_it() {
    let mut case = paying().amount(1).check("ACCEPT");
    assert_eq!((open_child(&mut case, "g", "f"), open_child(&mut case, "h", "g")), ("opened".into(), "opened".into()));
    let mut case = case.flow("h").amount(2).check("ACCEPT");
    assert_eq!((row(&case, "i-2").state.word(), flow(&case, "h").above), ("READY", vec!["g".into(), "f".into()]));
    let done = end(&mut case, "f", FlowEvent::Abort);
    assert_eq!(aborted(&done).called_off, ["i-1"]);
    // Below it nothing is accepted, opened or started; what was accepted is called off when someone takes it.
    let mut case = case.flow("h").amount(3).check("REJECT FLOW_CLOSED");
    assert_eq!(open_child(&mut case, "k", "g"), "FLOW_CLOSED");
    assert_eq!(told(&claim(&mut case, "i-2")), "FLOW_CLOSED");
    assert_eq!((row(&case, "i-2").state.word(), books(&case).as_str()), ("CANCELLED", "0/0/0"));
    // What lies above or beside goes on.
    let mut beside = paying().amount(1).check("ACCEPT");
    open_child(&mut beside, "g", "f");
    end(&mut beside, "g", FlowEvent::Abort);
    beside.amount(2).check("ACCEPT");
}

#[test]
fn closing_a_flow_leaves_the_flows_below_it_alone() {
    let mut case = paying().amount(1).check("ACCEPT");
    open_child(&mut case, "g", "f");
    end(&mut case, "f", FlowEvent::Close);
    assert_eq!(open_child(&mut case, "h", "f"), "FLOW_CLOSED");
    case.flow("g").amount(2).check("ACCEPT");
}

#[test]
fn what_does_not_fit_into_the_list_of_open_work_is_stopped_at_its_start() {
    let mut case = self::case().run(Executor::Http("POST http://127.0.0.1/pay".to_owned()), EffectClass::Keyed);
    case = case.flow("f").amount(1);
    for number in 0..=OPEN_WORK_MAX {
        case = case.step(&number.to_string()).check("ACCEPT");
    }
    assert_eq!((flow(&case, "f").intents.len(), flow(&case, "f").unlisted), (OPEN_WORK_MAX, true));
    let done = end(&mut case, "f", FlowEvent::Abort);
    assert!(aborted(&done).unlisted);
    let last = format!("i-{}", OPEN_WORK_MAX + 1);
    assert_eq!(row(&case, &last).state.word(), "READY");
    assert_eq!(told(&claim(&mut case, &last)), "FLOW_CLOSED");
    assert_eq!(row(&case, &last).state.word(), "CANCELLED");
}

#[test]
fn a_flow_knows_its_latest_proposal() {
    let latest = |case: &Case| flow(case, "f").latest;
    let case = paying().check("ACCEPT");
    assert_eq!(latest(&case), Some(Latest::Intent("i-1".to_owned())));
    let case = case.amount(6).check("ESCALATE BIG");
    assert_eq!(latest(&case), Some(Latest::Question("e-2".to_owned())));
    let case = case.amount(10).check("REJECT NOT_ALLOWED, BUDGET_EXCEEDED, RESOURCE_INSUFFICIENT");
    assert_eq!(latest(&case), Some(Latest::Rejected));
    assert_eq!(latest(&case.action("look").params("{}").check("ACCEPT")), Some(Latest::Done));
}

#[test]
fn a_flow_that_is_over_ends_once_and_only_by_who_may() {
    let mut case = paying().check("ACCEPT");
    let abort = || Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Abort };
    assert_eq!(told(&case.change(Actor::Agent("eve".to_owned()), abort())), "FLOW_UNKNOWN");
    assert_eq!(row(&case, "i-1").state.word(), "READY");
    end(&mut case, "f", FlowEvent::Abort);
    assert_eq!(told(&case.change(ann(), abort())), "STEP_REFUSED");
}

#[test]
fn aborting_asks_for_all_it_touches() {
    use crate::apply::{apply, touches};
    use crate::change::Change;
    use crate::command::Command;
    use crate::outcome::Outcome;
    use crate::world::World;
    let case = paying().check("ACCEPT").amount(6).check("ESCALATE BIG");
    let act = Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Abort };
    let change = Change { tenant: "default".into(), id: "c".to_owned(), actor: ann(), act };
    let command = Command::Change(change.into());
    let mut world = World::slice();
    let mut asked: Vec<Vec<&str>> = Vec::new();
    let mut keys = touches(&command);
    let done = loop {
        asked.push(keys.iter().map(|key| key.entity.kind().word()).collect());
        keys.into_iter().for_each(|key| world.load(key.clone(), case.row(key.entity).cloned()));
        match apply(&mut world, &command, case.now()) {
            Outcome::Need(more) => keys = more,
            Outcome::Done(done) => break done,
            Outcome::Prepare => panic!("no contract is needed"),
        }
    };
    assert_eq!(asked, [vec!["tenant", "flow"], vec!["escalation", "intent"], vec!["effect", "resource", "budget"]]);
    assert_eq!(aborted(&done).called_off, ["i-1"]);
}

#[cfg(feature = "bugs")]
#[test]
fn the_switch_brings_the_fault_back() {
    use values::bugs::{Bug, with};
    let states = with(Bug::AbortedFlowStarts, || {
        let mut case = paying().check("ACCEPT");
        end(&mut case, "f", FlowEvent::Abort);
        let before = row(&case, "i-1").state.word();
        (before, told(&claim(&mut case, "i-1")).contains("CLAIMED"))
    });
    assert_eq!(states, ("READY", true));
}
