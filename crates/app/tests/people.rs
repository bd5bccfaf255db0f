//! People at the command line: who answers, with which key, and what a stranger can prove about it later.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
  look: { params: {}, reads: true }
approvers: [desk]
";

struct Desk(tempfile::TempDir);

impl Desk {
    /// A store with a contract in force and two people, of whom nobody has a key.
    fn new(escalation: &str) -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.write("contract.yaml", &format!("{CONTRACT}{escalation}"));
        desk.write("people.yaml", "desk: [ann, bob]\n");
        desk.says("agents register --contract contract.yaml", 0);
        desk.says("agents activate --contract contract.yaml", 0);
        desk.says("people set people.yaml", 0);
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &str, input: &str, variables: &[(&str, &str)]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(arguments.split(' ')).current_dir(self.path()).env("USER", "somebody");
        command.env_remove("WRITKEEPER_TOKEN").env("WRITKEEPER_STORE", "kept.db").envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        let output = process.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Both outputs of a command that must end with a code.
    #[track_caller]
    fn says(&self, arguments: &str, code: i32) -> String {
        let (ended, stdout, stderr) = self.run(arguments, "", &[]);
        assert_eq!(ended, code, "{arguments}: {stdout}{stderr}");
        format!("{stdout}{stderr}")
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        let said = self.says(&format!("{arguments} --json"), 0);
        serde_json::from_str(said.lines().next().unwrap()).unwrap()
    }

