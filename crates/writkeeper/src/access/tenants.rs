//! Tenants: the tenant `default` keeps which others there are.

use crate::error::Error;
use crate::keeper::Keeper;
use kernel::agent::Actor;
use kernel::api_key::{TENANTS, TenantState, is_tenant_name};
use kernel::change::Write;
use kernel::stored::Kind;
use values::ids::TENANT_DEFAULT;

/// Tenants of one store at most.
pub const TENANTS_MAX: usize = 1_000;

impl Keeper {
    /// Every tenant besides `default`, in the order of their names. Only the tenant `default` knows.
    pub fn tenants(&self) -> Result<Vec<(String, TenantState)>, Error> {
        let rows = self.states_under(TENANTS)?;
        Ok(rows.into_iter().filter_map(|(name, json)| Some((name, TenantState::from_json(&json)?))).collect())
    }

    /// How a tenant stands; nothing where there is none.
    pub fn tenant_state(&self, name: &str) -> Result<Option<TenantState>, Error> {
        if name == TENANT_DEFAULT {
            return Ok(Some(TenantState::Open));
        }
        Ok(self.state(&format!("{TENANTS}{name}"))?.and_then(|(json, _)| TenantState::from_json(&json)))
    }

    /// Makes a tenant known.
    pub fn new_tenant(&self, by: &Actor, name: &str) -> Result<(), Error> {
        if !is_tenant_name(name) || name == TENANT_DEFAULT {
            let said = "the name of a tenant is up to 32 letters of a-z, 0-9 and `-`, and not `default`";
            return Err(Error::Usage(said.to_owned()));
        }
        if self.tenants()?.len() >= TENANTS_MAX {
            return Err(Error::Invalid(format!("a store has at most {TENANTS_MAX} tenants")));
        }
        self.set_tenant(by, name, TenantState::Open, Some(0))
    }

    /// Opens or closes a tenant that is known.
    pub fn move_tenant(&self, by: &Actor, name: &str, state: TenantState) -> Result<(), Error> {
        if name == TENANT_DEFAULT {
            return Err(Error::Usage("the tenant `default` keeps the others and stays open".to_owned()));
        }
        if self.tenant_state(name)?.is_none() {
            return Err(Error::NotFound { kind: Kind::Tenant, id: name.to_owned() });
        }
        self.set_tenant(by, name, state, None)
    }

    fn set_tenant(&self, by: &Actor, name: &str, state: TenantState, expect: Option<u64>) -> Result<(), Error> {
        let write = Write { key: format!("{TENANTS}{name}"), value: state.to_json(), expect };
        self.merge(by, vec![write]).map(|_| ())
    }
}
