//! Arrival: nothing passes a pulled kill switch, and a session token must be the agent's own.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if let Some(halt) = facts.halted {
        let finding = Finding::reject(Gate::Agent, Reason::Halted);
        findings.push(finding.with("by", halt.by.as_str()).with("because", halt.because.as_str()));
    }
    // A stranger is refused as one; there is no session to look at.
    let (Some(shown), Some(agent)) = (facts.door.session, facts.agent) else { return };
    let fits = agent.session.as_ref().is_some_and(|session| session.token_hash == shown && facts.at <= session.expires);
    if !fits {
        let finding = Finding::reject(Gate::Agent, Reason::SessionInvalid);
        findings.push(finding.with("agent", facts.request.proposal.agent.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn nothing_passes_a_pulled_switch() {
        let case = case().halted("ann", "fire").action("look").params("{}").check("REJECT HALTED");
        case.resumed().check("ACCEPT");
    }

    #[test]
    fn a_token_must_be_the_agents_own_and_young_enough() {
        let case = case().session("right", "2026-01-01T01:00:00Z").at("2026-01-01T00:30:00Z");
        let case = case.token("right").amount(1).check("ACCEPT");
        let case = case.token("wrong").amount(2).check("REJECT SESSION_INVALID");
        case.at("2026-01-01T01:00:00.000001Z").token("right").amount(3).check("REJECT SESSION_INVALID");
    }
}
