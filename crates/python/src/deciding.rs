//! Judging proposals.

use crate::faults::Fault;
use crate::store::Kept;
use kernel::command::Door;
use kernel::context::Context;
use kernel::evaluator::Compiled;
use kernel::finding::{Code, Finding};
use kernel::pure::PureRun;
use kernel::reasons::Reason;
use pyo3::prelude::*;
use runtime::{Answered, Arrival, Pending, advised, read_line};
use std::sync::Arc;
use values::json::Json;
use writkeeper::{Error, PluginAdvisor};

/// The line of the answer; whether it was decided just now, and not given again; the intent that stands in its way.
pub type Reply = (String, bool, Option<String>);

/// Judges a proposal and waits for the answer; `line` is its number in a longer input.
pub fn decide(kept: &Kept, proposal: &str, trust_provenance: bool, line: Option<u64>) -> Result<Reply, Fault> {
    let Some(number) = line else { return reply(&send(kept, proposal, trust_provenance).wait()) };
    let (runtime, bytes) = (kept.keeper.runtime(), proposal.as_bytes());
    let pending = match read_line(bytes, number) {
        Ok((proposal, proof)) => runtime.submit(proposal, Arrival { proof, ..arrival(trust_provenance) }),
        Err(malformed) => runtime.refuse(bytes, malformed, format!("line-{number}")),
    };
    reply(&pending.wait())
}

/// Sends a proposal on its way.
pub fn send(kept: &Kept, proposal: &str, trust_provenance: bool) -> Pending {
    kept.keeper.runtime().judge(proposal.as_bytes(), arrival(trust_provenance))
}

fn arrival(trust_provenance: bool) -> Arrival {
    Arrival { trust_provenance, ..Arrival::through(Door::STORED) }
}

/// Judges lines without a store, each after the ones before it: the bytes that `writkeeper decide` answers with.
#[pyfunction]
#[pyo3(signature = (contract, lines, context = "{}", trust_provenance = false))]
pub fn rehearse(
    py: Python<'_>,
    contract: &str,
    lines: Vec<String>,
    context: &str,
    trust_provenance: bool,
) -> PyResult<Vec<String>> {
    let answered =
        py.detach(|| judged_in_order(crate::context::compiled(contract, true)?, &lines, context, trust_provenance));
    answered.map_err(|fault| fault.raised(py))
}

/// A contract that was read once and judges as often as it is asked, without a store.
#[pyclass(frozen)]
pub struct Rehearsal {
    contract: Arc<Compiled>,
}

#[pymethods]
impl Rehearsal {
    #[new]
    fn new(py: Python<'_>, contract: &str) -> PyResult<Rehearsal> {
        let compiled = py.detach(|| crate::context::compiled(contract, true));
        compiled.map(|contract| Rehearsal { contract }).map_err(|fault| fault.raised(py))
    }

    /// Judges one proposal in the world of a context.
    #[pyo3(signature = (line, context = "{}"))]
    fn judge(&self, py: Python<'_>, line: String, context: &str) -> PyResult<String> {
        let answered = py.detach(|| judged_in_order(self.contract.clone(), &[line], context, false));
        answered.map(|mut answers| answers.pop().unwrap_or_default()).map_err(|fault| fault.raised(py))
    }
}

fn judged_in_order(
    contract: Arc<Compiled>,
    lines: &[String],
    context: &str,
    trust_provenance: bool,
) -> Result<Vec<String>, Fault> {
    let context = Context::from_json(&crate::context::parsed(context)?);
    let context = context.map_err(|problem| Fault::usage(problem.to_string()))?;
    let mut run = PureRun::new(contract, context, None, trust_provenance);
    let mut advise = |submission| advised(submission, Some(&PluginAdvisor));
    let numbered = (1..).zip(lines);
    let judge = |(number, line): (u64, &String)| run.judge_advised(number, line.as_bytes(), &mut advise);
    Ok(numbered.map(judge).map(|outcome| outcome.answer.to_line()).collect())
}

/// What Python is told.
pub fn reply(answered: &Answered) -> Result<Reply, Fault> {
    if answered.at.is_none() {
        return Err(Fault::Library(Error::of_answer(answered)));
    }
    let blocked_by = answered.answer.findings.iter().find_map(blocking);
    // A server tells what its ledger holds; a store here knows.
    let is_fresh = !answered.records.is_empty() || !answered.told.is_empty();
    Ok((answered.answer.to_line(), is_fresh, blocked_by))
}

/// Whether a proposal of this agent may have to wait for validators.
pub fn asks_plugins(kept: &Kept, agent: &str) -> Result<bool, Fault> {
    let line = kept.keeper.runtime().line(agent).map_err(|fault| Fault::Library(fault.into()))?;
    let mut contracts = std::iter::once(&line.contract).chain(&line.ancestors);
    Ok(contracts.any(|compiled| !compiled.contract.validators.is_empty() || !compiled.contract.judges.is_empty()))
}

/// The intent that has the effect already.
fn blocking(finding: &Finding) -> Option<String> {
    if !matches!(finding.code, Code::Known(Reason::InProgress | Reason::AlreadyDone)) {
        return None;
    }
    let named = finding.values.iter().find(|(name, _)| name == "intent");
    named.and_then(|(_, value)| Json::as_text(value)).map(str::to_owned)
}
