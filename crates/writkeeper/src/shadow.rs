//! Shadows as values: which candidates are judged beside contracts in force, and where they differ.

use crate::backtest::{Candidate, Counts, Listener, of_store, of_store_under};
use crate::error::Error;
use crate::keeper::carried_out;
use crate::lookup::agent_named;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::evaluator::Compiled;
use kernel::shadow::{SHADOWS, Shadow};
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use std::sync::Arc;
use values::ids::Digest;
use values::time::Instant;

/// Shadows that are looked at: each judges every decision again and keeps a world of its own.
const SHADOWS_MAX: usize = 64;

/// Starts a shadow of the agent that the candidate is for; one that runs already ends with it.
pub fn start(runtime: &Runtime, by: &Actor, candidate: &Compiled, now: Instant, because: &str) -> Result<(), Error> {
    demand_reason(because)?;
    // A name that nobody has is a slip of the pen: such a shadow would never have anything to show.
    agent_named(runtime, &format!("={}", candidate.contract.agent))?;
    let contract = candidate.contract.to_json();
    let shadow = Shadow { contract, since: now, because: because.to_owned() };
    let key = format!("{SHADOWS}{}", candidate.contract.agent);
    let write = Write { key, value: shadow.to_json(), expect: None };
    carried_out(runtime.change(by.clone(), Act::Merge(vec![write]))).map(|_| ())
}

/// Stops the shadow of an agent.
pub fn stop(runtime: &Runtime, by: &Actor, agent: &str, because: &str) -> Result<(), Error> {
    demand_reason(because)?;
    if !running(runtime)?.iter().any(|(name, _)| name == agent) {
        return Err(Error::Invalid(format!("no candidate is judged beside the contract of `{agent}`")));
    }
    let write = Write { key: format!("{SHADOWS}{agent}"), value: Shadow::stopped(because), expect: None };
    carried_out(runtime.change(by.clone(), Act::Merge(vec![write]))).map(|_| ())
}

fn demand_reason(because: &str) -> Result<(), Error> {
    if because.trim().is_empty() {
        return Err(Error::Invalid("there is no reason: say why in a few words".to_owned()));
    }
    Ok(())
}

/// The shadows that run, by agent.
pub fn running(runtime: &Runtime) -> Result<Vec<(String, Shadow)>, Error> {
    let rows = runtime.scan(Kind::State, Some(SHADOWS), SHADOWS_MAX)?;
    let shadow = |(key, row): (kernel::world::Key, Row)| {
        let agent = key.entity.parts().0.strip_prefix(SHADOWS)?.to_owned();
        Some((agent, Shadow::from_json(&row.as_state()?.value)?))
    };
    Ok(rows.into_iter().filter_map(shadow).collect())
}

/// How many decisions since an instant each candidate that is judged would have made otherwise, by agent: one pass over the
/// ledger for all. Whoever listens hears how many entries were read, and breaks off with false.
pub fn counts(
    runtime: &Runtime,
    since: Option<Instant>,
    passed: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<(String, Counts)>, Error> {
    let (agents, shadows): (Vec<_>, Vec<_>) = running(runtime)?.into_iter().unzip();
    let counted = |shadow| candidate(shadow).map(|candidate| Candidate { counted: since, ..candidate });
    let candidates = shadows.iter().map(counted).collect::<Result<_, _>>()?;
    Ok(agents.into_iter().zip(of_store_under(runtime, candidates, passed)?).collect())
}

/// Judges everything since the shadow started under the candidate as well. Up to then budgets, windows and effect keys
/// are those that there were; from then on they follow the candidate's own verdicts.
pub fn compare(runtime: &Runtime, shadow: &Shadow, listener: &mut dyn Listener) -> Result<Counts, Error> {
    of_store(runtime, candidate(shadow)?, listener)
}

fn candidate(shadow: &Shadow) -> Result<Candidate, Error> {
    let digest = Digest::of(shadow.contract.to_canonical());
    let contract = engines::load::load_known(shadow.contract.clone(), digest);
    let contract = contract.ok_or_else(|| Error::Invalid("the candidate does not compile any more".to_owned()))?;
    Ok(Candidate { contract: Arc::new(contract), since: Some(shadow.since), counted: None })
}
