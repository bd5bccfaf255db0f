//! What a contract would have done to history: every decision of a store or an export again, under a candidate.

use crate::error::Error;
use adapters::export_files::{AuditedExport, ExportPath, Unread};
use adapters::spilled_rows::SpilledRows;
use kernel::evaluator::Compiled;
use kernel::finding::Finding;
use kernel::outcome::{Answer, Verdict};
use runtime::Runtime;
use runtime::replay::backtest::{Backtest, BacktestFault};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

pub use runtime::replay::backtest::{Counts, Flip, Unknown};

/// Records read at once.
const PAGE: usize = 512;

/// Rows of each of the two worlds that stay in memory; the rest goes to a file.
const HELD_MAX: usize = 32_768;

/// The candidate, and from when on it would have been in force.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The contract.
    pub contract: Arc<Compiled>,
    /// From when on; from the beginning if there is no instant.
    pub since: Option<Instant>,
}

/// Whoever listens to a backtest.
pub trait Listener {
    /// So many entries were read; false breaks the backtest off.
    fn passed(&mut self, entries: u64) -> bool;

    /// A decision flips; false breaks the backtest off.
    fn flipped(&mut self, flip: &Flip) -> bool;
}

/// Under a candidate, the history of a store or of a server.
pub fn of_store(runtime: &Runtime, candidate: Candidate, listener: &mut dyn Listener) -> Result<Counts, Error> {
    let mut backtest = begin(candidate)?;
    let mut from = 0;
    loop {
        let page = runtime.records(from, PAGE)?;
        let Some(last) = page.last() else { return Ok(backtest.counts().clone()) };
        from = last.index.saturating_add(1);
        for record in page {
            let body = record.body.as_ref().map(|(body, _)| body.as_str());
            let flip = backtest.record(record.index, &record.leaf, body)?;
            if flip.is_some_and(|flip| !listener.flipped(&flip)) {
                return Ok(backtest.counts().clone());
            }
        }
        if !listener.passed(from) {
            return Ok(backtest.counts().clone());
        }
    }
}

/// Under a candidate, the history of an export. Its hashes and signatures are checked first; whose they are is for the
/// caller to compare.
pub fn of_export(export: &ExportPath, candidate: Candidate, listener: &mut dyn Listener) -> Result<Counts, Error> {
    let AuditedExport { header, .. } = export.audit(&mut |_| {}).map_err(unread)?;
    let mut backtest = begin(candidate)?;
    let mut found = Ok(());
    let mut entry = 0_u64;
    let read = export.each(&header, &mut |exported| {
        let taken = backtest.record(entry, exported.leaf, exported.body.map(|(body, _)| body));
        entry += 1;
        let goes_on = !entry.is_multiple_of(PAGE as u64) || listener.passed(entry);
        match taken {
            Ok(flip) => flip.is_none_or(|flip| listener.flipped(&flip)) && goes_on,
            Err(fault) => {
                found = Err(fault);
                false
            }
        }
    });
    found?;
    read.map_err(unread)?;
    Ok(backtest.counts().clone())
}

fn begin(candidate: Candidate) -> Result<Backtest, Error> {
    let rows = || Box::new(SpilledRows::holding(HELD_MAX));
    Ok(Backtest::new(candidate.contract, candidate.since, [rows(), rows()])?)
}

fn unread(unread: Unread) -> Error {
    match unread {
        Unread::Damage(damage) => Error::Damaged(damage.to_string()),
        Unread::Io(..) => Error::Invalid(unread.to_string()),
    }
}

impl From<BacktestFault> for Error {
    fn from(fault: BacktestFault) -> Error {
        match fault {
            BacktestFault::Store(fault) => Error::from(fault),
            BacktestFault::Differs { .. } => Error::Damaged(fault.to_string()),
            BacktestFault::Refused(_) => Error::Invalid(fault.to_string()),
        }
    }
}

/// What stands against something: the findings that support a refusal or a question; none for an acceptance.
pub fn against(answer: &Answer) -> impl Iterator<Item = &Finding> {
    let codes = if answer.verdict == Verdict::Accept { Vec::new() } else { answer.reasons() };
    let mut seen: Vec<String> = Vec::new();
    answer.findings.iter().filter(move |finding| {
        let code = finding.code.as_str();
        let is_new = codes.contains(&code) && !seen.iter().any(|known| known == code);
        if is_new {
            seen.push(code.to_owned());
        }
        is_new
    })
}

/// One flip for programs: `before` and `after` with what stands against each.
pub fn flip_json(flip: &Flip) -> Json {
    let side = |answer: &Answer| {
        let against = against(answer).map(|finding| {
            let code = Json::text(finding.code.as_str());
            Json::object([("code", code), ("message", Json::text(finding.message()))])
        });
        Json::object([("verdict", Json::text(answer.verdict.word())), ("because", Json::List(against.collect()))])
    };
    Json::object([
        ("entry", Json::from(flip.entry)),
        ("at", Json::text(flip.at.to_string())),
        ("proposal", Json::text(flip.proposal.as_str())),
        ("agent", Json::text(flip.agent.as_str())),
        ("action", Json::text(flip.action.as_str())),
        ("before", side(&flip.before)),
        ("after", side(&flip.after)),
    ])
}

/// The last line for programs.
pub fn counts_json(counts: &Counts) -> Json {
    Json::object([
        ("decisions", Json::from(counts.decisions)),
        ("flipped", Json::from(counts.flipped)),
        ("unknown", Json::from(counts.unknown())),
    ])
}
