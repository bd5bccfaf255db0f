//! Reports that say the opposite of how an intent had ended. They change nothing and stay in the ledger; whoever reads it
//! must see them.

use super::{IntentEvent, IntentState, Observed};
use crate::reasons::Reason;
use values::json::Json;

/// A report that a record keeps beside the end it contradicts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The intent.
    pub intent: String,
    /// How it had ended.
    pub state: IntentState,
    /// What the report says, as the word of a state.
    pub reported: IntentState,
}

impl Contradiction {
    /// What a record says, if it is such a report.
    pub fn in_record(body: &Json) -> Option<Contradiction> {
        let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_text).map(str::to_owned);
        let command = body.get("command")?;
        let (state, happened) = match text(body, "kind")?.as_str() {
            "settle" => {
                let findings = body.get("findings").and_then(Json::as_list).unwrap_or_default();
                let is_refused = |finding: &&Json| text(finding, "code").as_deref() == Some(Reason::StepRefused.code());
                let state = text(findings.iter().find(is_refused)?.get("values")?, "state")?;
                (state, reported(&text(command, "event")?, IntentEvent::Succeed.word(), IntentEvent::Fail.word())?)
            }
            "outcome" => {
                let result = body.get("result").filter(|result| result.get("late").is_some())?;
                let observed = text(command, "observed")?;
                let happened = reported(&observed, Observed::Positive.word(), Observed::Negative.word())?;
                // An attempt that did nothing contradicts no later one that did.
                if !happened && command.get("epoch") != result.get("epoch") {
                    return None;
                }
                (text(result, "state")?, happened)
            }
            _ => return None,
        };
        let state = IntentState::from_word(&state).filter(|state| state.is_contradicted(happened))?;
        let reported = if happened { IntentState::Succeeded } else { IntentState::Failed };
        Some(Contradiction { intent: text(command, "intent")?, state, reported })
    }
}

impl IntentState {
    /// Whether it is over, and ended otherwise than a report says.
    pub fn is_contradicted(self, happened: bool) -> bool {
        self.over() == Some(!happened)
    }
}

fn reported(word: &str, happened: &str, did_not: &str) -> Option<bool> {
    if word == happened { Some(true) } else { (word == did_not).then_some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Option<(&str, &str)>) {
        let body = Json::parse(body.as_bytes()).unwrap();
        let found = Contradiction::in_record(&body);
        let words = found.as_ref().map(|found| (found.state.word(), found.reported.word()));
        assert_eq!(words, expected, "{}", body.to_canonical());
    }

    #[test]
    fn only_the_opposite_of_an_end_contradicts() {
        let settle = |event: &str, code: &str, state: &str| {
            format!(
                r#"{{"kind":"settle","command":{{"intent":"i","event":"{event}"}},"findings":[{{"code":"{code}","values":{{"state":"{state}"}}}}]}}"#
            )
        };
        check(&settle("SUCCEED", "STEP_REFUSED", "FAILED"), Some(("FAILED", "SUCCEEDED")));
        check(&settle("SUCCEED", "STEP_REFUSED", "CANCELLED"), Some(("CANCELLED", "SUCCEEDED")));
        check(&settle("FAIL", "STEP_REFUSED", "SUCCEEDED"), Some(("SUCCEEDED", "FAILED")));
        check(&settle("FAIL", "STEP_REFUSED", "CANCELLED"), None);
        check(&settle("SUCCEED", "STEP_REFUSED", "SUCCEEDED"), None);
        check(&settle("SUCCEED", "STEP_REFUSED", "IN_FLIGHT"), None);
        check(&settle("DOUBT", "STEP_REFUSED", "SUCCEEDED"), None);
        check(&settle("SUCCEED", "NOT_AUTHORIZED", "FAILED"), None);
        let outcome = |observed: &str, epoch: u64, state: &str, late: &str| {
            format!(
                r#"{{"kind":"outcome","command":{{"intent":"i","observed":"{observed}","epoch":{epoch}}},"result":{{"epoch":2,"state":"{state}"{late}}}}}"#
            )
        };
        let late = r#","late":true"#;
        check(&outcome("POSITIVE", 2, "FAILED", late), Some(("FAILED", "SUCCEEDED")));
        check(&outcome("POSITIVE", 1, "ABANDONED", late), Some(("ABANDONED", "SUCCEEDED")));
        check(&outcome("NEGATIVE", 2, "SUCCEEDED", late), Some(("SUCCEEDED", "FAILED")));
        check(&outcome("NEGATIVE", 1, "SUCCEEDED", late), None);
        check(&outcome("POSITIVE", 1, "SUCCEEDED", late), None);
        check(&outcome("NEGATIVE", 2, "FAILED", ""), None);
        check(&outcome("UNKNOWN", 2, "SUCCEEDED", late), None);
        check(r#"{"kind":"decision"}"#, None);
    }
}
