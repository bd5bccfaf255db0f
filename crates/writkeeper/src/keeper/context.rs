//! State and snapshots: what agents see, and what is compared at decision time.

use super::{Keeper, carried_out};
use crate::error::Error;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::world::{Entity, Row};
use runtime::Answered;
use values::json::Json;

impl Keeper {
    /// Writes state, all or nothing. Each write may demand the version it replaces.
    pub fn merge(&self, actor: &Actor, writes: Vec<Write>) -> Result<Answered, Error> {
        carried_out(self.runtime().change(actor.clone(), Act::Merge(writes)))
    }

    /// A value of the state, with its version.
    pub fn state(&self, key: &str) -> Result<Option<(Json, u64)>, Error> {
        match self.runtime().read(Entity::State(key.to_owned()))? {
            Some(Row::State(row)) => Ok(Some((row.value, row.version))),
            Some(_) | None => Ok(None),
        }
    }

    /// Freezes keys of the state, and the session of a flow, into a snapshot that proposals can name.
    pub fn snapshot(&self, actor: &Actor, flow: Option<&str>, keys: &[String]) -> Result<Answered, Error> {
        let freeze = Act::Freeze { flow: flow.map(str::to_owned), keys: keys.to_vec() };
        carried_out(self.runtime().change(actor.clone(), freeze))
    }
}
