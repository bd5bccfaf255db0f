//! Flow: a proposal belongs to an open flow of its own agent.

use crate::command::UnseenFlow;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::flow::{FlowEvent, FlowState, transition};
use crate::reasons::Reason;
use values::bugs::{self, Bug};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let named = facts.request.proposal.flow.is_some();
    let refuse = |reason| Finding::reject(Gate::Retry, reason).field("flow").with("flow", facts.flow_id);
    if !facts.flow.seen {
        if named && facts.door.flows == UnseenFlow::Refused {
            findings.push(refuse(Reason::FlowUnknown));
        }
        return;
    }
    // To an agent another's flow does not exist.
    if facts.flow.row.agent != facts.request.proposal.agent {
        findings.push(refuse(Reason::FlowUnknown));
    } else if let Some(aborted) = &facts.flow.aborted {
        let finding = Finding::reject(Gate::Retry, Reason::FlowClosed).field("flow").with("flow", aborted.as_str());
        findings.push(finding.with("state", FlowState::Aborted.word()));
    } else if transition(facts.flow.row.state, FlowEvent::Propose).is_none() && !bugs::on(Bug::W08ClosedFlowActs) {
        findings.push(refuse(Reason::FlowClosed).with("state", facts.flow.row.state.word()));
    }
}
