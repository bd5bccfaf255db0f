//! The verbs that work on a store, as a person or a script meets them.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop loudly")]

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
        Desk(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &str, input: &str) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .args(arguments.split(' '))
            .current_dir(self.path())
            .env_remove("WRITKEEPER_STORE")
            .env("USER", "ann")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        process.wait_with_output().unwrap()
    }

    /// Standard output of a command that must end with a code.
    #[track_caller]
    fn says(&self, arguments: &str, code: i32) -> String {
        let output = self.run(arguments, "");
        let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments}: {both}");
        both
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        let said = self.says(&format!("{arguments} --json"), 0);
        serde_json::from_str(said.lines().next().unwrap()).unwrap()
    }

    /// Verdict and reasons of one proposal under the contract in force.
    #[track_caller]
    fn pay(&self, order: &str, amount: &str) -> String {
        let line = format!(
            r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}},"flow":"flow-{order}"}}"#
        );
        let output = self.run("decide --store writkeeper.db", &line);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        format!("{} {}", answer["verdict"].as_str().unwrap(), answer["reasons"][0].as_str().unwrap())
    }

    fn enroll(&self) {
        self.says("agents register --contract contract.yaml", 0);
        self.says("agents activate --contract contract.yaml", 0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn decisions_of_earlier_runs_count() {
    let desk = Desk::new();
    let line = r#"{"agent":"bot","action":"pay","params":{"order":"1","amount":5}}"#;
    let decide = || desk.run("decide --store kept.db --contract contract.yaml --records out.jsonl", line);
    let (first, second) = (decide(), decide());
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert_eq!(second.status.code(), Some(1), "{}", text(&second.stderr));
    assert!(text(&second.stdout).contains("IN_PROGRESS"), "{}", text(&second.stdout));
    let records = std::fs::read_to_string(desk.path().join("out.jsonl")).unwrap();
    assert_eq!(records.lines().count(), 1, "{records}");
    assert!(records.contains(r#""kind":"decision""#), "{records}");
}

#[test]
fn processes_that_start_at_once_on_one_file_pay_each_order_once() {
    let desk = Desk::new();
    let lines: String = (0..40)
        .map(|order| {
            format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"{order}\",\"amount\":5}}}}\n")
        })
        .collect();
    let accepted: usize = std::thread::scope(|scope| {
        let decide = || {
            let output = desk.run("decide --store kept.db --contract contract.yaml", &lines);
            let said = text(&output.stdout);
            assert_eq!(said.lines().count(), 40, "{}", text(&output.stderr));
            said.matches(r#""verdict":"ACCEPT""#).count()
        };
        let processes: Vec<_> = (0..3).map(|_| scope.spawn(decide)).collect();
        processes.into_iter().map(|process| process.join().unwrap()).sum()
    });
    assert_eq!(accepted, 40);
}

#[test]
fn another_contract_is_not_put_in_force_by_the_way() {
    let desk = Desk::new();
    desk.enroll();
    desk.write("wide.yaml", &CONTRACT.replace("<= 25", "<= 2500"));
    let said = desk.says("decide --store writkeeper.db --contract wide.yaml", 65);
    assert!(said.contains("writkeeper agents activate --contract wide.yaml --store writkeeper.db"), "{said}");
    assert_eq!(desk.pay("1", "60"), "REJECT NOT_ALLOWED");
    desk.says("agents activate --contract wide.yaml", 0);
    assert_eq!(desk.pay("2", "60"), "ACCEPT VALIDATION_PASSED");
    let history = desk.json("agents show bot")["history"].clone();
    assert_eq!(history.as_array().unwrap().len(), 3, "{history}");
}

#[test]
fn an_agent_left_registered_is_not_activated_by_the_way() {
    let desk = Desk::new();
    desk.says("agents register --contract contract.yaml", 0);
    let said = desk.says("decide --store writkeeper.db --contract contract.yaml", 65);
    assert!(said.contains("no contract yet"), "{said}");
    assert_eq!(desk.json("agents show bot")["status"], "REGISTERED");
}

#[test]
fn a_store_that_is_not_there_has_its_own_codes() {
    let desk = Desk::new();
    assert!(desk.says("agents", 65).contains("there is no store at `writkeeper.db`"));
    desk.says("decide --store absent/kept.db --contract contract.yaml", 75);
    desk.says("decide --store postgres://db --contract contract.yaml", 65);
    assert!(!desk.path().join("writkeeper.db").exists(), "looking makes no store");
}

#[test]
fn agents_are_restricted_and_freed_by_name() {
    let desk = Desk::new();
    let token = desk.json("agents register --contract contract.yaml")["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("wk_") && token.len() > 40, "{token}");
    assert!(!desk.says("agents show bot --json", 0).contains(&token));
    desk.says("agents activate --contract contract.yaml", 0);
    desk.says("agents suspend bot --because drift", 0);
    assert_eq!(desk.pay("1", "5"), "REJECT AGENT_SUSPENDED");
    assert!(desk.says("agents", 0).contains("drift"));
    desk.says("agents lift bot SUSPENDED", 0);
    assert_eq!(desk.pay("1", "5"), "ACCEPT VALIDATION_PASSED");
    desk.says("agents degrade bot --because test --action pay", 0);
    assert_eq!(desk.pay("2", "5"), "REJECT AGENT_DEGRADED");
    assert!(desk.says("agents suspend bott --because x", 65).contains("did you mean `bot`?"));
    desk.says("agents retire bot --because over", 0);
    desk.says("agents activate --contract contract.yaml", 1);
}

#[test]
fn a_question_is_answered_once_and_for_the_bytes_shown() {
    let desk = Desk::new();
    desk.enroll();
    assert_eq!(desk.pay("1", "40"), "ESCALATE NEEDS_APPROVAL");
    let listed = desk.json("escalations");
    let digest = listed["digest"].as_str().unwrap().to_owned();
    let short: String = listed["id"].as_str().unwrap().chars().take(10).collect();
    assert!(desk.says(&format!("escalations show {short}"), 0).contains(&digest));
    let other = "0".repeat(64);
    let answer = |rest: &str, code| desk.says(&format!("escalations answer {short} {rest} --because yes"), code);
    assert!(answer("override --as bob", 1).contains("APPROVER_NOT_ENTITLED"));
    assert!(desk.says("people", 0).contains("nobody is in any group"));
    desk.write("people.yaml", "desk: [bob, carol]\nmail: [bob]\n");
    assert!(desk.says("people set people.yaml", 0).contains("2 people changed"));
    assert!(desk.says("people set people.yaml", 0).contains("0 people changed"));
    assert_eq!(desk.json("people"), serde_json::json!({"desk": ["bob", "carol"], "mail": ["bob"]}));
    assert!(answer("approve --as bob", 64).contains("override"));
    assert!(answer(&format!("override --as bob --digest {other}"), 1).contains("APPROVAL_MISMATCH"));
    let said = desk.json(&format!("escalations answer {short} override --as bob --because yes"));
    assert_eq!(said["intent"]["proposal"], listed["proposal_id"], "the proposal that was asked about is accepted");
    assert!(answer("abort --as carol", 1).contains("OVERRIDE by bob"));
    assert!(desk.says("escalations", 0).contains("nothing waits"));
    let told = desk.says("flows show flow-1", 0);
    for part in ["ESCALATE", "refused: OVERRIDE", "OVERRIDE to question", "intent", "by operator:bob"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // Every id leads to the flow it belongs to.
    for id in [&short, said["intent"]["id"].as_str().unwrap(), listed["proposal_id"].as_str().unwrap()] {
        assert_eq!(desk.json(&format!("flows show {id}"))["flow"], "flow-1");
    }
}

#[test]
fn a_modified_proposal_takes_the_place_of_the_one_asked_about() {
    let desk = Desk::new();
    desk.enroll();
    desk.pay("1", "40");
    desk.write("less.json", r#"{"agent":"bot","action":"pay","params":{"order":"1","amount":10}}"#);
    desk.write("people.yaml", "desk: [bob]\n");
    desk.says("people set people.yaml", 0);
    desk.says("escalations answer flow-1 modify --as bob --because x", 64);
    let said = desk.json("escalations answer flow-1 modify --as bob --because x --instead less.json");
    assert_eq!(said["intent"]["params"]["amount"], 10);
}

#[test]
fn flows_have_children_and_end_once() {
    let desk = Desk::new();
    desk.enroll();
    desk.pay("1", "5");
    let child = desk.json("flows open --agent bot --parent flow-1");
    assert_eq!(child["parent"], "flow-1");
    assert!(desk.says("flows show flow-1", 0).contains(child["flow"].as_str().unwrap()));
    desk.says("flows close flow-1", 0);
    assert_eq!(desk.pay("1", "5"), "REJECT FLOW_CLOSED");
    desk.says("flows abort flow-1", 1);
    assert_eq!(desk.says("flows --json", 0).lines().count(), 2);
}

#[test]
fn state_is_compared_and_set_and_frozen() {
    let desk = Desk::new();
    desk.enroll();
    assert_eq!(desk.json("context set prices/eth 2500 --expect 0")["version"], 1);
    assert!(desk.says("context set prices/eth 2600 --expect 0", 1).contains("STATE_CONFLICT"));
    assert_eq!(desk.json("context get prices/eth")["value"], 2500);
    assert!(desk.says("context get prices/et", 65).contains("did you mean `prices/eth`?"));
    let id = desk.json("context snapshot prices/eth")["snapshot"].as_str().unwrap().to_owned();
    desk.says("context set prices/eth 2600", 0);
    assert_eq!(desk.json(&format!("context show {}", &id[..10]))["state"]["prices/eth"], 2500);
    desk.says("context set prices/eth {", 64);
}

#[test]
fn the_switch_stops_everything() {
    let desk = Desk::new();
    desk.enroll();
    desk.says("halt --because fire", 0);
    assert_eq!(desk.pay("1", "5"), "REJECT HALTED");
    desk.says("resume --because out", 0);
    assert_eq!(desk.pay("1", "5"), "ACCEPT VALIDATION_PASSED");
}

#[test]
fn a_report_counts_and_says_what_observing_would_have_stopped() {
    let desk = Desk::new();
    desk.write("contract.yaml", &format!("mode: observe{CONTRACT}"));
    desk.enroll();
    for (order, amount) in [("1", "5"), ("2", "40"), ("3", "500"), ("4", "600")] {
        desk.pay(order, amount);
    }
    let report = desk.json("report --since 7d");
    assert_eq!(report["verdicts"], serde_json::json!({"ACCEPT": 1, "REJECT": 2, "ESCALATE": 1}));
    assert_eq!(report["reasons"]["NOT_ALLOWED"], 2);
    assert_eq!(report["agents"]["bot"]["ACCEPT"], 1);
    assert_eq!(report["would_have_stopped"]["verdicts"]["REJECT"], 2);
    assert!(desk.says("report", 0).contains("would have stopped 2 and asked about 1"));
    desk.says("report --since yesterday", 64);
    assert_eq!(desk.json("report --since 1ms")["verdicts"]["REJECT"], 0);
}

#[test]
fn a_context_is_written_to_the_store_where_it_differs() {
    let desk = Desk::new();
    desk.write(
        "context.json",
        r#"{"state":{"a":1},"snapshots":{"s":{"at":"2026-01-01T00:00:00Z","data":{"a":1}}},
            "agents":{"bot":{"status":"PASSIVE","because":"nights"}}}"#,
    );
    for _ in 0..2 {
        desk.says("decide --store writkeeper.db --contract contract.yaml --context context.json", 0);
    }
    assert_eq!(desk.json("context get a")["version"], 1, "what is there already is not written again");
    assert_eq!(desk.json("context show s")["name"], "s");
    let shown = desk.json("agents show bot");
    assert_eq!(shown["status"], "PASSIVE");
    assert_eq!(shown["restrictions"].as_array().unwrap().len(), 1);
}

#[test]
fn what_people_are_shown_hides_secrets_and_deceives_nobody() {
    let desk = Desk::new();
    desk.write(
        "contract.yaml",
        "agent: bot\napprovers: [desk]\nactions:\n  login:\n    params: { type: object, additionalProperties: false, \
         required: [pin, note], properties: { pin: { type: string, secret: true }, note: { type: string } } }\n    \
         ask: 'true'\n",
    );
    desk.enroll();
    let line = r#"{"agent":"bot","action":"login","params":{"pin":"very-secret","note":"pay \u202eeur 05"},"id":"p1"}"#;
    let output = desk.run("decide --store writkeeper.db", line);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    desk.run("decide --store writkeeper.db", &line.replace(r#""p1""#, r#""p11""#));
    for command in ["escalations", "escalations --json", "escalations show p1", "escalations show p1 --json"] {
        let said = desk.says(command, 0);
        assert!(!said.contains("very-secret"), "{command}: {said}");
        assert!(command.ends_with("--json") || !said.contains('\u{202e}'), "{command}: {said}");
    }
    // A whole id is meant, even if another starts with it.
    assert_eq!(desk.json("escalations show p1")["proposal_id"], "p1");
    assert_eq!(desk.json("flows show p1")["proposals"], 1);
}

#[test]
fn help_shows_twelve_verbs_in_five_groups() {
    let help = Desk::new().says("--help", 0);
    let verbs = help.lines().filter(|line| line.starts_with("  ") && !line.trim_start().starts_with('-')).count();
    assert_eq!(verbs, 12, "{help}");
    for group in ["Try", "Decide", "Ask people", "Prove", "Run"] {
        assert!(help.lines().any(|line| line == group), "{group}");
    }
}

#[test]
fn who_the_people_file_forgets_is_in_no_group() {
    let desk = Desk::new();
    desk.write("people.yaml", "desk: [bob, carol]\n");
    desk.says("people set people.yaml", 0);
    desk.write("people.yaml", "desk: [carol]\n");
    assert!(desk.says("people set people.yaml", 0).contains("1 person changed"));
    assert_eq!(desk.json("people"), serde_json::json!({"desk": ["carol"]}));
    desk.write("people.yaml", "desk: carol\n");
    assert!(desk.says("people set people.yaml", 65).contains("refund-desk: [ann]"));
}

#[test]
fn time_acts_when_it_is_let() {
    let desk = Desk::new();
    desk.enroll();
    desk.pay("1", "40");
    assert_eq!(desk.json("tick"), serde_json::json!({"expired": 0, "reminded": 0, "rerouted": 0, "called_off": 0}));
    assert!(desk.says("tick", 0).contains("0 ended"));
    desk.says("tick --every soon", 64);
}
