//! Kill switches of groups, and the attention of people, as an operator uses them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a command says; its exit code must be as expected.
fn writkeeper(folder: &Path, words: &str, input: &str, code: i32) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
        .args(words.split(' '))
        .current_dir(folder)
        .env("WRITKEEPER_STORE", "kept.db")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refusal may come before everything was read.
    let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
    let output = process.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words}: {said}");
    said
}

fn proposal(agent: &str, order: &str) -> String {
    format!("{{\"agent\":\"{agent}\",\"action\":\"pay\",\"params\":{{\"order\":\"{order}\",\"amount\":5}}}}\n")
}

/// Puts a contract in force and decides a first proposal under it.
fn agent(folder: &Path, name: &str, more: &str) {
    let pay = "actions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, amount: number }\n";
    std::fs::write(folder.join(format!("{name}.yaml")), format!("agent: {name}\n{pay}{more}")).unwrap();
    writkeeper(folder, &format!("decide --quiet --contract {name}.yaml"), &proposal(name, &format!("{name}-1")), 0);
}

fn decided(folder: &Path, agent: &str, order: &str, code: i32) -> String {
    writkeeper(folder, "decide --quiet", &proposal(agent, order), code)
}

#[test]
fn a_group_is_stopped_by_name_and_lifted_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "group: payments\n");
    agent(folder, "clerk", "group: office\n");
    let said = writkeeper(folder, "halt --group payments --because drill", "", 0);
    assert!(said.contains("nothing of group `payments` is accepted"), "{said}");
    let refused = decided(folder, "payer", "a", 1);
    assert!(refused.contains("GROUP_HALTED") && refused.contains("drill"), "{refused}");
    decided(folder, "clerk", "b", 0);
    let report = writkeeper(folder, "report", "", 0);
    assert!(report.contains("halted group `payments` by operator:"), "{report}");
    let said = writkeeper(folder, "resume --group office --because x", "", 1);
    assert!(said.contains("NOT_HALTED") && said.contains("is not stopped") && !said.contains("params"), "{said}");
    writkeeper(folder, "resume --group payments --because over", "", 0);
    decided(folder, "payer", "a", 0);
}

#[test]
fn no_contract_leads_out_of_a_group_that_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "group: payments\n");
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    std::fs::write(folder.join("free.yaml"), text.replace("group: payments\n", "")).unwrap();
    std::fs::write(folder.join("office.yaml"), text.replace("group: payments", "group: office")).unwrap();
    std::fs::write(folder.join("same.yaml"), text + "mission: pays\n").unwrap();
    writkeeper(folder, "halt --group payments --because fire", "", 0);
    for other in ["free.yaml", "office.yaml"] {
        let said = writkeeper(folder, &format!("agents activate --contract {other}"), "", 1);
        assert!(said.contains("GROUP_HALTED") && said.contains("fire"), "{said}");
    }
    writkeeper(folder, "agents activate --contract same.yaml", "", 0);
    assert!(decided(folder, "payer", "a", 1).contains("GROUP_HALTED"));
    writkeeper(folder, "resume --group payments --because out", "", 0);
    writkeeper(folder, "agents activate --contract free.yaml", "", 0);
    decided(folder, "payer", "a", 0);
    writkeeper(folder, "ledger export --out payer.export", "", 0);
    writkeeper(folder, "verify payer.export", "", 0);
}

#[test]
fn no_contract_leads_out_from_below_a_group_that_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "lead", "group: payments\n");
    agent(folder, "middle", "parent: lead\n");
    agent(folder, "junior", "parent: middle\n");
    agent(folder, "other", "");
    let text = std::fs::read_to_string(folder.join("junior.yaml")).unwrap();
    std::fs::write(folder.join("free.yaml"), text.replace("parent: middle\n", "")).unwrap();
    std::fs::write(folder.join("moved.yaml"), text.replace("parent: middle", "parent: other")).unwrap();
    std::fs::write(folder.join("same.yaml"), text + "mission: pays\n").unwrap();
    writkeeper(folder, "halt --group payments --because fire", "", 0);
    assert!(decided(folder, "junior", "a", 1).contains("GROUP_HALTED"));
    for other in ["free.yaml", "moved.yaml"] {
        let said = writkeeper(folder, &format!("agents activate --contract {other}"), "", 1);
        assert!(said.contains("GROUP_HALTED") && said.contains("fire"), "{said}");
    }
    writkeeper(folder, "agents activate --contract same.yaml", "", 0);
    writkeeper(folder, "resume --group payments --because out", "", 0);
    writkeeper(folder, "agents activate --contract moved.yaml", "", 0);
    decided(folder, "junior", "a", 0);
    writkeeper(folder, "ledger export --out junior.export", "", 0);
    writkeeper(folder, "verify junior.export", "", 0);
}

