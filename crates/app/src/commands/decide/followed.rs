//! `writkeeper decide --wait`: what became of a decision, on the same line.

use super::Judged;
use crate::exit::UsageError;
use crate::hint;
use crate::terminal;
use kernel::escalation::EscalationState;
use kernel::intent::IntentState;
use kernel::outcome::Verdict;
use runtime::{FollowUp, IntentOutcome};
use values::time::Duration;
use writkeeper::Keeper;

/// The longest wait for one line: whoever wants to wait for days asks again.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// How a decision ended that was waited for.
pub enum End {
    /// As a verdict would say it: it happened, it did not, a person must look.
    Verdict(Verdict),
    /// It is not over.
    Open,
}

/// How long to wait.
pub fn bound(text: &str) -> anyhow::Result<std::time::Duration> {
    let problem = || UsageError(format!("--wait `{}` is no duration up to 1h, such as 30s", terminal::echo(text)));
    let wait = Duration::parse(text).filter(|wait| *wait <= WAIT_MAX && wait.micros() >= 0).ok_or_else(problem)?;
    Ok(std::time::Duration::from_micros(wait.micros().unsigned_abs()))
}

/// Waits for what becomes of a decision. A store that cannot be read takes nothing of the decision back.
pub fn follow(keeper: &Keeper, judged: Judged, wait: Option<std::time::Duration>, quiet: bool) -> Judged {
    let Some(wait) = wait.filter(|_| judged.is_decided) else { return judged };
    let followed = match keeper.follow(&judged.answer, wait) {
        Ok(followed) => followed,
        Err(fault) => {
            terminal::note(&format!(
                "proposal {} was decided; what became of it is unknown: {fault}",
                judged.answer.id
            ));
            return Judged { followed: Some(FollowUp::default()), ..judged };
        }
    };
    if let Some(open) = still_open(&followed).filter(|_| !quiet) {
        terminal::note(&format!("after {} s {open}", wait.as_secs()));
    }
    Judged { followed: Some(followed), ..judged }
}

/// How it ended; `None` where the verdict says it all.
pub fn end(followed: &FollowUp) -> Option<End> {
    let answered = followed.answer.as_ref().map(|answer| match answer.state {
        EscalationState::Open => Verdict::Escalate,
        EscalationState::Overridden | EscalationState::Modified | EscalationState::Resolved => Verdict::Accept,
        EscalationState::Aborted | EscalationState::Expired => Verdict::Reject,
    });
    let Some(outcome) = &followed.outcome else { return answered.map(End::Verdict) };
    Some(match outcome.state {
        IntentState::Succeeded => End::Verdict(Verdict::Accept),
        IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => End::Verdict(Verdict::Reject),
        IntentState::InDoubt | IntentState::Unreported => End::Verdict(Verdict::Escalate),
        IntentState::Ready | IntentState::Claimed | IntentState::InFlight | IntentState::HandedOut => End::Open,
    })
}

/// What is left to happen, and who has to do it.
fn still_open(followed: &FollowUp) -> Option<String> {
    if let Some(answer) = followed.answer.as_ref().filter(|answer| answer.state == EscalationState::Open) {
        let question = &answer.question;
        let command = hint::next(&format!("writkeeper escalations show {question}"));
        return Some(format!("nobody has answered question {question}: {command}"));
    }
    let IntentOutcome { intent, state, worker, .. } = followed.outcome.as_ref()?;
    let by = worker.as_deref().unwrap_or("a worker");
    match state {
        IntentState::Ready => {
            let command = hint::next("writkeeper run --allow-host …");
            Some(format!("no worker has taken intent {intent}; is one running that may perform it? {command}"))
        }
        IntentState::Claimed | IntentState::InFlight => Some(format!("{by} is still performing intent {intent}")),
        IntentState::HandedOut => {
            let fix = hint::next(&format!("writkeeper intents report {intent} succeeded|failed|doubt"));
            Some(format!("whoever performs intent {intent} has not reported: {fix}"))
        }
        IntentState::InDoubt | IntentState::Unreported => {
            let fix = hint::next(&format!("writkeeper intents show {intent}"));
            Some(format!("nobody knows whether intent {intent} happened: {fix}"))
        }
        IntentState::Succeeded | IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => None,
    }
}
