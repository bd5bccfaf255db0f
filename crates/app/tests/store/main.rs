//! The verbs that work on a store, as a person or a script meets them.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop loudly")]

mod flows;
mod locations;

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

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words).current_dir(self.path()).env_remove("WRITKEEPER_STORE").env("USER", "ann");
        command
    }

    fn run(&self, arguments: &str, input: &str) -> Output {
        self.run_words(&arguments.split(' ').collect::<Vec<_>>(), input)
    }

    fn run_words(&self, words: &[&str], input: &str) -> Output {
        let mut process =
            self.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
        let output = self.run("decide --store writkeeper.db --open-flows", &line);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        format!("{} {}", answer["verdict"].as_str().unwrap(), answer["reasons"][0].as_str().unwrap())
    }

    /// Who answers.
    fn people(&self) {
        self.write("people.yaml", "desk: [ann, bob]\n");
        self.says("people set people.yaml", 0);
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
    assert!(token.starts_with("wks_default.bot.") && token.len() > 40, "{token}");
    assert!(!desk.says("agents show bot --json", 0).contains(&token));
    desk.says("agents activate --contract contract.yaml", 0);
    desk.says("agents suspend bot --because drift", 0);
    assert_eq!(desk.pay("1", "5"), "REJECT AGENT_SUSPENDED");
    assert!(desk.says("agents", 0).contains("drift"));
    desk.says("agents lift bot SUSPENDED --because over", 0);
    assert_eq!(desk.pay("1", "5"), "ACCEPT VALIDATION_PASSED");
    desk.says("agents degrade bot --because test --action pay", 0);
    assert_eq!(desk.pay("2", "5"), "REJECT AGENT_DEGRADED");
    assert!(desk.says("agents suspend bott --because x", 65).contains("did you mean `bot`?"));
    desk.says("agents retire bot --because over", 0);
    desk.says("agents activate --contract contract.yaml", 1);
}

#[test]
fn a_bound_is_amended_for_a_while_and_inside_what_the_contract_marks() {
    let desk = Desk::new();
    let amendable = "    limits: { amount: { max: 20 } }\n    \
                     amendable: { amount: { max: { floor: 10, ceiling: 24 }, ttl: 8h } }\n  look:";
    desk.write("contract.yaml", &CONTRACT.replacen("  look:", amendable, 1));
    desk.says("agents register --contract contract.yaml", 0);
    desk.says("agents activate --contract contract.yaml", 0);
    assert_eq!(desk.pay("a", "23"), "REJECT LIMIT_EXCEEDED");
    let amend = |rest: &str| desk.says(&format!("agents amend bot pay amount {rest}"), 0);
    let said = amend("--max 23 --for 2h --because rush");
    assert!(said.contains("before  max 20") && said.contains("after   max 23"), "{said}");
    assert!(said.contains("until   2") && said.contains("because rush"), "{said}");
    assert_eq!(desk.pay("b", "23"), "ACCEPT VALIDATION_PASSED");
    assert_eq!(desk.pay("c", "24"), "REJECT LIMIT_EXCEEDED");
    let told = desk.json("agents amend bot pay amount --max 24 --because rush");
    assert_eq!((told["before"]["max"].as_str(), told["after"]["max"].as_str()), (Some("23"), Some("24")), "{told}");
    let refused = |rest: &str, expected: &str| {
        let said = desk.says(&format!("agents amend bot pay amount {rest}"), 1);
        assert!(said.contains("AMENDMENT_REFUSED") && said.contains(expected), "{rest}: {said}");
    };
    refused("--max 25 --because rush", "ABOVE_CEILING: the contract keeps `max` between 10 and 24 of `amount`");
    refused("--max 23 --for 9h --because rush", "EXPIRY_TOO_LATE: it may last 8h at most");
    refused("--min 1 --because rush", "NOT_AMENDABLE");
    desk.says("agents amend bot pay amount --max 23", 64);
    desk.says("agents amend bot pay amount --because rush", 64);
    desk.says("agents amend bot pay amount --max many --because rush", 64);
    let shown = desk.says("agents show bot", 0);
    assert!(shown.contains("amend     pay amount max 23: rush"), "{shown}");
}

