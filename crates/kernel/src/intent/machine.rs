//! The machine of intents: at most one automatic effect, never a silent unknown.

use crate::contract::words;
use values::bugs::{self, Bug};

words! {
    /// Where an intent stands.
    IntentState {
        /// Waiting to be performed.
        Ready = "READY",
        /// A worker has it; nothing was sent.
        Claimed = "CLAIMED",
        /// Something may have been sent. Marked before the first byte.
        InFlight = "IN_FLIGHT",
        /// Handed to whoever performs it; only a report says what became of it.
        HandedOut = "HANDED_OUT",
        /// Whoever performs it did not report in time.
        Unreported = "UNREPORTED",
        /// It happened.
        Succeeded = "SUCCEEDED",
        /// It did not happen, without doubt.
        Failed = "FAILED",
        /// It expired or was revoked before anything was sent.
        Cancelled = "CANCELLED",
        /// Nobody knows whether it happened.
        InDoubt = "IN_DOUBT",
        /// A person says that it did not happen.
        Abandoned = "ABANDONED",
    }
}

words! {
    /// What became of an intent, as its performer reports it.
    IntentEvent {
        /// It happened.
        Succeed = "SUCCEED",
        /// It did not happen, without doubt.
        Fail = "FAIL",
        /// It was called off before anything was sent.
        Cancel = "CANCEL",
        /// Nobody knows.
        Doubt = "DOUBT",
    }
}

words! {
    /// What an attempt observed.
    Observed {
        /// It happened.
        Positive = "POSITIVE",
        /// It did not happen, and this attempt cannot make it happen any more.
        Negative = "NEGATIVE",
        /// Anything else.
        Unknown = "UNKNOWN",
    }
}

words! {
    /// What a person can say about an intent in doubt. Any other text is refused.
    DoubtDecision {
        /// It happened.
        Happened = "HAPPENED",
        /// It did not happen; what it took is returned.
        DidNot = "DID_NOT",
        /// Try once more, at the risk that it happens twice.
        Retry = "RETRY",
    }
}

/// What can happen to an intent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A worker takes it.
    Claim,
    /// The worker gives it back, or its lease is over before anything was sent.
    Release,
    /// Marked before the first byte.
    Start,
    /// What the attempt in flight observed.
    Answer(Observed),
    /// The lease of the attempt in flight is over.
    LeaseOver,
    /// An earlier attempt turns out to have succeeded.
    LateEvidence,
    /// Its class permits another attempt.
    Retry,
    /// Called off: expired, suspended, revoked.
    CallOff,
    /// It happened in the transaction of its decision.
    Local,
    /// Its performer reports.
    Report(IntentEvent),
    /// A person reports.
    PersonReports(IntentEvent),
    /// Nobody reported in time.
    Overdue,
    /// A person answers the question whether it happened.
    Resolve(DoubtDecision),
}

/// The machine; `None` is refused. `doubted` says that an earlier attempt may have succeeded.
///
/// After doubt only positive evidence or a person is final, and nothing that may have been sent is ever called off.
pub fn transition(state: IntentState, step: Step, doubted: bool) -> Option<IntentState> {
    use IntentState::{
        Abandoned, Cancelled, Claimed, Failed, HandedOut, InDoubt, InFlight, Ready, Succeeded, Unreported,
    };
    match (state, step, doubted) {
        (Ready, Step::Claim, _) => Some(Claimed),
        (Claimed, Step::Release, _) => Some(Ready),
        (Claimed, Step::Start, _) if bugs::on(Bug::NoInFlightMark) => Some(Claimed),
        (Claimed, Step::Start, _) => Some(InFlight),
        (Claimed, Step::Answer(Observed::Positive), _) if bugs::on(Bug::NoInFlightMark) => Some(Succeeded),
        (InFlight, Step::Answer(Observed::Positive), _) => Some(Succeeded),
        (InFlight, Step::Answer(Observed::Negative), false) => Some(Failed),
        (InFlight, Step::Answer(Observed::Negative), true) if bugs::on(Bug::NegativeAfterDoubtFinal) => Some(Failed),
        (InFlight, Step::Answer(Observed::Negative), true) => Some(InDoubt),
        (InFlight, Step::Answer(Observed::Unknown) | Step::LeaseOver, _) => Some(InDoubt),
        (Ready | Claimed | InFlight, Step::LateEvidence, true) => Some(Succeeded),
        (InDoubt | Unreported, Step::LateEvidence, _) => Some(Succeeded),
        (InDoubt, Step::Retry, _) => Some(Ready),
        (Ready | Claimed, Step::CallOff, false) => Some(Cancelled),
        (Ready | Claimed, Step::CallOff, true) => Some(InDoubt),
        (InFlight | InDoubt, Step::CallOff, _) if bugs::on(Bug::ExpiryFreesInFlight) => Some(Cancelled),
        (Ready, Step::Local, false) => Some(Succeeded),
        (Ready | Claimed, Step::Report(IntentEvent::Cancel) | Step::PersonReports(IntentEvent::Cancel), false) => {
            Some(Cancelled)
        }
        (Ready, Step::PersonReports(IntentEvent::Succeed), _) => Some(Succeeded),
        (Ready, Step::PersonReports(IntentEvent::Fail), false) => Some(Failed),
        (HandedOut, Step::Report(event) | Step::PersonReports(event), _) => match event {
            IntentEvent::Succeed => Some(Succeeded),
            IntentEvent::Fail => Some(Failed),
            IntentEvent::Doubt => Some(InDoubt),
            // Whoever has it may have performed it already.
            IntentEvent::Cancel if matches!(step, Step::PersonReports(_)) => Some(Cancelled),
            IntentEvent::Cancel => None,
        },
        (InDoubt | Unreported, Step::Report(IntentEvent::Succeed) | Step::PersonReports(IntentEvent::Succeed), _) => {
            Some(Succeeded)
        }
        (InDoubt, Step::PersonReports(IntentEvent::Fail), _) => Some(Failed),
        (HandedOut, Step::Overdue, _) => Some(Unreported),
        (HandedOut | InDoubt | Unreported, Step::Resolve(DoubtDecision::Happened), _) => Some(Succeeded),
        (HandedOut | InDoubt | Unreported, Step::Resolve(DoubtDecision::DidNot), _) => Some(Abandoned),
        (InDoubt, Step::Resolve(DoubtDecision::Retry), _) => Some(Ready),
        (
            Ready | Claimed | InFlight | HandedOut | Unreported | InDoubt | Succeeded | Failed | Cancelled | Abandoned,
            _,
            _,
        ) => None,
    }
}

