//! What a contract would have done to history: every decision of a store or an export again, under a candidate.

use crate::error::Error;
use adapters::export_files::{AuditedExport, ExportPath, Unread};
use adapters::spilled_rows::SpilledRows;
use kernel::evaluator::Compiled;
use kernel::finding::Finding;
use kernel::outcome::{Answer, Verdict};
use runtime::Runtime;
use runtime::replay::backtest::{BacktestFault, Entry, History, Trial};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use values::json::Json;
use values::time::Instant;

pub use runtime::replay::backtest::{Counts, Flip, Unknown};

/// Records read at once, and judged at once.
const PAGE: usize = 256;

/// Pages that were folded as they were and wait to be judged: an entry is some kilobytes, so all of them are a few megabytes.
const PAGES_WAITING: usize = 2;

/// Rows of each of the two worlds that stay in memory; the rest goes to a file.
const HELD_MAX: usize = 32_768;

/// The candidate, and from when on it would have been in force.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The contract.
    pub contract: Arc<Compiled>,
    /// From when on; from the beginning if there is no instant.
    pub since: Option<Instant>,
    /// From when on decisions count, where that is later.
    pub counted: Option<Instant>,
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
    let mut trial = begin(candidate)?;
    each_of_store(runtime, &mut |page| heard(&mut trial, page, listener))?;
    Ok(trial.counts().clone())
}

/// Under several candidates, the history of a store in one pass; what each came to, in the same order.
pub fn of_store_under(
    runtime: &Runtime,
    candidates: Vec<Candidate>,
    passed: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Counts>, Error> {
    let mut trials: Vec<Trial> = candidates.into_iter().map(begin).collect::<Result<_, _>>()?;
    if !trials.is_empty() {
        each_of_store(runtime, &mut |page| {
            for entry in page {
                for trial in &mut trials {
                    trial.take(entry)?;
                }
            }
            Ok(page.last().is_none_or(|last| passed(last.index().saturating_add(1))))
        })?;
    }
    Ok(trials.iter().map(|trial| trial.counts().clone()).collect())
}

/// Under a candidate, the history of an export. Its hashes and signatures are checked first; whose they are is for the
/// caller to compare.
pub fn of_export(export: &ExportPath, candidate: Candidate, listener: &mut dyn Listener) -> Result<Counts, Error> {
    let AuditedExport { header, .. } = export.audit(&mut |_| {}).map_err(unread)?;
    let mut trial = begin(candidate)?;
    let read = |take: &mut Take<'_>| {
        let (mut index, mut taken) = (0_u64, Ok(true));
        let read = export.each(&header, &mut |exported| {
            taken = take(index, exported.leaf, exported.body.map(|(body, _)| body));
            index += 1;
            matches!(taken, Ok(true))
        });
        taken?;
        read.map_err(unread)
    };
    beside(read, &mut |page| heard(&mut trial, page, listener))?;
    Ok(trial.counts().clone())
}

fn begin(candidate: Candidate) -> Result<Trial, Error> {
    let Candidate { contract, since, counted } = candidate;
    Ok(Trial::new(contract, since, Box::new(SpilledRows::holding(HELD_MAX)))?.counting_from(counted))
}

/// Judges a page, and tells of it; false breaks off.
fn heard(trial: &mut Trial, page: &[Entry], listener: &mut dyn Listener) -> Result<bool, Error> {
    for entry in page {
        if trial.take(entry)?.is_some_and(|flip| !listener.flipped(&flip)) {
            return Ok(false);
        }
    }
    Ok(page.last().is_none_or(|last| listener.passed(last.index().saturating_add(1))))
}

fn each_of_store(runtime: &Runtime, judge: &mut Judge<'_>) -> Result<(), Error> {
    let read = |take: &mut Take<'_>| {
        let mut from = 0;
        loop {
            let page = runtime.records(from, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            from = last.index.saturating_add(1);
            for record in page {
                if !take(record.index, &record.leaf, record.body.as_ref().map(|(body, _)| body.as_str()))? {
                    return Ok(());
                }
            }
        }
    };
    beside(read, judge)
}

/// Takes an entry of the history: its index, leaf and body; false breaks off.
type Take<'t> = dyn FnMut(u64, &str, Option<&str>) -> Result<bool, Error> + 't;

/// Judges entries of the history under candidates; false breaks off.
type Judge<'j> = dyn FnMut(&[Entry]) -> Result<bool, Error> + 'j;

/// Reads the history and folds it as it was on one thread while this one judges it under candidates.
fn beside<R>(read: R, judge: &mut Judge<'_>) -> Result<(), Error>
where
    R: FnOnce(&mut Take<'_>) -> Result<(), Error> + Send,
{
    let (sender, receiver) = sync_channel::<Vec<Entry>>(PAGES_WAITING);
    let reading = move || {
        let mut history = History::new(Box::new(SpilledRows::holding(HELD_MAX)))?;
        let mut page = Vec::with_capacity(PAGE);
        let read = read(&mut |index, leaf, body| {
            page.push(history.record(index, leaf, body)?);
            Ok(page.len() < PAGE || sender.send(std::mem::replace(&mut page, Vec::with_capacity(PAGE))).is_ok())
        });
        // What came before a fault is judged before anybody hears of it. Nobody may be there to judge any more.
        let _ = sender.send(page);
        read
    };
    std::thread::scope(|scope| {
        let reading = scope.spawn(reading);
        for page in receiver {
            if !judge(&page)? {
                return Ok(());
            }
        }
        reading.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
    })
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
