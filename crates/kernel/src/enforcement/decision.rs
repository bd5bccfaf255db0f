//! What was decided about one call, before a handler has its say.

use super::corrective::Corrective;
use super::gating::{Confidence, PolicyFault, Unsupported};
use super::ladder::{Ladder, Rung, UnknownRung};
use std::fmt;
use values::decimal::Decimal;
use values::json::Json;

/// Why this rung.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// There was nothing to doubt.
    NothingUnsupported,
    /// Arguments came from nowhere.
    Unsupported,
    /// The policy does not fit the ladder in use, so the ladder's default holds.
    PolicyUnsafe(PolicyFault),
    /// Whoever decided says why.
    Stated(String),
}

/// The rung that was chosen for a call and what it was chosen for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    pub(super) tool: String,
    pub(super) rung: Rung,
    pub(super) confidence: Confidence,
    pub(super) unsupported: Vec<Unsupported>,
    pub(super) disruption_cost: Decimal,
    pub(super) why: Why,
    pub(super) bound: bool,
}

impl Decision {
    /// A rung that something else than confidence decided: a gate, a person, a mode.
    pub fn stated(ladder: &Ladder, token: &str, tool: &str, reason: &str) -> Result<Decision, UnknownRung> {
        let rung = ladder.rung(token)?.clone();
        Ok(Decision::on(ladder, rung, tool, &[], Why::Stated(reason.to_owned())))
    }

    /// A rung for what detectors noticed, as sure as they are.
    pub(super) fn noticed(ladder: &Ladder, rung: &Rung, tool: &str, confidence: Confidence, reason: &str) -> Decision {
        let decision = Decision::on(ladder, rung.clone(), tool, &[], Why::Stated(reason.to_owned()));
        Decision { confidence, ..decision }
    }

    /// The hardest rung there is, for a rung that cannot be found.
    pub(super) fn hardest(ladder: &Ladder, tool: &str, reason: &str) -> Decision {
        let rung = ladder.rungs().last().unwrap_or_else(|| ladder.softest()).clone();
        Decision::on(ladder, rung, tool, &[], Why::Stated(reason.to_owned()))
    }

    pub(super) fn on(ladder: &Ladder, rung: Rung, tool: &str, unsupported: &[Unsupported], why: Why) -> Decision {
        Decision {
            tool: tool.to_owned(),
            confidence: Confidence::of(unsupported),
            disruption_cost: four_decimals(ladder.cost_of(&rung)),
            unsupported: unsupported.to_vec(),
            rung,
            why,
            bound: false,
        }
    }

    /// Makes this one decision binding, whatever the ladder says about its rung. There is no way back.
    #[must_use]
    pub fn bound(mut self) -> Decision {
        self.bound = true;
        self
    }

    /// The rung that was decided.
    pub fn rung(&self) -> &Rung {
        &self.rung
    }

    /// The tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// How sure the doubt is.
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }

    /// The arguments that came from nowhere.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// Between 0 and 1, with four decimals.
    pub fn disruption_cost(&self) -> Decimal {
        self.disruption_cost
    }

    /// Why this rung.
    pub fn why(&self) -> &Why {
        &self.why
    }

    /// Whether no handler may answer softer.
    pub fn is_binding(&self) -> bool {
        self.bound || self.rung.is_binding()
    }

    /// Why this rung, as a sentence.
    pub fn reason(&self) -> String {
        self.to_string()
    }

    /// What the agent reads if the call is answered in its place and nobody composed something better.
    pub fn corrective(&self) -> Corrective {
        if self.unsupported.is_empty() {
            Corrective::refused(&self.tool, &self.reason())
        } else {
            Corrective::unresolved(&self.tool, &self.unsupported, None)
        }
    }

    /// The decision as a record keeps it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("rung", Json::text(self.rung.token())),
            ("confidence", Json::text(self.confidence.word())),
            ("dispatches", Json::Bool(self.rung.actuation().dispatches())),
            ("returns_synthetic", Json::Bool(self.rung.actuation().returns_synthetic())),
            ("binding", Json::Bool(self.is_binding())),
            ("disruption_cost", Json::from_decimal(self.disruption_cost)),
            ("unsupported", Json::texts(self.unsupported.iter().map(|argument| argument.argument.as_str()))),
            ("tool", Json::text(self.tool.as_str())),
        ])
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.rung.token();
        match &self.why {
            Why::NothingUnsupported => write!(formatter, "every argument can be traced: {token}"),
            Why::Unsupported => {
                let names: Vec<&str> = self.unsupported.iter().map(|argument| argument.argument.as_str()).collect();
                let (count, names) = (names.len(), names.join("`, `"));
                let confidence = self.confidence.word();
                write!(formatter, "{count} untraced argument(s), `{names}`, with {confidence} confidence: {token}")
            }
            Why::PolicyUnsafe(fault) => write!(formatter, "the policy does not fit this ladder ({fault}): {token}"),
            Why::Stated(reason) => formatter.write_str(reason),
        }
    }
}

fn four_decimals(value: Decimal) -> Decimal {
    let scale = Decimal::from(10_000);
    value.checked_mul(scale).and_then(|scaled| scaled.round().checked_div(scale)).unwrap_or(value)
}
