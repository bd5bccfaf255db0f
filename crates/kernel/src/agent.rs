//! Agents: what the registry knows of them, the states they can be in, and who may change them.

use crate::canary::Canary;
use crate::contract::amend::Amendment;
use crate::contract::{Role, words};
use ledger::ed25519::PublicKey;
use std::collections::{BTreeMap, BTreeSet};
use values::ids::Digest;
use values::time::Instant;

words! {
    /// The state of an agent, from harmless to hard.
    AgentStatus {
        /// Known, not yet active.
        Registered = "REGISTERED",
        /// May act.
        Active = "ACTIVE",
        /// Named actions are revoked.
        Degraded = "DEGRADED",
        /// Everything needs a person.
        EscalationOnly = "ESCALATION_ONLY",
        /// May read.
        Passive = "PASSIVE",
        /// May do nothing.
        Suspended = "SUSPENDED",
        /// Never acts again.
        Retired = "RETIRED",
    }
}

/// The agent of the contract strangers are refused under: there is none of this name.
pub const NOBODY: &str = "nobody";

/// Where state keeps what belongs to one agent: `agents/NAME/`.
pub const OWN_STATE: &str = "agents/";

/// What parts an agent's name from the rest where something of it is named: its state (`/`), its leases (`:`).
pub const SEPARATORS: [char; 2] = ['/', ':'];

/// Whether a name of state is an agent's own.
pub fn owns_state(agent: &str, key: &str) -> bool {
    key.strip_prefix(OWN_STATE).and_then(|rest| rest.strip_prefix(agent)).is_some_and(|rest| rest.starts_with('/'))
}

/// Who changes something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Actor {
    /// A person with the operator's authority.
    Operator(String),
    /// A monitor, by its id.
    Monitor(String),
    /// An agent.
    Agent(String),
    /// The kernel itself.
    Kernel,
}

impl Actor {
    /// Reads back what records name.
    pub fn parse(text: &str) -> Option<Actor> {
        match text.split_once(':') {
            Some(("operator", name)) => Some(Actor::Operator(name.to_owned())),
            Some(("monitor", name)) => Some(Actor::Monitor(name.to_owned())),
            Some(("agent", name)) => Some(Actor::Agent(name.to_owned())),
            None if text == "kernel" => Some(Actor::Kernel),
            Some(_) | None => None,
        }
    }

    /// As records name it.
    pub fn text(&self) -> String {
        match self {
            Actor::Operator(name) => format!("operator:{name}"),
            Actor::Monitor(name) => format!("monitor:{name}"),
            Actor::Agent(name) => format!("agent:{name}"),
            Actor::Kernel => "kernel".to_owned(),
        }
    }
}

/// One open restriction. An agent's state is the hardest of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restriction {
    /// Which state it demands.
    pub status: AgentStatus,
    /// Who placed it.
    pub by: String,
    /// Why.
    pub because: String,
    /// When.
    pub at: Instant,
    /// For DEGRADED: the revoked actions; empty means all.
    pub actions: BTreeSet<String>,
}

/// What the registry knows of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentRow {
    /// REGISTERED, ACTIVE or RETIRED; restrictions come on top.
    pub base: AgentStatus,
    /// Everything that is held against it.
    pub restrictions: Vec<Restriction>,
    /// Its role, where the registry says otherwise than the contract.
    pub role: Option<Role>,
    /// Digest of its active contract.
    pub contract: Option<Digest>,
    /// The candidate that a share of its flows is under, where there is one.
    pub canary: Option<Canary>,
    /// Digest of the contract it came with last; an operator activates it.
    pub offered: Option<Digest>,
    /// The agent whose contract this one must stay inside.
    pub parent: Option<String>,
    /// The group whose kill switch stops it too, as its contract in force says.
    pub group: Option<String>,
    /// The monitors of its contract in force by the names of their rows, each with the digest of its wording.
    pub watched: BTreeMap<String, Digest>,
    /// The version it shook hands with.
    pub version: Option<String>,
    /// Hash of its session token, and until when the token counts.
    pub session: Option<Session>,
    /// Bounded, expiring changes of its limits.
    pub amendments: Vec<Amendment>,
    /// Its public key; with one, it signs what it proposes.
    pub key: Option<PublicKey>,
}

/// A session token as it is kept: hashed, expiring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// SHA-256 of the token.
    pub token_hash: Digest,
    /// Not after this.
    pub expires: Instant,
}

impl AgentRow {
    /// An agent nothing is wrong with.
    pub fn active() -> AgentRow {
        AgentRow {
            base: AgentStatus::Active,
            restrictions: Vec::new(),
            role: None,
            contract: None,
            canary: None,
            offered: None,
            parent: None,
            group: None,
            watched: BTreeMap::new(),
            version: None,
            session: None,
            amendments: Vec::new(),
            key: None,
        }
    }

    /// The contract that counts for what it does in a flow.
    pub fn contract_for(&self, flow: &str) -> Option<Digest> {
        match &self.canary {
            Some(canary) if canary.takes(flow) => Some(canary.contract),
            Some(_) | None => self.contract,
        }
    }

    /// Whether a monitor, worded so, is one of the contract in force or of the candidate that runs beside it.
    pub fn watches(&self, row: &str, wording: Digest) -> bool {
        let tried = self.canary.as_ref().and_then(|canary| canary.watched.get(row));
        self.watched.get(row).or(tried).is_some_and(|known| *known == wording)
    }

