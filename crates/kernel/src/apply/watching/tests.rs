//! What monitors take, and what their alarms do to the agent's next proposal.

use crate::agent::{Actor, AgentStatus};
use crate::change::{Act, DoubtAnswer};
use crate::consequence::Consequence;
use crate::contract::{EffectClass, Executor, Impact, Mode, Watch};
use crate::event::Event;
use crate::intent::IntentEvent;
use crate::outcome::{Done, Verdict};
use crate::person::Identity;
use crate::record::Record;
use crate::template::Template;
use crate::testing::{Case, case};
use crate::watched::{MonitorRow, Trip};
use crate::world::{Entity, Row};
use values::json::Json;

fn watching(text: &str) -> Case {
    let watch = Watch::read(&Json::parse(text.as_bytes()).unwrap()).unwrap();
    case().contract(move |contract| {
        contract.watch.insert("m".to_owned(), watch.clone());
    })
}

fn trips(done: &Done) -> Vec<Trip> {
    let trip = |record: &Record| {
        let Some(Consequence::MonitorTripped(trip)) = Consequence::from_record(&record.body()) else { return None };
        Some(*trip)
    };
    done.records.iter().filter_map(trip).collect()
}

fn tripped(case: &Case) -> Vec<Trip> {
    case.last.as_ref().map(trips).unwrap_or_default()
}

fn row(case: &Case) -> MonitorRow {
    match case.row(Entity::Monitor("bot".to_owned(), "m".to_owned())) {
        Some(Row::Monitor(row)) => row.as_ref().clone(),
        other => panic!("no monitor: {other:?}"),
    }
}

fn lift(case: &mut Case, status: AgentStatus) -> Done {
    let because = "looked into it".to_owned();
    case.change(Actor::Operator("ann".to_owned()), Act::Lift { agent: "bot".to_owned(), status, because })
}