#[test]
fn what_is_beyond_the_attention_of_a_group_is_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let asks = "escalation: { approvers: [desk] }\n";
    agent(folder, "payer", asks);
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    let asking =
        text.replace("amount: number }\n", "amount: number }\n    ask:\n      - { when: \"true\", reason: LOOK }\n");
    std::fs::write(folder.join("asking.yaml"), asking.replace("agent: payer", "agent: asker")).unwrap();
    let said = writkeeper(folder, "people attention desk --questions 1 --per 1h", "", 0);
    assert!(said.contains("desk  asked 0 of 1 within 1h, then REFUSE"), "{said}");
    writkeeper(folder, "decide --quiet --contract asking.yaml", &proposal("asker", "a"), 2);
    let refused = decided(folder, "asker", "b", 1);
    assert!(refused.contains("ATTENTION_SPENT"), "{refused}");
    let report = writkeeper(folder, "report", "", 0);
    assert!(report.contains("1 proposal was refused that group `desk` would have been asked about"), "{report}");
    let told = writkeeper(folder, "people attention --json", "", 0);
    assert!(told.contains(r#""asked":"1","group":"desk""#), "{told}");
    writkeeper(folder, "people attention desk --unbounded", "", 0);
    decided(folder, "asker", "b", 2);
}

#[test]
fn a_shadow_tells_what_the_candidate_would_have_decided() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "budget: { sum: amount, max: 100, per: 1h }\n");
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    std::fs::write(folder.join("tighter.yaml"), text.replace("max: 100", "max: 12")).unwrap();
    std::fs::write(folder.join("ghost.yaml"), text.replace("agent: payer", "agent: ghost")).unwrap();
    let said = writkeeper(folder, "contract shadow start ghost.yaml --because typo", "", 65);
    assert!(said.contains("AGENT_NOT_REGISTERED") && said.contains("ghost"), "{said}");
    let said = writkeeper(folder, "contract shadow stop payer --because nothing", "", 65);
    assert!(said.contains("no candidate is judged beside the contract of `payer`"), "{said}");
    writkeeper(folder, "contract shadow start tighter.yaml --because tighter", "", 0);
    // Five were spent before: the candidate has room for one more, and its own budget stays there afterwards.
    for order in ["a", "b", "c"] {
        decided(folder, "payer", order, 0);
    }
    let shown = writkeeper(folder, "contract shadow show payer", "", 1);
    assert!(shown.contains("the candidate decides 2 of 3 decisions otherwise"), "{shown}");
    assert!(shown.contains("BUDGET_EXCEEDED"), "{shown}");
    let report = writkeeper(folder, "report", "", 0);
    assert!(report.contains("payer: the candidate decides 2 of 3 decisions otherwise"), "{report}");
    writkeeper(folder, "contract shadow stop payer --because enough", "", 0);
    assert!(!writkeeper(folder, "report", "", 0).contains("the candidate"));
}

#[test]
fn a_report_judges_all_shadows_in_one_pass_and_can_be_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, max) in [("payer", 12), ("clerk", 7)] {
        agent(folder, name, "budget: { sum: amount, max: 100, per: 1h }\n");
        let text = std::fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        let tighter = text.replace("max: 100", &format!("max: {max}"));
        std::fs::write(folder.join(format!("{name}-tighter.yaml")), tighter).unwrap();
    }
    for name in ["payer", "clerk"] {
        writkeeper(folder, &format!("contract shadow start {name}-tighter.yaml --because tighter"), "", 0);
    }
    // Five were spent by each before: one candidate has room for one more, the other for none.
    for order in ["a", "b", "c"] {
        decided(folder, "payer", &format!("p-{order}"), 0);
        decided(folder, "clerk", &format!("c-{order}"), 0);
    }
    let told = |words: &str| {
        let said = writkeeper(folder, words, "", 0);
        let report: serde_json::Value = serde_json::from_str(&said).unwrap();
        report["shadows"].clone()
    };
    let counts = |flipped: u32| serde_json::json!({"complete": true, "decisions": 6, "flipped": flipped, "unknown": 0});
    let all = serde_json::json!({"clerk": counts(3), "payer": counts(2)});
    assert_eq!(told("report --json"), all);
    for (name, flipped) in [("payer", 2), ("clerk", 3)] {
        let shown = writkeeper(folder, &format!("contract shadow show {name}"), "", 1);
        assert!(
            shown.contains(&format!("decides {flipped} of 6 decisions otherwise")),
            "alone it says the same: {shown}"
        );
    }
    // What came before that counts for budgets and not among the decisions.
    assert_eq!(told("report --json --since 1ms")["payer"]["decisions"], 0);
    assert_eq!(told("report --json --since 1h"), all);
    assert_eq!(told("report --json --backtest 0s"), serde_json::json!({}));
    let said = writkeeper(folder, "report --backtest soon", "", 64);
    assert!(said.contains("--backtest `soon` is no duration up to 1h"), "{said}");
}