    /// The hardest of what is held against it.
    pub fn status(&self) -> AgentStatus {
        let hardest = self.restrictions.iter().map(|restriction| restriction.status).max();
        if self.base == AgentStatus::Retired {
            self.base
        } else {
            hardest.map_or(self.base, |hard| hard.max(self.base))
        }
    }

    /// Why it is in its state, if anyone said.
    pub fn because(&self) -> Option<&str> {
        let status = self.status();
        let found = self.restrictions.iter().find(|restriction| restriction.status == status);
        found.map(|restriction| restriction.because.as_str()).filter(|because| !because.is_empty())
    }

    /// Whether an action is revoked by a DEGRADED restriction.
    pub fn revokes(&self, action: &str) -> bool {
        let degraded = self.restrictions.iter().filter(|restriction| restriction.status == AgentStatus::Degraded);
        degraded.into_iter().any(|restriction| restriction.actions.is_empty() || restriction.actions.contains(action))
    }
}

/// What can happen to an agent's standing.
#[derive(Clone, PartialEq, Debug)]
pub enum AgentEvent {
    /// An operator activates its contract.
    Activate,
    /// A restriction is placed.
    Restrict(AgentStatus),
    /// A restriction is lifted.
    Lift(AgentStatus),
    /// It is over.
    Retire,
}

/// Why a change was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgentRefusal {
    /// A retired agent never comes back.
    Retired,
    /// The actor has no authority for this.
    NotAuthorized,
    /// There is nothing to lift, or the state is no restriction.
    NoSuchRestriction,
}

/// The machine: which event may happen in which base state, by whom. The same function runs live and in replay.
pub fn transition(
    base: AgentStatus,
    event: &AgentEvent,
    actor: &Actor,
    agent: &str,
) -> Result<AgentStatus, AgentRefusal> {
    use AgentStatus::{Active, Degraded, EscalationOnly, Passive, Registered, Retired, Suspended};
    let operator = matches!(actor, Actor::Operator(_));
    let itself = matches!(actor, Actor::Agent(name) if name == agent);
    let watcher = matches!(actor, Actor::Monitor(_) | Actor::Kernel);
    match (base, event) {
        (Retired, _) => Err(AgentRefusal::Retired),
        (_, AgentEvent::Retire) if operator || itself => Ok(Retired),
        (Registered | Active | Degraded | EscalationOnly | Passive | Suspended, AgentEvent::Activate) if operator => {
            Ok(Active)
        }
        (_, AgentEvent::Restrict(Degraded | EscalationOnly | Passive | Suspended)) if operator || watcher => Ok(base),
        (_, AgentEvent::Lift(Degraded | EscalationOnly | Passive | Suspended)) if operator => Ok(base),
        (_, AgentEvent::Restrict(Registered | Active | Retired) | AgentEvent::Lift(Registered | Active | Retired)) => {
            Err(AgentRefusal::NoSuchRestriction)
        }
        (
            Registered | Active | Degraded | EscalationOnly | Passive | Suspended,
            AgentEvent::Activate | AgentEvent::Restrict(_) | AgentEvent::Lift(_) | AgentEvent::Retire,
        ) => Err(AgentRefusal::NotAuthorized),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: AgentStatus, event: AgentEvent, actor: &Actor, expected: Result<AgentStatus, AgentRefusal>) {
        assert_eq!(transition(base, &event, actor, "bot"), expected, "{base:?} {event:?} {actor:?}");
    }

    #[test]
    fn an_agent_can_only_ask_for_its_own_retirement() {
        let itself = Actor::Agent("bot".to_owned());
        let other = Actor::Agent("other".to_owned());
        check(AgentStatus::Active, AgentEvent::Retire, &itself, Ok(AgentStatus::Retired));
        check(AgentStatus::Active, AgentEvent::Retire, &other, Err(AgentRefusal::NotAuthorized));
        check(AgentStatus::Registered, AgentEvent::Activate, &itself, Err(AgentRefusal::NotAuthorized));
        let lift = AgentEvent::Lift(AgentStatus::Suspended);
        check(AgentStatus::Active, lift, &itself, Err(AgentRefusal::NotAuthorized));
    }

    #[test]
    fn only_an_operator_lifts_and_nobody_brings_back_the_retired() {
        let operator = Actor::Operator("ann".to_owned());
        let monitor = Actor::Monitor("refund-size".to_owned());
        let suspend = || AgentEvent::Restrict(AgentStatus::Suspended);
        let lift = || AgentEvent::Lift(AgentStatus::Suspended);
        check(AgentStatus::Active, suspend(), &monitor, Ok(AgentStatus::Active));
        check(AgentStatus::Active, lift(), &monitor, Err(AgentRefusal::NotAuthorized));
        check(AgentStatus::Active, lift(), &operator, Ok(AgentStatus::Active));
        check(AgentStatus::Retired, AgentEvent::Activate, &operator, Err(AgentRefusal::Retired));
        check(
            AgentStatus::Active,
            AgentEvent::Restrict(AgentStatus::Active),
            &operator,
            Err(AgentRefusal::NoSuchRestriction),
        );
    }

    #[test]
    fn the_hardest_restriction_counts() {
        let mut row = AgentRow::active();
        let restriction = |status| Restriction {
            status,
            by: "kernel".to_owned(),
            because: String::new(),
            at: Instant::PURE_DEFAULT,
            actions: BTreeSet::new(),
        };
        row.restrictions.push(restriction(AgentStatus::Degraded));
        row.restrictions.push(restriction(AgentStatus::Suspended));
        row.restrictions.push(restriction(AgentStatus::Passive));
        assert_eq!(row.status(), AgentStatus::Suspended);
    }
}
