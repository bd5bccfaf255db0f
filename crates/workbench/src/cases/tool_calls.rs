//! Calls that repeat, and calls that come without their lookup.

use super::{Compared, is_error, json, renamed, text};
use kernel::detectors::{precursor, stall};
use serde_json::{Value, json};
use values::ids::Digest;

pub fn stall(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let names = [("repeat", "repeat_n"), ("stall", "stall_n"), ("ignore_tools", "ignore_tools")];
    let settings = stall::Settings::read("stall", Some(&json(&renamed(&input["policy"], &names))?));
    let digest = |value: &Value| value.as_str().map(Digest::of);
    let step = |step: &Value| {
        let [tool, arguments, result] = step.as_array()?.as_slice() else { return None };
        Some(stall::Step { tool: text(tool), arguments: digest(arguments)?, result: digest(result) })
    };
    let steps: Option<Vec<stall::Step>> = input["steps"].as_array()?.iter().map(step).collect();
    let shown = |step: Option<&stall::Step>| {
        let shown = |step: &stall::Step| {
            let result = step.result.map_or_else(|| "-".to_owned(), |result| result.to_string());
            format!("{} {} {result}", step.tool, step.arguments)
        };
        step.map_or_else(|| "-".to_owned(), shown)
    };
    let ours = match settings {
        Ok(settings) => {
            let judgement = stall::judge(&stall::Evidence { steps: steps? }, &settings);
            format!("{} {} {}", judgement.state.word(), judgement.run, shown(judgement.repeated.as_ref()))
        }
        Err(_) => "error".to_owned(),
    };
    if is_error(expect) {
        return Some(Compared::new(ours, "error"));
    }
    let repeated = &expect["repeated_step"];
    let repeated = digest(&repeated["args_digest"]).map(|arguments| stall::Step {
        tool: text(&repeated["tool_name"]),
        arguments,
        result: digest(&repeated["result_digest"]),
    });
    let theirs = format!("{} {} {}", text(&expect["state"]), expect["repeat_run"], shown(repeated.as_ref()));
    Some(Compared::new(ours, theirs))
}

pub fn precursor(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let written = renamed(input, &[("requires", "requires"), ("aliases", "aliases")]);
    let settings = precursor::Settings::read("precursor", Some(&json(&written)?)).ok()?;
    // The rows do not say how the calls ended.
    let prior = |tool: &Value| precursor::Prior { tool: text(tool), ended: precursor::Ended::Unknown };
    let evidence = precursor::Evidence {
        tool: text(&input["tool"]),
        is_mutating: input["is_mutating"].as_bool()?,
        prior: input["prior_calls"].as_array()?.iter().map(prior).collect(),
    };
    let judgement = precursor::judge(&evidence, &settings);
    Some(Compared::new(
        json!([judgement.state.word(), judgement.required, judgement.present]).to_string(),
        json!([expect["stance"], expect["required"], expect["present"]]).to_string(),
    ))
}