#[test]
fn a_canary_takes_its_share_of_flows_is_promoted_and_rolled_back_with_who_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "    limits: { amount: { max: 10 } }\n");
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    std::fs::write(folder.join("tighter.yaml"), text.replace("max: 10", "max: 4")).unwrap();
    let said = writkeeper(folder, "contract canary start tighter.yaml --share 0% --because x", "", 64);
    assert!(said.contains("`0%` is no share from 0.01% to 100%"), "{said}");
    let said = writkeeper(folder, "contract canary show payer", "", 64);
    assert!(said.contains("no candidate is tried beside the contract of `payer`"), "{said}");
    let said = writkeeper(folder, "contract canary start tighter.yaml --share 50% --because tighter", "", 0);
    assert!(said.contains("50% of the flows of payer are under the candidate"), "{said}");
    let lines: String = (0..40).map(|number| proposal("payer", &format!("n-{number}"))).collect();
    writkeeper(folder, "decide --quiet", &lines, 1);
    let told = writkeeper(folder, "contract canary show payer --json", "", 0);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let count = |side: &str, key: &str| told[side][key].as_u64().unwrap();
    let (live, tried) = (count("in_force", "decisions"), count("candidate", "decisions"));
    assert!(live > 0 && tried > 0 && live + tried == 40, "{told}");
    assert_eq!((count("in_force", "accepted"), count("candidate", "rejected")), (live, tried));
    assert_eq!(told["candidate"]["reasons"]["LIMIT_EXCEEDED"], tried);
    let report = writkeeper(folder, "report", "", 0);
    assert!(report.contains("payer: 50% of the flows are under a candidate"), "{report}");
    let shown = writkeeper(folder, "agents show payer", "", 0);
    assert!(shown.contains("canary    50% of the flows under sha256"), "{shown}");
    let listed = writkeeper(folder, "contract canary", "", 0);
    assert!(listed.contains("payer  50% since") && listed.contains("tighter"), "{listed}");
    writkeeper(folder, "contract canary rollback payer --because too-tight", "", 0);
    decided(folder, "payer", "after", 0);
    writkeeper(folder, "contract canary start tighter.yaml --share 100% --because again", "", 0);
    writkeeper(folder, "contract canary promote payer --because good", "", 0);
    decided(folder, "payer", "later", 1);
    let shown = writkeeper(folder, "agents show payer", "", 0);
    assert!(shown.contains("promote_canary") && shown.contains("roll_back_canary"), "{shown}");
    assert!(shown.contains("too-tight") && !shown.contains("canary    "), "{shown}");
    writkeeper(folder, "ledger export --out payer.export", "", 0);
    writkeeper(folder, "verify payer.export", "", 0);
    let flips = writkeeper(folder, "contract backtest tighter.yaml --json", "", 1);
    assert!(flips.lines().last().unwrap().starts_with(r#"{"decisions":43,"#), "{flips}");
}

#[test]
fn switches_and_lifts_say_what_they_reach_and_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "group: payments\n");
    let listed = writkeeper(folder, "agents", "", 0) + &writkeeper(folder, "agents show payer", "", 0);
    assert!(listed.contains("group payments") && listed.contains("group     payments"), "{listed}");
    let said = writkeeper(folder, "halt --group paymints --because fire", "", 0);
    assert!(said.contains("no agent is in group `paymints` now"), "{said}");
    let said = writkeeper(folder, "halt --group payments --because fire", "", 0);
    assert!(!said.contains("no agent"), "{said}");
    let said = writkeeper(folder, "resume --because out", "", 0);
    assert!(said.contains("group `payments` is still halted") && said.contains("--group paymints"), "{said}");
    let said = writkeeper(folder, "agents lift payer suspended --because x", "", 1);
    assert!(said.contains("nothing holds agent `payer` in SUSPENDED") && said.contains("agents show payer"), "{said}");
    assert!(!said.contains("two writers"), "{said}");
}

