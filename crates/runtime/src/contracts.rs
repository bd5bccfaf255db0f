//! Which contracts count for an agent: its own and those above it, compiled once per digest.

use crate::ports::store::StoreFault;
use crate::readers::Readers;
use kernel::agent::AgentRow;
use kernel::canary::Canary;
use kernel::evaluator::Compiled;
use kernel::flow::DEPTH_MAX;
use kernel::world::{Entity, Row};
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

/// What counts for an agent: the line of the contract in force, and that of a candidate that some flows are under.
#[derive(Clone, Debug)]
struct Lines {
    line: Line,
    canary: Option<(Canary, Line)>,
}

/// Contracts by digest, and lines by agent as they were last seen; the kernel says when one is stale.
pub struct Contracts {
    by_digest: Mutex<BTreeMap<Digest, Arc<Compiled>>>,
    lines: Mutex<BTreeMap<String, Lines>>,
    readers: Arc<Readers>,
    strangers: OnceLock<Arc<Compiled>>,
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
    pub fn new(readers: Arc<Readers>, strangers: Option<Arc<Compiled>>) -> Contracts {
        let known = OnceLock::new();
        if let Some(contract) = strangers {
            let _first = known.set(contract);
        }
        Contracts { by_digest: Mutex::default(), lines: Mutex::default(), readers, strangers: known }
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
    pub fn line(&self, agent: &str) -> Result<Line, StoreFault> {
        self.chosen(agent, |_| false)
    }

    /// The line that counts for what an agent does in a flow.
    pub fn line_for(&self, agent: &str, flow: &str) -> Result<Line, StoreFault> {
        self.chosen(agent, |canary| canary.takes(flow))
    }

    /// Every line that counts for some flow of an agent.
    pub fn all(&self, agent: &str) -> Result<Vec<Line>, StoreFault> {
        let both = |lines: &Lines| {
            let canary = lines.canary.iter().map(|(_, line)| line.clone());
            std::iter::once(lines.line.clone()).chain(canary).collect()
        };
        self.seen(agent, both)
    }

    fn chosen(&self, agent: &str, is_taken: impl Fn(&Canary) -> bool) -> Result<Line, StoreFault> {
        let choose = |lines: &Lines| match &lines.canary {
            Some((canary, line)) if is_taken(canary) => line.clone(),
            Some(_) | None => lines.line.clone(),
        };
        self.seen(agent, choose)
    }

    /// What somebody makes of the lines of an agent, as they were last seen.
    fn seen<T>(&self, agent: &str, make: impl Fn(&Lines) -> T) -> Result<T, StoreFault> {
        if let Some(lines) = self.lines().get(agent) {
            return Ok(make(lines));
        }
        let lines = self.read_lines(agent)?;
        let made = make(&lines);
        // Strangers are not kept: anyone could fill the memory with names.
        if lines.line.contract.contract.agent == agent {
            self.lines().insert(agent.to_owned(), lines);
        }
        Ok(made)
    }

    /// Forgets lines that the kernel called stale.
    pub fn forget(&self, agent: &str) {
        self.lines().remove(agent);
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<String, Lines>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn agent(&self, name: &str) -> Result<Option<Box<AgentRow>>, StoreFault> {
        match self.readers.get(&Entity::Agent(name.to_owned()))? {
            Some(Row::Agent(row)) => Ok(Some(row)),
            Some(_) | None => Ok(None),
        }
    }

    fn read_lines(&self, agent: &str) -> Result<Lines, StoreFault> {
        let row = self.agent(agent)?;
        let digest = row.as_ref().and_then(|row| row.contract.or(row.offered));
        let line = match digest {
            Some(digest) => self.line_of(agent, digest)?,
            None => self.of_strangers()?,
        };
        let canary = match row.and_then(|row| row.canary) {
            Some(canary) => Some((canary.clone(), self.line_of(agent, canary.contract)?)),
            None => None,
        };
        Ok(Lines { line, canary })
    }

    /// A contract of an agent, with those above it.
    fn line_of(&self, agent: &str, digest: Digest) -> Result<Line, StoreFault> {
        let contract = self.compiled(digest)?;
        let mut ancestors = Vec::new();
        let mut parent = contract.contract.parent.clone();
        while let Some(name) = parent.take() {
            if ancestors.len() >= DEPTH_MAX {
                return Err(StoreFault::Refused(format!("more than {DEPTH_MAX} contracts stand above `{agent}`")));
            }
            let Some(digest) = self.agent(&name)?.and_then(|row| row.contract) else { break };
            let above = self.compiled(digest)?;
            parent = above.contract.parent.clone();
            ancestors.push(above);
        }
        Ok(Line { contract, ancestors })
    }

    /// A contract by its digest, compiled.
    pub fn compiled(&self, digest: Digest) -> Result<Arc<Compiled>, StoreFault> {
        if let Some(known) = self.by_digest.lock().unwrap_or_else(PoisonError::into_inner).get(&digest) {
            return Ok(known.clone());
        }
        let damaged = |problem: &str| StoreFault::Corrupt(format!("contract {digest} {problem}"));
        let Some(Row::Contract(json)) = self.readers.get(&Entity::Contract(digest.to_string()))? else {
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
