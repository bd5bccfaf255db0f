//! Whether a command was formed under the contracts that count now, and limits that someone amended.

use super::touched::Touched;
use crate::agent::AgentRow;
use crate::command::Submission;
use crate::contract::amend::effective_limits;
use crate::evaluator::Compiled;
use crate::finding::{Findings, Gate};
use crate::gates;
use crate::world::World;
use values::time::Instant;

/// Whether an agent of the line acts under another contract by now. In a pure run the registry names none.
pub(super) fn is_stale(world: &World, submission: &Submission, touched: &Touched) -> bool {
    let own = world.agent(&touched.agent);
    let in_force = own.and_then(|agent| agent.contract_for(submission.flow_id()));
    if in_force.is_some_and(|active| active != submission.contract.digest) {
        return true;
    }
    // What stands above a flow is in force for the whole agent there: a canary above takes none of the flows below.
    let differs = |agent: Option<&AgentRow>, contract: &Compiled| {
        agent.and_then(|agent| agent.contract).is_some_and(|active| active != contract.digest)
    };
    let registered = own.is_some_and(|agent| agent.contract.is_some());
    let mut parent = submission.contract.contract.parent.as_deref();
    for (contract, (key, _)) in submission.ancestors.iter().zip(&touched.ancestors) {
        let above = world.agent(key);
        let named = parent == Some(contract.contract.agent.as_str());
        if !named || differs(above, contract) {
            return true;
        }
        parent = contract.contract.parent.as_deref();
    }
    // A parent that nobody looked up cannot have bounded anything.
    registered && parent.is_some()
}

/// Whether amendments count for a submission: they were made to the contract in force, and to no candidate beside it.
pub(super) fn is_amended(submission: &Submission, agent: &AgentRow) -> bool {
    agent.canary.is_none() || agent.contract == Some(submission.contract.digest)
}

/// What the stateless gates found, with the limits of this moment in place of the contract's.
pub(super) fn with_amended_limits(submission: &Submission, agent: &AgentRow, at: Instant) -> Findings {
    let request = submission.request();
    let limits = effective_limits(&submission.contract.contract, &agent.amendments, at);
    let Some(limits) = limits.get(&submission.proposal.action) else { return submission.prepared.clone() };
    let mut findings = Findings::default();
    for finding in submission.prepared.iter().filter(|finding| finding.gate != Gate::Limits) {
        findings.push(finding.clone());
    }
    gates::limits::judge_within(&request, limits, &mut findings);
    findings
}
