//! The edges of the command line: which store is used, input that is missing or malformed, what to type next.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params:
      type: object
      required: [order, amount]
      properties: { order: { type: string }, amount: { type: number }, note: { type: string, secret: true } }
    allow: params.amount <= 25
    ask: params.amount <= 50
    impact: HIGH
    budget: { sum: amount, max: 100, per: 24h }
    run: { http: 'POST https://pay.example/orders/{order}', class: keyed }
    undo: { kind: REVERT, http: 'DELETE https://pay.example/orders/{order}', within: 1h }
approvers: [desk]
";

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
        Desk(folder)
    }

    fn run(&self, arguments: &str, input: &str, store: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(arguments.split(' ')).current_dir(self.0.path()).env("USER", "ann").env_remove("WRITKEEPER_STORE");
        command.envs(store.map(|store| ("WRITKEEPER_STORE", store)));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        process.wait_with_output().unwrap()
    }

    /// Both outputs of a command that must end with a code.
    #[track_caller]
    fn says(&self, arguments: &str, code: i32) -> String {
        let output = self.run(arguments, "", None);
        let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments}: {both}");
        both
    }

    /// Decides one payment in the store `s.db`.
    #[track_caller]
    fn pay(&self, order: &str, amount: u32) -> Value {
        let output = self.run("decide --store s.db --contract contract.yaml", &payment(order, amount), None);
        serde_json::from_str(&text(&output.stdout)).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    }
}

fn payment(order: &str, amount: u32) -> String {
    format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}}}}"#)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn answers(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn decide_uses_the_store_of_the_environment_and_says_so() {
    let desk = Desk::new();
    let decide = "decide --contract contract.yaml";
    let pure = desk.run(decide, &payment("1", 5), None);
    assert!(text(&pure.stderr).contains("nothing is kept"), "{}", text(&pure.stderr));
    let empty = desk.run(decide, &payment("1", 5), Some(""));
    assert!(text(&empty.stderr).contains("nothing is kept"), "{}", text(&empty.stderr));
    let first = desk.run(decide, &payment("1", 5), Some("x.db"));
    assert!(text(&first.stderr).contains("decisions are kept in `x.db`"), "{}", text(&first.stderr));
    assert_eq!(answers(&first)[0]["verdict"], "ACCEPT");
    let again = desk.run(decide, &payment("1", 5), Some("x.db"));
    assert_eq!(answers(&again)[0]["reasons"][0], "IN_PROGRESS", "the second run knows the first");
    let without_contract = desk.run("decide", &payment("2", 5), Some("x.db"));
    assert_eq!(answers(&without_contract)[0]["verdict"], "ACCEPT");
    for store in [None, Some("x.db")] {
        let quiet = desk.run("decide --contract contract.yaml --quiet", &payment("3", 5), store);
        assert_eq!(text(&quiet.stderr), "");
    }
}

#[test]
fn nothing_to_decide_is_an_error() {
    let desk = Desk::new();
    let said = desk.says("decide --contract contract.yaml", 65);
    assert!(said.contains("nothing to decide"), "{said}");
    let said = desk.says("decide --contract contract.yaml missing.jsonl", 65);
    assert!(said.contains("missing.jsonl"), "{said}");
    let said = desk.says("decide --contract contract.yaml --json", 65);
    let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(error["code"], "INVALID_DATA");
}

#[test]
fn the_nth_answer_belongs_to_the_nth_line() {
    let desk = Desk::new();
    let lines = format!("{}\n\n{{\"agent\" oops\n[]\n{}\n", payment("1", 5), payment("2", 5));
    for store in ["", " --store s.db"] {
        let output = desk.run(&format!("decide --contract contract.yaml{store}"), &lines, None);
        let answers = answers(&output);
        assert_eq!(answers.len(), 5, "{}", text(&output.stderr));
        let verdicts: Vec<&Value> = answers.iter().map(|answer| &answer["verdict"]).collect();
        assert_eq!(verdicts, ["ACCEPT", "REJECT", "REJECT", "REJECT", "ACCEPT"]);
        let message = |index: usize| answers[index]["findings"][0]["message"].as_str().unwrap();
        for (index, says) in [(1, "line 2 is blank"), (2, "line 3, column 10"), (3, "not an object")] {
            assert_eq!(answers[index]["reasons"][0], "JSON_MALFORMED");
            assert_eq!(answers[index]["id"], format!("line-{}", index + 1));
            assert!(message(index).contains(says), "{}", message(index));
        }
    }
    desk.says("ledger export --store s.db --out l.export", 0);
    desk.says("verify l.export", 0);
}

