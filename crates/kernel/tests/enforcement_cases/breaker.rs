//! The circuit breaker, event by event.

use super::{check, json};
use kernel::detectors::breaker::{Evidence, Limit, Settings, judge};
use serde_json::Value;

#[test]
fn given_rows() {
    check("breaker.jsonl", 85, &[], |row| Some((ours(&row["input"]), theirs(&row["expect"]))));
}

fn ours(input: &Value) -> String {
    let start = &input["start"];
    let (Ok(settings), Some(consecutive), Some(total)) = (
        Settings::read("breaker", Some(&json(&input["policy"]))),
        start["consecutive"].as_u64(),
        start["total"].as_u64(),
    ) else {
        return "error".to_owned();
    };
    let shown = |counts: &Evidence| {
        let judgement = judge(counts, &settings);
        let (state, escalation) = (judgement.state.word(), judgement.escalation.word());
        let limit = judgement.tripped_on.map(Limit::word);
        format!("{} {} {state} {escalation} {}\n", counts.consecutive, counts.total, limit.unwrap_or("-"))
    };
    let mut counts = Evidence { consecutive, total };
    let mut steps = String::new();
    for event in input["events"].as_str().unwrap().chars() {
        counts = if event == 'F' { counts.failed() } else { counts.succeeded() };
        steps.push_str(&shown(&counts));
    }
    steps + &shown(&counts)
}

fn theirs(expect: &Value) -> String {
    if expect.get("error").is_some() {
        return "error".to_owned();
    }
    let shown = |step: &Value| {
        let (state, escalation) = (step["state"].as_str().unwrap(), step["escalation"].as_str().unwrap());
        let limit = step["tripped_on"].as_str().unwrap_or("-");
        format!("{} {} {state} {escalation} {limit}\n", step["consecutive"], step["total"])
    };
    let steps: String = expect["steps"].as_array().unwrap().iter().map(shown).collect();
    steps + &shown(&expect["final"])
}
