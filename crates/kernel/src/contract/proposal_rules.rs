//! What every proposal must satisfy.

use super::members::Members;
use super::shape::{Direction, Holds, shape};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

shape! {
    /// What every proposal must satisfy.
    PROPOSAL = "proposal" {
        "confidence": Direction::Presence, Holds::Map(&CONFIDENCE);
        "ttl": Direction::Unclear, Holds::Map(&TTL);
        "context_max_age": Direction::MoreWidens;
        "retries": Direction::MoreWidens;
        "spend": Direction::Unclear, Holds::Map(&SPEND);
    }
}

shape! {
    /// Thresholds of confidence.
    CONFIDENCE = "confidence" { "reject_below": Direction::MoreNarrows; "escalate_below": Direction::MoreNarrows; }
}

shape! {
    /// Validity of a proposal.
    TTL = "ttl" { "default": Direction::MoreWidens; "max": Direction::MoreWidens; }
}

shape! {
    /// What a flow may spend.
    SPEND = "spend" { "tokens": Direction::MoreWidens; "steps": Direction::MoreWidens; }
}

/// What every proposal must satisfy.
#[derive(Clone, PartialEq, Debug)]
pub struct ProposalRules {
    /// Thresholds of the agent's own confidence.
    pub confidence: Option<Confidence>,
    /// Validity when the proposal names none.
    pub ttl_default: Duration,
    /// Longest validity.
    pub ttl_max: Duration,
    /// Oldest snapshot.
    pub context_max_age: Option<Duration>,
    /// Rejected proposals a flow may have before the next is refused.
    pub retries: u64,
    /// Tokens a flow may spend.
    pub spend_tokens: Option<u64>,
    /// Proposals a flow may hold.
    pub spend_steps: Option<u64>,
}

impl Default for ProposalRules {
    /// What a contract means that says nothing about proposals.
    fn default() -> ProposalRules {
        ProposalRules {
            confidence: None,
            ttl_default: Duration::from_secs(30),
            ttl_max: Duration::from_secs(5 * 60),
            context_max_age: None,
            retries: 3,
            spend_tokens: None,
            spend_steps: None,
        }
    }
}

impl ProposalRules {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        object.put_some(
            "confidence",
            self.confidence.map(|confidence| {
                Json::object([
                    ("reject_below", confidence.reject_below.into()),
                    ("escalate_below", confidence.escalate_below.into()),
                ])
            }),
        );
        let ttl = [("default", self.ttl_default), ("max", self.ttl_max)];
        object.put("ttl", Json::object(ttl.map(|(key, length)| (key, Json::text(length.to_string())))));
        object.put_some("context_max_age", self.context_max_age.map(|age| age.to_string()));
        object.put("retries", self.retries.into());
        let mut spend = Members::default();
        spend.put_some("tokens", self.spend_tokens);
        spend.put_some("steps", self.spend_steps);
        object.put("spend", spend.done());
        object.done()
    }
}

/// Thresholds of the agent's own confidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Confidence {
    /// Below this it is refused.
    pub reject_below: Decimal,
    /// Below this a person is asked.
    pub escalate_below: Decimal,
}
