//! The parts of the store: one keeper for each tenant, opened when it is first asked for.

use crate::events::Pages;
use crate::problem::Problem;
use kernel::api_key::TenantState;
use runtime::ports::clock::Clock;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use values::ids::TENANT_DEFAULT;
use writkeeper::signing::SigningSite;
use writkeeper::{Actor, Error, Keeper, OpenOptions, restored};

/// Tenants that are open at once.
const OPEN_MAX: usize = 64;

/// How long it counts that a tenant was open.
const LOOKED: Duration = Duration::from_millis(500);

/// The operator in whose name the service itself acts.
pub const SERVICE: &str = "service";

/// One tenant, open for deciding.
pub struct Tenant {
    /// Whose.
    pub name: Arc<str>,
    /// Its part of the store.
    pub keeper: Keeper,
    /// Who signs for it.
    pub signing: SigningSite,
    /// One request signs at a time.
    pub sealing: Mutex<()>,
    /// Events that several hear of at the same time.
    pub pages: Pages,
}

/// Every tenant that was asked for.
pub struct Tenants {
    store: String,
    keys: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    default: Arc<Tenant>,
    others: Mutex<BTreeMap<String, Other>>,
}

/// A tenant that was asked for.
struct Other {
    tenant: Arc<Tenant>,
    state: TenantState,
    /// When its state was looked at.
    looked: Instant,
}

impl Tenants {
    /// Opens the store with its first tenant.
    pub fn open(store: &str, keys: Option<PathBuf>, clock: Arc<dyn Clock>) -> Result<Tenants, Error> {
        let default = Arc::new(Tenants::opened(store, keys.as_ref(), &clock, TENANT_DEFAULT)?);
        Ok(Tenants { store: store.to_owned(), keys, clock, default, others: Mutex::new(BTreeMap::new()) })
    }

    fn opened(store: &str, keys: Option<&PathBuf>, clock: &Arc<dyn Clock>, name: &str) -> Result<Tenant, Error> {
        let name: Arc<str> = Arc::from(name);
        let own = keys.filter(|_| *name == *TENANT_DEFAULT).cloned();
        let folder = own.clone().unwrap_or_else(|| restored::keys_of_tenant(store, &name));
        let options = OpenOptions { tenant: name.clone(), keys: own, clock: clock.clone(), ..OpenOptions::default() };
        let keeper = Keeper::open(store, &options)?;
        let operator = Actor::Operator(SERVICE.to_owned());
        let signing = SigningSite { location: store.to_owned(), folder, operator, options };
        Ok(Tenant { name, keeper, signing, sealing: Mutex::new(()), pages: Pages::default() })
    }

    /// The tenant that keeps the others.
    pub fn default(&self) -> &Arc<Tenant> {
        &self.default
    }

    /// Every tenant that is open here.
    pub fn all(&self) -> Vec<Arc<Tenant>> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let open = others.values().filter(|other| other.state == TenantState::Open);
        let open = open.map(|other| other.tenant.clone());
        std::iter::once(self.default.clone()).chain(open).collect()
    }

    /// A tenant by its name, and whether it is open; nothing where there is none.
    ///
    /// One that is closed is given too: only whoever is known there may learn that it is.
    pub fn get(&self, name: &str) -> Result<Option<(Arc<Tenant>, TenantState)>, Problem> {
        if name == TENANT_DEFAULT {
            return Ok(Some((self.default.clone(), TenantState::Open)));
        }
        let now = Instant::now();
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = others.get(name)
            && now.saturating_duration_since(other.looked) < LOOKED
        {
            return Ok(Some((other.tenant.clone(), other.state)));
        }
        let Some(state) = self.default.keeper.tenant_state(name)? else { return Ok(None) };
        if let Some(other) = others.get_mut(name) {
            (other.looked, other.state) = (now, state);
            return Ok(Some((other.tenant.clone(), state)));
        }
        if others.len() >= OPEN_MAX {
            // Whoever still uses it keeps it until done.
            let longest = others.iter().min_by_key(|(_, other)| other.looked).map(|(name, _)| name.clone());
            longest.map(|name| others.remove(&name));
        }
        let tenant = Arc::new(Tenants::opened(&self.store, self.keys.as_ref(), &self.clock, name)?);
        others.insert(name.to_owned(), Other { tenant: tenant.clone(), state, looked: now });
        Ok(Some((tenant, state)))
    }

    /// Looks at a tenant again when it is asked for next.
    pub fn forget(&self, name: &str) {
        self.others.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