#[test]
fn attention_keeps_what_it_was_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "");
    writkeeper(folder, "people attention desk --questions 3 --per 1h --spent escalation_only", "", 0);
    writkeeper(folder, "people attention office --questions 5", "", 0);
    let said = writkeeper(folder, "people attention desk --questions 30", "", 0);
    assert!(said.contains("asked 0 of 30 within 1h, then ESCALATION_ONLY"), "{said}");
    let said = writkeeper(folder, "people attention desk --per 2h", "", 0);
    assert!(said.contains("asked 0 of 30 within 2h, then ESCALATION_ONLY"), "{said}");
    let said = writkeeper(folder, "people attention desk --unbounded", "", 0);
    assert!(said.contains("desk  takes every question") && !said.contains("no group"), "{said}");
    assert!(said.contains("nobody is in group `desk` now"), "{said}");
    std::fs::write(folder.join("people.yaml"), "desk: [ann]\n").unwrap();
    writkeeper(folder, "people set people.yaml", "", 0);
    let said = writkeeper(folder, "people attention desk --questions 3", "", 0);
    assert!(!said.contains("nobody"), "{said}");
    assert!(writkeeper(folder, "people attention dsek --questions 3", "", 0).contains("nobody is in group `dsek` now"));
    let said = writkeeper(folder, "people attention nobody --spent refuse", "", 64);
    assert!(said.contains("--questions COUNT"), "{said}");
}

#[test]
fn a_canary_says_what_its_share_does_not_bound() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let watch = "watch:\n  size: { sum: params.amount, max: 100, over: 1h }\n";
    agent(folder, "payer", &format!("    limits: {{ amount: {{ max: 10 }} }}\n{watch}"));
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    let start = |text: String| {
        std::fs::write(folder.join("tried.yaml"), text).unwrap();
        writkeeper(folder, "contract canary start tried.yaml --share 1% --because test", "", 0)
    };
    let said = start(text.replace("max: 10 ", "max: 1000 "));
    assert!(said.contains("can stay in it") && said.contains("up to its budgets"), "{said}");
    assert!(!said.contains("words monitor"), "{said}");
    let said = start(text.replace("max: 10 ", "max: 4 "));
    assert!(!said.contains("can stay in it"), "{said}");
    let said = start(text.replace("max: 100,", "max: 99,"));
    assert!(said.contains("words monitor `size` otherwise") && said.contains("starts anew"), "{said}");
}

#[test]
fn a_contract_that_asks_people_where_nobody_is_known_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "");
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    let asks = "    ask: [{ when: \"true\", reason: LOOK }]\nescalation: { approvers: [desk] }\n";
    std::fs::write(folder.join("asks.yaml"), text.clone() + asks).unwrap();
    let nobody = "nobody is known here";
    let said = writkeeper(folder, "contract canary start asks.yaml --share 5% --because test", "", 0);
    assert!(said.contains(nobody), "{said}");
    assert!(writkeeper(folder, "contract canary promote payer --because test", "", 0).contains(nobody));
    assert!(writkeeper(folder, "agents activate --contract asks.yaml", "", 0).contains(nobody));
    assert!(!writkeeper(folder, "agents activate --contract payer.yaml", "", 0).contains(nobody));
    // People leave while a canary runs.
    std::fs::write(folder.join("people.yaml"), "desk: [ann]\n").unwrap();
    writkeeper(folder, "people set people.yaml", "", 0);
    writkeeper(folder, "contract canary start asks.yaml --share 5% --because test", "", 0);
    std::fs::write(folder.join("people.yaml"), "office: [ann]\n").unwrap();
    writkeeper(folder, "people set people.yaml", "", 0);
    let said = writkeeper(folder, "contract canary promote payer --because test", "", 65);
    assert!(said.contains("closes a way out"), "{said}");
    writkeeper(folder, "contract canary promote payer --because test --allow-locked", "", 0);
}

