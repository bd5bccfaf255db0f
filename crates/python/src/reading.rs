//! What can be looked at, and what needs no store: drafts, reasons, sentences.

use crate::context::parsed;
use crate::faults::Fault;
use crate::store::Kept;
use kernel::nearest::suggestion;
use kernel::reasons::{Entry, Reason};
use pyo3::prelude::*;
use values::json::Json;
use writkeeper::flows::Span;
use writkeeper::{Error, Keeper};

/// The latest flows, newest first.
pub fn flows(kept: &Kept, agent: Option<&str>, limit: usize) -> Result<String, Fault> {
    let list = kept.keeper.flows(agent, limit)?;
    let flows = list.flows.iter().map(|flow| Json::Object(flow.to_json()));
    Ok(Json::List(flows.collect()).to_canonical())
}

/// What happened in a flow.
pub fn timeline(kept: &Kept, flow: &str) -> Result<String, Fault> {
    Ok(kept.keeper.timeline(flow, Span::default())?.to_json().to_canonical())
}

/// One agent and what the registry did to it.
pub fn agent(kept: &Kept, name: &str) -> Result<String, Fault> {
    Ok(kept.keeper.agent(name)?.to_json().to_canonical())
}

/// How many records the ledger has.
pub fn size(kept: &Kept) -> Result<u64, Fault> {
    kept.keeper.runtime().size().map_err(|fault| Fault::Library(fault.into()))
}

/// Records of the ledger from an index on, without those that were erased: each index with its body.
pub fn records(kept: &Kept, from: u64, limit: usize) -> Result<Vec<(u64, String)>, Fault> {
    let records = kept.keeper.runtime().records(from, limit).map_err(|fault| Fault::Library(fault.into()))?;
    Ok(records.into_iter().filter_map(|record| Some((record.index, record.body?.0))).collect())
}

/// A closed contract from the schemas of tools.
#[pyfunction]
pub fn draft(py: Python<'_>, tools: &str, agent: &str) -> PyResult<String> {
    let drafted = py.detach(|| {
        let drafted = contract::draft::draft(&parsed(tools)?, agent);
        drafted.map_err(|problem| Fault::Library(Error::Invalid(problem)))
    });
    drafted.map_err(|fault| fault.raised(py))
}

/// A contract of the Decision Intelligence Runtime as text of ours, and what a person should know about it.
#[pyfunction]
pub fn import_dir(py: Python<'_>, contract: &str) -> PyResult<(String, Vec<String>)> {
    let imported = py.detach(|| Ok(writkeeper::imports::from_dir(contract)?));
    imported.map(|made| (made.text, made.notes)).map_err(|fault: Fault| fault.raised(py))
}

/// What each action of a contract comes to, in plain sentences.
#[pyfunction]
pub fn sentences(py: Python<'_>, contract: &str) -> PyResult<Vec<String>> {
    let told = py.detach(|| {
        let compiled = Keeper::contract(contract)?;
        Ok(contract::sentence::sentences(&compiled.contract).iter().map(ToString::to_string).collect())
    });
    told.map_err(|fault: Fault| fault.raised(py))
}

/// What a reason means and what to do about it.
#[pyfunction]
pub fn explain(py: Python<'_>, code: &str) -> PyResult<String> {
    let wanted = code.to_ascii_uppercase().replace('-', "_");
    let Some(reason) = Reason::from_code(&wanted) else {
        let hint = suggestion(&wanted, Reason::ALL.iter().map(|reason| reason.code()));
        return Err(Fault::usage(format!("`{code}` is not a built-in reason{hint}")).raised(py));
    };
    Ok(shown(&reason.entry()).to_canonical())
}

/// Every built-in reason.
#[pyfunction]
pub fn reasons() -> Vec<&'static str> {
    Reason::ALL.iter().map(|reason| reason.code()).collect()
}

fn shown(entry: &Entry) -> Json {
    Json::object([
        ("code", Json::text(entry.code)),
        ("category", Json::text(entry.category.word())),
        ("sentence", Json::text(entry.sentence)),
        ("fix_agent", Json::text(entry.fix_agent)),
        ("fix_operator", Json::text(entry.fix_operator)),
    ])
}
