//! Intents: looked at, taken up, reported, performed by functions of the embedding program.

use crate::faults::Fault;
use crate::store::Kept;
use kernel::intent::{IntentState, Observed};
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::IntentOutcome;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use values::json::Json;
use writkeeper::intents::IntentSummary;
use writkeeper::{PerformerReport, SystemClock, Taker, lookup};

/// The latest intents, oldest first.
pub fn intents(kept: &Kept, state: Option<&str>, limit: usize) -> Result<String, Fault> {
    let state = match state {
        None => None,
        Some(word) => {
            let upper = word.to_ascii_uppercase().replace('-', "_");
            let problem = || Fault::usage(format!("`{word}` is no state; one of {}", IntentState::WORDS.join(", ")));
            Some(IntentState::from_word(&upper).ok_or_else(problem)?)
        }
    };
    let mut latest = VecDeque::new();
    lookup::each(kept.keeper.runtime(), Kind::Intent, |name, row| {
        let Row::Intent(row) = row else { return };
        if state.is_none_or(|state| row.state == state) {
            latest.push_back(Json::Object(IntentSummary::of(&name, &row).to_json()));
        }
        if latest.len() > limit {
            latest.pop_front();
        }
    })?;
    Ok(Json::List(latest.into()).to_canonical())
}

/// One intent with what happened to it.
pub fn intent(kept: &Kept, id: &str) -> Result<String, Fault> {
    Ok(kept.keeper.intent(id)?.to_json().to_canonical())
}

/// Where an intent stands, without its history.
pub fn standing(kept: &Kept, id: &str) -> Result<String, Fault> {
    Ok(Json::Object(kept.keeper.intent_standing(id)?.to_json()).to_canonical())
}

/// Takes up an intent for performing it in this process.
pub fn take_up(kept: &Kept, intent: &str, asker: bool) -> Result<String, Fault> {
    let taker = if asker { Taker::Asker } else { Taker::Later };
    let worker = format!("python@{}", std::process::id());
    Ok(kept.keeper.take_up(intent, &worker, taker)?.to_json().to_canonical())
}

/// Says what became of an intent; where it stands now.
pub fn report(
    kept: &Kept,
    intent: &str,
    (observed, detail): (&str, &str),
    epoch: Option<u64>,
    result: Option<&str>,
) -> Result<String, Fault> {
    let problem = || Fault::usage(format!("`{observed}` is no outcome; say succeeded, failed or doubt"));
    let observed = read_observed(observed).ok_or_else(problem)?;
    let result = result.map(|text| (text.as_bytes().to_vec(), "application/json".to_owned()));
    let report = PerformerReport { observed, detail: detail.to_owned(), epoch, result };
    Ok(kept.keeper.report_outcome(intent, &report)?.word().to_owned())
}

/// What a performer observed, in the words of reports.
pub fn read_observed(word: &str) -> Option<Observed> {
    match word {
        "succeeded" => Some(Observed::Positive),
        "failed" => Some(Observed::Negative),
        "doubt" => Some(Observed::Unknown),
        _ => None,
    }
}

/// How an intent stands, once it is over or the time is.
pub fn await_outcome(kept: &Kept, intent: &str, wait: Duration) -> Result<Option<String>, Fault> {
    let outcome = kept.keeper.runtime().await_outcome(intent, Instant::now() + wait);
    let outcome = outcome.map_err(|fault| Fault::Library(fault.into()))?;
    Ok(outcome.map(|outcome| shown(&outcome).to_canonical()))
}

fn shown(outcome: &IntentOutcome) -> Json {
    Json::object([
        ("intent", Json::text(outcome.intent.as_str())),
        ("state", Json::text(outcome.state.word())),
        ("settled", Json::Bool(outcome.is_settled())),
        ("at", Json::from(outcome.over_at.map(|at| at.to_string()))),
        ("question", Json::from(outcome.question.clone())),
        ("result", outcome.result.as_ref().map(|result| result.to_answer()).unwrap_or_default()),
    ])
}

/// Performs what is due; what came of it.
pub fn perform(kept: &Arc<Kept>) -> Result<String, Fault> {
    let tally = kept.keeper.perform(&kept.callbacks.executors(), Arc::new(SystemClock))?;
    let counted = Json::object([
        ("succeeded", Json::from(tally.succeeded)),
        ("failed", Json::from(tally.failed)),
        ("in_doubt", Json::from(tally.doubted)),
        ("called_off", Json::from(tally.cancelled)),
        ("waiting", Json::texts(tally.waiting.values().map(ToString::to_string))),
    ]);
    Ok(counted.to_canonical())
}