    /// Verdict and first reason of one proposal.
    #[track_caller]
    fn pay(&self, order: &str, amount: u32, variables: &[(&str, &str)]) -> String {
        let params = format!(r#"{{"order":"{order}","amount":{amount}}}"#);
        let line = format!(r#"{{"agent":"bot","action":"pay","params":{params},"flow":"flow-{order}"}}"#);
        let (_, said, problem) = self.run("decide --store kept.db --open-flows", &line, variables);
        let answer: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{problem}"));
        format!("{} {}", answer["verdict"].as_str().unwrap(), answer["reasons"][0].as_str().unwrap())
    }

    fn answer(&self, order: &str, rest: &str, code: i32) -> String {
        self.says(&format!("escalations answer flow-{order} {rest} --because looked"), code)
    }

    /// The records of one kind, in order.
    fn records(&self, kind: &str) -> Vec<Value> {
        self.says("ledger export --out all.jsonl", 0);
        let text = std::fs::read_to_string(self.path().join("all.jsonl")).unwrap();
        let entries = text.lines().filter(|line| line.starts_with("entry\t"));
        let bodies = entries.filter_map(|line| serde_json::from_str::<Value>(line.split('\t').next_back()?).ok());
        bodies.filter(|body| body["kind"] == kind).collect()
    }
}

/// The user this test runs as, as the system knows it.
fn os_user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_question_that_was_changed_in_the_store_can_only_be_denied() {
    let desk = Desk::new("");
    assert_eq!(desk.pay("A", 40, &[]), "ESCALATE NEEDS_APPROVAL");
    let store = rusqlite::Connection::open(desk.path().join("kept.db")).unwrap();
    let change = "UPDATE escalation SET body = replace(body, '\"amount\":40', '\"amount\":49')";
    assert_eq!(store.execute(change, ()).unwrap(), 1);
    drop(store);
    let shown = desk.json("escalations show flow-A");
    assert_eq!(shown["altered"], true, "{shown}");
    let digest = shown["digest"].as_str().unwrap();
    for digest in [String::new(), format!(" --digest {digest}")] {
        let said = desk.answer("A", &format!("approve --as bob{digest}"), 1);
        assert!(said.contains("APPROVAL_MISMATCH") && said.contains("not the one that was asked"), "{said}");
    }
    assert!(desk.says("escalations show flow-A", 0).contains("altered"));
    desk.answer("A", "deny --as bob", 0);
}

#[test]
fn an_answer_on_a_plain_file_names_who_typed_it() {
    let desk = Desk::new("");
    assert_eq!(desk.pay("A", 40, &[]), "ESCALATE NEEDS_APPROVAL");
    assert!(desk.answer("A", "approve --as ann", 0).contains("approved: the question is OVERRIDDEN"));
    let shown = desk.json("escalations show flow-A");
    assert_eq!(shown["answer"]["person"], "ann");
    assert_eq!(shown["answer"]["os_user"], os_user().as_str(), "no variable of the environment counts");
    assert!(desk.says("escalations show flow-A", 0).contains("unsigned; typed by the system's user"));
    assert!(desk.says("doctor", 0).contains("unauthenticated"));
    assert_eq!(desk.json("doctor")["answers"][0]["authenticated"], false);
}

#[test]
fn approve_and_deny_are_words_too() {
    let desk = Desk::new("");
    for (order, word, said) in [
        ("A", "approve", "approved: the question is OVERRIDDEN"),
        ("B", "DENY", "denied: the question is ABORTED"),
        ("C", "abort", "aborted: the question is ABORTED"),
        ("D", "override", "overridden: the question is OVERRIDDEN"),
    ] {
        assert_eq!(desk.pay(order, 40, &[]), "ESCALATE NEEDS_APPROVAL");
        assert!(desk.says(&format!("escalations show flow-{order}"), 0).contains(" approve|deny --as YOU"), "{word}");
        let told = desk.answer(order, &format!("{word} --as ann"), 0);
        assert!(told.contains(said), "{word}: {told}");
    }
}

#[test]
fn a_person_enrols_a_key_that_nobody_else_reads() {
    let desk = Desk::new("");
    let said = desk.says("people enrol ann", 0);
    let file = desk.path().join("ann.key");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let key = said.split_whitespace().find(|word| word.starts_with("ed25519:")).unwrap();
    assert_eq!(desk.json("people")["keys"]["ann"], key);
    let secret = std::fs::read_to_string(&file).unwrap();
    let secret = secret.split_whitespace().nth(1).unwrap();
    assert!(!said.contains(secret), "the private key is printed nowhere");
    assert!(desk.says("people enrol ann --key again.key", 65).contains("--replace"));
    assert!(!desk.path().join("again.key").exists(), "nothing is made that is not used");
    assert!(desk.says("people enrol ann --replace", 65).contains("never overwritten"));
    desk.says("people enrol ann --key again.key --replace", 0);
    assert_ne!(desk.json("people")["keys"]["ann"], key);
    // Naming someone in a people file does not take their key away; `key: null` does.
    desk.says("people set people.yaml", 0);
    assert!(desk.json("people")["keys"]["ann"].is_string());
    desk.write("people.yaml", "desk: [{ name: ann, key: null }, bob]\n");
    desk.says("people set people.yaml", 0);
    assert!(desk.json("people")["keys"]["ann"].is_null());
}

#[test]
fn without_a_store_enrolling_prints_the_line_for_the_people_file() {
    let desk = Desk::new("");
    let (code, said, _) = desk.run("people enrol carol --store writkeeper.db", "", &[]);
    assert_eq!(code, 0, "{said}");
    let member = said.lines().find_map(|line| line.strip_prefix("for the people file: ")).unwrap();
    assert!(!desk.path().join("writkeeper.db").exists());
    desk.write("people.yaml", &format!("desk: [ann, bob, {member}]\n"));
    desk.says("people set people.yaml", 0);
    assert!(desk.json("people")["keys"]["carol"].is_string());
    desk.write("people.yaml", "desk: [{ name: ann, key: \"ed25519:12\" }]\n");
    assert!(desk.says("people set people.yaml", 65).contains("the key of `ann` is not `ed25519:`"));
}

const SIGNED: &str = "escalation: { signed: true }\n";

#[test]
fn where_the_contract_demands_it_only_signed_answers_count() {
    let desk = Desk::new(SIGNED);
    desk.says("people enrol ann", 0);
    desk.says("people enrol bob", 0);
    assert_eq!(desk.pay("A", 40, &[]), "ESCALATE NEEDS_APPROVAL");
    let refused = desk.answer("A", "override --as ann", 1);
    assert!(refused.contains("ANSWER_UNSIGNED") && refused.contains("--as ann --because … --key FILE"), "{refused}");
    assert!(desk.says("escalations show flow-A", 0).contains("--key FILE"));
    assert!(desk.answer("A", "override --as ann --key bob.key", 1).contains("ANSWER_KEY_WRONG"));
    let given = desk.answer("A", "override --as ann --key ann.key", 0);
    assert!(given.contains("OVERRIDDEN, signed"), "{given}");
    let answers = desk.records("answer");
    let signature = &answers.last().unwrap()["command"]["signature"];
    assert_eq!(signature["payloadType"], "application/vnd.writkeeper.answer+json");
    let verified = desk.says("verify all.jsonl", 0);
    assert!(verified.contains("clean") && verified.contains("1 of people, 1 signed"), "{verified}");
    assert_eq!(desk.json("doctor")["answers"][0]["authenticated"], true);
}

#[test]
fn a_key_that_others_can_read_signs_nothing() {
    let desk = Desk::new(SIGNED);
    desk.says("people enrol ann", 0);
    assert_eq!(desk.pay("A", 40, &[]), "ESCALATE NEEDS_APPROVAL");
    std::fs::set_permissions(desk.path().join("ann.key"), PermissionsExt::from_mode(0o644)).unwrap();
    assert!(desk.answer("A", "override --as ann --key ann.key", 65).contains("chmod 600"));
}

/// A log that is started between two answers is part of what the second one signs.
#[test]
fn a_signed_answer_holds_with_and_without_a_log() {
    let desk = Desk::new(SIGNED);
    desk.says("people enrol ann", 0);
    for order in ["A", "B"] {
        assert_eq!(desk.pay(order, 40, &[]), "ESCALATE NEEDS_APPROVAL");
        desk.answer(order, "override --as ann --key ann.key", 0);
        desk.records("answer");
        assert!(desk.says("verify all.jsonl", 0).contains("clean"));
    }
}

#[test]
fn the_receipt_of_a_success_names_answer_intent_and_outcome() {
    let desk = Desk::new(SIGNED);
    desk.says("people enrol ann", 0);
    assert_eq!(desk.pay("A", 40, &[]), "ESCALATE NEEDS_APPROVAL");
    let before = desk.json("escalations show flow-A");
    desk.answer("A", "override --as ann --key ann.key", 0);
    let intent = before["intent"].as_str().unwrap();
    desk.says(&format!("intents report {intent} succeeded"), 0);
    for id in [before["proposal_id"].as_str().unwrap(), intent] {
        desk.says(&format!("ledger receipt {id} --out {id}.receipt"), 0);
        let said = desk.says(&format!("verify {id}.receipt"), 0);
        for part in ["OVERRIDE by ann", "signed with ed25519:", intent, "SUCCEEDED"] {
            assert!(said.contains(part), "{id}: {part} is missing in {said}");
        }
        let told = desk.json(&format!("verify {id}.receipt"));
        assert_eq!(told["outcome_of_intent"], "SUCCEEDED");
        assert_eq!(told["answers"][0]["reason"], "looked");
    }
}

#[test]
fn a_session_token_that_is_shown_must_be_right() {
    let desk = Desk::new("");
    let token = |session: &str| {
        let told = desk.json(&format!("agents register --contract contract.yaml --session {session}"));
        told["token"].as_str().unwrap().to_owned()
    };
    let first = token("1h");
    assert_eq!(desk.pay("A", 5, &[("WRITKEEPER_TOKEN", &first)]), "ACCEPT VALIDATION_PASSED");
    assert_eq!(desk.pay("B", 5, &[("WRITKEEPER_TOKEN", "guessed")]), "REJECT SESSION_INVALID");
    assert_eq!(desk.pay("C", 5, &[]), "ACCEPT VALIDATION_PASSED", "on a plain file a token may be left out");
    // Registering again revokes the token before.
    let second = token("1ms");
    assert_eq!(desk.pay("D", 5, &[("WRITKEEPER_TOKEN", &first)]), "REJECT SESSION_INVALID");
    assert_eq!(desk.pay("E", 5, &[("WRITKEEPER_TOKEN", &second)]), "REJECT SESSION_INVALID", "its time is over");
}

#[test]
fn activating_does_not_pretend_to_lift_a_restriction() {
    let desk = Desk::new("escalation: { budget: { max: 1, per: 1h }, on_exhausted: PASSIVE }\n");
    assert_eq!(desk.pay("A", 40, &[]), "ESCALATE NEEDS_APPROVAL");
    assert_eq!(desk.pay("B", 40, &[]), "REJECT ESCALATION_BUDGET_EXHAUSTED");
    assert_eq!(desk.pay("C", 5, &[]), "REJECT AGENT_PASSIVE");
    let said = desk.says("agents activate --contract contract.yaml", 1);
    let hint = said.lines().find_map(|line| line.strip_prefix("next: writkeeper ")).unwrap().to_owned();
    // What a person answers counts all the same.
    assert!(desk.answer("A", "override --as ann", 0).contains("OVERRIDDEN"));
    desk.says(&hint, 0);
    assert_eq!(desk.pay("D", 5, &[]), "ACCEPT VALIDATION_PASSED");
    desk.says("agents activate --contract contract.yaml", 0);
}

#[test]
fn by_default_an_agent_asks_twenty_times_an_hour_and_goes_on() {
    let desk = Desk::new("");
    for number in 0..20 {
        assert_eq!(desk.pay(&format!("A{number}"), 40, &[]), "ESCALATE NEEDS_APPROVAL");
    }
    assert_eq!(desk.pay("B", 40, &[]), "REJECT ESCALATION_BUDGET_EXHAUSTED");
    assert_eq!(desk.pay("C", 5, &[]), "ACCEPT VALIDATION_PASSED");
}
