//! Confidence: what the agent itself says it is worth.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use values::bugs::{self, Bug};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(thresholds) = facts.request.compiled.contract.proposal.confidence else { return };
    if bugs::on(Bug::W09ConfidenceIgnored) {
        return;
    }
    let Some(value) = facts.request.proposal.confidence else {
        let finding = Finding::reject(Gate::Confidence, Reason::ParamMissing).field("confidence");
        findings.push(finding.with("problem", ": the contract has confidence thresholds"));
        return;
    };
    let (finding, min) = if value < thresholds.reject_below {
        (Finding::reject(Gate::Confidence, Reason::ConfidenceTooLow), thresholds.reject_below)
    } else if value < thresholds.escalate_below {
        (Finding::escalate(Gate::Confidence, Reason::ConfidenceLow), thresholds.escalate_below)
    } else {
        return;
    };
    findings.push(finding.field("confidence").with("value", value).with("min", min));
}

#[cfg(test)]
mod tests {
    use crate::contract::Confidence;
    use crate::testing::{Case, case};
    use values::decimal::Decimal;

    fn thresholds() -> Case {
        let reject_below = Decimal::parse("0.4").unwrap();
        let escalate_below = Decimal::parse("0.7").unwrap();
        case().contract(move |contract| {
            contract.proposal.confidence = Some(Confidence { reject_below, escalate_below });
        })
    }

    #[test]
    fn low_confidence_asks_and_very_low_confidence_is_refused() {
        let check = |confidence: &str, expected: &str| thresholds().confidence(confidence).check(expected);
        check("0.7", "ACCEPT");
        check("0.699999", "ESCALATE CONFIDENCE_LOW");
        check("0.4", "ESCALATE CONFIDENCE_LOW");
        check("0.39", "REJECT CONFIDENCE_TOO_LOW");
        check("0", "REJECT CONFIDENCE_TOO_LOW");
    }

    #[test]
    fn silence_is_not_confidence() {
        thresholds().check("REJECT PARAM_MISSING");
    }
}
