//! Who calls: a key, the token of an agent, or a person with a token of their own organisation.

pub mod cache;
pub mod jwt;
pub mod logins;

use crate::problem::Problem;
use crate::site::Site;
use crate::tenants::Tenant;
use axum::http::StatusCode;
use cache::Known;
use kernel::agent::Actor;
use kernel::api_key::{KeyRole, TenantState};
use kernel::person::Identity;
use kernel::reasons::Reason;
use std::sync::Arc;
use std::time::Instant;
use values::ids::Digest;
use writkeeper::access::Bearer;

/// Somebody who was recognized.
#[derive(Clone)]
pub struct Caller {
    /// The tenant, and nothing of any other.
    pub tenant: Arc<Tenant>,
    /// What they may do.
    pub role: KeyRole,
    /// Who: the agent, the person, the worker.
    pub name: Arc<str>,
    /// By what they were recognized: `key ID`, `token ISSUER`, `session`.
    pub login: Arc<str>,
    /// The hash of the token an agent showed; the kernel compares it once more when it decides.
    pub session: Option<Digest>,
    /// Whether what it says about where values come from counts.
    pub provenance: bool,
    /// Names them where requests are counted.
    pub account: Digest,
}

impl Caller {
    /// Who is recorded for what they change.
    pub fn actor(&self) -> Actor {
        match self.role {
            KeyRole::Agent => Actor::Agent(self.name.to_string()),
            KeyRole::Executor | KeyRole::Operator | KeyRole::Approver | KeyRole::Auditor | KeyRole::Admin => {
                Actor::Operator(self.name.to_string())
            }
        }
    }

    /// How the door knows them, for their answers.
    pub fn identity(&self) -> Identity {
        Identity { login: Some(self.login.to_string()), ..Identity::default() }
    }

    /// The only agent whose things they may see, if they are one.
    pub fn own_agent(&self) -> Option<&str> {
        (self.role == KeyRole::Agent).then_some(&*self.name)
    }
}

/// Whoever was recognized by this lately; nothing where one has to look.
pub fn recognized(site: &Site, shown: &str) -> Option<Result<Caller, Problem>> {
    Some(match site.cache.get(&Digest::of(shown), Instant::now())? {
        Known::Caller(caller) => Ok(caller),
        Known::Nobody => Err(Problem::unauthenticated("")),
    })
}

/// Recognizes who shows this, or says that nobody is known by it.
///
/// Which part of it is wrong is never told, and comparing takes the same time however much is right.
pub fn recognize(site: &Site, shown: &str) -> Result<Caller, Problem> {
    if let Some(known) = recognized(site, shown) {
        return known;
    }
    let (hash, now) = (Digest::of(shown), Instant::now());
    let found = match Bearer::read(shown) {
        Some(bearer) => kept(site, &bearer, hash)?,
        None => match &site.verifier {
            Some(verifier) if jwt::looks_like_one(shown) => Some(verifier.person(site, shown, hash)?),
            Some(_) | None => None,
        },
    };
    site.cache.keep(hash, found.clone().map_or(Known::Nobody, Known::Caller), now);
    found.ok_or_else(|| Problem::unauthenticated(""))
}

/// Whoever the store knows by this.
fn kept(site: &Site, bearer: &Bearer<'_>, hash: Digest) -> Result<Option<Caller>, Problem> {
    let Some((tenant, state)) = site.tenants.get(bearer.tenant())? else { return Ok(None) };
    let caller = known_there(tenant, bearer, hash)?;
    match (&caller, state) {
        (Some(caller), TenantState::Closed) => {
            let values = [("tenant", &*caller.tenant.name)];
            Err(Problem::of(StatusCode::FORBIDDEN, Reason::TenantClosed, &values))
        }
        (Some(_) | None, TenantState::Open | TenantState::Closed) => Ok(caller),
    }
}

/// Whoever a tenant knows by this.
fn known_there(tenant: Arc<Tenant>, bearer: &Bearer<'_>, hash: Digest) -> Result<Option<Caller>, Problem> {
    match bearer {
        Bearer::Key { id, .. } => {
            let Some(key) = tenant.keeper.key(id)? else { return Ok(None) };
            if !is_same(&key.hash, &hash) || !key.counts_at(tenant.keeper.now()) {
                return Ok(None);
            }
            let (role, name, provenance) = (key.role, Arc::from(key.name.as_str()), key.provenance);
            let login = Arc::from(format!("key {id}"));
            Ok(Some(Caller { tenant, role, name, login, session: None, provenance, account: hash }))
        }
        Bearer::Token { agent, .. } => {
            let Some(own) = tenant.keeper.session_of(agent)? else { return Ok(None) };
            if !is_same(&own, &hash) {
                return Ok(None);
            }
            let (role, name) = (KeyRole::Agent, Arc::from(agent.as_str()));
            let account = Digest::of_parts(&[tenant.name.as_bytes(), agent.as_bytes()]);
            let login = Arc::from("session");
            Ok(Some(Caller { tenant, role, name, login, session: Some(hash), provenance: false, account }))
        }
    }
}

/// Compares all of both, wherever they differ.
fn is_same(one: &Digest, other: &Digest) -> bool {
    one.bytes().iter().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}
