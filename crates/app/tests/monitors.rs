//! `writkeeper monitors`: numbers in, alarms out; and what it says of the monitors of a store.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn writkeeper(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
        .args(words)
        .current_dir(folder)
        .env_remove("WRITKEEPER_STORE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refusal may come before everything was read.
    let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
    process.wait_with_output().unwrap()
}

fn check(words: &str, input: &str, code: i32, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<&str> = ["monitors", "try"].into_iter().chain(words.split(' ')).collect();
    let output = writkeeper(folder.path(), &words, input);
    let said = String::from_utf8(if code == 0 { output.stdout } else { output.stderr }).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    assert!(if code == 0 { said == expected } else { said.contains(expected) }, "{words:?}: {said}");
}

#[test]
fn alarms_are_told_by_the_index_of_their_line() {
    let drift = |index: u32| format!("{{\"index\":{index},\"kind\":\"drift\"}}\n");
    check("mean --set max=10 --set over=2", "9\n12\n1\n30\n", 0, &format!("{}{}", drift(1), drift(3)));
    check("sum --set max=5 --set over=9", "3\n\nNaN\nnull\n3\n", 0, &drift(4));
    check("cusum --set h=2", "0\n0", 0, "");
    check("hddm_w", "", 0, "");
}

#[test]
fn what_cannot_be_used_ends_with_2_and_a_sentence() {
    check("adwin --set delta=2", "1\n", 2, "`delta` must be a number between 0 and 1; `2` is not");
    check("adwin --set dleta=0.1", "1\n", 2, "did you mean `delta`?");
    check("adwin --set delta", "1\n", 2, "is no KEY=VALUE");
    check("adwin --set clock=1 --set clock=2", "1\n", 2, "`clock` is set twice");
    check("adwim", "1\n", 2, "there is no monitor `adwim`; did you mean `adwin`?");
    check("adwin", "1\ntwo\n", 2, "line 2: `two` is no number");
    check("ddm", "1\n0.5\n", 2, "line 2: `ddm` takes 1 for an error and 0 for none");
    check("hddm_a", "0.5\n2\n", 2, "line 2: `hddm_a` takes numbers from 0 to 1");
    check("page_hinkley --set threshold=-1", "1\n", 2, "`threshold` must be a number from 0 up; `-1` is not");
    check("ddm --set drift_threshold=-0.5", "1\n", 2, "`drift_threshold` must be a number from 0 up");
    check("ddm --set warning_threshold=-2", "1\n", 2, "`warning_threshold` must be a number from 0 up");
    check("page_hinkley --set threshold=0 --set delta=-3 --set min_instances=9", "1\n", 0, "");
    check("kswin", "inf\n", 2, "line 1: `inf` is no number");
}

#[test]
fn values_that_are_cut_off_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let tried = |settings: &str| {
        let words = format!("monitors try e_sr --set m0=0.9 --set arl=20 {settings}");
        let output = writkeeper(folder.path(), &words.trim().split(' ').collect::<Vec<_>>(), "0.5\n7\n-2\n");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(tried("").contains("2 values outside `low` to `high` counted as the nearer"), "{}", tried(""));
    assert_eq!(tried("--set low=-2 --set high=7"), "");
}

#[test]
fn a_store_tells_its_monitors_and_their_trips() {
    let folder = tempfile::tempdir().unwrap();
    let contract = "agent: bot\nactions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, amount: number }\n\
                    watch:\n  size: { mean: params.amount, max: 10, over: 2 }\n";
    std::fs::write(folder.path().join("bot.yaml"), contract).unwrap();
    let line = |amount: u32| {
        format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"o{amount}\",\"amount\":{amount}}}}}\n")
    };
    let lines: String = [8, 13, 1].into_iter().map(line).collect();
    let decide = ["decide", "--quiet", "--store", "kept.db", "--contract", "bot.yaml"];
    let decided = String::from_utf8(writkeeper(folder.path(), &decide, &lines).stdout).unwrap();
    assert!(decided.lines().nth(2).unwrap().contains("AGENT_SUSPENDED"), "{decided}");
    let listed = writkeeper(folder.path(), &["monitors", "--store", "kept.db", "--json"], "");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((&listed["monitor"], &listed["tripped"], &listed["seen"]), (&"size".into(), &true.into(), &2.into()));
    let trip = &listed["trips"][0];
    assert_eq!((&trip["statistic"], &trip["threshold"], &trip["to"]), (&"10.5".into(), &"10".into(), &1.into()));
    let shown = writkeeper(folder.path(), &["monitors", "--store", "kept.db"], "");
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("bot size  tripped  mean of amount"), "{shown}");
    assert!(shown.contains("[####################] 10.5 against 10, window 2, 2 values"), "{shown}");
    let top = writkeeper(folder.path(), &["top", "--once", "--store", "kept.db"], "");
    let top = String::from_utf8(top.stdout).unwrap();
    assert!(top.contains("monitors (1)") && top.contains("bot size                 tripped  [####"), "{top}");
    let top = writkeeper(folder.path(), &["top", "--store", "kept.db", "--json"], "");
    let top: serde_json::Value = serde_json::from_slice(&top.stdout).unwrap();
    assert_eq!(
        (&top["monitors"][0]["tripped"], &top["monitors"][0]["reading"]),
        (&true.into(), &"10.5 against 10".into())
    );
    let history = writkeeper(folder.path(), &["agents", "show", "bot", "--store", "kept.db"], "");
    let history = String::from_utf8(history.stdout).unwrap();
    assert!(history.contains("monitor_tripped SUSPENDED: monitor `size`: mean is 10.5 against 10"), "{history}");
    let report = writkeeper(folder.path(), &["report", "--store", "kept.db"], "");
    let report = String::from_utf8(report.stdout).unwrap();
    assert!(report.contains("alarms of monitors\n       1  bot size"), "{report}");
}

