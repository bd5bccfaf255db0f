//! The smaller detectors, and who may hold which region beside whom. Rows of operations that are not built here are passed over.

use super::{Differs, check, json, text};
use kernel::detectors::dangling_intent;
use kernel::detectors::noop_streak;
use kernel::detectors::precursor;
use kernel::detectors::stall;
use kernel::lease::book::{LeaseBook, Verdict};
use kernel::lease::region::Region;
use kernel::lease::{Mode, Party, Request};
use serde_json::{Value, json};
use values::ids::Digest;
use values::time::{Duration, Instant};

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

const DILUTED: &str = "who lists enough other paths is admitted to a region that another holds exclusively";
const PREFIX: &str = "paths are compared by their letters, so `src/ap` collides with `src/api`";

const DIFFERS: &[Differs] = &[
    Differs { id: "misc-225", fault: DILUTED, ours: "xx true ss false sx true admitted false" },
    Differs { id: "misc-227", fault: DILUTED, ours: "xx true ss false sx true admitted false" },
    Differs { id: "misc-228", fault: DILUTED, ours: "xx true ss false sx true admitted false" },
    Differs { id: "misc-232", fault: DILUTED, ours: "xx true ss false sx true admitted false" },
    Differs { id: "misc-234", fault: PREFIX, ours: "xx false ss false sx false admitted true" },
    Differs { id: "misc-264", fault: PREFIX, ours: "xx false ss false sx false admitted true" },
    Differs { id: "misc-274", fault: PREFIX, ours: "xx false ss false sx false admitted true" },
    Differs { id: "misc-275", fault: PREFIX, ours: "xx false ss false sx false admitted true" },
    Differs { id: "misc-279", fault: PREFIX, ours: "xx false ss false sx false admitted true" },
    Differs { id: "misc-283", fault: PREFIX, ours: "xx false ss false sx false admitted true" },
];

#[test]
fn given_rows_of_overlapping_regions() {
    check("misc.jsonl", 51, DIFFERS, |row| (row["op"] == "lane_overlap").then(|| overlapping(row)));
}

fn overlapping(row: &Value) -> (String, String) {
    let (input, expect) = (&row["input"], &row["expect"]);
    let conflict = |held: Mode, asked: Mode| conflicts(&input["lease"], held, &input["requested"], asked);
    let alone = conflict(Mode::Exclusive, Mode::Exclusive);
    let beside = conflict(Mode::Exclusive, Mode::Shared);
    assert_eq!(beside, conflict(Mode::Shared, Mode::Exclusive), "{input}");
    let shared = conflict(Mode::Shared, Mode::Shared);
    (
        format!("xx {alone} ss {shared} sx {beside} admitted {}", !alone),
        format!(
            "xx {} ss {} sx {} admitted {}",
            expect["region_conflict_xx"],
            expect["region_conflict_ss"],
            expect["region_conflict_sx"],
            expect["admissible"]
        ),
    )
}

fn conflicts(held: &Value, held_as: Mode, asked: &Value, asked_as: Mode) -> bool {
    let request = |patterns: &Value, holder: &str, mode: Mode| {
        let patterns = patterns.as_array().unwrap().iter();
        let regions = patterns.map(|pattern| Region::glob("/", pattern.as_str().unwrap()).unwrap());
        Request::new(Party::parse(holder).unwrap(), mode, regions, Duration::from_secs(60)).ok()
    };
    // A lease on nothing cannot be asked for, so it stands against nobody.
    let (Some(held), Some(asked)) = (request(held, "one", held_as), request(asked, "other", asked_as)) else {
        return false;
    };
    let (mut book, now) = (LeaseBook::default(), Instant::PURE_DEFAULT);
    book.acquire(&held, now);
    matches!(book.decide(&asked, now), Verdict::Held { .. })
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
