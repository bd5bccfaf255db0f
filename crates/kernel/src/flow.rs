//! Flows: one decision life cycle each. A flow is open, closed or aborted, and holds any number of proposals.

use crate::contract::words;
use crate::escalation::EscalationState;
use crate::intent::{IntentState, proposal_state};

/// Flows above a flow; deeper lineages are refused.
pub const DEPTH_MAX: usize = 8;

words! {
    /// Whether a flow takes proposals.
    FlowState {
        /// It does.
        Open = "OPEN",
        /// It is finished.
        Closed = "CLOSED",
        /// It was broken off.
        Aborted = "ABORTED",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro of words writes the enum")]
impl Default for FlowState {
    fn default() -> FlowState {
        FlowState::Open
    }
}

impl FlowState {
    /// Whether proposals are taken.
    pub fn is_open(self) -> bool {
        self == FlowState::Open
    }
}

words! {
    /// What can happen to a flow.
    FlowEvent {
        /// A proposal is judged in it.
        Propose = "PROPOSE",
        /// It is finished.
        Close = "CLOSE",
        /// It is broken off.
        Abort = "ABORT",
    }
}

/// The machine; `None` is refused. The same function runs live and in replay.
pub fn transition(state: FlowState, event: FlowEvent) -> Option<FlowState> {
    match (state, event) {
        (FlowState::Open, FlowEvent::Propose) => Some(FlowState::Open),
        (FlowState::Open, FlowEvent::Close) => Some(FlowState::Closed),
        (FlowState::Open, FlowEvent::Abort) => Some(FlowState::Aborted),
        (FlowState::Closed | FlowState::Aborted, FlowEvent::Propose | FlowEvent::Close | FlowEvent::Abort) => None,
    }
}

words! {
    /// Where one proposal stands.
    ProposalState {
        /// It was read.
        Received = "RECEIVED",
        /// It may happen.
        Accepted = "ACCEPTED",
        /// It must not happen.
        Rejected = "REJECTED",
        /// A person decides.
        Escalated = "ESCALATED",
        /// A person put another in its place.
        Superseded = "SUPERSEDED",
        /// A person, or time, broke it off.
        Aborted = "ABORTED",
        /// It is being performed.
        Executing = "EXECUTING",
        /// It expired or was revoked before anything was sent.
        Cancelled = "CANCELLED",
        /// It happened.
        Done = "DONE",
        /// It did not happen.
        Failed = "FAILED",
        /// Some of it happened.
        Dirty = "DIRTY",
        /// It is being undone.
        Compensating = "COMPENSATING",
        /// It was undone.
        Compensated = "COMPENSATED",
    }
}

/// Names one list of a flow's open work holds; what does not fit is stopped when someone starts it, or by its time.
pub const OPEN_WORK_MAX: usize = 64;

/// What the latest proposal of a flow came to: where to look for how it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Latest {
    /// It was refused.
    Rejected,
    /// It was accepted and causes nothing.
    Done,
    /// This intent.
    Intent(String),
    /// This question.
    Question(String),
}

/// Where the latest proposal of a flow stands, given what it came to: the question, the intent, and the intent that
/// undoes it, each where there is one.
pub fn status(
    latest: &Latest,
    question: Option<EscalationState>,
    intent: Option<IntentState>,
    undo: Option<IntentState>,
) -> ProposalState {
    let performed = || intent.map_or(ProposalState::Done, |intent| proposal_state(intent, undo));
    match latest {
        Latest::Rejected => ProposalState::Rejected,
        Latest::Done => ProposalState::Done,
        Latest::Intent(_) => performed(),
        Latest::Question(_) => match question {
            None | Some(EscalationState::Open) => ProposalState::Escalated,
            Some(EscalationState::Overridden | EscalationState::Modified | EscalationState::Resolved) => performed(),
            Some(EscalationState::Aborted | EscalationState::Expired) => ProposalState::Aborted,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_over() {
        for event in [FlowEvent::Propose, FlowEvent::Close, FlowEvent::Abort] {
            assert_eq!(transition(FlowState::Closed, event), None);
            assert_eq!(transition(FlowState::Aborted, event), None);
        }
    }

    #[test]
    fn a_flow_stands_where_its_latest_proposal_stands() {
        let intent = Latest::Intent("i".to_owned());
        let question = Latest::Question("q".to_owned());
        let (done, ready) = (Some(IntentState::Succeeded), Some(IntentState::Ready));
        let (open, overridden) = (Some(EscalationState::Open), Some(EscalationState::Overridden));
        for (latest, asked, performed, undone, expected) in [
            (&Latest::Rejected, None, None, None, "REJECTED"),
            (&Latest::Done, None, None, None, "DONE"),
            (&intent, None, ready, None, "ACCEPTED"),
            (&intent, None, Some(IntentState::InDoubt), None, "EXECUTING"),
            (&intent, None, Some(IntentState::Cancelled), None, "CANCELLED"),
            (&intent, None, done, None, "DONE"),
            (&intent, None, done, ready, "DIRTY"),
            (&intent, None, done, done, "COMPENSATED"),
            (&question, open, None, None, "ESCALATED"),
            (&question, overridden, ready, None, "ACCEPTED"),
            (&question, overridden, done, None, "DONE"),
            (&question, overridden, None, None, "DONE"),
            (&question, Some(EscalationState::Expired), None, None, "ABORTED"),
            (&question, Some(EscalationState::Aborted), None, None, "ABORTED"),
        ] {
            assert_eq!(status(latest, asked, performed, undone).word(), expected, "{latest:?} {asked:?} {performed:?}");
        }
    }
}
