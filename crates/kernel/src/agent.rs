//! Agents: the states they can be in.

use crate::contract::{Role, words};
use std::collections::BTreeSet;

words! {
    /// The state of an agent.
    AgentStatus {
        /// Known, not yet active.
        Registered = "REGISTERED",
        /// May act.
        Active = "ACTIVE",
        /// May read.
        Passive = "PASSIVE",
        /// Named actions are revoked.
        Degraded = "DEGRADED",
        /// Everything needs a person.
        EscalationOnly = "ESCALATION_ONLY",
        /// May do nothing.
        Suspended = "SUSPENDED",
        /// Never acts again.
        Retired = "RETIRED",
    }
}

/// What the registry knows of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentRow {
    /// Its state.
    pub status: AgentStatus,
    /// Its role, where the registry says otherwise than the contract.
    pub role: Option<Role>,
    /// Why it is in its state.
    pub because: Option<String>,
    /// Actions revoked while DEGRADED; empty means all.
    pub revoked: BTreeSet<String>,
}

impl AgentRow {
    /// An agent nothing is wrong with.
    pub fn active() -> AgentRow {
        AgentRow { status: AgentStatus::Active, role: None, because: None, revoked: BTreeSet::new() }
    }
}