impl IntentState {
    /// Whether it is over; then whether it happened.
    pub fn over(self) -> Option<bool> {
        match self {
            IntentState::Succeeded => Some(true),
            IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => Some(false),
            IntentState::Ready
            | IntentState::Claimed
            | IntentState::InFlight
            | IntentState::HandedOut
            | IntentState::Unreported
            | IntentState::InDoubt => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [IntentState; 10] = [
        IntentState::Ready,
        IntentState::Claimed,
        IntentState::InFlight,
        IntentState::HandedOut,
        IntentState::Unreported,
        IntentState::Succeeded,
        IntentState::Failed,
        IntentState::Cancelled,
        IntentState::InDoubt,
        IntentState::Abandoned,
    ];

    fn steps() -> Vec<Step> {
        let words = |list: &'static [&'static str]| list.iter().copied();
        let mut steps = vec![
            Step::Claim,
            Step::Release,
            Step::Start,
            Step::LeaseOver,
            Step::LateEvidence,
            Step::Retry,
            Step::CallOff,
            Step::Local,
            Step::Overdue,
        ];
        steps.extend(words(Observed::WORDS).filter_map(Observed::from_word).map(Step::Answer));
        steps.extend(words(DoubtDecision::WORDS).filter_map(DoubtDecision::from_word).map(Step::Resolve));
        steps.extend(words(IntentEvent::WORDS).filter_map(IntentEvent::from_word).map(Step::Report));
        steps.extend(words(IntentEvent::WORDS).filter_map(IntentEvent::from_word).map(Step::PersonReports));
        steps
    }

    fn every(mut check: impl FnMut(IntentState, Step, bool, Option<IntentState>)) {
        for state in STATES {
            for step in steps() {
                for doubted in [false, true] {
                    check(state, step, doubted, transition(state, step, doubted));
                }
            }
        }
    }

    #[test]
    fn what_is_over_stays_over() {
        every(|state, step, doubted, next| {
            assert!(state.over().is_none() || next.is_none(), "{state:?} {step:?} {doubted}");
        });
    }

    #[test]
    fn after_doubt_only_positive_evidence_or_a_person_is_final() {
        every(|state, step, doubted, next| {
            let person = matches!(step, Step::Resolve(_) | Step::PersonReports(_));
            let doubted = doubted || state == IntentState::InDoubt || state == IntentState::Unreported;
            // What a host was handed has no earlier attempt.
            let attempts = state != IntentState::HandedOut;
            if doubted && attempts && !person && next.is_some_and(|next| next.over() == Some(false)) {
                panic!("{state:?} {step:?} ends as {next:?}");
            }
        });
    }

    #[test]
    fn only_the_mark_puts_something_in_flight_and_only_a_claim_precedes_it() {
        every(|state, step, _, next| {
            assert_eq!(next == Some(IntentState::InFlight), state == IntentState::Claimed && step == Step::Start);
            assert!(next != Some(IntentState::Claimed) || state == IntentState::Ready);
        });
    }

    #[test]
    fn only_what_is_in_flight_is_answered() {
        every(|state, step, _, next| {
            let answered = matches!(step, Step::Answer(_)) && next.is_some();
            assert!(!answered || state == IntentState::InFlight, "{state:?} {step:?}");
        });
    }

    #[test]
    fn what_may_have_been_sent_is_never_called_off() {
        every(|state, step, _, next| {
            let sent = matches!(state, IntentState::InFlight | IntentState::InDoubt | IntentState::Unreported);
            assert!(!sent || next != Some(IntentState::Cancelled), "{state:?} {step:?}");
        });
    }
}