/// A folder with a contract that watches `m`, and what is decided there, each line by a process of its own.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new(params: &str, watch: &str) -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        let contract = format!(
            "agent: bot\nactions:\n  pay:\n    once: \"pay:{{order}}\"\n    params: {{ {params} }}\n    run: host\n\
             watch:\n  m: {watch}\n"
        );
        std::fs::write(desk.0.path().join("bot.yaml"), contract).unwrap();
        desk
    }

    fn run(&self, words: &str, input: &str, code: i32) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let output = writkeeper(self.0.path(), &words, input);
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        said
    }

    /// Decides; the id of the intent.
    fn pay(&self, params: &str, code: i32) -> String {
        let line = format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{{params}}}}}\n");
        let said = self.run("decide --quiet --store kept.db --contract bot.yaml", &line, code);
        let answer: serde_json::Value = serde_json::from_str(&said).unwrap();
        answer["intent"]["id"].as_str().unwrap_or_default().to_owned()
    }

    fn monitor(&self) -> serde_json::Value {
        serde_json::from_str(&self.run("monitors --store kept.db --json", "", 0)).unwrap()
    }

    /// The history verifies and every alarm in it recomputes.
    fn verifies(&self, code: i32) -> String {
        self.run("ledger export --store kept.db --out l.export", "", 0);
        let said = self.run("verify l.export", "", code);
        assert!(!said.contains("damaged"), "{said}");
        said
    }
}

#[test]
fn a_restart_forgets_nothing() {
    let desk = Desk::new("order: text, amount: number", "{ mean: params.amount, max: 10, over: 3 }");
    for (order, amount, code) in [("a", 5, 0), ("b", 12, 0), ("c", 14, 0), ("d", 1, 1)] {
        desk.pay(&format!("\"order\":\"{order}\",\"amount\":{amount}"), code);
    }
    let monitor = desk.monitor();
    assert_eq!((&monitor["tripped"], &monitor["seen"]), (&true.into(), &3.into()), "{monitor}");
    desk.verifies(0);
}

#[test]
fn a_missing_value_is_counted_and_moves_nothing() {
    let params = "order: text, amount: optional number";
    let desk = Desk::new(params, "{ mean: params.amount, max: 10, over: 2 }");
    for params in ["\"order\":\"a\",\"amount\":15", "\"order\":\"b\"", "\"order\":\"c\",\"amount\":4"] {
        desk.pay(params, 0);
    }
    let monitor = desk.monitor();
    assert_eq!((&monitor["seen"], &monitor["missing"]), (&2.into(), &1.into()), "{monitor}");
    assert_eq!(monitor["tripped"], false, "the window is 15 and 4: {monitor}");
    desk.pay("\"order\":\"d\",\"amount\":17", 0);
    assert_eq!(desk.monitor()["tripped"], true);
    desk.verifies(0);
}

#[test]
fn outcomes_count_when_they_arrive_and_what_never_arrives_counts_for_nothing() {
    let watch = "{ share: outcome.failed, max: 0.5, over: 3, then: ESCALATION_ONLY }";
    let desk = Desk::new("order: text, amount: number", watch);
    let pay = |order: &str, code| desk.pay(&format!("\"order\":\"{order}\",\"amount\":5"), code);
    let intents: Vec<String> = ["a", "b", "c", "d", "e"].into_iter().map(|order| pay(order, 0)).collect();
    let report = |place: usize, outcome: &str| {
        desk.run(&format!("intents report {} {outcome} --store kept.db", intents[place]), "", 0);
    };
    // Late and in another order; two never come.
    report(4, "failed");
    report(0, "succeeded");
    assert_eq!(desk.monitor()["seen"], 2);
    pay("f", 0);
    report(2, "failed");
    let monitor = desk.monitor();
    assert_eq!((&monitor["seen"], &monitor["tripped"]), (&3.into(), &true.into()), "two of three failed: {monitor}");
    assert_eq!(monitor["trips"][0]["cause"], intents[2], "{monitor}");
    pay("g", 2);
    desk.verifies(0);
}