#[test]
fn what_to_type_next_names_the_store_that_was_typed() {
    let desk = Desk::new();
    desk.pay("1", 40);
    for (arguments, expected) in [
        ("escalations --store s.db", "next: writkeeper escalations show ID --store s.db"),
        ("escalations show missing --store=s.db", "`writkeeper escalations --store s.db`"),
    ] {
        let output = desk.run(arguments, "", None);
        let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(both.contains(expected), "{arguments}: {both}");
    }
    let listed = text(&desk.run("escalations", "", Some("s.db")).stdout);
    assert!(listed.ends_with("next: writkeeper escalations show ID\n"), "{listed}");
}

#[test]
fn an_id_that_is_printed_is_taken_by_every_verb() {
    let desk = Desk::new();
    let (accepted, asked) = (desk.pay("1", 5), desk.pay("2", 40));
    let first_word = |said: String| said.split_whitespace().next().unwrap().to_owned();
    let intent = first_word(desk.says("intents list --store s.db", 0));
    let question = first_word(desk.says("escalations --store s.db", 0));
    assert!(intent.len() < 36 && question.len() < 36, "they are short: {intent} {question}");
    let ids = [intent, accepted["id"].as_str().unwrap().to_owned()];
    for id in &ids {
        for verb in ["ledger receipt", "intents show", "flows show"] {
            desk.says(&format!("{verb} {id} --store s.db"), 0);
        }
    }
    for id in [question.as_str(), asked["id"].as_str().unwrap()] {
        for verb in ["ledger receipt", "escalations show", "flows show"] {
            desk.says(&format!("{verb} {id} --store s.db"), 0);
        }
    }
    let flow = first_word(desk.says("flows --store s.db", 0));
    desk.says(&format!("ledger receipt {flow} --store s.db"), 0);
    let refused = desk.says(&format!("ledger erase {} --because wish --store s.db", ids[0]), 1);
    assert!(refused.contains("is READY"), "it was found, and is still to happen: {refused}");
    assert!(desk.says("ledger receipt 0 --store s.db --out r", 0).contains("receipt"));
    desk.says("ledger receipt = --store s.db", 64);
}

