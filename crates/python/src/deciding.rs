//! Judging proposals.

use crate::faults::Fault;
use crate::store::Kept;
use kernel::command::Door;
use kernel::finding::{Code, Finding};
use kernel::reasons::Reason;
use runtime::{Answered, Arrival, Pending};
use values::json::Json;
use writkeeper::Error;

/// The line of the answer; whether it was decided just now, and not given again; the intent that stands in its way.
pub type Reply = (String, bool, Option<String>);

/// Judges a proposal and waits for the answer.
pub fn decide(kept: &Kept, proposal: &str, trust_provenance: bool) -> Result<Reply, Fault> {
    reply(&send(kept, proposal, trust_provenance).wait())
}

/// Sends a proposal on its way.
pub fn send(kept: &Kept, proposal: &str, trust_provenance: bool) -> Pending {
    let arrival = Arrival { trust_provenance, ..Arrival::through(Door::STORED) };
    kept.keeper.runtime().judge(proposal.as_bytes(), arrival)
}

/// What Python is told.
pub fn reply(answered: &Answered) -> Result<Reply, Fault> {
    if answered.at.is_none() {
        return Err(Fault::Library(Error::of_answer(answered)));
    }
    let blocked_by = answered.answer.findings.iter().find_map(blocking);
    Ok((answered.answer.to_line(), !answered.records.is_empty(), blocked_by))
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
