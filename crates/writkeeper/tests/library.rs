//! The library as an embedding program meets it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use writkeeper::signing::SigningSite;
use writkeeper::{
    Actor, Attempt, Class, Error, Executors, ExportPath, Function, HumanDecision, Keeper, Observation, OpenOptions,
    SystemClock, Verdict, Verification,
};

const CONTRACT: &str = "
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: number }
    allow: amount <= 25
    ask: amount <= 100
    run: { function: pay }
approvers: [desk]
";

struct Site {
    folder: tempfile::TempDir,
    keeper: Keeper,
}

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let keeper = writkeeper::open(&location(&folder)).unwrap();
        keeper.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
        keeper.set_groups(&operator(), "bob", &["desk"]).unwrap();
        Site { folder, keeper }
    }

    fn propose(&self, order: &str, amount: u32) -> writkeeper::Answered {
        let params = format!(r#"{{"order":"{order}","amount":{amount}}}"#);
        self.keeper.decide(format!(r#"{{"agent":"bot","action":"pay","params":{params}}}"#).as_bytes()).unwrap()
    }

    /// Performs what is due; each attempt is observed like this.
    fn perform(&self, observe: fn(&Attempt) -> Observation) -> writkeeper::Tally {
        let executors = Executors::default().with_function("pay", Arc::new(Function(observe)));
        self.keeper.perform(&executors, Arc::new(SystemClock)).unwrap()
    }
}

fn location(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}", folder.path().join("kept.db").display())
}

#[test]
fn a_decision_is_asked_about_performed_and_verified() {
    let site = Site::new();
    assert_eq!(site.propose("A", 12).answer.verdict, Verdict::Accept);
    assert_eq!(site.propose("A", 12).answer.reasons(), ["IN_PROGRESS"]);
    let asked = site.propose("B", 60).answer;
    assert_eq!(asked.verdict, Verdict::Escalate);
    let [question] = site.keeper.inbox().unwrap().questions.try_into().unwrap();
    site.keeper.respond(&question, "bob", HumanDecision::Override, "seen").unwrap();
    assert!(site.keeper.inbox().unwrap().questions.is_empty());
    let tally = site.perform(|_| Observation::positive("paid"));
    assert_eq!((tally.succeeded, tally.doubted), (2, 0));
    let followed = site.keeper.follow(&asked, std::time::Duration::ZERO).unwrap();
    assert!(followed.outcome.is_some_and(|outcome| outcome.state.word() == "SUCCEEDED"));
    let export = site.folder.path().join("ledger.export");
    let location = location(&site.folder);
    drop(site.keeper);
    SigningSite::beside(&location, operator()).export(&ExportPath::File(export.clone())).unwrap();
    let Verification::Whole { completeness, .. } = writkeeper::verify(&export).unwrap() else { panic!("damaged") };
    assert!(completeness.is_complete());
    let mut bytes = std::fs::read(&export).unwrap();
    let at = bytes.windows(11).position(|window| window == b"\"amount\":12").unwrap();
    *bytes.get_mut(at + 9).unwrap() = b'9';
    std::fs::write(&export, bytes).unwrap();
    assert!(matches!(writkeeper::verify(&export).unwrap(), Verification::Damaged(_)));
}

#[test]
fn nobody_knows_is_not_a_failure() {
    let site = Site::new();
    let answer = site.propose("A", 12).answer;
    assert_eq!(site.perform(|_| Observation::unknown("no answer")).doubted, 1);
    assert_eq!(site.perform(|_| Observation::positive("paid")).succeeded, 0, "an opaque effect is not tried again");
    let followed = site.keeper.follow(&answer, std::time::Duration::ZERO).unwrap();
    assert!(followed.outcome.is_some_and(|outcome| outcome.state.word() == "IN_DOUBT"));
}

#[test]
fn errors_are_sorted_by_what_the_caller_does_next() {
    let site = Site::new();
    let check = |error: Error, class: Class, code: &str| assert_eq!((error.class(), error.code()), (class, code));
    let other = CONTRACT.replace("25", "30");
    let other = site.keeper.enrol(&operator(), &Keeper::contract(&other).unwrap()).unwrap_err();
    assert!(matches!(&other, Error::OtherContract { agent, in_force: Some(_), .. } if agent == "bot"));
    check(other, Class::Invalid, "INVALID_DATA");
    check(Keeper::contract("agent: 5").unwrap_err(), Class::Invalid, "CONTRACT_INVALID");
    let missing = OpenOptions { create: false, ..OpenOptions::default() };
    let nowhere = format!("{}-not-there", location(&site.folder));
    check(Keeper::open(&nowhere, &missing).err().unwrap(), Class::Invalid, "INVALID_DATA");
    site.propose("B", 60);
    let [question] = site.keeper.inbox().unwrap().questions.try_into().unwrap();
    let refused = site.keeper.respond(&question, "mallory", HumanDecision::Override, "x").unwrap_err();
    check(refused, Class::Refused, "APPROVER_NOT_ENTITLED");
}
