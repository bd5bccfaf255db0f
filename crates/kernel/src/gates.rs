//! The gates, each in its own file. All of them run; every finding is reported.
//!
//! To add one: write `gates/<name>.rs`, add its word and its line below, and its reasons in `reasons.rs`.

mod agent_state;
mod arrival;
mod authority;
mod budgets;
mod confidence;
mod effect_key;
mod evidence;
mod flow;
mod freshness;
mod leases;
pub(crate) mod limits;
mod lineage;
mod policy;
mod proof;
pub mod reservations;
mod retry;
mod rules;
mod shape;
mod state_match;
pub mod validity;

use crate::facts::Facts;
use crate::finding::Findings;
use crate::request::Request;

/// Gates that need nothing but the request. They run before anything is locked.
pub const STATELESS: &[fn(&Request<'_>, &mut Findings)] = &[shape::judge, limits::judge, evidence::judge];

/// Gates that need the world. They run under the lock, in the order of the documentation.
pub const STATEFUL: &[fn(&Facts<'_>, &mut Findings)] = &[
    arrival::judge,
    agent_state::judge,
    authority::judge,
    validity::judge,
    flow::judge,
    retry::judge,
    state_match::judge,
    rules::judge,
    budgets::judge,
    confidence::judge,
    freshness::judge,
    proof::judge,
    policy::judge,
    lineage::judge,
    effect_key::judge,
    leases::judge,
    reservations::judge,
];

macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// The gates, in the order their findings are reported.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Gate { $($(#[$doc])* $name),+ }

        impl Gate {
            /// Every gate, in order.
            pub const ALL: &'static [Gate] = &[$(Gate::$name),+];

            /// The word in findings.
            pub fn word(self) -> &'static str {
                match self { $(Gate::$name => $word),+ }
            }
        }
    };
}

gates! {
    /// Bytes, fields and params.
    Shape = "shape",
    /// State of the agent.
    Agent = "agent",
    /// Action and role.
    Authority = "authority",
    /// Validity window.
    Validity = "validity",
    /// Retries, steps and tokens of the flow.
    Retry = "retry",
    /// Bounds of single params.
    Limits = "limits",
    /// Expressions of the contract.
    Rules = "rules",
    /// Windowed budgets.
    Budgets = "budgets",
    /// The agent's own confidence.
    Confidence = "confidence",
    /// Snapshot age and drift.
    Freshness = "freshness",
    /// Where values came from.
    Evidence = "evidence",
    /// Signatures of agents, and what they signed.
    Proof = "proof",
    /// Cedar policies.
    Policy = "policy",
    /// Validators outside.
    Validators = "validators",
    /// Contracts above this one.
    Lineage = "lineage",
    /// The business key of the effect.
    EffectKey = "effect",
    /// Regions that others hold.
    Leases = "leases",
    /// Resources; last, they take something.
    Reservations = "reservations",
    /// The budget of questions to people.
    Escalation = "escalation",
}
