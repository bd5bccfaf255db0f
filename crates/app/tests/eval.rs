//! `writkeeper eval`: labelled cases in, counts and shares out; what cannot be used is named by its line.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

const CONTRACT: &str = r#"agent: bot
approvers: [desk]
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: number }
    limits: { amount: { max: 100 } }
    allow: amount <= 25
    ask: amount <= 50
    validators: [clerk]
    run: host
  look: { reads: true, params: { order: text } }
validators:
  clerk: { command: [sh, clerk.sh], timeout: 10s }
watch:
  size: { mean: params.amount, max: 10, over: 2 }
"#;

/// Says no to orders that begin with an x.
const CLERK: &str = r#"if grep -q '"order":"x'; then v=reject; else v=pass; fi
echo "{\"verdict\":\"$v\",\"version\":\"1\"}"
"#;

fn writkeeper(folder: &Path, words: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    process.args(words.split(' ')).current_dir(folder).env_remove("WRITKEEPER_STORE").output().unwrap()
}

fn desk(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("bot.yaml", CONTRACT), ("clerk.sh", CLERK)].iter().chain(files) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Some members of the evaluation, or the sentence of the refusal.
fn check(folder: &Path, words: &str, expected: &[(&str, serde_json::Value)]) {
    let output = writkeeper(folder, &format!("eval {words} --json"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{words}: {said} {}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_str(said.trim()).unwrap();
    for (pointer, value) in expected {
        assert_eq!(told.pointer(pointer), Some(value), "{words} {pointer}: {told}");
    }
}

fn refused(folder: &Path, words: &str, code: i32, part: &str) {
    let output = writkeeper(folder, &format!("eval {words}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words}: {said}");
    assert!(said.contains(part), "{words}: {said}");
}

fn payment(order: &str, amount: u32, label: &str) -> String {
    let proposal = format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}}}}"#);
    format!("{{\"label\":\"{label}\",\"proposal\":{proposal}}}\n")
}

fn confusion(hits: u64, misses: u64, false_alarms: u64, passes: u64) -> (&'static str, serde_json::Value) {
    let counts = serde_json::json!({"hits":hits,"misses":misses,"false_alarms":false_alarms,"passes":passes});
    ("/confusion", counts)
}

#[test]
fn gates_contracts_and_validators_are_counted() {
    let rows = [("a", 10, "good"), ("b", 20, "bad"), ("c", 40, "good"), ("d", 60, "bad"), ("e", 200, "bad")];
    let mut lines: String = rows.iter().map(|(order, amount, label)| payment(order, *amount, label)).collect();
    lines.push_str(&payment("x1", 5, "bad"));
    let desk = desk(&[("cases", &lines)]);
    let folder = desk.path();
    check(folder, "gate limits --contract bot.yaml cases", &[confusion(1, 3, 0, 2)]);
    check(folder, "gate rules --contract bot.yaml cases", &[confusion(2, 2, 1, 1)]);
    check(folder, "gate rules --refusals --contract bot.yaml cases", &[confusion(2, 2, 0, 2)]);
    let shares = [
        confusion(3, 1, 1, 1),
        ("/precision/value", "0.7500".into()),
        ("/precision/low", "0.3006".into()),
        ("/precision/high", "0.9545".into()),
        ("/f1/value", "0.7500".into()),
        ("/cost/total", "52.5".into()),
        ("/mistakes", serde_json::json!([{"label":"bad","place":2},{"label":"good","place":3}])),
    ];
    let prices = "--cost call=0.25 --cost miss=50 --cost alarm=1";
    check(folder, &format!("contract --contract bot.yaml {prices} cases"), &shares);
    check(folder, "validator clerk --contract bot.yaml cases", &[confusion(1, 3, 0, 2), ("/unanswered", 0.into())]);
}