#[test]
fn an_approver_sees_what_would_happen() {
    let desk = Desk::new();
    desk.pay("1", 20);
    let line = r#"{"agent":"bot","action":"pay","params":{"order":"a b","amount":40,"note":"hush"}}"#;
    let output = desk.run("decide --store s.db --contract contract.yaml", line, None);
    let question = answers(&output)[0]["question"]["id"].as_str().unwrap().to_owned();
    let said = desk.says(&format!("escalations show {question} --store s.db"), 0);
    for part in [
        "calls     POST https://pay.example/orders/a%20b\n",
        "effect    pay:a b\n",
        ": 20 of 100 used, 60 after this\n",
        "NEEDS_APPROVAL",
        "amount <= 50",
        "undo      REVERT DELETE https://pay.example/orders/a%20b within 1h\n",
        "impact    HIGH\n",
        "ago, ",
        " left: ",
        "    \"order\": \"a b\"\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("hush"), "secrets are withheld: {said}");
    let is_fraction = |word: &str| word.contains('.') && word.ends_with('Z');
    assert!(!said.split_whitespace().any(is_fraction), "people read whole seconds: {said}");
    let json = desk.says(&format!("escalations show {question} --store s.db --json"), 0);
    let card: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(card["call"], "POST https://pay.example/orders/a%20b");
    assert_eq!((&card["budgets"][0]["used"], &card["budgets"][0]["after"]), (&Value::from(20), &Value::from(60)));
    assert_eq!(card["undo"]["within"], "1h");
    assert_eq!(card["rules"][0]["when"], "params.amount <= 50");
    assert!(card["asked_at"].as_str().unwrap().contains('.'), "programs read microseconds");
}

/// Who, what, how much and until when stand below each other, and the card tells what the contract in force allows.
#[test]
fn the_inbox_is_a_table_and_its_card_is_up_to_date() {
    let desk = Desk::new();
    desk.pay("1", 40);
    desk.pay("a-longer-order", 30);
    let listed = desk.says("escalations --store s.db", 0);
    let rows: Vec<&str> = listed.lines().take(2).collect();
    for part in ["HIGH", "left", "bot", "pay", "amount=", "NEEDS_APPROVAL"] {
        let places: Vec<Option<usize>> = rows.iter().map(|row| row.find(part)).collect();
        assert!(places[0].is_some() && places[0] == places[1], "{part}: {listed}");
    }
    let wider = CONTRACT.replace("max: 100", "max: 250");
    std::fs::write(desk.0.path().join("contract.yaml"), wider).unwrap();
    desk.says("agents activate --contract contract.yaml --store s.db", 0);
    let question = listed.split_whitespace().next().unwrap();
    let card = desk.says(&format!("escalations show {question} --store s.db"), 0);
    assert!(card.contains("0 of 250 used (of 100 when it was asked)"), "{card}");
    assert!(card.contains(" approve|deny --as YOU --because … --digest "), "{card}");
}

/// A hint names the store with every verb that takes one, wherever it is written.
#[test]
fn every_hint_names_the_store() {
    let desk = Desk::new();
    desk.pay("1", 40);
    for (arguments, code, expected) in [
        ("report --store s.db", 0, "next: writkeeper escalations --store s.db\n"),
        ("halt --because fire --store s.db", 0, "`writkeeper resume --because TEXT --store s.db`"),
        ("run --once --keys none --store s.db", 0, "`writkeeper ledger keys new --keys none --store s.db` makes one"),
    ] {
        let said = desk.says(arguments, code);
        assert!(said.contains(expected), "{arguments}: {said}");
    }
}

/// What was found by someone who had only the README.
#[test]
fn every_record_of_a_proposal_that_was_sent_again_is_erased() {
    let desk = Desk::new();
    let line = r#"{"id":"p-1","agent":"bot","action":"pay","params":{"order":"Secret Street 5","amount":90}}"#;
    for _ in 0..2 {
        desk.run("decide --store s.db --contract contract.yaml", line, None);
    }
    desk.pay("other", 90);
    let kept = |place: &str| desk.says(&format!("ledger export --store s.db --out {place}"), 0);
    kept("before");
    let said = desk.says("ledger erase p-1 --because wish --store s.db", 0);
    assert!(said.contains("erased 2 bodies"), "{said}");
    kept("after");
    let holds = |place: &str| text(&std::fs::read(desk.0.path().join(place)).unwrap()).contains("Secret Street");
    assert_eq!((holds("before"), holds("after")), (true, false));
    assert!(desk.says("verify after", 2).contains("2 not replayable: erased"));
}

#[test]
fn a_store_that_is_not_there_is_not_begun_without_a_contract() {
    let desk = Desk::new();
    let output = desk.run("decide --store typo.db", &payment("1", 5), None);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(65), "{said}");
    assert!(said.contains("there is no store at `typo.db`; give --contract FILE to begin one"), "{said}");
    assert!(!desk.0.path().join("typo.db").exists());
}

#[test]
fn a_card_says_that_approving_is_refused_and_who_agreed_to_what() {
    let desk = Desk::new();
    let question = |order: &str| desk.pay(order, 45)["question"]["id"].as_str().unwrap().to_owned();
    let questions = [question("1"), question("2"), question("3")];
    std::fs::write(desk.0.path().join("people.yaml"), "desk: [ann]\n").unwrap();
    desk.says("people set people.yaml --store s.db", 0);
    let approve = |id: &str, code| {
        desk.says(&format!("escalations answer {id} approve --as ann --because fine --store s.db"), code)
    };
    approve(&questions[0], 0);
    approve(&questions[1], 0);
    let show = || desk.says(&format!("escalations show {} --store s.db", questions[2]), 0);
    let card = show();
    assert!(card.contains(": 90 of 100 used, 135 after this: more than it holds, so approving is refused\n"), "{card}");
    assert!(approve(&questions[2], 1).contains("BUDGET_EXCEEDED"));
    let card = show();
    assert!(card.contains("agreed    1 of 1 to OVERRIDE: ann") && !card.contains("no longer counts"), "{card}");
    // What was approved does not count itself twice, and what was denied takes nothing.
    let card = desk.says(&format!("escalations show {} --store s.db", questions[0]), 0);
    assert!(card.contains(": 45 of 100 used, 90 after this\n"), "{card}");
    desk.says(&format!("escalations answer {} deny --as ann --because no --store s.db", questions[2]), 0);
    assert!(!show().contains("budget "), "{}", show());
}

