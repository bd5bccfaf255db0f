//! Proof: an agent with a registered key signs what it proposes, and everything it signed is recomputed.

use crate::facts::{Facts, SnapshotFact};
use crate::finding::{Code, Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::statement::{Stated, rules_digest};
use values::bugs::{self, Bug};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let proposal = &facts.request.proposal;
    let unsigned = || Finding::reject(Gate::Proof, Reason::RejectAuth).with("agent", proposal.agent.as_str());
    let key = facts.agent.and_then(|agent| agent.key.as_ref());
    let (proof, key) = match (facts.proof, key) {
        (None, None) => return,
        // Registering a key is a promise to use it: without the envelope anyone could have written the proposal.
        (None, Some(_)) => {
            findings.push(unsigned().with("problem", "it is not signed at all"));
            return;
        }
        (Some(_), None) => {
            findings.push(unsigned().with("problem", "no key is registered"));
            return;
        }
        (Some(proof), Some(key)) => (proof, key),
    };
    if !proof.is_signed_by(key) && !bugs::on(Bug::ProofUnsigned) {
        findings.push(unsigned().with("problem", "it is of another key or over other bytes"));
        return;
    }
    let Some(stated) = proof.stated() else {
        findings.push(Finding::reject(Gate::Proof, Reason::RejectHash).with("part", "the statement"));
        return;
    };
    judge_digests(facts, stated, findings);
    judge_context(facts, stated, findings);
    if facts.proof_used && !bugs::on(Bug::ProofReused) {
        findings.push(Finding::reject(Gate::Proof, Reason::Replayed));
    }
}

fn judge_digests(facts: &Facts<'_>, stated: &Stated, findings: &mut Findings) {
    let compiled = facts.request.compiled;
    let parts = [
        ("the proposal", stated.proposal == facts.request.proposal.fingerprint),
        ("the contract", stated.contract == compiled.digest),
        ("the rules", stated.rules == rules_digest(&compiled.contract, facts.semantics)),
    ];
    for (part, fits) in parts {
        if !fits {
            findings.push(Finding::reject(Gate::Proof, Reason::RejectHash).with("part", part));
        }
    }
}

/// The signed snapshot is the one the proposal names, and what was seen there still holds.
fn judge_context(facts: &Facts<'_>, stated: &Stated, findings: &mut Findings) {
    let seen = match &facts.snapshot {
        SnapshotFact::None => None,
        SnapshotFact::Unknown(_) => return,
        SnapshotFact::Known(_, snapshot) => Some(snapshot.id()),
    };
    if seen != stated.snapshot {
        findings.push(Finding::reject(Gate::Proof, Reason::RejectContext));
    }
    let drift = findings.iter().find(|finding| finding.code == Code::Known(Reason::StateDrift));
    if let Some(problem) = drift.map(Finding::message) {
        findings.push(Finding::reject(Gate::Proof, Reason::RejectDrift).with("problem", problem));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::case;
    use values::bugs::{self, Bug};

    #[test]
    fn an_agent_with_a_key_signs_with_it_and_once() {
        let case = case().agent_key(1).check("REJECT REJECT_AUTH");
        let case = case.signed_by(2).amount(6).check("REJECT REJECT_AUTH");
        let case = case.signed_by(1).amount(7).check("ACCEPT");
        let case = case.check("REJECT REPLAYED");
        case.amount(8).check("ACCEPT");
    }

    #[test]
    fn a_stranger_who_signs_the_same_bytes_does_not_spoil_them() {
        let case = case().agent_key(1).signed_by(2).check("REJECT REJECT_AUTH");
        case.signed_by(1).check("ACCEPT").check("REJECT REPLAYED");
    }

    #[test]
    fn a_signature_nobody_can_compare_is_refused() {
        case().signed_by(1).check("REJECT REJECT_AUTH");
    }

    #[test]
    fn a_used_proof_comes_back_only_under_its_idempotency_key() {
        let case = case().agent_key(1).signed_by(1).idempotency_key("k").check("ACCEPT");
        case.check("ACCEPT").idempotency_key("other").check("ACCEPT");
    }

    #[cfg(feature = "bugs")]
    #[test]
    fn faults_are_noticed() {
        let red = |bug, row: fn()| bugs::with(bug, || std::panic::catch_unwind(row).is_err());
        assert!(red(Bug::ProofReused, an_agent_with_a_key_signs_with_it_and_once));
        assert!(red(Bug::ProofUnsigned, an_agent_with_a_key_signs_with_it_and_once));
    }
}