#[test]
fn a_backtest_of_an_agent_that_decided_nothing_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "");
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    std::fs::write(folder.join("typo.yaml"), text.replace("agent: payer", "agent: prayer")).unwrap();
    let said = writkeeper(folder, "contract backtest typo.yaml", "", 0);
    assert!(said.contains("agent `prayer` has no decision in this history"), "{said}");
    assert!(!writkeeper(folder, "contract backtest payer.yaml", "", 0).contains("no decision"));
}

#[test]
fn a_candidate_that_watches_less_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rest = "  calls: { share: verdict.rejected, max: 0.5, over: 9, then: NOTIFY }\n";
    agent(folder, "payer", &format!("watch:\n  size: {{ sum: params.amount, max: 100, over: 1h }}\n{rest}"));
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    let size = "  size: { sum: params.amount, max: 100, over: 1h }\n";
    write("dropped.yaml", text.replace(size, ""));
    write("weaker.yaml", text.replace("over: 1h }", "over: 1h, then: NOTIFY }"));
    write("stronger.yaml", text.replace("then: NOTIFY", "then: SUSPENDED"));
    let start =
        |name: &str| writkeeper(folder, &format!("contract canary start {name} --share 1% --because test"), "", 0);
    let said = start("dropped.yaml");
    assert!(said.contains("drops monitor `size`: flows under the candidate are not counted by it"), "{said}");
    assert!(said.contains("can stay in it") && !said.contains("`calls`") && !said.contains("replaces"), "{said}");
    let said = start("weaker.yaml");
    assert!(said.contains("weakens monitor `size` from SUSPENDED to NOTIFY"), "{said}");
    assert!(said.contains("it replaces candidate sha256"), "{said}");
    let said = start("stronger.yaml");
    assert!(!said.contains("drops") && !said.contains("weakens"), "{said}");
    assert!(!start("stronger.yaml").contains("replaces"));
    let said = writkeeper(folder, "agents activate --contract weaker.yaml", "", 0);
    assert!(said.contains("this ended the canary: candidate sha256") && said.contains("is taken back"), "{said}");
    assert!(said.contains("an alarm of monitor `size` does NOTIFY now, and not SUSPENDED"), "{said}");
    assert!(said.contains("words monitor `size` otherwise: it starts anew"), "{said}");
    let said = writkeeper(folder, "agents activate --contract dropped.yaml", "", 0);
    assert!(said.contains("has no monitor `size` any more") && !said.contains("canary"), "{said}");
    let diff = |old: &str, new: &str, code| writkeeper(folder, &format!("contract diff {old} {new}"), "", code);
    assert!(diff("payer.yaml", "dropped.yaml", 1).contains("widens   watch.size"));
    assert!(diff("payer.yaml", "weaker.yaml", 1).contains("widens   watch.size.then"));
    assert!(diff("payer.yaml", "stronger.yaml", 0).contains("narrows  watch.calls.then"));
}

#[test]
fn a_canary_is_promoted_by_the_digest_that_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    agent(folder, "payer", "    limits: { amount: { max: 10 } }\n");
    let text = std::fs::read_to_string(folder.join("payer.yaml")).unwrap();
    std::fs::write(folder.join("tighter.yaml"), text.replace("max: 10", "max: 4")).unwrap();
    writkeeper(folder, "contract canary start tighter.yaml --share 5% --because x", "", 0);
    let shown = writkeeper(folder, "contract canary show payer", "", 0);
    let (_, after) = shown.split_once("promote payer --contract ").unwrap();
    let (digest, _) = after.split_once(" --because TEXT").unwrap();
    assert!(shown.contains(&format!("sha256 {digest}")), "{shown}");
    let told = writkeeper(folder, "agents show payer --json", "", 0);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let in_force = told["contract"]["digest"].as_str().unwrap_or_default().to_owned();
    assert_eq!(in_force.len(), 64, "{told}");
    // A typo, and a contract that is known and not the one that is tried.
    for other in ["ab".repeat(32), in_force] {
        let said = writkeeper(folder, &format!("contract canary promote payer --contract {other} --because x"), "", 1);
        assert!(said.contains(&format!("now is {digest}, and --contract expected {other}")), "{said}");
        assert!(!said.contains("STORE_DAMAGED") && !said.contains("two writers"), "{said}");
    }
    let said = writkeeper(folder, &format!("contract canary promote payer --contract {digest} --because x"), "", 0);
    assert!(
        said.contains(&format!("promoted: contract sha256 {digest} is in force for every flow of payer")),
        "{said}"
    );
}
