//! Reports that say the opposite of how an intent had ended. They change nothing and stay in the ledger; whoever reads it
//! must see them.

use super::{IntentEvent, IntentState, Observed};
use crate::change::ActKind;
use crate::event::{Event, KeptEvidence};
use crate::finding::{Code, Finding};
use crate::reasons::Reason;
use crate::record::RecordKind;
use crate::stored::{text_of, whole_of};
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
        let (intent, state, happened) = match RecordKind::of(body)? {
            RecordKind::Change(ActKind::Settle) => refused_report(body)?,
            RecordKind::Change(ActKind::Outcome) => late_report(body)?,
            RecordKind::Change(_)
            | RecordKind::Decision
            | RecordKind::Refusal
            | RecordKind::Result
            | RecordKind::Discontinuity
            | RecordKind::Consequence(_) => return None,
        };
        let reported = if happened { IntentState::Succeeded } else { IntentState::Failed };
        state.is_contradicted(happened).then_some(Contradiction { intent, state, reported })
    }
}

/// What a host reported about an intent that was over already.
fn refused_report(body: &Json) -> Option<(String, IntentState, bool)> {
    let command = body.get("command")?;
    let mut findings = body.get("findings")?.as_list()?.iter().filter_map(Finding::from_record);
    let refused = findings.find(|finding| finding.code == Code::Known(Reason::StepRefused))?;
    let (_, state) = refused.values.iter().find(|(name, _)| name == "state")?;
    let happened = match IntentEvent::from_word(command.get("event")?.as_text()?)? {
        IntentEvent::Succeed => true,
        IntentEvent::Fail => false,
        IntentEvent::Cancel | IntentEvent::Doubt => return None,
    };
    Some((text_of(command, "intent")?, IntentState::from_word(state.as_text()?)?, happened))
}

/// What an attempt observed that no longer moves its intent.
fn late_report(body: &Json) -> Option<(String, IntentState, bool)> {
    let command = body.get("command")?;
    let Event::EvidenceKept(KeptEvidence { intent, state, epoch, .. }) = Event::from_record(body)? else {
        return None;
    };
    match Observed::from_word(command.get("observed")?.as_text()?)? {
        Observed::Positive => Some((intent, state, true)),
        // An attempt that did nothing contradicts no later one that did.
        Observed::Negative => (whole_of(command, "epoch")? == epoch).then_some((intent, state, false)),
        Observed::Unknown => None,
    }
}

impl IntentState {
    /// Whether it is over, and ended otherwise than a report says.
    pub fn is_contradicted(self, happened: bool) -> bool {
        self.over() == Some(!happened)
    }
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
                r#"{{"kind":"settle","command":{{"intent":"i","event":"{event}"}},"findings":[{{"code":"{code}","effect":"reject","gate":"agent","values":{{"state":"{state}"}}}}]}}"#
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
                r#"{{"kind":"outcome","verdict":"ACCEPT","command":{{"intent":"i","observed":"{observed}","epoch":{epoch}}},"result":{{"epoch":2,"from":"{state}","intent":"i","question":null,"retry_at":null,"state":"{state}"{late}}}}}"#
            )
        };
        let late = r#","contradicts":false,"late":true"#;
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
