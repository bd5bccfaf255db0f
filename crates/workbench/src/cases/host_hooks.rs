//! What a host is told after a call that repeats, in the host's own form.

use super::Compared;
use guard::hooks::{self, Event, Reply};
use kernel::detectors::stall;
use serde_json::Value;
use values::ids::Digest;

/// Of rows that say how often the call was made, and of hosts that are guarded here.
pub fn answer(row: &Value) -> Option<Compared> {
    let times: usize = row["name"].as_str()?.strip_prefix("post_repeat_")?.parse().ok()?;
    let host = hooks::host(row["dialect"].as_str()?)?;
    let stdin = &row["stdin"];
    let step = stall::Step {
        tool: stdin["tool_name"].as_str()?.to_owned(),
        arguments: Digest::of(stdin["tool_input"].to_string()),
        result: Some(Digest::of(stdin["tool_response"].to_string())),
    };
    let steps = vec![step; times];
    let judgement = stall::judge(&stall::Evidence { steps }, &stall::Settings::default());
    let is_said = judgement.state != stall::State::Advancing;
    let reply = if is_said { Reply::Warn(judgement.state.word().to_owned()) } else { Reply::Pass };
    let moment = stdin["hook_event_name"].as_str()?;
    let printed = hooks::write(host, Event::PostTool, moment, &reply);
    let ours: Value = serde_json::from_str(&printed.stdout).ok()?;
    Some(Compared::new(shown(&ours), shown(&row["stdout"])))
}

/// Where a text for the agent stands and what it says about the run; what says nothing is empty.
fn shown(output: &Value) -> String {
    let places = ["/hookSpecificOutput/additionalContext", "/agent_message", "/additional_context", "/reason"];
    let found = places.iter().find_map(|place| Some((place, output.pointer(place)?.as_str()?)));
    let Some((_, said)) = found else { return "nothing".to_owned() };
    let state = ["STALLED", "REPEATING"].into_iter().find(|state| said.contains(state));
    format!("told: {}", state.unwrap_or("-"))
}
