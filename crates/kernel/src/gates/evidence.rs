//! Evidence: params that carry authority must come from where the contract says.

use crate::contract::Origin;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::request::{Provenance, Request};
use std::collections::BTreeSet;

pub(super) fn judge(request: &Request<'_>, findings: &mut Findings) {
    let Some(action) = request.action() else { return };
    if *request.provenance == Provenance::ClaimedByAgent {
        return;
    }
    for (name, allowed) in &action.rules.from {
        if request.param(name).is_none() {
            continue;
        }
        let origin = match request.provenance {
            Provenance::Stated(origins) => origins.get(name).copied(),
            Provenance::Unknown | Provenance::ClaimedByAgent => None,
        };
        let finding = match origin {
            Some(origin) if allowed.contains(&origin) => continue,
            None | Some(Origin::Nowhere) => Finding::reject(Gate::Evidence, Reason::EvidenceMissing),
            Some(origin) => {
                Finding::reject(Gate::Evidence, Reason::EvidenceUntrusted).with("origin", origin_text(origin))
            }
        };
        findings.push(finding.field(name.as_str()).with("allowed", allowed_text(allowed)));
    }
}

fn origin_text(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "the user",
        Origin::State => "trusted state",
        Origin::Tool => "tool output",
        Origin::Nowhere => "nowhere",
    }
}

fn allowed_text(allowed: &BTreeSet<Origin>) -> String {
    let words: Vec<&str> = allowed.iter().map(|origin| origin_text(*origin)).collect();
    words.join(" or ")
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, case};

    fn guarded() -> Case {
        case().from("payee", &["user", "state"]).params(r#"{"amount":5,"payee":"DE89"}"#)
    }

    #[test]
    fn values_must_come_from_where_the_contract_says() {
        let check = |origin: &str, expected: &str| guarded().provenance("payee", origin).check(expected);
        check("user", "ACCEPT");
        check("state", "ACCEPT");
        check("tool", "REJECT EVIDENCE_UNTRUSTED");
        check("none", "REJECT EVIDENCE_MISSING");
    }

    #[test]
    fn silence_is_not_evidence() {
        guarded().check("REJECT EVIDENCE_MISSING");
        guarded().params(r#"{"amount":5}"#).check("ACCEPT");
    }

    #[test]
    fn an_agent_cannot_vouch_for_itself() {
        guarded().provenance("payee", "user").untrusted().check("REJECT PROVENANCE_CLAIMED");
    }
}
