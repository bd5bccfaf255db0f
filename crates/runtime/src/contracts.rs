//! Which contracts count for an agent: its own and those above it, compiled once per digest.

use crate::ports::store::{Reader, StoreFault};
use kernel::agent::AgentRow;
use kernel::evaluator::Compiled;
use kernel::flow::DEPTH_MAX;
use kernel::world::{Entity, Key, Row};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use values::ids::Digest;

/// Compiled contracts kept; a digest never changes its meaning, so forgetting one costs only time.
const CONTRACTS_MAX: usize = 4_096;

/// A contract and those above it, nearest first.
#[derive(Clone, Debug)]
pub struct Line {
    /// The agent's own.
    pub contract: Arc<Compiled>,
    /// Those above.
    pub ancestors: Vec<Arc<Compiled>>,
}

/// Contracts by digest, and lines by agent as they were last seen; the kernel says when one is stale.
pub struct Contracts {
    by_digest: Mutex<BTreeMap<Digest, Arc<Compiled>>>,
    /// By tenant and agent.
    lines: Mutex<BTreeMap<Arc<str>, BTreeMap<String, Line>>>,
    reader: Mutex<Box<dyn Reader>>,
    strangers: OnceLock<Arc<Compiled>>,
}

/// How an entity is read.
type Look<'a> = dyn FnMut(&Key) -> Result<Option<Row>, StoreFault> + 'a;

fn agent_row(tenant: &Arc<str>, name: &str, look: &mut Look<'_>) -> Result<Option<Box<AgentRow>>, StoreFault> {
    match look(&Key { tenant: tenant.clone(), entity: Entity::Agent(name.to_owned()) })? {
        Some(Row::Agent(row)) => Ok(Some(row)),
        Some(_) | None => Ok(None),
    }
}

/// Strangers are judged under a contract that permits nothing.
const NOBODY: &str = r#"{"agent": "nobody", "actions": {"nothing": {"reads": true}}}"#;

/// The contract for strangers, compiled.
pub fn nobody() -> Result<Arc<Compiled>, StoreFault> {
    let loaded = engines::load::load(NOBODY);
    let loaded = loaded.map_err(|_| StoreFault::Corrupt("the contract for strangers does not compile".to_owned()))?;
    Ok(Arc::new(loaded.compiled))
}

impl Contracts {
    pub fn new(reader: Box<dyn Reader>, strangers: Option<Arc<Compiled>>) -> Result<Contracts, StoreFault> {
        let known = OnceLock::new();
        if let Some(contract) = strangers {
            let _first = known.set(contract);
        }
        Ok(Contracts {
            by_digest: Mutex::default(),
            lines: Mutex::default(),
            reader: Mutex::new(reader),
            strangers: known,
        })
    }

    /// The line of somebody nobody knows.
    fn of_strangers(&self) -> Result<Line, StoreFault> {
        let contract = match self.strangers.get() {
            Some(contract) => contract.clone(),
            None => {
                let compiled = nobody()?;
                self.strangers.get_or_init(|| compiled).clone()
            }
        };
        Ok(Line { contract, ancestors: Vec::new() })
    }

    /// Keeps a contract that was compiled elsewhere.
    pub fn keep(&self, contract: &Arc<Compiled>) {
        let mut known = self.by_digest.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CONTRACTS_MAX {
            known.clear();
        }
        known.insert(contract.digest, contract.clone());
    }

    /// The line of an agent, as it was last seen.
    pub fn line(&self, tenant: &Arc<str>, agent: &str) -> Result<Line, StoreFault> {
        let known = self.lines().get(tenant).and_then(|lines| lines.get(agent)).cloned();
        if let Some(line) = known {
            return Ok(line);
        }
        self.learn(tenant, agent, &mut |key| self.reader().get(key))
    }

    /// Reads the line of an agent, and keeps it.
    pub fn learn(&self, tenant: &Arc<str>, agent: &str, look: &mut Look<'_>) -> Result<Line, StoreFault> {
        let line = self.read_line(tenant, agent, look)?;
        // Strangers are not kept: anyone could fill the memory with names.
        if line.contract.contract.agent == agent {
            self.lines().entry(tenant.clone()).or_default().insert(agent.to_owned(), line.clone());
        }
        Ok(line)
    }

    /// Forgets a line that the kernel called stale.
    pub fn forget(&self, tenant: &Arc<str>, agent: &str) {
        if let Some(lines) = self.lines().get_mut(tenant) {
            lines.remove(agent);
        }
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, BTreeMap<String, Line>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_line(&self, tenant: &Arc<str>, agent: &str, look: &mut Look<'_>) -> Result<Line, StoreFault> {
        let Some(row) = agent_row(tenant, agent, look)? else {
            return self.of_strangers();
        };
        let Some(digest) = row.contract.or(row.offered) else {
            return self.of_strangers();
        };
        let contract = self.compiled_from(tenant, digest, look)?;
        let mut ancestors = Vec::new();
        let mut parent = contract.contract.parent.clone();
        while let Some(name) = parent.take() {
            if ancestors.len() >= DEPTH_MAX {
                return Err(StoreFault::Refused(format!("more than {DEPTH_MAX} contracts stand above `{agent}`")));
            }
            let Some(digest) = agent_row(tenant, &name, look)?.and_then(|row| row.contract) else { break };
            let above = self.compiled_from(tenant, digest, look)?;
            parent = above.contract.parent.clone();
            ancestors.push(above);
        }
        Ok(Line { contract, ancestors })
    }

    /// Reads one entity outside of any transaction.
    pub fn read(&self, tenant: &Arc<str>, entity: Entity) -> Result<Option<Row>, StoreFault> {
        let key = Key { tenant: tenant.clone(), entity };
        self.reader().get(&key)
    }

    /// The connection that reads outside of any transaction.
    pub fn reader(&self) -> MutexGuard<'_, Box<dyn Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A contract by its digest, compiled.
    pub fn compiled(&self, tenant: &Arc<str>, digest: Digest) -> Result<Arc<Compiled>, StoreFault> {
        self.compiled_from(tenant, digest, &mut |key| self.reader().get(key))
    }

    fn compiled_from(
        &self,
        tenant: &Arc<str>,
        digest: Digest,
        look: &mut Look<'_>,
    ) -> Result<Arc<Compiled>, StoreFault> {
        if let Some(known) = self.by_digest.lock().unwrap_or_else(PoisonError::into_inner).get(&digest) {
            return Ok(known.clone());
        }
        let damaged = |problem: &str| StoreFault::Corrupt(format!("contract {digest} {problem}"));
        let key = Key { tenant: tenant.clone(), entity: Entity::Contract(digest.to_string()) };
        let Some(Row::Contract(json)) = look(&key)? else {
            return Err(damaged("is not there"));
        };
        if Digest::of(json.to_canonical()) != digest {
            return Err(damaged("is another one"));
        }
        let known =
            engines::load::load_known(Arc::unwrap_or_clone(json), digest).ok_or_else(|| damaged("does not compile"))?;
        let contract = Arc::new(known);
        self.keep(&contract);
        Ok(contract)
    }
}
