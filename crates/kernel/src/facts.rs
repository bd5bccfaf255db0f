//! What a gate can know under the lock.

use crate::agent::AgentRow;
use crate::budget::Window;
use crate::command::Door;
use crate::contract::{Budget, Role};
use crate::evaluator::{AgentView, Reads, Scope, StateView};
use crate::lease::book::LeaseBook;
use crate::request::Request;
use crate::semantics::Semantics;
use crate::snapshot::Snapshot;
use crate::statement::Proof;
use crate::world::{EffectRow, FlowRow, ResourceRow, TenantRow};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::Instant;

/// Everything a judgement depends on.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The stateless part.
    pub request: Request<'a>,
    /// The decision instant.
    pub at: Instant,
    /// The rules it is judged under.
    pub semantics: Semantics,
    /// The params as expressions and policies see them: decimal text is a number.
    pub params: Cow<'a, Object>,
    /// Params and fields refused already; no gate judges such a value again.
    pub refused: BTreeSet<String>,
    /// Who stopped everything, if someone did.
    pub tenant: Option<&'a TenantRow>,
    /// The door the proposal came through.
    pub door: &'a Door,
    /// What the contracts above say.
    pub ancestors: Vec<AncestorFact<'a>>,
    /// The proposing agent, if the registry knows it.
    pub agent: Option<&'a AgentRow>,
    /// Id of the flow.
    pub flow_id: &'a str,
    /// The flow, and what it has used up.
    pub flow: FlowFact,
    /// The budgets that apply, with what is used of them.
    pub budgets: Vec<BudgetFact<'a>>,
    /// Live state by template text.
    pub state: StateView,
    /// Live state by key.
    pub live: BTreeMap<&'a str, &'a Json>,
    /// The snapshot the proposal names.
    pub snapshot: SnapshotFact<'a>,
    /// The business key of the effect, where there is one.
    pub effect_key: Option<&'a str>,
    /// What the agent signed, where it signed anything.
    pub proof: Option<&'a Proof>,
    /// Whether the same was used for an earlier proposal.
    pub proof_used: bool,
    /// Who has it already.
    pub effect: Option<&'a EffectRow>,
    /// What is used of resources, by name.
    pub resources: BTreeMap<&'a str, ResourceRow>,
    /// Who holds which region, where the action says what it writes.
    pub leases: LeasesFact,
    /// What the flow is called, where leases are looked at.
    pub flow_name: Option<&'a str>,
}

/// The book of leases, as far as it is looked at.
#[derive(Debug)]
pub enum LeasesFact {
    /// Nothing is held, or the action writes nowhere.
    None,
    /// It cannot be read.
    Damaged,
    /// This.
    Book(Box<LeaseBook>),
}

/// The flow a proposal belongs to.
#[derive(Clone, Debug)]
pub struct FlowFact {
    /// As it stands.
    pub row: FlowRow,
    /// Whether anyone opened it.
    pub seen: bool,
    /// Itself or the nearest flow above it that was aborted.
    pub aborted: Option<String>,
}

/// A contract above, seen by the same proposal.
#[derive(Clone, Debug)]
pub struct AncestorFact<'a> {
    /// Its agent, if the registry knows it.
    pub agent: Option<&'a AgentRow>,
    /// The proposal under its contract.
    pub request: Request<'a>,
    /// The params as its expressions and policies see them.
    pub params: Cow<'a, Object>,
    /// Its budgets.
    pub budgets: Vec<BudgetFact<'a>>,
}

/// A budget and its window.
#[derive(Clone, Copy, Debug)]
pub struct BudgetFact<'a> {
    /// Its name in keys and sentences.
    pub name: &'a str,
    /// The rule.
    pub rule: &'a Budget,
    /// What was taken; `None` if nothing ever was.
    pub window: Option<&'a Window>,
    /// What this proposal would take; `None` if that is not a number.
    pub amount: Option<Decimal>,
}

/// What the proposal says it saw.
#[derive(Clone, Debug)]
pub enum SnapshotFact<'a> {
    /// Nothing.
    None,
    /// A name nobody knows.
    Unknown(&'a str),
    /// This.
    Known(&'a str, Snapshot),
}

impl Facts<'_> {
    /// The role the agent acts in.
    pub fn role(&self) -> Role {
        self.agent.and_then(|agent| agent.role).unwrap_or(self.request.compiled.contract.role)
    }

    /// What expressions and policies see.
    pub fn scope(&self) -> Scope<'_> {
        Scope {
            params: &self.params,
            state: &self.state,
            agent: AgentView { id: &self.request.proposal.agent, role: self.role() },
            action: &self.request.proposal.action,
            confidence: self.request.proposal.confidence,
        }
    }

    /// Whether a rule would look at something that was refused already, so that its answer would mean nothing.
    pub fn looks_at_refused(&self, reads: &Reads) -> bool {
        reads.params.iter().any(|param| self.refused.contains(param)) || (reads.all_params && !self.refused.is_empty())
    }
}
