//! The gates, each in its own file. All of them run; every finding is reported.
//!
//! To add one: write `gates/<name>.rs`, add its line below, its word in [`Gate`](crate::finding::Gate) and its
//! reasons in `reasons.rs`.

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
