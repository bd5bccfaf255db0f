//! Agent state: only an agent in good standing acts.

use crate::agent::{AgentStatus, NOBODY};
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use values::bugs::{self, Bug};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let proposal = facts.request.proposal;
    let expected = &facts.request.compiled.contract.agent;
    let unknown = proposal.agent != *expected || facts.agent.is_none();
    if unknown && !bugs::on(Bug::W09UnknownAgent) {
        let finding = Finding::reject(Gate::Agent, Reason::AgentUnknown).field("agent");
        let other = if *expected == NOBODY { String::new() } else { format!("; this contract is for `{expected}`") };
        findings.push(finding.with("agent", proposal.agent.as_str()).with("expected", other));
        return;
    }
    let Some(agent) = facts.agent else { return };
    let reads = facts.request.action().is_some_and(|action| action.rules.reads);
    let revoked = agent.revokes(&proposal.action);
    let finding = match agent.status() {
        // What is held against an agent does not put its contract in force.
        AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Passive
            if agent.base == AgentStatus::Registered =>
        {
            Finding::reject(Gate::Agent, Reason::ContractInactive)
        }
        // A milder state above it does not give a revoked action back.
        AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Passive | AgentStatus::Active if revoked => {
            Finding::reject(Gate::Agent, Reason::AgentDegraded)
        }
        AgentStatus::Active | AgentStatus::Degraded => return,
        AgentStatus::Passive if reads => return,
        AgentStatus::Registered => Finding::reject(Gate::Agent, Reason::ContractInactive),
        AgentStatus::Passive => Finding::reject(Gate::Agent, Reason::AgentPassive),
        AgentStatus::EscalationOnly => Finding::escalate(Gate::Agent, Reason::AgentEscalationOnly),
        AgentStatus::Suspended if bugs::on(Bug::SuspensionIgnored) => return,
        AgentStatus::Suspended => Finding::reject(Gate::Agent, Reason::AgentSuspended),
        AgentStatus::Retired => Finding::reject(Gate::Agent, Reason::AgentRetired),
    };
    let because = agent.because().map(|because| format!(": {because}")).unwrap_or_default();
    findings.push(
        finding
            .with("agent", proposal.agent.as_str())
            .with("action", proposal.action.as_str())
            .with("because", because),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn only_an_agent_in_good_standing_acts() {
        let check = |status: &str, expected: &str| case().agent_status(status).check(expected);
        check("ACTIVE", "ACCEPT");
        check("REGISTERED", "REJECT CONTRACT_INACTIVE");
        check("PASSIVE", "REJECT AGENT_PASSIVE");
        check("DEGRADED", "REJECT AGENT_DEGRADED");
        check("ESCALATION_ONLY", "ESCALATE AGENT_ESCALATION_ONLY");
        check("SUSPENDED", "REJECT AGENT_SUSPENDED");
        check("RETIRED", "REJECT AGENT_RETIRED");
    }

    #[test]
    fn a_passive_agent_may_still_read() {
        case().agent_status("PASSIVE").action("look").params("{}").check("ACCEPT");
        case().agent_status("SUSPENDED").action("look").params("{}").check("REJECT AGENT_SUSPENDED");
    }

    #[test]
    fn degraded_names_actions() {
        case().agent_status("DEGRADED").revoked(&["other"]).check("ACCEPT");
        case().agent_status("DEGRADED").revoked(&["pay"]).check("REJECT AGENT_DEGRADED");
    }

    #[test]
    fn a_restriction_puts_no_contract_in_force() {
        for status in ["DEGRADED", "ESCALATION_ONLY", "PASSIVE"] {
            let case = case().agent_status("REGISTERED").agent_status(status).revoked(&["other"]);
            let case = case.check("REJECT CONTRACT_INACTIVE");
            case.action("look").params("{}").check("REJECT CONTRACT_INACTIVE");
        }
    }

    #[test]
    fn a_stranger_is_refused() {
        case().agent("stranger").check("REJECT AGENT_UNKNOWN");
    }
}
