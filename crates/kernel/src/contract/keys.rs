//! Every shape of a contract's full form. To add a key, write it into the shape beside its type.

pub use super::CONTRACT;
pub use super::action::{ACTION, AMENDABLE, ASK_ZONE, LOWER_BOUNDS, RULE, UNDO, UPPER_BOUNDS};
pub use super::budget::BUDGET;
pub use super::escalation::{ESCALATION, ESCALATION_BUDGET, ESCALATION_TIMEOUT};
pub use super::limit::{LIMIT, STATE_MATCH};
pub use super::plugin::PLUGIN;
pub use super::proposal_rules::{CONFIDENCE, PROPOSAL, SPEND, TTL};
pub use super::resource::{RESERVE, RESOURCE};
pub use super::run::RUN;
pub use super::shape::{Key, Shape};
pub use super::tolerance::TOLERANCE;
pub use super::witness::{
    BREAKER, DANGLING_INTENT, DETECTORS, EFFICIENCY, ENFORCEMENT, LIVENESS, NOOP_STREAK, PRECURSOR, PRODUCTIVITY, RUNG,
    RUNGS_BY_CONFIDENCE, SCOPE, STALL, WITNESS,
};

/// Every shape there is.
pub static SHAPES: &[&Shape] = &[
    &CONTRACT,
    &PROPOSAL,
    &CONFIDENCE,
    &TTL,
    &SPEND,
    &BUDGET,
    &TOLERANCE,
    &RESOURCE,
    &PLUGIN,
    &DETECTORS,
    &STALL,
    &NOOP_STREAK,
    &BREAKER,
    &PRODUCTIVITY,
    &EFFICIENCY,
    &PRECURSOR,
    &DANGLING_INTENT,
    &LIVENESS,
    &SCOPE,
    &ENFORCEMENT,
    &RUNG,
    &RUNGS_BY_CONFIDENCE,
    &WITNESS,
    &ACTION,
    &LIMIT,
    &STATE_MATCH,
    &ASK_ZONE,
    &RULE,
    &RESERVE,
    &RUN,
    &UNDO,
    &AMENDABLE,
    &LOWER_BOUNDS,
    &UPPER_BOUNDS,
    &ESCALATION,
    &ESCALATION_BUDGET,
    &ESCALATION_TIMEOUT,
];