#[test]
fn recorded_findings_are_compared_with_what_people_say() {
    let lines: String = [("a", 10), ("b", 20), ("c", 40), ("d", 45)]
        .iter()
        .map(|(id, amount)| {
            format!(
                "{{\"id\":\"{id}{id}{id}{id}\",\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"{id}\",\"amount\":{amount}}}}}\n"
            )
        })
        .collect();
    let labels: String = [("aaaa", "good"), ("bb", "bad"), ("cccc", "bad")]
        .iter()
        .map(|(id, label)| format!("{{\"label\":\"{label}\",\"proposal\":\"{id}\"}}\n"))
        .collect();
    let contract = CONTRACT.replace("watch:\n  size: { mean: params.amount, max: 10, over: 2 }\n", "");
    let unknown = r#"{"label":"bad","proposal":"zzzz"}"#;
    let files = [("quiet.yaml", contract.as_str()), ("lines", &lines), ("labels", &labels), ("unknown", unknown)];
    let desk = desk(&[files.as_slice(), &[("people.yaml", "desk: [ada]\n")]].concat());
    let folder = desk.path();
    writkeeper(folder, "decide --quiet --store kept.db --contract quiet.yaml lines");
    check(folder, "gate rules --store kept.db labels", &[confusion(1, 1, 0, 1), ("/cost/calls", 0.into())]);
    check(folder, "validator clerk --store kept.db labels", &[confusion(0, 2, 0, 1), ("/unanswered", 0.into())]);
    refused(folder, "gate rules --store kept.db unknown", 65, "no decision about proposal `zzzz`");
    refused(folder, "gate rules --store kept.db --answers", 65, "no question of this store was answered");
    writkeeper(folder, "people set --store kept.db people.yaml");
    let open = writkeeper(folder, "escalations --store kept.db --json");
    let open = String::from_utf8(open.stdout).unwrap();
    let question = |order: &str| {
        let asked = |line: &&str| line.contains(&format!("\"order\":\"{order}\""));
        let line: serde_json::Value = serde_json::from_str(open.lines().find(asked).unwrap()).unwrap();
        line["id"].as_str().unwrap().to_owned()
    };
    for (order, verb) in [("c", "approve"), ("d", "deny")] {
        let words = format!("escalations answer {} {verb} --as ada --because seen --store kept.db", question(order));
        let answered = writkeeper(folder, &words);
        assert_eq!(answered.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&answered.stderr));
    }
    check(folder, "gate rules --store kept.db --answers", &[confusion(1, 0, 1, 0)]);
}