#[test]
fn an_erased_decision_of_the_window_is_not_called_damage() {
    let desk = Desk::new("order: text, amount: number", "{ mean: params.amount, max: 10, over: 3, then: NOTIFY }");
    let mut intents = Vec::new();
    for (order, amount) in [("a", 5), ("b", 12), ("c", 14)] {
        intents.push(desk.pay(&format!("\"order\":\"{order}\",\"amount\":{amount}"), 0));
    }
    desk.verifies(0);
    desk.run(&format!("ledger erase {} --because forgotten --store kept.db", intents[1]), "", 0);
    let said = desk.verifies(2);
    assert!(said.contains("not replayable: erased"), "{said}");
}

#[test]
fn a_monitor_that_the_contract_no_longer_has_is_not_said_to_watch() {
    let folder = tempfile::tempdir().unwrap();
    let says = |words: &str, input: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = writkeeper(folder.path(), &words, input);
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let contract =
        "agent: bot\nactions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, amount: number }\n";
    let watching = format!("{contract}watch:\n  size: {{ mean: params.amount, max: 10, over: 3 }}\n");
    std::fs::write(folder.path().join("bot.yaml"), &watching).unwrap();
    std::fs::write(folder.path().join("bare.yaml"), contract).unwrap();
    std::fs::write(folder.path().join("tried.yaml"), watching.replace("max: 10", "max: 9")).unwrap();
    let line = |order: u32| {
        format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"o{order}\",\"amount\":5}}}}\n")
    };
    says("decide --quiet --store kept.db --contract bot.yaml", &line(1));
    assert!(says("monitors --store kept.db", "").contains("bot size  watching"));
    says("contract canary start tried.yaml --share 100% --because tried --store kept.db", "");
    says("decide --quiet --store kept.db", &line(2));
    let shown = says("monitors --store kept.db", "");
    assert!(shown.contains("bot size (candidate)  watching") && !shown.contains("candidate:"), "{shown}");
    says("contract canary rollback bot --because enough --store kept.db", "");
    assert!(says("monitors --store kept.db", "").contains("bot size (candidate)  not in the contract"));
    says("agents activate --contract bare.yaml --store kept.db", "");
    let shown = says("monitors --store kept.db", "");
    assert!(shown.contains("bot size  not in the contract") && !shown.contains("watching"), "{shown}");
    assert!(says("monitors --store kept.db --json", "").contains(r#""in_contract":false"#));
    assert!(!says("top --once --store kept.db", "").contains("size"));
}

#[test]
fn the_bar_of_a_lower_bound_fills_up_towards_it() {
    let folder = tempfile::tempdir().unwrap();
    let contract = "agent: bot\nactions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, amount: number }\n\
                    watch:\n  size: { mean: params.amount, min: 2, over: 1 }\n";
    std::fs::write(folder.path().join("bot.yaml"), contract).unwrap();
    let line = "{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{\"order\":\"a\",\"amount\":8}}\n";
    writkeeper(folder.path(), &["decide", "--quiet", "--store", "kept.db", "--contract", "bot.yaml"], line);
    let shown = writkeeper(folder.path(), &["monitors", "--store", "kept.db"], "");
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("[#####...............] 8 against 2"), "{shown}");
}

#[test]
fn a_list_says_how_many_alarms_it_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let contract = "agent: bot\nactions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, amount: number }\n\
                    watch:\n  size: { mean: params.amount, max: 10, over: 1, then: NOTIFY }\n";
    std::fs::write(folder.path().join("bot.yaml"), contract).unwrap();
    let listed = |from: u32, to: u32| {
        let line =
            |at| format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"{at}\",\"amount\":11}}}}\n");
        let lines: String = (from..to).map(line).collect();
        let decide = ["decide", "--quiet", "--store", "kept.db", "--contract", "bot.yaml"];
        assert_eq!(writkeeper(folder.path(), &decide, &lines).status.code(), Some(0));
        String::from_utf8(writkeeper(folder.path(), &["monitors", "--store", "kept.db"], "").stdout).unwrap()
    };
    let said = listed(0, 5);
    assert!(said.matches("tripped ").count() == 5 && !said.contains(" of 5 alarms"), "{said}");
    let said = listed(5, 20);
    assert!(said.contains("5 of 20 alarms, the latest first:") && said.matches("tripped ").count() == 5, "{said}");
}
