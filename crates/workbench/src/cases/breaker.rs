//! The circuit breaker, event by event.

use super::{Compared, is_error, json};
use kernel::detectors::breaker::{Evidence, Limit, Settings, judge};
use serde_json::Value;

pub fn answer(row: &Value) -> Option<Compared> {
    Some(Compared::new(ours(&row["input"])?, theirs(&row["expect"])?))
}

fn ours(input: &Value) -> Option<String> {
    let start = &input["start"];
    let settings = Settings::read("breaker", Some(&json(&input["policy"])?));
    let (Ok(settings), Some(consecutive), Some(total)) =
        (settings, start["consecutive"].as_u64(), start["total"].as_u64())
    else {
        return Some("error".to_owned());
    };
    let shown = |counts: &Evidence| {
        let judgement = judge(counts, &settings);
        let (state, escalation) = (judgement.state.word(), judgement.escalation.word());
        let limit = judgement.tripped_on.map(Limit::word);
        format!("{} {} {state} {escalation} {}; ", counts.consecutive, counts.total, limit.unwrap_or("-"))
    };
    let mut counts = Evidence { consecutive, total };
    let mut steps = String::new();
    for event in input["events"].as_str()?.chars() {
        counts = if event == 'F' { counts.failed() } else { counts.succeeded() };
        steps.push_str(&shown(&counts));
    }
    Some(steps + &shown(&counts))
}

fn theirs(expect: &Value) -> Option<String> {
    if is_error(expect) {
        return Some("error".to_owned());
    }
    let shown = |step: &Value| {
        let (state, escalation) = (step["state"].as_str()?, step["escalation"].as_str()?);
        let limit = step["tripped_on"].as_str().unwrap_or("-");
        Some(format!("{} {} {state} {escalation} {limit}; ", step["consecutive"], step["total"]))
    };
    let steps: Option<String> = expect["steps"].as_array()?.iter().map(shown).collect();
    Some(steps? + &shown(&expect["final"])?)
}
