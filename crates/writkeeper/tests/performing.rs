//! Performing in the embedding program: one caller has an intent, and only one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kernel::intent::{IntentState, Observed};
use std::collections::{BTreeMap, BTreeSet};
use writkeeper::{Actor, Error, GivenWords, Keeper, PerformerReport, Taker};

const CONTRACT: &str = "
agent: bot
actions:
  pay: { once: 'pay:{order}', params: { order: text, amount: number }, allow: amount <= 25, ask: amount <= 100 }
  call: { once: 'call:{order}', params: { order: text }, run: { function: call } }
  send: { once: 'send:{order}', params: { order: text }, run: POST http://127.0.0.1:9/x }
approvers: [desk]
";

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn keeper() -> Keeper {
    let keeper = writkeeper::open("memory:").unwrap();
    keeper.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
    let desk = BTreeMap::from([("desk".to_owned(), BTreeSet::from(["bob".to_owned()]))]);
    keeper.set_members(&operator(), &desk).unwrap();
    keeper
}

fn intent(keeper: &Keeper, action: &str, params: &str) -> String {
    let proposal = format!(r#"{{"agent":"bot","action":"{action}","params":{params}}}"#);
    keeper.decide(proposal.as_bytes()).unwrap().answer.intent.unwrap().id().to_owned()
}

fn words(decision: &str) -> GivenWords {
    let (person, because) = ("bob".to_owned(), "seen".to_owned());
    GivenWords { person, decision: decision.to_owned(), digest: None, because, instead: None }
}

/// The code that a caller is refused with; nothing if it has the intent.
fn taken(keeper: &Keeper, intent: &str, taker: Taker) -> Option<String> {
    keeper.take_up(intent, "test", taker).err().map(|error| error.code().to_owned())
}

fn report(observed: Observed) -> PerformerReport {
    PerformerReport {
        observed,
        detail: "seen".to_owned(),
        epoch: None,
        result: Some((b"1".to_vec(), "text/plain".to_owned())),
    }
}

#[test]
fn what_the_host_performs_is_the_askers() {
    let keeper = keeper();
    let name = intent(&keeper, "pay", r#"{"order":"A","amount":5}"#);
    assert_eq!(taken(&keeper, &name, Taker::Later).as_deref(), Some("IN_PROGRESS"));
    assert_eq!(taken(&keeper, &name, Taker::Asker), None);
    assert_eq!(keeper.report_outcome(&name, &report(Observed::Positive)).unwrap(), IntentState::Succeeded);
    assert_eq!(keeper.report_outcome(&name, &report(Observed::Positive)).unwrap(), IntentState::Succeeded);
    assert!(keeper.report_outcome(&name, &report(Observed::Negative)).is_err(), "it is over");
    assert_eq!(taken(&keeper, &name, Taker::Asker).as_deref(), Some("ALREADY_DONE"));
}

#[test]
fn what_a_person_approved_is_taken_up_once() {
    let keeper = keeper();
    let asked = keeper.decide(br#"{"agent":"bot","action":"pay","params":{"order":"A","amount":60}}"#).unwrap();
    let question = asked.answer.question.unwrap().id;
    let name = keeper.answer_words(&question, &words("approve")).unwrap().answer.intent.unwrap().id().to_owned();
    assert_eq!(taken(&keeper, &name, Taker::Later), None);
    assert_eq!(taken(&keeper, &name, Taker::Later).as_deref(), Some("IN_PROGRESS"), "somebody has it");
}

#[test]
fn a_function_is_claimed_by_one() {
    let keeper = keeper();
    let name = intent(&keeper, "call", r#"{"order":"A"}"#);
    let first = keeper.take_up(&name, "test", Taker::Later).unwrap();
    assert_eq!(first.epoch, Some(1));
    assert_eq!(taken(&keeper, &name, Taker::Asker).as_deref(), Some("IN_PROGRESS"));
    let doubt = PerformerReport { epoch: first.epoch, ..report(Observed::Unknown) };
    assert_eq!(keeper.report_outcome(&name, &doubt).unwrap(), IntentState::InDoubt);
    let question = keeper.inbox().unwrap().questions.pop().unwrap().id;
    assert!(matches!(keeper.answer_words(&question, &words("approve")), Err(Error::Usage(_))), "another question");
    keeper.answer_words(&question, &words("did-not")).unwrap();
    assert_eq!(keeper.intent_state(&name).unwrap(), Some(IntentState::Abandoned));
}

#[test]
fn what_a_worker_performs_is_not_the_callers() {
    let keeper = keeper();
    let name = intent(&keeper, "send", r#"{"order":"A"}"#);
    assert_eq!(taken(&keeper, &name, Taker::Asker).as_deref(), Some("USAGE"));
    keeper.call_off(&name).unwrap();
    assert_eq!(keeper.intent_state(&name).unwrap(), Some(IntentState::Cancelled));
}

#[test]
fn groups_are_replaced_one_by_one() {
    let keeper = keeper();
    let members = |group: &str, people: &[&str]| {
        let people = people.iter().map(|person| (*person).to_owned()).collect();
        keeper.set_members(&operator(), &BTreeMap::from([(group.to_owned(), people)])).unwrap()
    };
    let groups = |person: &str| keeper.people().unwrap().remove(person).map(|person| person.groups.len());
    assert_eq!(members("night", &["Bob", "eve"]), 2);
    assert_eq!((groups("bob"), groups("eve")), (Some(2), Some(1)));
    assert_eq!(members("desk", &["eve"]), 2);
    assert_eq!((groups("bob"), groups("eve")), (Some(1), Some(2)));
    assert_eq!(members("desk", &["eve"]), 0, "nothing changed");
}
