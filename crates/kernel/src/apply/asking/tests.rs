//! Rows of asking again.

use crate::agent::Actor;
use crate::change::{Act, HumanAnswer, Write};
use crate::escalation::EscalationState;
use crate::flow::Latest;
use crate::outcome::Answer;
use crate::person::{Identity, Person};
use crate::testing::{Case, case};
use crate::world::{Entity, Row};
use std::collections::BTreeSet;
use values::time::Duration;

fn asking() -> Case {
    case().ask("amount<=50", "BIG").once("pay:{account}").params(r#"{"amount":40,"account":"a"}"#)
}

fn with_amount(case: Case, amount: u64) -> Case {
    case.params(&format!(r#"{{"amount":{amount},"account":"a"}}"#))
}

/// Ann says no to a question.
fn deny(mut case: Case, question: &str) -> Case {
    let ann = Person { groups: BTreeSet::from(["desk".to_owned()]), key: None };
    case.change(Actor::Operator("root".to_owned()), Act::Merge(vec![Write::person("ann", &ann)]));
    let Some(Row::Escalation(row)) = case.row(Entity::Escalation(question.to_owned())) else { panic!("no question") };
    let answer = HumanAnswer {
        escalation: question.to_owned(),
        decision: "ABORT".to_owned(),
        digest: row.digest,
        reason: "the order is closed".to_owned(),
        original: None,
        modified: None,
        identity: Identity::default(),
    };
    let done = case.change(Actor::Operator("ann".to_owned()), Act::Answer(Box::new(answer)));
    assert!(done.answer.findings.is_empty(), "{:?}", done.answer.findings);
    case
}

fn questions(case: &Case) -> usize {
    (1..20).filter(|number| case.row(Entity::Escalation(format!("e-{number}"))).is_some()).count()
}

#[test]
fn sent_again_it_names_the_open_question_and_takes_no_other() {
    let mut case = asking().check("ESCALATE BIG");
    let first = case.last.as_ref().unwrap().answer.question.clone().unwrap();
    // More often than the contract lets it ask.
    for flow in ["a", "b", "c", "d", "e"] {
        case.later(1);
        case = case.flow(flow).check("ESCALATE BIG, QUESTION_OPEN");
        let done = case.last.as_ref().unwrap();
        let again = done.answer.question.clone().unwrap();
        assert_eq!((&again.id, again.digest, again.deadline), (&first.id, first.digest, first.deadline));
        let [record] = done.records.as_slice() else { panic!("one record") };
        assert_eq!(Answer::from_record(&record.body()).unwrap().to_line(), done.answer.to_line());
    }
    assert_eq!(questions(&case), 1);
    let Some(Row::Flow(flow)) = case.row(Entity::Flow("e".to_owned())) else { panic!("no flow") };
    assert_eq!((&flow.latest, flow.questions.len()), (&Some(Latest::Question("e-1".to_owned())), 0));
    let line = case.last.as_ref().unwrap().answer.to_line();
    assert!(line.contains("a person is being asked about this: question e-1, until 2026-01-01T00:15:00Z"), "{line}");
}

#[test]
fn without_a_key_the_flow_tells_and_without_a_flow_the_id() {
    let ask = || case().ask("amount<=50", "BIG").amount(40);
    let case = ask().flow("f").check("ESCALATE BIG").check("ESCALATE BIG, QUESTION_OPEN");
    case.flow("g").check("ESCALATE BIG").amount(41).check("ESCALATE BIG");
    ask().flow("f").step("1").check("ESCALATE BIG").step("2").check("ESCALATE BIG");
    let case = ask().id("mine").check("ESCALATE BIG").check("ESCALATE BIG, QUESTION_OPEN");
    case.id("other").check("ESCALATE BIG");
    ask().check("ESCALATE BIG").check("ESCALATE BIG");
}

#[test]
fn reads_are_asked_about_once_too() {
    let look = case().agent_status("ESCALATION_ONLY").action("look").params("{}").flow("f");
    look.check("ESCALATE AGENT_ESCALATION_ONLY").check("ESCALATE AGENT_ESCALATION_ONLY, QUESTION_OPEN");
}

#[test]
fn another_form_of_the_effect_is_another_question() {
    let case = with_amount(asking().flow("f").check("ESCALATE BIG"), 45).check("ESCALATE BIG");
    let case = with_amount(case, 40).check("ESCALATE BIG, QUESTION_OPEN");
    let case = with_amount(case, 45).check("ESCALATE BIG, QUESTION_OPEN");
    assert_eq!(questions(&case), 2);
    // What needs nobody is not held up.
    with_amount(case, 60).check("ACCEPT");
}

#[test]
fn whoever_said_no_is_not_asked_again_by_a_retry() {
    let check = |first: Option<&str>, seconds: i64, change: fn(Case) -> Case, expected: &str| {
        let case = match first {
            Some(flow) => asking().flow(flow),
            None => asking(),
        };
        let mut case = deny(case.check("ESCALATE BIG"), "e-1");
        case.later(seconds);
        change(case).check(expected)
    };
    let same = |case: Case| case;
    let case = check(Some("f"), 1, same, "REJECT QUESTION_DENIED");
    let line = case.last.as_ref().unwrap().answer.to_line();
    assert!(line.contains("ann said no to this in question e-1: the order is closed"), "{line}");
    check(Some("f"), 7_200, same, "REJECT QUESTION_DENIED");
    check(Some("f"), 1, |case| case.flow("g"), "ESCALATE BIG");
    check(Some("f"), 1, |case| with_amount(case, 41), "ESCALATE BIG");
    // What names no flow says nothing of another reason, so it waits as long as the question could have been open.
    check(None, 900, same, "REJECT QUESTION_DENIED");
    check(None, 901, same, "ESCALATE BIG");
    check(None, 1, |case| case.flow("g"), "ESCALATE BIG");
}

#[test]
fn asking_for_what_was_denied_is_a_failed_attempt() {
    let mut case = deny(asking().flow("f").check("ESCALATE BIG"), "e-1");
    for _ in 0..3 {
        case = case.check("REJECT QUESTION_DENIED");
    }
    // Nobody is asked about what is refused anyway.
    case.check("REJECT REASONING_EXHAUSTION");
}

#[test]
fn what_nobody_answered_may_be_asked_again() {
    let mut case = asking().flow("f").check("ESCALATE BIG");
    case.later(901);
    let mut case = case.check("ESCALATE BIG");
    assert_eq!(questions(&case), 2);
    case.change(Actor::Kernel, Act::ExpireQuestions(vec!["e-1".to_owned()]));
    let Some(Row::Escalation(row)) = case.row(Entity::Escalation("e-1".to_owned())) else { panic!("no question") };
    assert_eq!(row.state, EscalationState::Expired);
    let case = case.check("ESCALATE BIG, QUESTION_OPEN");
    let question = case.last.as_ref().unwrap().answer.question.clone().unwrap();
    assert_eq!((question.id.as_str(), question.deadline), ("e-2", case.now().plus(Duration::from_secs(900))));
}

#[test]
fn what_is_loaded_names_what_is_looked_at_next() {
    use crate::apply::{apply, touches};
    use crate::outcome::Outcome;
    use crate::world::{AskedRow, World};
    let mut case = asking();
    let command = case.command();
    let keys = touches(&command);
    let asked = keys.iter().map(|key| key.entity.clone()).find(|entity| matches!(entity, Entity::Asked(..))).unwrap();
    let mut world = World::slice();
    for key in keys {
        let row = (key.entity == asked).then(|| Row::Asked(AskedRow { question: "e-9".to_owned() }));
        world.load(key, row);
    }
    let Outcome::Need(keys) = apply(&mut world, &command, case.now()) else { panic!("the question is not there") };
    let named: Vec<Entity> = keys.into_iter().map(|key| key.entity).collect();
    assert_eq!(named, [Entity::Escalation("e-9".to_owned())]);
}

#[test]
fn an_empty_budget_does_not_keep_the_last_question_from_being_looked_at() {
    use crate::apply::{apply, touches};
    use crate::outcome::Outcome;
    use crate::world::World;
    // Nothing in the action's own lines asks, so the last question is looked at only when somebody would be asked.
    let mut case = case().flow("f").agent_status("ESCALATION_ONLY").contract(|contract| {
        contract.escalation.budget_max = 0;
    });
    let command = case.command();
    let mut world = World::slice();
    for key in touches(&command) {
        let row = case.row(key.entity.clone()).cloned();
        world.load(key, row);
    }
    let Outcome::Need(keys) = apply(&mut world, &command, case.now()) else { panic!("the last question is not known") };
    // And with it the attention of whoever would be asked.
    let named: Vec<&str> = keys.iter().map(|key| key.entity.kind().word()).collect();
    assert_eq!(named, ["asked", "state"]);
}
