//! What people are told of every record of a real store.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use values::json::Json;
use writkeeper::notices::{self, NoticeKind, QuestionTold};
use writkeeper::{Actor, Executors, Function, HumanDecision, Keeper, Observation, SystemClock};

const CONTRACT: &str = "
agent: bot
actions:
  pay:
    params: { order: text, amount: number }
    allow: amount <= 25
    ask: amount <= 200
    run: { function: pay }
";

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn site() -> Keeper {
    let keeper = writkeeper::open("memory:").unwrap();
    keeper.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
    keeper.set_groups(&operator(), "bob", &["operators"]).unwrap();
    keeper
}

fn propose(keeper: &Keeper, order: &str, amount: u32) {
    let line =
        format!(r#"{{"agent":"bot","action":"pay","id":"{order}","params":{{"order":"{order}","amount":{amount}}}}}"#);
    keeper.decide(line.as_bytes()).unwrap();
}

fn told(keeper: &Keeper) -> Vec<QuestionTold> {
    keeper.runtime().records(0, 1_000).unwrap().iter().filter_map(notices::of).collect()
}

#[test]
fn only_questions_are_told_of() {
    let keeper = site();
    propose(&keeper, "small", 5);
    propose(&keeper, "huge", 500);
    assert_eq!(told(&keeper), []);
    propose(&keeper, "large", 100);
    let question = keeper.question("large").unwrap();
    keeper.respond(&question, "bob", HumanDecision::Override, "TYPED").unwrap();
    let told = told(&keeper);
    assert_eq!(told.iter().map(|one| one.kind).collect::<Vec<_>>(), [NoticeKind::Asked, NoticeKind::Answered]);
    assert!(told.iter().all(|one| one.question == question.id));
    let asked = told[0].to_json();
    let data = |key: &str| asked.get("data").and_then(|data| data.get(key)).cloned();
    assert_eq!(data("approvers"), Some(Json::texts(["operators"])), "where a contract names nobody");
    assert_eq!(data("action"), Some(Json::text("pay")));
    assert_eq!(asked.get("id"), Some(&Json::text(format!("notice-{}", told[0].index()))));
    let answered = told[1].to_json().to_canonical();
    assert!(answered.contains(r#""by":"bob","decision":"OVERRIDE""#), "{answered}");
    assert!(!answered.contains("TYPED"), "{answered}");
}

#[test]
fn a_doubt_is_a_question_too() {
    let keeper = site();
    propose(&keeper, "small", 5);
    let lost = Function(|_: &writkeeper::Attempt| Observation::unknown("no answer"));
    let executors = Executors::default().with_function("pay", Arc::new(lost));
    assert_eq!(keeper.perform(&executors, Arc::new(SystemClock)).unwrap().doubted, 1);
    let told = told(&keeper);
    assert_eq!(told.iter().map(|one| one.kind).collect::<Vec<_>>(), [NoticeKind::Asked]);
    let json = told[0].to_json().to_canonical();
    assert!(json.contains(r#""about":"doubt""#) && json.contains("IN_DOUBT"), "{json}");
    assert_eq!(told[0].groups, None, "only the store knows who may say");
}

#[test]
fn who_has_a_question_now_is_told_and_not_why() {
    let keeper = site();
    keeper.set_groups(&operator(), "cid", &["operators"]).unwrap();
    propose(&keeper, "large", 100);
    let (question, _) = keeper.hand_over("large", "bob", "cid", "TYPED").unwrap();
    let told = told(&keeper);
    assert_eq!(told.iter().map(|one| one.kind).collect::<Vec<_>>(), [NoticeKind::Asked, NoticeKind::Handed]);
    let handed = told[1].to_json().to_canonical();
    assert!(told[1].question == question && handed.contains(r#""by":"bob""#) && handed.contains(r#""to":"cid""#));
    assert!(!handed.contains("TYPED"), "{handed}");
}
