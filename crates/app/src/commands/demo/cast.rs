//! Who has a part in the demo: on a store one hand holds them all, at a server each shows a key of their own.

use crate::exit::UsageError;
use crate::store;
use anyhow::{anyhow, bail};
use engines::load::load;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::intent::Observed;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::json::{Bounds, Json};
use values::time::Duration;
use writkeeper::access::NewKey;
use writkeeper::{Keeper, KeyRole, OpenOptions, SystemClock, carried_out};

/// Who answers, and for which group.
const PERSON: (&str, &str) = ("ann", "refund-desk");

/// Everybody, and where they meet.
pub struct Cast {
    location: String,
    operator: Keeper,
    /// Those who come with a key of their own, by role and name; at a store nobody does.
    others: BTreeMap<(KeyRole, String), Keeper>,
    /// The keys that were made for them.
    keys: Vec<String>,
}

impl Cast {
    /// At an empty store, or at a server that knows no agent.
    pub fn gather(location: String, is_named: bool) -> anyhow::Result<Cast> {
        let is_server = writkeeper::is_server(&location);
        let operator = store::keeper(&location, Arc::new(SystemClock), None, None)?;
        let mut cast = Cast { location, operator, others: BTreeMap::new(), keys: Vec::new() };
        let location = &cast.location;
        if is_server {
            let role = cast.operator.runtime().caller().map(|caller| caller.role.clone());
            if role.as_deref() != Some(KeyRole::Admin.word()) {
                return Err(UsageError("the demo makes keys, so it needs the key of an admin".to_owned()).into());
            }
            if !cast.operator.runtime().scan(Kind::Agent, None, 1).map_err(store::unread)?.is_empty() {
                let problem = format!("the server at `{location}` knows agents already; name one with an empty store");
                return Err(UsageError(problem).into());
            }
        } else if is_named && cast.operator.runtime().size().map_err(store::unread)? > 0 {
            return Err(UsageError(format!("the store `{location}` is not empty; name an empty one")).into());
        }
        let (person, group) = PERSON;
        cast.operator.merge(&store::operator(), vec![Write::groups(person, [group])])?;
        if is_server {
            cast.invite(KeyRole::Approver, person)?;
            cast.invite(KeyRole::Executor, "demo")?;
        }
        Ok(cast)
    }

    /// Puts a contract in force for its agent.
    pub fn enrol(&mut self, contract: &str) -> anyhow::Result<()> {
        let loaded = load(contract).map_err(|errors| anyhow!("the demo's contract is broken: {errors:?}"))?;
        let contract = Arc::new(loaded.compiled);
        let runtime = self.operator.runtime();
        carried_out(runtime.register(store::operator(), contract.clone(), None, None))?;
        carried_out(runtime.activate(store::operator(), contract.clone()))?;
        if writkeeper::is_server(&self.location) {
            self.invite(KeyRole::Agent, &contract.contract.agent)?;
        }
        Ok(())
    }

    /// Gives somebody a key of their own.
    fn invite(&mut self, role: KeyRole, name: &str) -> anyhow::Result<()> {
        let provenance = role == KeyRole::Agent;
        let wanted = NewKey { role, name: name.to_owned(), groups: None, expires: None, provenance };
        let made = self.operator.new_key(&store::operator(), &wanted)?;
        self.keys.push(made.id);
        let options = OpenOptions { key: Some(made.key), ..store::options_of(&self.location)? };
        self.others.insert((role, name.to_owned()), Keeper::open(&self.location, &options)?);
        Ok(())
    }

    /// Whoever reads and runs everything.
    pub fn operator(&self) -> &Runtime {
        self.operator.runtime()
    }

    /// An agent.
    pub fn agent(&self, name: &str) -> &Runtime {
        self.part(KeyRole::Agent, name)
    }

    /// Whoever proposes this.
    pub fn proposer(&self, proposal: &str) -> anyhow::Result<&Runtime> {
        let json = Json::parse_within(proposal.as_bytes(), &Bounds::FILE).ok();
        match json.as_ref().and_then(|json| json.get("agent")?.as_text()) {
            Some(agent) => Ok(self.agent(agent)),
            None => bail!("the scene's proposal names no agent"),
        }
    }

    /// Ann.
    pub fn person(&self) -> &Runtime {
        self.part(KeyRole::Approver, PERSON.0)
    }

    /// Whoever performs.
    pub fn worker(&self) -> &Runtime {
        self.part(KeyRole::Executor, "demo")
    }

    /// Claims an intent, says that it begins, does it, and says that it happened: the four steps of an executor.
    pub fn worker_performs(&self, intent: &str, act: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let (runtime, named) = (self.worker(), || intent.to_owned());
        let claim = Act::Claim { intent: named(), worker: "demo".to_owned(), lease: Duration::from_secs(30) };
        carried_out(runtime.change(Actor::Kernel, claim))?;
        let Some(Row::Intent(row)) = runtime.read(Entity::Intent(named())).map_err(store::unread)? else {
            bail!("the scene lost its intent");
        };
        let Some(running) = row.running else { bail!("nobody performs the scene's intent") };
        let (epoch, attempt) = (running.epoch, running.digest());
        carried_out(runtime.change(Actor::Kernel, Act::Start { intent: named(), epoch, attempt }))?;
        act()?;
        let (observed, detail) = (Observed::Positive, String::new());
        let outcome = Act::Outcome { intent: named(), epoch, observed, detail, result: None };
        carried_out(runtime.change(Actor::Kernel, outcome)).map(|_| ())?;
        Ok(())
    }

    fn part(&self, role: KeyRole, name: &str) -> &Runtime {
        self.others.get(&(role, name.to_owned())).unwrap_or(&self.operator).runtime()
    }

    /// Everybody goes; the keys that were made count no more. What was decided stays where it is.
    pub fn leave(self) -> anyhow::Result<()> {
        for key in &self.keys {
            self.operator.revoke_key(&store::operator(), key)?;
        }
        Ok(())
    }

    /// Where decisions are kept.
    pub fn location(&self) -> &str {
        &self.location
    }
}
