//! What a run brings, whether it goes on, and what it says last.

use super::{Compared, is_error, json, renamed, text};
use kernel::detectors::liveness::Process;
use kernel::detectors::{dangling_intent, efficiency, liveness, noop_streak, productivity};
use serde_json::{Value, json};
use values::time::Duration;

/// The ratio is compared with twelve digits: theirs is a double, ours a decimal.
pub fn efficiency(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let settings = efficiency::Settings::read("efficiency", Some(&json(&input["policy"])?));
    let ours = match (settings, input["work"].as_u64(), input["tokens"].as_u64()) {
        (Ok(settings), Some(work), Some(tokens)) => {
            let evidence = efficiency::Evidence { work, tokens };
            let ratio: f64 = evidence.ratio().to_string().parse().ok()?;
            format!("{} {ratio:.12e}", efficiency::judge(&evidence, &settings).word())
        }
        (Ok(_) | Err(_), _, _) => "error".to_owned(),
    };
    if is_error(expect) {
        return Some(Compared::new(ours, "error"));
    }
    let ratio = expect.pointer("/evidence/ratio")?.as_f64()?;
    Some(Compared::new(ours, format!("{} {ratio:.12e}", text(&expect["verdict"]))))
}

pub fn productivity(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let settings = productivity::Settings::read("productivity", Some(&json(&input["policy"])?));
    let deltas: Option<Vec<u64>> = input["deltas"].as_array()?.iter().map(Value::as_u64).collect();
    let ours = match (settings, deltas) {
        (Ok(settings), Some(deltas)) => {
            productivity::judge(&productivity::Evidence { deltas }, &settings).word().to_owned()
        }
        (Ok(_) | Err(_), _) => "error".to_owned(),
    };
    let theirs = if is_error(expect) { "error".to_owned() } else { text(&expect["verdict"]) };
    Some(Compared::new(ours, theirs))
}

pub fn noop_streak(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let written = renamed(input, &[("max", "max_streak")]);
    let settings = noop_streak::Settings::read("noop_streak", Some(&json(&written)?));
    let ours = match (settings, input["noop_turns"].as_u64()) {
        (Ok(settings), Some(noop_turns)) => {
            let judgement = noop_streak::judge(&noop_streak::Evidence { noop_turns }, &settings);
            let is_borne = judgement.state == noop_streak::State::Live;
            format!("{} {is_borne} {}", judgement.state.word(), judgement.noop_turns)
        }
        (Ok(_) | Err(_), _) => "error".to_owned(),
    };
    if is_error(expect) {
        return Some(Compared::new(ours, "error"));
    }
    Some(Compared::new(ours, format!("{} {} {}", text(&expect["verdict"]), expect["allow"], expect["noop_turns"])))
}

pub fn dangling_intent(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let said = text(&input["final_turn_text"]);
    let ours = match input["results_after_turn"].as_u64() {
        Some(results_after) => {
            let evidence = dangling_intent::Evidence { text: said.clone(), results_after };
            let judgement = dangling_intent::judge(&evidence, &dangling_intent::Settings::default());
            format!("{} `{}`", judgement.state.word(), judgement.cue)
        }
        None => "error".to_owned(),
    };
    if is_error(expect) {
        return Some(Compared::new(ours, "error"));
    }
    let theirs = format!("{} `{}`", text(&expect["verdict"]), text(&expect["matched_cue"]));
    Some(Compared::new(ours, theirs).by(said.contains(['\'', '\u{2019}']).then_some("contraction")))
}

pub fn liveness(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let policy = &input["policy"];
    let window = |key: &str| policy[key].as_i64().map(|millis| json!(format!("{millis}ms")));
    let written = json!({ "grace": window("grace_ms"), "spin": window("spin_ms") });
    let written = renamed(&written, &[("grace", "grace"), ("spin", "spin")]);
    let settings = liveness::Settings::read("liveness", Some(&json(&written)?));
    let length = |millis: i64| Duration::from_micros(millis.saturating_mul(1_000));
    let evidence = || {
        let age = input["now_ms"].as_i64()?.checked_sub(input["run_started_ms"].as_i64()?)?;
        let count = |key: &str| input.get(key).map_or(Some(0), Value::as_u64);
        Some(liveness::Evidence {
            age: Some(length(age)),
            commits: count("commits_since_start")?,
            effects: count("journal_events_since")?,
            last_sign: input["last_heartbeat_age_ms"].as_i64().map(length),
            process: input["process_alive"]
                .as_bool()
                .map(|is_alive| if is_alive { Process::Running } else { Process::Gone }),
        })
    };
    let ours = match (settings, evidence()) {
        (Ok(settings), Some(evidence)) => liveness::judge(&evidence, &settings).word(),
        (Ok(_) | Err(_), _) => "error",
    };
    let theirs = if is_error(expect) { "error".to_owned() } else { text(&expect["verdict"]) };
    Some(Compared::new(ours, theirs))
}
