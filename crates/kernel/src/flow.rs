//! Flows: one decision life cycle each. A flow is open, closed or aborted, and holds any number of proposals.

use crate::contract::words;

/// Flows above a flow; deeper lineages are refused.
pub const DEPTH_MAX: u64 = 8;

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

/// Which state of a proposal may follow which. Illegal steps are refused, also on replay.
pub fn proposal_may(from: ProposalState, to: ProposalState) -> bool {
    use ProposalState::{
        Aborted, Accepted, Cancelled, Compensated, Compensating, Dirty, Done, Escalated, Executing, Failed, Received,
        Rejected, Superseded,
    };
    match from {
        Received => matches!(to, Accepted | Rejected | Escalated),
        Escalated => matches!(to, Accepted | Superseded | Aborted),
        Accepted => matches!(to, Executing | Cancelled),
        Executing => matches!(to, Done | Failed | Dirty),
        Dirty => matches!(to, Compensating),
        Compensating => matches!(to, Compensated | Aborted),
        Rejected | Superseded | Aborted | Cancelled | Done | Failed | Compensated => false,
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
    fn w08_closed_to_executing_is_refused() {
        assert!(!proposal_may(ProposalState::Done, ProposalState::Executing));
        assert!(!proposal_may(ProposalState::Rejected, ProposalState::Executing));
        assert!(!proposal_may(ProposalState::Escalated, ProposalState::Executing));
        assert!(proposal_may(ProposalState::Accepted, ProposalState::Executing));
    }
}
