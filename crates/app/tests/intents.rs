//! Intents as an operator meets them: lists that say where they end, ids that can be typed back, reports that contradict,
//! signed intents that end with their proposal, and mistakes that are noticed before anything happens.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const CONTRACT: &str = "
agent: bot
proposal: { ttl: { default: 5m, max: 5m } }
actions:
  pack:
    once: 'pack:{order}'
    params: { order: text }
    run: { command: ['true', '{order}'], timeout: 5s }
  hand:
    once: 'hand:{order}'
    params: { order: text }
    run: { host: true }
  carry:
    once: 'carry:{order}'
    params: { order: text }
approvers: [desk]
";

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.write("c.yaml", CONTRACT);
        desk
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(arguments.split(' ')).current_dir(self.0.path()).env("WRITKEEPER_STORE", "db").env("USER", "ann");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, mut command: Command, input: &str) -> Output {
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Exit code, standard output and standard error.
    fn says(&self, arguments: &str) -> (i32, String, String) {
        let output = self.run(self.command(arguments), "");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    #[track_caller]
    fn ok(&self, arguments: &str) -> String {
        let (code, said, error) = self.says(arguments);
        assert_eq!(code, 0, "{arguments}: {said}{error}");
        said
    }

    #[track_caller]
    fn refused(&self, arguments: &str, code: i32, expected: &str) {
        let (exit, said, error) = self.says(arguments);
        assert!(exit == code && error.contains(expected), "{arguments}: {exit} {said}{error}, expected {expected}");
    }

    /// Proposes so many; each answer.
    fn propose(&self, action: &str, orders: std::ops::Range<usize>) -> Vec<Value> {
        let line = |order| format!(r#"{{"agent":"bot","action":"{action}","params":{{"order":"{order}"}}}}"#) + "\n";
        let lines: String = orders.map(line).collect();
        let output = self.run(self.command("decide --store db --contract c.yaml"), &lines);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn intent(&self, id: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("intents show {id} --json"))).unwrap()
    }
}

fn id(answer: &Value) -> &str {
    answer["intent"]["id"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_list_says_where_it_ends_and_its_ids_can_be_typed_back() {
    let desk = Desk::new();
    desk.propose("pack", 0..33);
    let said = desk.ok("intents list --state ready");
    let printed = said.clone();
    assert_eq!(said.lines().count(), 21, "{said}");
    assert_eq!(said.lines().last(), Some("20 of 33; --all or --limit N shows more"));
    for line in said.lines().take(20) {
        let short = line.split(' ').next().unwrap();
        assert!(desk.intent(short)["id"].as_str().unwrap().starts_with(short), "{line}");
        assert!(short.len() < 30, "{short} is hardly shorter than the whole");
        // It means the same to other commands, though flows are minted in the same moment.
        let flow = desk.intent(short)["flow"].as_str().unwrap().to_owned();
        assert!(desk.ok(&format!("flows show {short}")).contains(&flow), "{line}");
    }
    assert_eq!(desk.ok("intents list --all").lines().count(), 33);
    assert_eq!(desk.ok("intents list --limit 40").lines().count(), 33);
    let (_, said, error) = desk.says("intents list --json");
    let told: Value = serde_json::from_str(&error).unwrap();
    assert_eq!((said.lines().count(), &told["listed"], &told["of"]), (20, &Value::from(20), &Value::from(33)));
    let (_, said, error) = desk.says("intents list --json --all");
    assert_eq!((said.lines().count(), error.as_str()), (33, ""));
    // Flows end their list in the same way.
    let flows = desk.ok("flows");
    assert_eq!(flows.lines().last(), Some("20 of 33; --all or --limit N shows more"));
    for line in flows.lines().take(20) {
        desk.ok(&format!("flows show {}", line.split(' ').next().unwrap()));
    }
    // What was printed stays right while others come after it.
    desk.propose("carry", 40..60);
    for line in printed.lines().take(20) {
        desk.intent(line.split(' ').next().unwrap());
    }
}

#[test]
fn an_intent_is_also_meant_by_its_proposal() {
    let desk = Desk::new();
    let answers = desk.propose("hand", 0..3);
    let [first, second, third] = answers.as_slice() else { panic!("{answers:?}") };
    let proposal = |answer: &Value| answer["id"].as_str().unwrap().to_owned();
    desk.ok(&format!("intents report {} succeeded", proposal(first)));
    assert_eq!(desk.intent(id(first))["state"], "SUCCEEDED");
    desk.ok(&format!("intents undo {} --because wrong", proposal(first)));
    assert_eq!(desk.intent(&proposal(first))["id"], id(first), "not what undoes it");
    let flow = desk.intent(id(second))["flow"].as_str().unwrap().to_owned();
    assert_eq!(desk.intent(&flow)["id"], id(second));
    assert_eq!(desk.intent(&proposal(third))["id"], id(third));
    desk.refused("intents report nobody succeeded", 65, "run `writkeeper intents list --all` to see what there is");
}

#[test]
fn what_people_undo_by_hand_is_not_called_undone() {
    let desk = Desk::new();
    let answers = desk.propose("hand", 0..1);
    let intent = id(&answers[0]);
    desk.ok(&format!("intents report {intent} succeeded"));
    let said = desk.ok(&format!("intents undo {intent} --because wrong"));
    assert!(said.contains("nothing is undone yet") && said.contains("a person is asked"), "{said}");
    let question = said.lines().find_map(|line| line.strip_prefix("question ")).unwrap().split(',').next().unwrap();
    assert!(said.contains("writkeeper intents resolve ") && said.contains(" happened|did-not --as YOU"), "{said}");
    let card = desk.ok(&format!("escalations show {question}"));
    assert!(card.contains("this undoes what happened: do it by hand, then say what you did"), "{card}");
    assert!(!desk.ok(&format!("intents show {intent}")).contains("  undone by "));
}

#[test]
fn a_card_about_a_doubt_shows_what_the_other_side_answered() {
    let desk = Desk::new();
    let answers = desk.propose("hand", 0..1);
    let intent = id(&answers[0]);
    desk.write("answer.txt", "perhaps 42");
    desk.ok(&format!("intents report {intent} doubt --result answer.txt"));
    let question = desk.intent(intent)["question"].as_str().unwrap().to_owned();
    let card = desk.ok(&format!("escalations show {question}"));
    assert!(card.contains("  answered  reported, 10 bytes, "), "{card}");
    assert!(card.contains(": perhaps 42\n"), "{card}");
    let card: Value = serde_json::from_str(&desk.ok(&format!("escalations show {question} --json"))).unwrap();
    assert_eq!(card["result"]["body"]["text"], "perhaps 42", "{card}");
}

#[test]
fn whoever_waits_is_told_who_has_to_do_what() {
    let desk = Desk::new();
    let key = sign_key(&desk);
    let wait = |action: &str, code: i32| {
        let line =
            format!(r#"{{"agent":"bot","action":"{action}","params":{{"order":"1"}},"idempotency_key":"{action}"}}"#);
        let output = desk.run(desk.command("decide --store db --contract c.yaml --wait=1s"), &line);
        let (said, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(code), "{said}{error}");
        let answer: Value = serde_json::from_str(&said).unwrap();
        (id(&answer).to_owned(), error)
    };
    let (_, error) = wait("pack", 3);
    let needed = "is one running that may perform it? writkeeper run --allow-programs --store db\n";
    assert!(error.contains("after 1 s no worker has taken intent ") && error.contains(needed), "{error}");
    let (intent, error) = wait("hand", 3);
    let fix = format!("writkeeper intents report {intent} succeeded|failed|doubt --store db");
    assert!(error.contains(&format!("after 1 s whoever performs intent {intent} has not reported: {fix}")), "{error}");
    let (intent, _) = wait("pack", 3);
    desk.ok(&format!("intents sign {intent} --for till --key {key}"));
    let (_, error) = wait("pack", 3);
    assert!(error.contains(&format!("till is still performing intent {intent}")), "{error}");
    desk.ok(&format!("intents report {intent} doubt"));
    let (_, error) = wait("pack", 2);
    let fix = format!("writkeeper intents show {intent} --store db");
    assert!(error.contains(&format!("nobody knows whether intent {intent} happened: {fix}")), "{error}");
    assert!(!error.contains("after 1 s"), "waiting does not help: {error}");
    desk.write("people.yaml", "desk: [ann]\n");
    desk.ok("people set people.yaml");
    desk.ok(&format!("intents resolve {intent} happened --as ann --because looked"));
    let (_, error) = wait("pack", 0);
    assert!(!error.contains(&intent), "{error}");
}

#[test]
fn a_report_that_contradicts_an_earlier_one_is_an_error() {
    let desk = Desk::new();
    let answers = desk.propose("pack", 0..2);
    let key = sign_key(&desk);
    for (answer, first, other) in [(&answers[0], "succeeded", "failed"), (&answers[1], "failed", "succeeded")] {
        let intent = id(answer);
        desk.ok(&format!("intents sign {} --for till --key {key}", answer["id"].as_str().unwrap()));
        desk.ok(&format!("intents report {intent} {first}"));
        desk.ok(&format!("intents report {intent} {first}"));
        let state = first.to_uppercase();
        desk.refused(&format!("intents report {intent} {other}"), 1, "REPORT_CONTRADICTS");
        desk.refused(&format!("intents report {intent} {other} --json"), 1, &format!("is {state} since 20"));
        assert_eq!(desk.intent(intent)["state"], state.as_str());
    }
}

#[test]
fn a_host_that_contradicts_itself_is_told_and_one_that_repeats_itself_is_not() {
    let desk = Desk::new();
    let mut answers = desk.propose("hand", 0..2);
    answers.extend(desk.propose("carry", 2..4));
    let said = [("failed", "succeeded"), ("succeeded", "failed"), ("failed", "succeeded"), ("succeeded", "failed")];
    for (answer, (first, other)) in answers.iter().zip(said) {
        let (proposal, state) = (answer["id"].as_str().unwrap(), first.to_uppercase());
        desk.ok(&format!("intents report {proposal} {first}"));
        let before = entries(&desk);
        assert_eq!(desk.ok(&format!("intents report {proposal} {first}")), format!("{state}\n"));
        let told: Value = serde_json::from_str(&desk.ok(&format!("intents report {proposal} {first} --json"))).unwrap();
        assert_eq!((&told["state"], &told["repeated"]), (&Value::from(state.as_str()), &Value::Bool(true)));
        assert_eq!(entries(&desk), before, "a repeated report is no news");
        desk.refused(&format!("intents report {proposal} {other}"), 1, "REPORT_CONTRADICTS");
        desk.refused(&format!("intents report {proposal} {other} --json"), 1, &format!("is {state} since 20"));
        assert_eq!(entries(&desk), before + 2, "each is kept");
        assert_eq!(desk.intent(proposal)["state"], state.as_str());
    }
}

#[test]
fn what_contradicts_is_named_by_verify_and_counted_by_report() {
    let desk = Desk::new();
    let key = sign_key(&desk);
    let mut answers = desk.propose("hand", 0..2);
    answers.extend(desk.propose("pack", 2..4));
    for (index, first) in ["failed", "succeeded", "failed", "succeeded"].into_iter().enumerate() {
        let answer = &answers[index];
        if index > 1 {
            desk.ok(&format!("intents sign {} --for till --key {key}", id(answer)));
        }
        desk.ok(&format!("intents report {} {first}", id(answer)));
        desk.ok(&format!("intents report {} {first}", id(answer)));
    }
    desk.ok("ledger export --out before.export");
    desk.ok("verify before.export");
    assert!(!desk.ok("report").contains("opposite"));
    let mut places = Vec::new();
    for (answer, other) in answers.iter().zip(["succeeded", "failed", "succeeded", "failed"]) {
        places.push(entries(&desk));
        desk.refused(&format!("intents report {} {other}", id(answer)), 1, "REPORT_CONTRADICTS");
    }
    desk.ok("ledger export --out after.export");
    let (code, said, error) = desk.says("verify after.export");
    let (first, last) = (places[0], places[3]);
    let expected = format!("4 reports say the opposite of how their intent ended: entries {first}-{last}");
    assert!(code == 2 && said.contains(&expected), "{code} {said}{error}, expected {expected}");
    for ((answer, state), (place, other)) in answers
        .iter()
        .zip(["FAILED", "SUCCEEDED", "FAILED", "SUCCEEDED"])
        .zip(places.iter().zip(["SUCCEEDED", "FAILED", "SUCCEEDED", "FAILED"]))
    {
        let named = format!("{} ({state}, reported {other} in entry {place})", id(answer));
        assert!(said.contains(&named), "{said}, expected {named}");
    }
    let (code, said, _) = desk.says("verify after.export --json");
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &told["contradicted"]), (2, &Value::from(4)), "{said}");
    assert!(desk.ok("report").contains("4 reports say the opposite of how their intent ended"));
}

/// How many entries the ledger has.
fn entries(desk: &Desk) -> usize {
    desk.ok("ledger checkpoint").lines().nth(1).unwrap().parse().unwrap()
}

fn sign_key(desk: &Desk) -> String {
    desk.ok("ledger keys new");
    let folder = std::fs::read_dir(desk.0.path().join("db.keys")).unwrap();
    let mut files = folder.map(|entry| entry.unwrap().path().display().to_string());
    files.find(|file| file.ends_with(".key")).unwrap()
}

#[test]
fn a_signed_intent_ends_with_its_proposal() {
    let desk = Desk::new();
    let answers = desk.propose("pack", 0..2);
    let key = sign_key(&desk);
    let sign = |answer: &Value, within: &str| {
        let arguments = format!("intents sign {} --for till --key {key} --within {within} --json", id(answer));
        let (code, said, error) = desk.says(&arguments);
        assert_eq!(code, 0, "{said}{error}");
        let told: Value = serde_json::from_str(&said).unwrap();
        (told["not_after"].as_str().unwrap().to_owned(), error)
    };
    let until = desk.intent(id(&answers[0]))["valid_until"].as_str().unwrap().to_owned();
    let (not_after, said) = sign(&answers[0], "2h");
    assert_eq!(not_after, until);
    assert!(said.contains(&format!("the intent ends at {until}, so the executor has until then and not 2h")), "{said}");
    let (not_after, said) = sign(&answers[1], "10s");
    assert!(not_after < until && said.is_empty(), "{not_after} {said}");
    desk.refused(
        &format!("intents sign {} --for till --key c.yaml", id(&answers[0])),
        65,
        "writkeeper ledger keys new",
    );
}

#[test]
fn mistakes_are_noticed_before_anything_happens() {
    let desk = Desk::new();
    desk.write("typo.yaml", &CONTRACT.replace("'true', '{order}'", "'true', '{odrer}'"));
    desk.refused("contract check typo.yaml", 65, "did you mean `order`?");
    for (host, expected) in [
        ("http://pay.example/", "type --allow-host pay.example"),
        ("https://pay.example:8443/x?y", "type --allow-host pay.example:8443"),
        ("ann@pay.example", "type --allow-host pay.example"),
        ("pay.example/x", "type --allow-host pay.example"),
        ("*.example", "such as pay.example or pay.example:8443"),
        ("https://", "such as pay.example or pay.example:8443"),
    ] {
        desk.refused(&format!("run --once --allow-host {host}"), 64, expected);
    }
    desk.write("none.pem", "nothing");
    desk.refused("run --once --ca-file none.pem", 65, "BEGIN CERTIFICATE");
}

/// What nobody started in time is told at the end.
#[test]
fn what_was_called_off_is_counted() {
    let desk = Desk::new();
    let answers = desk.propose("pack", 0..3);
    let (code, said, _) = desk.says("run --once --allow-programs --clock-ahead 10m");
    assert_eq!((code, said.lines().next()), (1, Some("0 succeeded, 0 failed, 0 left in doubt, 3 called off")));
    assert_eq!(desk.intent(id(&answers[0]))["state"], "CANCELLED");
    assert_eq!(desk.ok("intents list --state cancelled").lines().count(), 3);
}

/// Whoever was handed a signed intent and says nothing leaves a doubt, also for whoever only lets time pass.
#[test]
fn what_nobody_reported_in_time_is_counted_as_a_doubt() {
    let desk = Desk::new();
    let answers = desk.propose("pack", 0..2);
    let key = sign_key(&desk);
    for answer in &answers {
        desk.ok(&format!("intents sign {} --for till --key {key} --within 10s", id(answer)));
    }
    let (code, said, _) = desk.says("run --once --allow-programs --clock-ahead 10m");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((code, lines[2]), (2, "0 succeeded, 0 failed, 2 left in doubt"), "{said}");
    assert!(lines[..2].iter().all(|line| line.starts_with("IN_DOUBT  pack:")), "each is told: {said}");
    assert_eq!(desk.intent(id(&answers[0]))["state"], "IN_DOUBT");
    // Told once: the next one has nothing to do with it.
    let (code, said, _) = desk.says("run --once --allow-programs --clock-ahead 11m");
    assert_eq!((code, said.lines().next()), (0, Some("0 succeeded, 0 failed, 0 left in doubt")), "{said}");
}

/// Who died between registering an agent and activating it goes on where it was; nobody else does.
#[test]
fn an_enrolment_that_died_half_way_is_finished_by_whoever_began_it() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let half_way = || {
        let desk = Desk::new();
        let mut command = desk.command("decide --store db --contract c.yaml");
        command.env("WRITKEEPER_CRASH_AT", "sequencer.answer.before:1");
        let output = desk.run(command, "");
        assert_eq!(output.status.code(), None, "{output:?}");
        assert!(desk.ok("agents show bot").contains("REGISTERED"));
        desk
    };
    let desk = half_way();
    let mut other = desk.command("decide --store db --contract c.yaml");
    other.env("USER", "max");
    let output = desk.run(other, "");
    assert_eq!(output.status.code(), Some(65));
    assert!(String::from_utf8(output.stderr).unwrap().contains("writkeeper agents activate"), "max began nothing");
    desk.write("other.yaml", &CONTRACT.replace("5m, max: 5m", "4m, max: 5m"));
    desk.refused("decide --store db --contract other.yaml", 65, "no contract yet");
    assert_eq!(desk.propose("pack", 0..1).len(), 1);
    assert!(desk.ok("agents show bot").contains("ACTIVE"));
}
