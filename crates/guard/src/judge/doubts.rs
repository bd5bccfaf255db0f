//! What judges said about a call, as a signal for the ladder.

use kernel::detectors::Signal;
use kernel::enforcement::gating::Confidence;
use kernel::finding::{Effect, Finding};

/// What was noticed about a stop.
pub(super) fn left(signal: &Signal) -> String {
    let after = if signal.detector == "dangling_intent" { ", and nothing ran after it" } else { "" };
    format!("{}{after}", signal.reason)
}

/// What judges said about a call. Like what detectors notice it does not bind: how sure they are picks the rung.
pub(super) fn doubts(findings: &[Finding]) -> impl Iterator<Item = Signal> {
    let said = findings.iter().filter(|finding| finding.effect == Effect::Advise);
    said.map(|finding| {
        let stated =
            finding.values.iter().find(|(name, _)| name == "confidence").and_then(|(_, value)| value.as_text());
        Signal {
            detector: "judge",
            state: "DOUBTS",
            confidence: stated.and_then(Confidence::from_word).unwrap_or(Confidence::Low),
            rung: None,
            reason: finding.message(),
            details: finding.to_record(),
        }
    })
}