#[test]
fn a_proposal_that_is_sent_again_names_the_question_that_waits() {
    let desk = Desk::new();
    let (first, again) = (desk.pay("1", 45), desk.pay("1", 45));
    assert_eq!(first["question"]["digest"].as_str().unwrap().len(), 64, "{first}");
    assert_eq!(first["question"], again["question"]);
    assert_eq!(again["reasons"], serde_json::json!(["NEEDS_APPROVAL", "QUESTION_OPEN"]));
    assert_eq!(desk.says("escalations --store s.db --json", 0).lines().count(), 1);
    let other = desk.pay("1", 44);
    assert_eq!(other["reasons"], serde_json::json!(["NEEDS_APPROVAL"]), "another form is another question");
    let question = first["question"]["id"].as_str().unwrap();
    let shown: Value =
        serde_json::from_str(&desk.says(&format!("escalations show {question} --store s.db --json"), 0)).unwrap();
    assert_eq!(shown["digest"], first["question"]["digest"]);
    assert_eq!(shown["rules"][0]["reason"], "NEEDS_APPROVAL");
    assert_eq!(shown["rules"].as_array().unwrap().len(), 1);
    std::fs::write(desk.0.path().join("people.yaml"), "desk: [ann]\n").unwrap();
    desk.says("people set people.yaml --store s.db", 0);
    desk.says(&format!("escalations answer {question} deny --as ann --because closed --store s.db"), 0);
    let denied = desk.pay("1", 45);
    assert_eq!((&denied["verdict"], &denied["reasons"][0]), (&"REJECT".into(), &"QUESTION_DENIED".into()), "{denied}");
    desk.says("ledger export --store s.db --out x.export", 0);
    desk.says("verify x.export", 0);
}

#[test]
fn an_id_that_was_used_again_still_means_one_proposal() {
    let desk = Desk::new();
    let line = r#"{"id":"p-1","agent":"bot","action":"pay","params":{"order":"1","amount":45}}"#;
    let send = || desk.run("decide --store s.db --contract contract.yaml", line, None);
    let first = answers(&send()).remove(0);
    send();
    let question = first["question"]["id"].as_str().unwrap();
    for id in ["p-1", "=p-1"] {
        assert!(desk.says(&format!("escalations show {id} --store s.db"), 0).contains(question));
        assert!(desk.says(&format!("flows show {id} --store s.db"), 0).contains(question));
    }
}