#[test]
fn an_alarm_stops_the_very_next_proposal_and_says_what_it_saw() {
    let case = watching(r#"{"mean":"amount","max":10,"over":3}"#);
    let case = case.amount(5).check("ACCEPT").amount(15).check("ACCEPT").amount(11).check("ACCEPT");
    let [trip] = tripped(&case).try_into().unwrap();
    assert_eq!((trip.from, trip.to, trip.reading.window), (0, 2, 3));
    assert_eq!(trip.reading.threshold, "10");
    assert!(trip.reading.statistic.starts_with("10.333"), "{}", trip.reading.statistic);
    assert_eq!(case.last.as_ref().unwrap().records.len(), 2, "the alarm, then the decision");
    let case = case.amount(1).check("REJECT AGENT_SUSPENDED");
    let line = case.last.as_ref().unwrap().answer.to_line();
    assert!(line.contains("monitor `m`: mean is 10.33"), "{line}");
    assert_eq!(row(&case).seen, 3, "what is refused is not taken");
}

#[test]
fn a_consequence_is_as_hard_as_the_contract_says() {
    let tripping = |then: &str| {
        let case = watching(&format!(r#"{{"sum":"amount","max":10,"over":"1h",{then}}}"#));
        case.amount(11).check("ACCEPT").amount(1)
    };
    tripping(r#""then":"WARN""#).check("ACCEPT");
    tripping(r#""then":"NOTIFY""#).check("ACCEPT");
    tripping(r#""then":"ESCALATION_ONLY""#).check("ESCALATE AGENT_ESCALATION_ONLY");
    tripping(r#""then":"DEGRADED","revoke":["pay"]"#).check("REJECT AGENT_DEGRADED");
    tripping(r#""then":"DEGRADED","revoke":["look"]"#).check("ACCEPT");
    let observing =
        watching(r#"{"sum":"amount","max":10,"over":"1h"}"#).contract(|contract| contract.mode = Mode::Observe);
    let observing = observing.amount(11).check("ACCEPT");
    assert_eq!(tripped(&observing).len(), 1);
    observing.amount(1).check("ACCEPT");
}

#[test]
fn lifting_starts_the_monitor_anew_and_says_so() {
    let mut case = watching(r#"{"sum":"amount","max":10,"over":100}"#).amount(11).check("ACCEPT");
    assert!(row(&case).held);
    let done = lift(&mut case, AgentStatus::Suspended);
    let Some(Event::AgentChanged(standing)) = done.event.as_deref() else { panic!("no standing") };
    assert_eq!((standing.status, standing.restarted.as_slice()), (AgentStatus::Active, &["m".to_owned()][..]));
    assert!(!row(&case).held);
    assert_eq!(row(&case).trips.len(), 1, "its earlier trips are kept");
    let case = case.amount(9).check("ACCEPT");
    assert_eq!(tripped(&case), []);
    let case = case.amount(2).check("ACCEPT");
    assert_eq!(tripped(&case).iter().map(|trip| (trip.from, trip.to)).collect::<Vec<_>>(), [(1, 2)]);
}

#[test]
fn what_a_monitor_placed_is_not_lifted_without_a_reason() {
    let mut case = watching(r#"{"sum":"amount","max":10,"over":100}"#).amount(11).check("ACCEPT");
    let mut lifted = |because: &str| {
        let (agent, because) = ("bot".to_owned(), because.to_owned());
        let act = Act::Lift { agent, status: AgentStatus::Suspended, because };
        let done = case.change(Actor::Operator("ann".to_owned()), act);
        done.answer.findings.first().map_or("", |finding| finding.code.as_str()).to_owned()
    };
    assert_eq!((lifted(""), lifted(" \t")), ("BECAUSE_MISSING".to_owned(), "BECAUSE_MISSING".to_owned()));
    assert_eq!(lifted("the campaign is over"), "");
}

/// What came of a change of an intent that the host performs.
fn settle(case: &mut Case, intent: &str, event: IntentEvent) {
    let act = Act::Settle { intent: intent.to_owned(), event, result: None };
    assert_eq!(case.change(Actor::Operator("ann".to_owned()), act).answer.verdict, Verdict::Accept);
}

/// A person says what became of an intent in doubt.
fn resolve(case: &mut Case, intent: &str, decision: &str) {
    let Some(Row::Intent(row)) = case.row(Entity::Intent(intent.to_owned())) else { panic!("no intent") };
    let question = row.running.as_ref().unwrap().question.clone().unwrap();
    let Some(Row::Escalation(row)) = case.row(Entity::Escalation(question.clone())) else { panic!("no question") };
    let (digest, reason, identity) = (row.digest, "looked".to_owned(), Identity::default());
    let (intent, decision) = (intent.to_owned(), decision.to_owned());
    let answer = DoubtAnswer { intent, question, decision, digest, reason, identity };
    let done = case.change(Actor::Operator("ann".to_owned()), Act::Resolve(Box::new(answer)));
    assert_eq!(done.answer.verdict, Verdict::Accept, "{}", done.answer.to_line());
}

/// Whoever performs is the agent's host, and people may say what became of it.
fn performed_by_host(text: &str, impact: Impact) -> Case {
    let case = watching(text).run(Executor::Host, EffectClass::Opaque).state(r#"{"people/ann":["desk"]}"#);
    case.contract(move |contract| {
        let pay = contract.actions.get_mut("pay").unwrap();
        (pay.impact, pay.once) = (impact, Template::parse("pay:{amount}").ok());
    })
}

#[test]
fn doubt_counts_as_what_it_turns_out_to_be() {
    let share = r#"{"share":"outcome.failed","max":0.4,"over":3,"then":"WARN"}"#;
    let mut case = performed_by_host(share, Impact::High);
    for (place, amount) in [1, 2, 3].into_iter().enumerate() {
        case = case.amount(amount).check("ACCEPT");
        settle(&mut case, &format!("i-{}", place + 1), IntentEvent::Doubt);
    }
    // Doubt itself moves nothing.
    assert_eq!(row(&case).seen, 0);
    resolve(&mut case, "i-1", "HAPPENED");
    resolve(&mut case, "i-2", "DID_NOT");
    assert_eq!((row(&case).seen, row(&case).trips.len()), (2, 0));
    resolve(&mut case, "i-3", "DID_NOT");
    assert_eq!((row(&case).seen, row(&case).trips.len()), (3, 1));
    // Nobody reported in time, and a person says that it did not happen.
    let mut case = performed_by_host(share, Impact::High).amount(1).check("ACCEPT");
    case.later(86_400 * 30);
    case.change(Actor::Kernel, Act::ExpireIntents);
    assert_eq!(row(&case).seen, 0);
    resolve(&mut case, "i-1", "DID_NOT");
    assert_eq!(row(&case).seen, 1);
}

#[test]
fn an_error_counts_in_the_direction_that_hurts() {
    let trips = |settings: &str| {
        let text = format!(r#"{{"share":"bro ken",{settings},"over":2,"then":"WARN"}}"#);
        let case = watching(&text).amount(1).check("ACCEPT").amount(2).check("ACCEPT");
        row(&case).trips.len()
    };
    assert_eq!((trips(r#""max":0.5"#), trips(r#""min":0.9"#), trips(r#""min":0,"max":0.5"#)), (1, 1, 1));
    let falling = r#"{"e_sr":"bro ken","m0":0.5,"mode":"down","arl":3,"then":"WARN"}"#;
    let case = (1..12).fold(watching(falling), |case, amount| case.amount(amount).check("ACCEPT"));
    assert!(!row(&case).trips.is_empty());
}

#[test]
fn what_only_says_that_the_agent_is_stopped_moves_nothing() {
    let share = r#"{"share":"verdict.rejected","max":0.4,"over":3}"#;
    let seen = |case: &Case| match case.row(Entity::Monitor("bot".to_owned(), "m".to_owned())) {
        Some(Row::Monitor(row)) => row.seen,
        Some(_) | None => 0,
    };
    let rejected = |case: Case, expected: &str| assert_eq!(seen(&case.check(expected)), 0, "{expected}");
    rejected(watching(share).halted("ann", "drill"), "REJECT HALTED");
    rejected(watching(share).group("desk").halted_group("desk"), "REJECT GROUP_HALTED");
    for (status, expected) in [
        ("SUSPENDED", "REJECT AGENT_SUSPENDED"),
        ("PASSIVE", "REJECT AGENT_PASSIVE"),
        ("DEGRADED", "REJECT AGENT_DEGRADED"),
        ("ESCALATION_ONLY", "ESCALATE AGENT_ESCALATION_ONLY"),
    ] {
        rejected(watching(share).agent_status(status), expected);
    }
    // Nor does the attention of people that is spent, or the agent's budget of questions.
    let attention = r#"{"attention/desk":{"questions":1,"per":"1h","spent":"REFUSE"}}"#;
    let asking = watching(share).ask("amount<=50", "BIG").approvers(&["desk"]);
    let case = asking.state(attention).amount(1).check("ESCALATE BIG").amount(2).check("REJECT ATTENTION_SPENT");
    assert_eq!(row(&case).seen, 1);
    let asking = watching(share).ask("amount<=50", "BIG").contract(|contract| contract.escalation.budget_max = 1);
    let case = asking.amount(1).check("ESCALATE BIG").amount(2).check("REJECT ESCALATION_BUDGET_EXHAUSTED");
    assert_eq!(row(&case).seen, 1);
    // What is wrong with it as well counts.
    let case = watching(share).halted("ann", "drill").amount(500).check("REJECT HALTED, LIMIT_EXCEEDED");
    assert_eq!(seen(&case), 1);
}

#[test]
fn series_are_what_they_say() {
    // A share of accepted proposals; what cannot be told counts.
    let case = watching(r#"{"share":"amount<=25","max":0.5,"over":2}"#);
    let case = case.amount(30).check("ACCEPT").amount(20).check("ACCEPT");
    assert_eq!(tripped(&case), []);
    let case = case.amount(21).check("ACCEPT");
    assert_eq!(tripped(&case).len(), 1);
    let broken =
        watching(r#"{"share":"bro ken","max":0.5,"over":2}"#).amount(1).check("ACCEPT").amount(2).check("ACCEPT");
    assert_eq!(tripped(&broken).len(), 1);
    // Rejections count every proposal of the agent.
    let case = watching(r#"{"share":"verdict.rejected","max":0.5,"over":3,"then":"WARN"}"#);
    let case = case.amount(500).check("REJECT LIMIT_EXCEEDED").amount(1).check("ACCEPT");
    let case = case.amount(600).check("REJECT LIMIT_EXCEEDED");
    assert_eq!(tripped(&case).len(), 1);
    let case = case.agent("eve").check("REJECT AGENT_UNKNOWN, LIMIT_EXCEEDED");
    assert_eq!(row(&case).seen, 3, "strangers move nothing");
    // Reads move nothing unless they are named.
    let case =
        watching(r#"{"mean":"amount","max":10,"over":1}"#).action("look").params(r#"{"amount":99}"#).check("ACCEPT");
    assert_eq!(case.row(Entity::Monitor("bot".to_owned(), "m".to_owned())), None);
}

#[test]
fn another_rule_starts_anew() {
    let case = watching(r#"{"mean":"amount","max":10,"over":3}"#).amount(5).check("ACCEPT").amount(6).check("ACCEPT");
    assert_eq!(row(&case).seen, 2);
    let other = Watch::read(&Json::parse(br#"{"mean":"amount","max":10,"over":4}"#).unwrap()).unwrap();
    let case = case.contract(move |contract| {
        contract.watch.insert("m".to_owned(), other.clone());
    });
    assert_eq!(row(&case.amount(7).check("ACCEPT")).seen, 1);
}

#[test]
fn rows_are_read_back_as_they_were_written() {
    let case = watching(r#"{"adwin":"amount","clock":1,"delta":0.3}"#);
    let mut case = (0..40).fold(case, |case, place| case.amount(if place < 20 { 1 } else { 90 }).check("ACCEPT"));
    for _ in 0..3 {
        let kept = Row::Monitor(Box::new(row(&case)));
        assert_eq!(Row::from_stored(crate::stored::Kind::Monitor, &kept.to_stored()), Some(kept));
        case = case.amount(2).check("ACCEPT");
    }
    assert!(!row(&case).trips.is_empty());
}
