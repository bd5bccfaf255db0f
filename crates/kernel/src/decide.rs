//! Deciding: run every gate, fold what they found.

use crate::facts::Facts;
use crate::finding::{Effect, Finding, Findings};
use crate::gates;
use crate::outcome::Verdict;
use crate::request::Request;

/// What all gates together say.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Everything found, in the order of gates.
    pub findings: Vec<Finding>,
}

/// Runs the gates that need no state. A pure function of the request, so replay can compute it again.
pub fn prepare(request: &Request<'_>) -> Findings {
    let mut findings = Findings::default();
    for gate in gates::STATELESS {
        gate(request, &mut findings);
    }
    findings
}

/// Runs the gates that need state, and folds everything into one judgement.
///
/// There is no error here: what could not be judged is a rejecting finding.
pub fn decide(facts: &Facts<'_>, prepared: Findings) -> Judgement {
    let mut findings = prepared;
    for gate in gates::STATEFUL {
        gate(facts, &mut findings);
    }
    let findings = findings.into_ordered();
    Judgement { verdict: fold(&findings), findings }
}

/// Any rejecting finding rejects; else any escalating one escalates; else it is accepted, whatever is advised.
pub fn fold(findings: &[Finding]) -> Verdict {
    match findings.iter().map(|finding| finding.effect).max() {
        Some(Effect::Reject) => Verdict::Reject,
        Some(Effect::Escalate) => Verdict::Escalate,
        Some(Effect::Advise) | None => Verdict::Accept,
    }
}