#[test]
fn the_receipt_of_a_proposal_is_the_one_that_something_came_of() {
    let desk = Desk::new();
    let line = |amount: u32| {
        format!(r#"{{"id":"p-1","agent":"bot","action":"pay","params":{{"order":"1","amount":{amount}}}}}"#)
    };
    let send =
        |amount| answers(&desk.run("decide --store s.db --contract contract.yaml", &line(amount), None)).remove(0);
    assert_eq!(send(5)["verdict"], "ACCEPT");
    assert_eq!(send(5)["verdict"], "REJECT");
    assert_eq!(send(6)["reasons"][0], "PROPOSAL_ID_REUSED");
    for id in ["p-1", "=p-1"] {
        let receipt = desk.run(&format!("ledger receipt {id} --store s.db --out {id}.receipt"), "", None);
        assert!(receipt.status.success(), "{}", text(&receipt.stderr));
        let verified = desk.says(&format!("verify {id}.receipt"), 0);
        assert!(verified.contains("ACCEPT"), "{verified}");
    }
}

#[test]
fn a_report_says_that_everything_is_stopped() {
    let desk = Desk::new();
    desk.pay("1", 5);
    desk.says("halt --because fire --store s.db", 0);
    let said = desk.says("report --store s.db", 0);
    assert!(said.contains("halted by operator:ann") && said.contains("fire"), "{said}");
    let said: Value = serde_json::from_str(&desk.says("report --json --store s.db", 0)).unwrap();
    assert_eq!(said["halted"]["because"], "fire");
    desk.says("resume --because out --store s.db", 0);
    assert!(!desk.says("report --store s.db", 0).contains("halted by"));
}

#[test]
fn a_doctor_does_not_call_a_missing_store_well() {
    let desk = Desk::new();
    assert!(desk.says("doctor --store missing.db", 65).contains("missing.db"));
    assert!(desk.says("doctor --store contract.yaml", 65).contains("contract.yaml"));
}

#[test]
fn a_receipt_for_programs_is_json() {
    let desk = Desk::new();
    let id = desk.pay("1", 5)["id"].as_str().unwrap().to_owned();
    let plain = desk.run(&format!("ledger receipt {id} --store s.db"), "", None);
    let said = desk.run(&format!("ledger receipt {id} --store s.db --json"), "", None);
    let said: Value = serde_json::from_str(&text(&said.stdout)).unwrap();
    assert_eq!((&said["id"], &said["receipt"]), (&id.as_str().into(), &text(&plain.stdout).into()));
    let said = desk.run(&format!("ledger receipt {id} --store s.db --json --out r"), "", None);
    let said: Value = serde_json::from_str(&text(&said.stdout)).unwrap();
    assert_eq!((&said["out"], &said["receipts"]), (&"r".into(), &1.into()));
}

#[test]
fn a_report_counts_what_is_under_way() {
    let desk = Desk::new();
    desk.pay("1", 5);
    desk.pay("2", 5);
    let report: Value = serde_json::from_str(&desk.says("report --store s.db --json", 0)).unwrap();
    assert_eq!(report["under_way"], serde_json::json!({"READY": 2}));
    let said = desk.says("report --store s.db", 0);
    assert!(said.contains("under way\n       2  READY\n"), "{said}");
}

#[test]
fn what_names_an_id_is_found_in_the_store_and_in_an_export() {
    let desk = Desk::new();
    let id = desk.pay("1", 5)["id"].as_str().unwrap().to_owned();
    desk.pay("2", 5);
    desk.says("ledger export --store s.db --out x.export", 0);
    for place in ["--store s.db", "x.export --store s.db"] {
        let find = |wanted: &str, code| desk.says(&format!("ledger find {wanted} {place}"), code);
        let said = find(&id, 0);
        assert!(said.lines().count() == 1 && said.contains("decision  ACCEPT  bot"), "{said}");
        // Ids of one millisecond begin alike for long.
        assert_eq!(find(&id[..35], 0), said, "its beginning will do");
        assert!(find("pay:1", 0).contains(&id), "by the key of its effect");
        assert!(find("bot", 0).lines().count() >= 2, "by its agent");
        assert!(find("nobody", 1).contains("no entry names `nobody`"));
        assert!(find("b", 65).contains("`b` is too short to look for"));
        let found: Value = serde_json::from_str(&find(&format!("{id} --json"), 0)).unwrap();
        assert_eq!(found["record"]["proposal_id"], id.as_str());
    }
}

#[test]
fn an_agent_is_not_told_to_wait_for_a_question_that_is_not_asked() {
    let desk = Desk::new();
    for order in ["1", "2", "3", "4"] {
        desk.pay(order, 25);
    }
    let refused = desk.pay("5", 45);
    assert_eq!(refused["verdict"], "REJECT", "{refused}");
    let fixes: Vec<&str> =
        refused["findings"].as_array().unwrap().iter().filter_map(|one| one["fix"].as_str()).collect();
    let codes: Vec<&str> =
        refused["findings"].as_array().unwrap().iter().filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(codes, ["NEEDS_APPROVAL", "BUDGET_EXCEEDED"]);
    assert!(fixes.iter().all(|fix| !fix.contains("wait for")), "{fixes:?}");
    assert!(fixes.iter().any(|fix| fix.starts_with("mend what is refused")), "{fixes:?}");
}

#[test]
fn a_contract_that_cannot_be_used_is_one_line_for_programs() {
    let desk = Desk::new();
    std::fs::write(desk.0.path().join("bad.yaml"), CONTRACT.replace("allow:", "alow:").replace("ask:", "aks:"))
        .unwrap();
    let output = desk.run("decide --contract bad.yaml --json", &payment("A", 1), None);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(65), 0));
    let told: Value =
        serde_json::from_str(&text(&output.stderr)).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(told["code"], "CONTRACT_INVALID", "{told}");
    let places = told["diagnostics"].as_array().unwrap().iter().map(|one| (&one["path"], &one["line"]));
    let expected = [("actions.pay.alow", 10), ("actions.pay.aks", 11)];
    assert!(places.eq(expected.map(|(path, line)| (Value::from(path), Value::from(line))).iter().map(|(p, l)| (p, l))));
    // People see the lines themselves.
    assert!(desk.says("decide --contract bad.yaml", 65).contains("alow: params.amount <= 25"));
}