#[test]
fn detectors_are_judged_on_what_they_look_at() {
    let cases = r#"{"label":"bad","evidence":{"consecutive":3,"total":3}}
{"label":true,"evidence":{"consecutive":2,"total":9}}
{"label":false,"evidence":{"consecutive":0,"total":1}}
"#;
    let call = r#"{"tool":"Read","arguments":{"path":"a"},"result":"same"}"#;
    let calls = format!("{{\"label\":\"bad\",\"evidence\":{{\"steps\":[{call},{call},{call}]}}}}\n");
    let desk = desk(&[("cases", cases), ("calls", &calls), ("odd", r#"{"label":"bad","evidence":{"stepps":[]}}"#)]);
    let folder = desk.path();
    check(folder, "detector breaker cases", &[confusion(1, 1, 0, 1), ("/recall/value", "0.5000".into())]);
    check(folder, "detector breaker --set max_consecutive=2 cases", &[confusion(2, 0, 0, 1)]);
    check(folder, "detector stall calls", &[confusion(1, 0, 0, 0)]);
    check(folder, "detector stall --set repeat=4 calls", &[confusion(0, 1, 0, 0)]);
    refused(folder, "detector stall odd", 65, "line 1: `evidence.stepps` is not known; did you mean `steps`?");
    refused(folder, "detector stal calls", 64, "there is no detector `stal`; did you mean `stall`?");
    refused(folder, "detector stall --set repeat=1 calls", 64, "must be at least 2");
}

#[test]
fn a_monitor_is_judged_by_runs_of_values() {
    let points = [(5, "good"), (6, "good"), (14, "bad"), (15, "bad"), (16, "bad"), (5, "good"), (30, "good")];
    let lines: String =
        points.iter().map(|(value, label)| format!("{{\"label\":\"{label}\",\"value\":{value}}}\n")).collect();
    let apart =
        "{\"label\":\"good\",\"value\":9,\"series\":\"a\"}\n{\"label\":\"good\",\"value\":30,\"series\":\"b\"}\n";
    let desk = desk(&[("cases", &lines), ("apart", apart), ("odd", "{\"label\":\"good\",\"value\":\"5\"}\n")]);
    let folder = desk.path();
    let noticed = [confusion(1, 0, 1, 1), ("/series/delay_p50", 2.into()), ("/series/false_alarms", 1.into())];
    check(folder, "monitor mean --set max=10 --set over=2 cases", &noticed);
    check(folder, "monitor size --contract bot.yaml cases", &noticed);
    check(folder, "monitor size --contract bot.yaml apart", &[confusion(0, 0, 0, 2)]);
    check(folder, "monitor sum --set max=1000 --set over=2 cases", &[confusion(0, 1, 0, 2)]);
    refused(folder, "monitor mean --set max=10 odd", 65, "line 1: `value` must be a number or null");
    refused(folder, "monitor sizes --contract bot.yaml cases", 65, "watches no `sizes`; did you mean `size`?");
}

#[test]
fn series_may_come_one_after_the_other_or_mixed() {
    let point = |series: &str, at: u32| {
        let (label, value) = if at < 4 { ("good", 5 + at % 2) } else { ("bad", 9 + 3 * at) };
        format!("{{\"label\":\"{label}\",\"value\":{value},\"series\":\"{series}\"}}\n")
    };
    let lines = |order: &[(&str, u32)]| -> String { order.iter().map(|(series, at)| point(series, *at)).collect() };
    let grouped: Vec<(&str, u32)> = ["a", "b"].iter().flat_map(|series| (0..8).map(|at| (*series, at))).collect();
    let mixed: Vec<(&str, u32)> = (0..8).flat_map(|at| ["a", "b"].map(|series| (series, at))).collect();
    let many: String =
        (0..=10_000).map(|series| format!("{{\"label\":\"good\",\"value\":1,\"series\":{series}}}\n")).collect();
    let odd = "{\"label\":\"good\",\"value\":1,\"series\":[\"a\"]}\n";
    let (grouped, mixed) = (lines(&grouped), lines(&mixed));
    let desk = desk(&[("grouped", &grouped), ("mixed", &mixed), ("many", &many), ("odd", odd)]);
    let folder = desk.path();
    let noticed = [
        confusion(2, 0, 0, 2),
        ("/series/delay_p50", 2.into()),
        ("/series/delay_longest", 2.into()),
        ("/series/values", 16.into()),
        ("/series/good_values", 8.into()),
    ];
    for order in ["grouped", "mixed"] {
        check(folder, &format!("monitor mean --set max=14 --set over=3 {order}"), &noticed);
        check(folder, &format!("monitor mean --set max=14 --set over=3s --set at_least=3 {order}"), &noticed);
    }
    refused(folder, "monitor mean --set max=10 many", 65, "line 10001: `10000` would be series 10001 of at most 10000");
    refused(folder, "monitor mean --set max=10 odd", 65, "line 1: `series` must be a name, not a list");
}

#[test]
fn the_alarms_of_a_store_are_compared_with_what_people_say() {
    let contract = CONTRACT.replace("    validators: [clerk]\n", "").replace(
        "max: 10, over: 2 }",
        "max: 10, over: 2, then: NOTIFY }\n  count: { sum: params.amount, max: 1000, over: 2 }",
    );
    // The mean of two passes 10 with the fifth, and again with the eighth, which a person finds nothing wrong with.
    let amounts = [5, 6, 14, 5, 16, 2, 3, 20, 1];
    let payment = |(at, amount): (usize, &u32)| {
        let order = format!("\"params\":{{\"order\":\"o{at}\",\"amount\":{amount}}}");
        format!("{{\"id\":\"p{at}-0000\",\"agent\":\"bot\",\"action\":\"pay\",{order}}}\n")
    };
    let lines: String = amounts.iter().enumerate().map(payment).collect();
    let label = |(id, label): &(&str, &str)| format!("{{\"label\":\"{label}\",\"proposal\":\"{id}\"}}\n");
    let labels: String = [("p1-", "good"), ("p2", "bad"), ("p5", "good")].iter().map(label).collect();
    let unknown = label(&("p9", "good"));
    let desk = desk(&[("watched.yaml", &contract), ("lines", &lines), ("labels", &labels), ("unknown", &unknown)]);
    let folder = desk.path();
    writkeeper(folder, "decide --quiet --store kept.db --contract watched.yaml lines");
    let noticed = [
        confusion(1, 0, 1, 1),
        ("/series/values", 8.into()),
        ("/series/delay_p50", 3.into()),
        ("/series/false_alarms", 1.into()),
        ("/cost/calls", 0.into()),
    ];
    check(folder, "monitor size --store kept.db labels", &noticed);
    check(folder, "monitor count --store kept.db labels", &[confusion(0, 1, 0, 2)]);
    refused(folder, "monitor size --store kept.db unknown", 65, "no decision about proposal `p9`");
    refused(folder, "monitor sizes --store kept.db labels", 65, "did you mean `size`? (they have: count, size)");
    refused(folder, "monitor size --store kept.db --set max=3 labels", 64, "cannot be used with");
}

#[test]
fn what_detectors_said_is_compared_with_what_people_say() {
    let contract = "agent: host\nactions:\n  tool: { params: { stall: text, breaker: text }, run: host }\n";
    let call = |(at, stall): (usize, &&str)| {
        let params = format!("\"params\":{{\"stall\":\"{stall}\",\"breaker\":\"CLOSED\"}}");
        format!("{{\"id\":\"c{at}-0000\",\"agent\":\"host\",\"action\":\"tool\",{params}}}\n")
    };
    let lines: String = ["ADVANCING", "REPEATING", "STALLED", "ADVANCING"].iter().enumerate().map(call).collect();
    let label = |(id, label): &(&str, &str)| format!("{{\"label\":\"{label}\",\"proposal\":\"{id}\"}}\n");
    let labels: String = [("c0", "good"), ("c1", "good"), ("c2", "bad"), ("c3", "bad")].iter().map(label).collect();
    let desk = desk(&[("host.yaml", contract), ("lines", &lines), ("labels", &labels)]);
    let folder = desk.path();
    writkeeper(folder, "decide --quiet --store kept.db --contract host.yaml lines");
    check(folder, "detector stall --store kept.db labels", &[confusion(1, 1, 1, 1), ("/unanswered", 0.into())]);
    check(folder, "detector breaker --store kept.db labels", &[confusion(0, 2, 0, 2)]);
    refused(folder, "detector scope --store kept.db labels", 64, "what `stall` and `breaker` said, not `scope`");
    refused(folder, "detector stall --store kept.db --set repeat=4 labels", 64, "cannot be used with");
    refused(folder, "detector stall --store kept.db --answers", 65, "no question of this store was answered");
}

#[test]
fn what_cannot_be_used_is_named_by_its_line() {
    let good = payment("a", 1, "good");
    let wrong = |line: &str| format!("{good}\n{line}\n");
    let files = [
        ("label", wrong(r#"{"proposal":{}}"#)),
        ("word", wrong(r#"{"label":"maybe","proposal":{}}"#)),
        ("key", wrong(r#"{"label":"bad","proposl":{}}"#)),
        ("id", wrong(r#"{"label":"bad","proposal":"abcd"}"#)),
        ("json", wrong("{")),
        ("none", String::new()),
        ("shape", wrong(r#"{"label":"bad","proposal":{"agent":"bot","action":"pay"}}"#)),
        ("other", wrong(r#"{"label":"bad","proposal":{"agent":"bob","action":"pay","params":{}}}"#)),
        ("look", r#"{"label":"bad","proposal":{"agent":"bot","action":"look","params":{"order":"a"}}}"#.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let desk = desk(&files);
    let folder = desk.path();
    for (file, part) in [
        ("label", "line 3: `label` is missing"),
        ("word", "line 3: `label` must be"),
        ("key", "line 3: `proposl` is not known here; did you mean `proposal`?"),
        ("id", "line 3: `proposal` must be an object, not text; ids are for --store"),
        ("json", "line 3: "),
        ("none", "there are no cases"),
        ("shape", "line 3: the proposal cannot be read: `params` is missing"),
        ("other", "line 3: the proposal is of agent `bob`, and the contract is about `bot`"),
    ] {
        refused(folder, &format!("contract --contract bot.yaml {file}"), 65, part);
        refused(folder, &format!("gate rules --contract bot.yaml {file}"), 65, part);
    }
    refused(folder, "gate rulez --contract bot.yaml none", 64, "there is no gate `rulez`; did you mean `rules`?");
    refused(folder, "judge clerk --contract bot.yaml none", 65, "the contract has no judge `clerk` (it has none)");
    refused(
        folder,
        "validator clerk --contract bot.yaml look",
        65,
        "line 1: validator `clerk` is not asked about `look`",
    );
    refused(folder, "gate rules --contract bot.yaml --cost calls=1 none", 64, "did you mean `call`?");
    refused(folder, "gate rules none", 64, "--contract");
    check(folder, "gate shape --contract bot.yaml shape", &[confusion(1, 0, 0, 1)]);
    let prices = ["call", "miss"].map(|word| format!("--cost {word}={}", "9".repeat(28))).join(" ");
    std::fs::write(folder.join("point"), "{\"label\":\"bad\",\"value\":1}\n").unwrap();
    std::fs::write(folder.join("paid"), payment("a", 1, "bad")).unwrap();
    for words in ["contract --contract bot.yaml paid", "monitor mean --set max=10 point"] {
        refused(folder, &format!("{words} {prices}"), 64, "--cost: what all cases cost together is too large a number");
        refused(folder, &format!("{words} {prices} --json"), 64, "too large a number");
    }
}
