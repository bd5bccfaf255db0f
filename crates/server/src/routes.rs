//! The one table of everything that can be asked. A role that does not stand in a row is refused.

mod agents;
mod context;
mod dispatch;
pub(crate) mod escalations;
mod flows;
mod intents;
mod keys;
mod leases;
pub(crate) mod ledger;
mod own_flow;
mod pages;
mod proposals;
mod service;
mod wire;

pub use dispatch::router;
pub(crate) use dispatch::{IDEMPOTENCY_KEY, bearer, fault, limited, read_body, read_query, recognized};
pub(crate) use proposals::KEY_MAX;

use crate::call::{Call, Reply};
use crate::pages::Visit;
use crate::problem::Problem;
use crate::site::Site;
use kernel::api_key::KeyRole;
use kernel::change::Act;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use writkeeper::{Answered, carried_out};

/// One thing that can be asked.
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with its named parts in braces.
    pub path: &'static str,
    /// What programs call it.
    pub name: &'static str,
    /// One sentence for people.
    pub summary: &'static str,
    /// Who may ask.
    pub access: Access,
    /// What may stand behind the question mark.
    pub query: &'static [Param],
    /// What is sent.
    pub body: Option<BodyRule>,
    /// What is answered where it was carried out.
    pub answer: Answer,
    /// What carries it out.
    pub run: Run,
}

impl Route {
    /// Whether `Idempotency-Key` makes a request that is sent again the same request.
    pub fn is_repeatable(&self) -> bool {
        proposals::REPEATABLE.contains(&self.name)
    }
}

/// Who may ask.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Everybody, without a key.
    Anybody,
    /// These roles, and nobody else.
    Roles(&'static [KeyRole]),
}

/// Something behind the question mark.
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// One sentence for people.
    pub summary: &'static str,
    /// What it may be.
    pub kind: ParamKind,
}

/// What may stand behind the question mark.
#[derive(Clone, Copy, Debug)]
pub enum ParamKind {
    /// Text of bounded length.
    Text,
    /// A whole number between two others.
    Whole(u64, u64),
    /// A length of time such as `30s`, at most so many seconds.
    Span(u32),
    /// An instant, RFC 3339.
    Instant,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What is sent.
pub struct BodyRule {
    /// Bytes at most.
    pub limit: usize,
    /// Its JSON Schema.
    pub schema: fn() -> Value,
    /// Whether it may be missing.
    pub optional: bool,
}

/// What is answered.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The media type.
    pub media: &'static str,
    /// Its JSON Schema.
    pub schema: fn() -> Value,
    /// One sentence for people.
    pub summary: &'static str,
}

/// What carries a request out.
#[derive(Clone, Copy)]
pub enum Run {
    /// On a thread that may wait for the store.
    Blocking(fn(&Call) -> Result<Reply, Problem>),
    /// Without a thread of its own.
    Async(fn(Call) -> Answering),
    /// Without knowing who asks, and without looking at the store.
    Open(fn(&Site) -> Result<Reply, Problem>),
    /// Without knowing who asks, by a look at the store that is not waited for long.
    Probe(fn(&Site) -> Result<Reply, Problem>),
    /// A page for somebody who signed in. Pages are for people and no part of the OpenAPI document.
    Page(fn(&Call, &Visit) -> Result<Reply, Problem>),
    /// A page on the way to signing in.
    Entrance(fn(&Arc<Site>, &Visit) -> Result<Reply, Problem>),
}

impl Run {
    /// Whether it is a page for people.
    pub fn is_page(self) -> bool {
        match self {
            Run::Page(_) | Run::Entrance(_) => true,
            Run::Blocking(_) | Run::Async(_) | Run::Open(_) | Run::Probe(_) => false,
        }
    }
}

/// An answer that will come.
pub type Answering = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// Bytes of a body where nothing else is said.
pub const BODY_MAX: usize = 1024 * 1024;

pub(crate) const ALL: Access = Access::Roles(&[
    KeyRole::Agent,
    KeyRole::Executor,
    KeyRole::Operator,
    KeyRole::Approver,
    KeyRole::Auditor,
    KeyRole::Admin,
]);
pub(crate) const ADMIN: Access = Access::Roles(&[KeyRole::Admin]);
pub(crate) const OPERATOR: Access = Access::Roles(&[KeyRole::Operator, KeyRole::Admin]);
pub(crate) const READERS: Access =
    Access::Roles(&[KeyRole::Operator, KeyRole::Approver, KeyRole::Auditor, KeyRole::Admin]);
pub(crate) const READERS_AND_AGENT: Access =
    Access::Roles(&[KeyRole::Agent, KeyRole::Operator, KeyRole::Approver, KeyRole::Auditor, KeyRole::Admin]);
pub(crate) const AGENT_AND_OPERATOR: Access = Access::Roles(&[KeyRole::Agent, KeyRole::Operator, KeyRole::Admin]);

/// Every row.
pub fn table() -> impl Iterator<Item = &'static Route> {
    let parts: [&'static [Route]; 13] = [
        own_flow::ROUTES,
        service::ROUTES,
        proposals::ROUTES,
        agents::ROUTES,
        escalations::ROUTES,
        keys::ROUTES,
        flows::ROUTES,
        context::ROUTES,
        intents::ROUTES,
        leases::ROUTES,
        ledger::ROUTES,
        wire::ROUTES,
        pages::ROUTES,
    ];
    parts.into_iter().flatten()
}

/// Carries out a change in the caller's name, and answers with what it tells.
pub(crate) fn changed(call: &Call, act: Act) -> Result<Reply, Problem> {
    told(carried_out(call.keeper().runtime().change(call.caller.actor(), act))?)
}

/// Answers with what a change tells.
pub(crate) fn told(answered: Answered) -> Result<Reply, Problem> {
    let event = answered.event.map(|event| event.to_json()).unwrap_or_default();
    Ok(Reply::json(&event))
}
