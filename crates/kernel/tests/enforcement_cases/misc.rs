//! The smaller detectors. Rows of operations that are not built here are passed over.

use super::{check, json, text};
use kernel::detectors::dangling_intent;
use kernel::detectors::noop_streak;
use kernel::detectors::precursor;
use kernel::detectors::stall;
use kernel::ids::Digest;
use serde_json::{Value, json};

#[test]
fn given_rows_of_stall() {
    check("misc.jsonl", 21, &[], |row| (row["op"] == "tool_stream").then(|| stalled(row)));
}

#[test]
fn given_rows_of_the_noop_streak() {
    check("misc.jsonl", 17, &[], |row| (row["op"] == "noop_streak").then(|| streak(row)));
}

#[test]
fn given_rows_of_dangling_intent() {
    check("misc.jsonl", 8, &[], |row| (row["op"] == "dangling_intent").then(|| dangling(row)));
}

#[test]
fn given_rows_of_the_precursor() {
    check("misc.jsonl", 3, &[], |row| (row["op"] == "precursor_gate").then(|| precursor(row)));
}

fn stalled(row: &Value) -> (String, String) {
    let (input, expect) = (&row["input"], &row["expect"]);
    let mut policy = json!({});
    for (ours, theirs) in [("repeat", "repeat_n"), ("stall", "stall_n"), ("ignore_tools", "ignore_tools")] {
        if let Some(value) = input["policy"].get(theirs) {
            policy[ours] = value.clone();
        }
    }
    let settings = stall::Settings::read("stall", Some(&json(&policy))).unwrap();
    let digest = |value: &Value| value.as_str().map(Digest::of);
    let step = |step: &Value| stall::Step {
        tool: text(&step[0]),
        arguments: digest(&step[1]).unwrap(),
        result: digest(&step[2]),
    };
    let steps = input["steps"].as_array().unwrap().iter().map(step).collect();
    let judgement = stall::judge(&stall::Evidence { steps }, &settings);
    let repeated = &expect["repeated_step"];
    let expected = (!repeated.is_null()).then(|| stall::Step {
        tool: text(&repeated["tool_name"]),
        arguments: digest(&repeated["args_digest"]).unwrap(),
        result: digest(&repeated["result_digest"]),
    });
    (
        format!("{} {} {:?}", judgement.state.word(), judgement.run, judgement.repeated),
        format!("{} {} {expected:?}", text(&expect["state"]), expect["repeat_run"]),
    )
}

fn streak(row: &Value) -> (String, String) {
    let (input, expect) = (&row["input"], &row["expect"]);
    let mut settings = noop_streak::Settings::default();
    if let Some(max) = input["max_streak"].as_u64() {
        settings.max = max;
    }
    let evidence = noop_streak::Evidence { noop_turns: input["noop_turns"].as_u64().unwrap() };
    let judgement = noop_streak::judge(&evidence, &settings);
    let is_borne = judgement.state == noop_streak::State::Live;
    (
        format!("{} {is_borne} {}", judgement.state.word(), judgement.noop_turns),
        format!("{} {} {}", text(&expect["verdict"]), expect["allow"], expect["noop_turns"]),
    )
}

fn dangling(row: &Value) -> (String, String) {
    let (input, expect) = (&row["input"], &row["expect"]);
    let evidence = dangling_intent::Evidence {
        text: text(&input["final_turn_text"]),
        results_after: input["results_after_turn"].as_u64().unwrap(),
    };
    let judgement = dangling_intent::judge(&evidence, &dangling_intent::Settings::default());
    (
        format!("{} `{}`", judgement.state.word(), judgement.cue),
        format!("{} `{}`", text(&expect["verdict"]), text(&expect["matched_cue"])),
    )
}

fn precursor(row: &Value) -> (String, String) {
    let (input, expect) = (&row["input"], &row["expect"]);
    let written = json(&json!({"requires": input["requires"], "aliases": input["aliases"]}));
    let settings = precursor::Settings::read("precursor", Some(&written)).unwrap();
    // The rows do not say how the calls ended.
    let prior = |tool: &Value| precursor::Prior { tool: text(tool), ended: precursor::Ended::Unknown };
    let evidence = precursor::Evidence {
        tool: text(&input["tool"]),
        is_mutating: input["is_mutating"].as_bool().unwrap(),
        prior: input["prior_calls"].as_array().unwrap().iter().map(prior).collect(),
    };
    let judgement = precursor::judge(&evidence, &settings);
    (
        json!([judgement.state.word(), judgement.required, judgement.present]).to_string(),
        json!([expect["stance"], expect["required"], expect["present"]]).to_string(),
    )
}