#[test]
fn a_list_of_questions_says_where_it_ends() {
    let desk = Desk::new();
    desk.write("contract.yaml", &format!("{CONTRACT}escalation: {{ budget: {{ max: 2000, per: 1h }} }}\n"));
    desk.enroll();
    let ask = |orders: std::ops::Range<u32>| {
        let line = |order| format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":40}}}}"#);
        let lines: Vec<String> = orders.map(line).collect();
        let output = desk.run("decide --store writkeeper.db", &lines.join("\n"));
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    };
    let listed = |options: &str| {
        let output = desk.run(&format!("escalations{options}"), "");
        (text(&output.stdout).lines().filter(|line| line.contains("pay")).count(), text(&output.stderr))
    };
    ask(0..1_000);
    assert_eq!(listed(" --json"), (1_000, String::new()));
    ask(1_000..1_001);
    for options in ["", " --json"] {
        let (lines, said) = listed(options);
        assert_eq!(lines, 1_000);
        let after = said.split_once("more questions wait; go on with `").and_then(|(_, rest)| rest.split_once('`'));
        let (after, _) = after.unwrap();
        assert_eq!(listed(&format!(" list {after}{options}")), (1, String::new()));
    }
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
    assert_eq!(desk.json("people")["groups"], serde_json::json!({"desk": ["bob", "carol"], "mail": ["bob"]}));
    assert!(answer("agree --as bob", 64).contains("override"));
    assert!(answer(&format!("override --as bob --digest {other}"), 1).contains("APPROVAL_MISMATCH"));
    let said = desk.json(&format!("escalations answer {short} override --as bob --because yes"));
    assert_eq!(said["intent"]["proposal"], listed["proposal_id"], "the proposal that was asked about is accepted");
    assert!(answer("abort --as carol", 1).contains("is over: OVERRIDE by bob"));
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
    let answer = |rest: &str| desk.says(&format!("escalations answer flow-1 {rest} --as bob --because x"), 64);
    assert!(answer("modify").contains("needs --instead FILE"));
    assert!(answer("override --instead less.json").contains("belongs to `modify`"));
    desk.write("typo.json", r#"{"agent":"bot","acton":"pay","params":{"order":"1","amount":10}}"#);
    let typo = desk.says("escalations answer flow-1 modify --as bob --because x --instead typo.json", 65);
    assert!(typo.contains("`typo.json` is no proposal") && typo.contains("`acton`"), "{typo}");
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
    let said = desk.says("context set prices/eth 1e400", 64);
    assert!(!said.contains("not JSON") && said.contains("is refused"), "{said}");
    assert!(desk.says("context get prices/eh", 65).contains("STATE_UNKNOWN"));
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
    desk.people();
    for (order, amount) in [("1", "5"), ("2", "40"), ("3", "500"), ("4", "600")] {
        desk.pay(order, amount);
    }
    let report = desk.json("report --since 7d");
    assert_eq!(report["verdicts"], serde_json::json!({"ACCEPT": 1, "REJECT": 2, "ESCALATE": 1}));
    assert_eq!(report["reasons"]["NOT_ALLOWED"], 2);
    assert_eq!(report["agents"]["bot"]["ACCEPT"], 1);
    assert_eq!(report["answers"], serde_json::json!({}));
    let said = desk.json("escalations answer flow-2 abort --as bob --because no");
    assert_eq!(said["result"]["state"], "ABORTED");
    assert_eq!(desk.json("report")["answers"], serde_json::json!({"ABORTED": 1}));
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
        desk.says("decide --store writkeeper.db --contract contract.yaml --context context.json", 65);
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
    for command in ["escalations", "escalations --json", "escalations show =p1", "escalations show =p1 --json"] {
        let said = desk.says(command, 0);
        assert!(!said.contains("very-secret"), "{command}: {said}");
        assert!(command.ends_with("--json") || !said.contains('\u{202e}'), "{command}: {said}");
    }
    // An id that another starts with is not silently taken for the whole.
    for command in ["escalations show p1", "flows show p1", "flows close p1"] {
        assert!(desk.says(command, 65).contains("ID_AMBIGUOUS"), "{command}");
    }
    assert_eq!(desk.json("escalations show =p1")["proposal_id"], "p1");
    assert_eq!(desk.json("flows show =p1")["proposals"], 1);
}

#[test]
fn nobody_answers_under_a_name_that_is_none_or_the_proposers() {
    let desk = Desk::new();
    desk.write("contract.yaml", &CONTRACT.replace("approvers: [desk]", "escalation: { approvers: [desk], quorum: 2 }"));
    desk.enroll();
    desk.people();
    desk.pay("1", "40");
    let answer = |person: &str, code| {
        let words = ["escalations", "answer", "flow-1", "override", "--because", "yes", "--as", person];
        let output = desk.run_words(&words, "");
        assert_eq!(output.status.code(), Some(code), "{person:?}: {}", text(&output.stderr));
        format!("{}{}", text(&output.stdout), text(&output.stderr))
    };
    for nobody in ["", " ", "bot ", " ann", "a\u{1b}[31mnn", "ann\u{200b}", "a\nb", &"x".repeat(129)] {
        let said = answer(nobody, 64);
        assert!(said.contains("is no name") && !said.contains('\u{1b}'), "{said}");
    }
    for proposer in ["bot", "Bot", "BOT"] {
        assert!(answer(proposer, 1).contains("APPROVER_NOT_ENTITLED"));
    }
    for same in ["ann", "ANN", "Ann"] {
        assert!(answer(same, 0).contains("1 of 2"), "{same}");
    }
    assert!(answer("bob", 0).contains("may now be performed"));
}

#[test]
fn a_child_stops_where_its_narrowed_parent_does() {
    let desk = Desk::new();
    desk.enroll();
    desk.write("child.yaml", &CONTRACT.replace("agent: bot", "agent: child\nparent: bot"));
    let line =
        |order: &str| format!(r#"{{"agent":"child","action":"pay","params":{{"order":"{order}","amount":20}}}}"#);
    let decide = |order: &str, code| {
        let output = desk.run("decide --store writkeeper.db --contract child.yaml", &line(order));
        assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    };
    decide("1", 0);
    for (ask, code, says) in [("amount <= 50", 2, "NEEDS_APPROVAL"), ("amount <= 15", 1, "NOT_ALLOWED")] {
        let narrowed = CONTRACT.replace("amount <= 25", "amount <= 10").replace("amount <= 50", ask);
        desk.write("contract.yaml", &narrowed);
        desk.says("agents activate --contract contract.yaml", 0);
        let said = decide("2", code);
        assert!(said.contains(says) && said.contains("contract of `bot`"), "{said}");
    }
}

#[test]
fn records_are_written_over_records_and_nothing_else() {
    let desk = Desk::new();
    desk.write("lines.jsonl", r#"{"agent":"bot","action":"look","params":{}}"#);
    desk.write("context.json", "{}");
    desk.write("notes.txt", "do not lose me");
    desk.write("other.jsonl", "{\"kind\":\"song\"}\n");
    let run = "decide --store kept.db --contract contract.yaml --context context.json";
    assert_eq!(desk.run(&format!("{run} lines.jsonl"), "").status.code(), Some(0));
    std::fs::hard_link(desk.path().join("kept.db"), desk.path().join("hard.db")).unwrap();
    std::os::unix::fs::symlink("contract.yaml", desk.path().join("soft.yaml")).unwrap();
    let read = "kept.db ./kept.db kept.db-turn hard.db contract.yaml soft.yaml context.json lines.jsonl";
    for file in read.split(' ').chain(["notes.txt", "other.jsonl"]) {
        let before = std::fs::read(desk.path().join(file)).unwrap();
        let output = desk.run(&format!("{run} --records {file} lines.jsonl"), "");
        assert_eq!(output.status.code(), Some(64), "{file}: {}", text(&output.stderr));
        assert_eq!(std::fs::read(desk.path().join(file)).unwrap(), before, "{file}");
    }
    desk.write("new.jsonl", "");
    for _ in 0..2 {
        let output = desk.run(&format!("{run} --records new.jsonl lines.jsonl"), "");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let records = std::fs::read_to_string(desk.path().join("new.jsonl")).unwrap();
        assert_eq!(records.lines().count(), 1, "{records}");
    }
    assert_eq!(desk.run(&format!("{run} --records /dev/null lines.jsonl"), "").status.code(), Some(0));
    assert_eq!(desk.json("agents show bot --store kept.db")["status"], "ACTIVE");
}

#[test]
fn an_emptied_store_is_never_made_a_new_one() {
    let desk = Desk::new();
    desk.enroll();
    for ending in ["", "-wal", "-shm"] {
        let _gone = std::fs::remove_file(desk.path().join(format!("writkeeper.db{ending}")));
    }
    let looking = ["report", "agents", "flows", "escalations", "halt --because x", "context get a"];
    for command in looking {
        assert!(desk.says(command, 65).contains("there is no store"), "{command}");
    }
    desk.write("writkeeper.db", "");
    for command in looking.into_iter().chain(["agents register --contract contract.yaml"]) {
        let said = desk.says(command, 65);
        assert!(said.contains("empty file and no store") && said.contains("remove"), "{command}: {said}");
        assert_eq!(std::fs::metadata(desk.path().join("writkeeper.db")).unwrap().len(), 0, "{command}");
    }
    desk.write("writkeeper.db", &"certainly no database".repeat(400));
    for command in ["report", "halt --because x"] {
        let said = desk.says(command, 65);
        assert!(said.contains("STORE_DAMAGED") && !said.contains("try again"), "{command}: {said}");
    }
}

#[test]
fn ids_are_typed_and_names_are_whole_where_something_changes() {
    let desk = Desk::new();
    desk.enroll();
    desk.pay("1", "5");
    for words in [
        ["flows", "show", ""].as_slice(),
        &["flows", "close", ""],
        &["flows", "abort", " "],
        &["flows", "close", "="],
        &["flows", "open", "--agent", "bot", "--parent", ""],
        &["flows", "open", "--agent", ""],
        &["flows", "list", "--agent", ""],
        &["escalations", "show", ""],
        &["escalations", "answer", "", "abort", "--as", "ann", "--because", "x"],
        &["agents", "show", ""],
        &["agents", "retire", "", "--because", "x"],
        &["agents", "suspend", "bot", "--because", ""],
        &["agents", "suspend", "bot", "--because", "  "],
        &["halt", "--because", ""],
        &["context", "show", ""],
        &["context", "snapshot", "a", "--flow", ""],
    ] {
        let output = desk.run_words(words, "");
        assert_eq!(output.status.code(), Some(64), "{words:?}: {}", text(&output.stderr));
    }
    for verb in ["suspend", "degrade", "passive", "escalation-only", "retire"] {
        let said = desk.says(&format!("agents {verb} bo --because x"), 65);
        assert!(said.contains("did you mean `bot`?"), "{said}");
    }
    assert!(desk.says("agents lift bo SUSPENDED --because x", 65).contains("did you mean `bot`?"));
    assert!(desk.says("flows open --agent bo", 65).contains("AGENT_NOT_REGISTERED"));
    assert!(desk.says("flows list --agent bott", 65).contains("did you mean `bot`?"));
    assert_eq!(desk.json("agents show bo")["status"], "ACTIVE", "looking at it takes a beginning");
    let said = desk.says("agents degrade bot --because x --action pya", 65);
    assert!(said.contains("ACTION_NOT_ALLOWED") && said.contains("look, pay"), "{said}");
    let said = desk.says(&format!("flows show {}", "x".repeat(5_000)), 65);
    assert!(said.len() < 1_000, "{said}");
}

/// One proposal id in two flows, as an agent may choose it.
#[test]
fn an_id_that_several_have_is_nobodys() {
    let desk = Desk::new();
    desk.enroll();
    let look = |id: &str, flow: &str| {
        let line = format!(r#"{{"agent":"bot","action":"look","params":{{}},"id":"{id}","flow":"{flow}"}}"#);
        text(&desk.run("decide --store writkeeper.db --open-flows", &line).stdout)
    };
    look("mine", "left");
    // Another proposal under the same id is refused, so that an id names one.
    assert!(look("mine", "right").contains("PROPOSAL_ID_REUSED"));
    assert_eq!(desk.json("flows show =mine")["flow"], "left");
    // A prefix may still fit several.
    look("mine-too", "right");
    for verb in ["show", "close", "abort"] {
        let said = desk.says(&format!("flows {verb} min"), 65);
        assert!(said.contains("in flow left") && said.contains("in flow right"), "{said}");
    }
    assert_eq!(desk.json("flows show left")["state"], "OPEN");
    let one = desk.run("flows --json --limit 1", "");
    assert_eq!(text(&one.stdout).lines().count(), 1);
    assert!(text(&one.stderr).contains(r#""listed":1,"of":2"#), "{}", text(&one.stderr));
    assert_eq!(desk.says("flows --agent bot --json", 0).lines().count(), 2);
}

/// Whoever proposes does not name flows that nobody opened, unless the door says so.
#[test]
fn a_flow_nobody_opened_is_refused() {
    let desk = Desk::new();
    desk.enroll();
    let line = |flow: &str| format!(r#"{{"agent":"bot","action":"look","params":{{}},"flow":"{flow}"}}"#);
    let refused = desk.run("decide --store writkeeper.db", &line("0"));
    assert!(text(&refused.stdout).contains("FLOW_UNKNOWN"), "{}", text(&refused.stdout));
    let opened = desk.json("flows open --agent bot")["flow"].as_str().unwrap().to_owned();
    assert_eq!(desk.run("decide --store writkeeper.db", &line(&opened)).status.code(), Some(0));
    let short: String = opened.chars().take(4).collect();
    assert_eq!(desk.run("decide --store writkeeper.db --open-flows", &line(&short)).status.code(), Some(0));
    let said = desk.says(&format!("flows close {short}"), 65);
    assert!(said.contains("ID_AMBIGUOUS") && said.contains(&opened), "{said}");
    desk.says(&format!("flows close ={short}"), 0);
    assert_eq!(desk.json(&format!("flows show {opened}"))["state"], "OPEN");
}

/// A process that was stopped while it held the turn: nobody waits for it for ever, and looking waits for nobody.
#[test]
fn a_stopped_writer_is_named() {
    let desk = Desk::new();
    desk.enroll();
    let turn = std::fs::File::open(desk.path().join("writkeeper.db-turn")).unwrap();
    turn.lock().unwrap();
    let waits = |words: &[&str]| {
        let mut command = desk.command(words);
        let output = command.env("WRITKEEPER_STORE_WAIT", "200ms").output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = waits(&["halt", "--because", "fire"]);
    assert_eq!(code, Some(75), "{said}");
    assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
    for looking in ["agents", "report", "flows", "escalations", "agents show bot"] {
        desk.says(looking, 0);
    }
    turn.unlock().unwrap();
    desk.says("halt --because fire", 0);
}

#[test]
fn a_clock_from_another_age_decides_nothing() {
    let desk = Desk::new();
    let line = r#"{"agent":"bot","action":"look","params":{}}"#;
    for late in ["2200-01-01T00:00:00Z", "2300-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
        for store in ["", " --store kept.db"] {
            let output = desk.run(&format!("decide --contract contract.yaml --at {late}{store}"), line);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(64), "{said}");
            assert!(said.contains("out of range") && !said.contains("RFC 3339"), "{said}");
        }
    }
    assert!(!desk.path().join("kept.db").exists());
    let at = |store: &str, at: &str| {
        let output = desk.run(&format!("decide --contract contract.yaml --store {store} --at {at}"), line);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    at("last.db", "2199-12-30T00:00:00Z");
    assert_eq!(desk.json("agents show bot --store last.db")["status"], "ACTIVE", "what was written can be read");
    let kept = "note: decisions are kept in `kept.db`\n";
    assert_eq!(at("kept.db", "2026-01-01T00:00:00Z"), kept);
    assert_eq!(at("kept.db", "2026-01-01T23:00:00Z"), kept);
    let said = at("kept.db", "2026-01-05T00:00:00Z");
    assert!(said.contains("more than a day after the last decision"), "{said}");
    assert_eq!(at("kept.db --quiet", "2026-01-09T00:00:00Z"), "");
    desk.says("agents register --contract contract.yaml --session 99999999d --store long.db", 0);
    assert_eq!(desk.json("agents show bot --store long.db")["status"], "REGISTERED");
}

#[test]
fn people_see_what_others_want_instead_and_no_value_poses_as_another() {
    let desk = Desk::new();
    let agree = CONTRACT.replace("approvers: [desk]", "escalation: { approvers: [desk], quorum: 2 }");
    desk.write("contract.yaml", &agree.replace("amount: money EUR }", "amount: money EUR, note: text }"));
    desk.enroll();
    desk.people();
    let line =
        r#"{"agent":"bot","action":"pay","params":{"order":"1","amount":40,"note":"evil amount=1"},"flow":"f-1"}"#;
    desk.run("decide --store writkeeper.db --open-flows", line);
    for said in [desk.says("escalations", 0), desk.says("flows show f-1", 0)] {
        assert!(said.contains(r#"note="evil amount=1""#), "{said}");
    }
    for (person, amount) in [("ann", 10), ("bob", 12)] {
        let instead =
            format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"1","amount":{amount},"note":"x"}}}}"#);
        desk.write("less.json", &instead);
        let rest = format!("modify --as {person} --because less --instead less.json");
        assert!(desk.says(&format!("escalations answer f-1 {rest}"), 0).contains("1 of 2"), "two different things");
    }
    let shown = desk.says("escalations show f-1", 0);
    for part in ["1 of 2 to MODIFY: ann", "1 of 2 to MODIFY: bob", "amount: 40 → 10", "amount: 40 → 12"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("2 of 2"), "{shown}");
    let agreed = desk.json("escalations show f-1")["agreed"].clone();
    assert_eq!(agreed[0]["instead"]["params"]["amount"], 10, "{agreed}");
    desk.says("flows close f-1", 0);
    assert!(!desk.says("escalations", 0).contains("its flow is"), "an answer still counts");
}

/// Closing lets people answer what was asked; aborting ends it.
#[test]
fn a_question_outlives_the_close_of_its_flow_and_ends_with_its_abort() {
    let desk = Desk::new();
    desk.enroll();
    desk.write("people.yaml", "desk: [bob]\n");
    desk.says("people set people.yaml", 0);
    desk.pay("1", "40");
    assert!(desk.says("flows close flow-1", 0).contains("0 accepted intents go on, 1 question may still be answered"));
    desk.says("escalations answer flow-1 override --as bob --because yes", 0);
    let report = desk.json("report");
    assert_eq!((&report["approved"], &report["agents"]["bot"]["APPROVED"]), (&1.into(), &1.into()), "{report}");
    assert!(desk.says("report", 0).contains("1 of them accepted by a person"));
    desk.pay("2", "40");
    assert!(desk.says("flows abort flow-2", 0).contains("0 intents were called off, 1 question ended"));
    assert!(desk.says("escalations", 0).contains("nothing waits"));
    assert!(desk.says("flows show flow-2", 0).contains("ended with its flow"));
    let late = desk.says("escalations answer flow-2 override --as bob --because yes", 1);
    assert!(late.contains("its flow was aborted"), "{late}");
    assert_eq!(desk.json("flows show flow-2")["status"], "ABORTED");
}

#[test]
fn an_answer_is_for_the_contract_that_was_shown() {
    let desk = Desk::new();
    desk.enroll();
    desk.people();
    desk.pay("1", "40");
    let before = desk.json("escalations")["digest"].as_str().unwrap().to_owned();
    desk.write("contract.yaml", &CONTRACT.replace("amount <= 25", "amount <= 26"));
    desk.says("agents activate --contract contract.yaml", 0);
    let answer =
        |rest: &str, code| desk.says(&format!("escalations answer flow-1 override --as bob --because yes{rest}"), code);
    for rest in [String::new(), format!(" --digest {before}")] {
        let said = answer(&rest, 1);
        assert!(said.contains("APPROVAL_MISMATCH") && said.contains("another contract is in force"), "{said}");
    }
    let shown = desk.says("escalations show flow-1", 0);
    assert!(shown.contains("another contract is in force since it was asked"), "{shown}");
    let now = desk.json("escalations show flow-1")["digest"].as_str().unwrap().to_owned();
    assert!(now != before && shown.contains(&now), "{shown}");
    answer(&format!(" --digest {now}"), 0);
}

#[test]
fn a_failure_is_json_for_who_asked_for_json() {
    let desk = Desk::new();
    desk.enroll();
    for (command, code, error) in [
        ("escalations show nope --json", 65, "APPROVAL_UNKNOWN"),
        ("flows show nope --json", 65, "FLOW_UNKNOWN"),
        ("agents show nope --json", 65, "AGENT_NOT_REGISTERED"),
        ("context get nope --json", 65, "STATE_UNKNOWN"),
        ("context show nope --json", 65, "SNAPSHOT_UNKNOWN"),
        ("report --since never --json", 64, "USAGE"),
        ("report --nope --json", 64, "USAGE"),
        ("agents --store absent.db --json", 65, "INVALID_DATA"),
        ("decide --store absent/kept.db --contract contract.yaml --json", 75, "UNAVAILABLE"),
        ("decide --contract absent.yaml --json", 65, "INVALID_DATA"),
    ] {
        let output = desk.run(command, "");
        assert_eq!(output.status.code(), Some(code), "{command}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{command}");
        let said: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(said["code"], error, "{command}: {said}");
        assert!(!said["message"].as_str().unwrap().is_empty() && !said["fix"].as_str().unwrap().is_empty(), "{said}");
    }
    let line = r#"{"agent":"bot","action":"look","params":{}}"#;
    assert_eq!(desk.run("decide --store writkeeper.db --json", line).status.code(), Some(0));
}

#[test]
fn refusals_name_their_own_reason() {
    let desk = Desk::new();
    desk.enroll();
    desk.write("other.yaml", &CONTRACT.replace("agent: bot", "agent: other"));
    assert!(desk.says("agents activate --contract other.yaml", 1).contains("AGENT_NOT_REGISTERED"));
    desk.write("orphan.yaml", &CONTRACT.replace("agent: bot", "agent: orphan\nparent: nobody-here"));
    let said = desk.says("agents register --contract orphan.yaml", 1);
    assert!(said.contains("agent `nobody-here` has no active contract"), "{said}");
    let wide = CONTRACT.replace("agent: bot", "agent: wide\nparent: bot");
    let long = "allow: amount <= 2500 || (order == 'a-very-long-order-number' && amount <= 9)";
    desk.write("wide.yaml", &wide.replace("allow: amount <= 25", long));
    let said = desk.says("agents register --contract wide.yaml", 1);
    assert!(said.contains("CONTRACT_WIDENS_PARENT") && said.contains("the parent's `params.amount <= 25`"), "{said}");
    let said = desk.says("explain HALTED", 0);
    assert!(!said.lines().any(|line| line.trim_end().ends_with(':')), "{said}");
    desk.run("decide --store writkeeper.db", r#"{"agent":"bot","action":"look","params":{}}"#);
    assert!(desk.says("report", 0).contains("1 decision\n"));
    assert!(desk.says("--help", 0).contains("resume"));
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
    assert_eq!(desk.json("people")["groups"], serde_json::json!({"desk": ["carol"]}));
    desk.write("people.yaml", "desk: carol\n");
    assert!(desk.says("people set people.yaml", 65).contains("refund-desk: [ann"));
}

#[test]
fn time_acts_when_it_is_let() {
    let desk = Desk::new();
    desk.enroll();
    desk.pay("1", "40");
    assert_eq!(
        desk.json("tick"),
        serde_json::json!({"expired": 0, "reminded": 0, "rerouted": 0, "called_off": 0, "in_doubt": 0, "keys_removed": 0})
    );
    assert!(desk.says("tick", 0).contains("0 ended"));
    desk.says("tick --every soon", 64);
}
