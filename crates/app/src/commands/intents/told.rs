//! Intents in words.

use crate::store::History;
use crate::terminal::{self, ATTENTION, BAD, FAINT, GOOD, STRONG, counted, paint, say};
use kernel::finding::{Finding, visible};
use kernel::flow::ProposalState;
use kernel::intent::{IntentRow, IntentState, proposal_state};
use runtime::Runtime;
use values::json::Json;

/// A state in its colour.
pub fn state(state: IntentState) -> String {
    let style = match state {
        IntentState::Succeeded => GOOD,
        IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => BAD,
        IntentState::InDoubt | IntentState::Unreported => ATTENTION,
        IntentState::Ready | IntentState::Claimed | IntentState::InFlight | IntentState::HandedOut => STRONG,
    };
    paint(style, state.word())
}

/// Where the proposal stands that it came from.
pub fn proposal(row: &IntentRow, undo: Option<&IntentRow>) -> ProposalState {
    proposal_state(row.state, undo.map(|undo| undo.state))
}

/// As JSON; without the params that the ledger withholds.
pub fn json(name: &str, row: &IntentRow) -> Json {
    let kept = row.facts.to_kept();
    let running = row.running.as_deref();
    Json::object([
        ("id", Json::text(name)),
        ("state", Json::text(row.state.word())),
        ("agent", Json::text(kept.agent)),
        ("flow", Json::text(kept.flow)),
        ("proposal", Json::text(kept.proposal)),
        ("effect_key", Json::text(kept.effect_key)),
        ("valid_until", Json::text(kept.valid_until.to_string())),
        ("accepted_at", Json::text(row.accepted_at.to_string())),
        ("epoch", Json::from(running.map_or(0, |running| running.epoch))),
        ("doubts", Json::from(running.map_or(0, |running| running.doubts))),
        ("question", Json::from(running.and_then(|running| running.question.clone()))),
        ("undoes", Json::from(running.and_then(|running| running.undoes.clone()))),
        ("undone_by", Json::from(running.and_then(|running| running.undone_by.clone()))),
        ("order", running.map_or(Json::Null, |running| running.order.to_json())),
    ])
}

/// For people.
pub fn row(name: &str, row: &IntentRow, undo: Option<&IntentRow>) -> anyhow::Result<()> {
    let kept = row.facts.to_kept();
    say!("intent {}  {}", paint(STRONG, name), state(row.state));
    say!("  effect    {}", visible(&kept.effect_key));
    say!("  accepted  {} for {} in flow {}", terminal::at(row.accepted_at), kept.agent, kept.flow);
    say!("  until     {}", terminal::at(kept.valid_until));
    say!("  proposal  {} {}", kept.proposal, proposal(row, undo).word());
    if let Some(running) = &row.running {
        let (attempts, doubts) = (counted(running.epoch, "attempt"), counted(running.doubts, "time"));
        say!("  class     {}; {attempts}, {doubts} in doubt", running.class().word());
        if let Some(undoes) = &running.undoes {
            say!("  undoes    {undoes}");
        }
        if let Some(undone_by) = &running.undone_by {
            say!("  undone by {undone_by}");
        }
        say!("\n{}\n", terminal::pretty(&running.order.to_json()));
    }
    Ok(())
}

/// When an intent ended that keeps nothing about its performing: as the ledger tells it.
pub fn ended(runtime: &Runtime, name: &str, row: &IntentRow) -> anyhow::Result<String> {
    let mut ledger = History::since(runtime, Some(row.accepted_at))?;
    let mut since = String::new();
    while let Some(body) = ledger.next_body()? {
        let text = |key: &str| body.get("result").and_then(|result| result.get(key)).and_then(Json::as_text);
        if text("intent") == Some(name) && text("state") == Some(row.state.word()) {
            body.get("at").and_then(Json::as_text).unwrap_or_default().clone_into(&mut since);
            break;
        }
    }
    Ok(since)
}

/// What a record says about an intent: when, and what.
pub fn event(body: &Json, name: &str) -> Option<(String, String)> {
    let text = |path: [&str; 2]| body.get(path[0]).and_then(|part| part.get(path[1])).and_then(Json::as_text);
    let plain = |key: &str| body.get(key).and_then(Json::as_text).unwrap_or_default();
    let kind = plain("kind");
    let plainly = body.get("intent").and_then(Json::as_text);
    let about = [text(["command", "intent"]), text(["result", "intent"]), text(["intent", "id"]), plainly];
    if !about.contains(&Some(name)) {
        return None;
    }
    let state = text(["result", "state"]).unwrap_or_default();
    let what = match kind {
        "decision" | "answer" => format!("accepted by {kind}"),
        "claim" => format!(
            "claimed by {} until {}",
            text(["command", "worker"])?,
            terminal::at_text(text(["result", "lease_until"]).unwrap_or_default())
        ),
        "start" => format!("marked before the first byte, sha256 {}", text(["command", "attempt"])?),
        "outcome" => {
            let late = body.get("result").and_then(|result| result.get("late")).is_some();
            let late = if late { ", too late to count by itself" } else { "" };
            format!("{} {}{late}: {state}", text(["command", "observed"])?, visible(text(["command", "detail"])?))
        }
        "resolve" => format!("{} says a person: {state}", text(["command", "decision"])?),
        "settle" => format!("reported {}: {state}", text(["command", "event"])?),
        "result" => {
            let bytes = body.get("response").and_then(|response| response.get("bytes")?.as_number()?.to_i64());
            format!("answered with {}", counted(bytes.unwrap_or_default().unsigned_abs(), "byte"))
        }
        "undo" => format!("to be undone: {}", visible(text(["command", "because"])?)),
        "intent_expired" => "called off: nobody started it in time".to_owned(),
        "intent_moved" => {
            format!("{} since its time was over, or it may not go on: {state}", text(["result", "from"])?)
        }
        _ => return None,
    };
    let refused = plain("verdict") == "REJECT";
    let found = body.get("findings").and_then(Json::as_list).unwrap_or_default();
    let why: Vec<String> = found.iter().filter_map(Finding::from_record).map(|finding| finding.message()).collect();
    let what = if refused { format!("refused: {what} {}", paint(FAINT, why.join("; "))) } else { what };
    Some((plain("at").to_owned(), what))
}
