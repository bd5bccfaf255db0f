//! `writkeeper decide`: proposals in, one line of answer each.

mod followed;
mod prepare;
mod records_file;
mod stored;

use crate::cli::DecideArgs;
use crate::commands::ledger;
use crate::commands::lines::Lines;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::store;
use crate::terminal;
use adapters::advisor::PluginAdvisor;
use anyhow::Context as _;
use kernel::context::Context;
use kernel::contract::Mode;
use kernel::evaluator::Compiled;
use kernel::finding::{Finding, Gate};
use kernel::outcome::{Answer, Done, Verdict};
use kernel::pure::PureRun;
use kernel::reasons::Reason;
use kernel::record::Record;
use runtime::FollowUp;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use stored::StoredRun;
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Receipts written in one run; more are had from `ledger receipt` or an export.
const RECEIPTS_MAX: usize = 10_000;

/// What became of a line.
pub struct Judged {
    answer: Answer,
    records: Vec<Record>,
    /// The same where a server decided.
    told: Vec<Json>,
    /// Without a store that answers, nothing is.
    is_decided: bool,
    /// What became of it meanwhile, where somebody waited for that.
    followed: Option<FollowUp>,
}

impl Judged {
    fn to_line(&self) -> String {
        match &self.followed {
            Some(followed) => followed.to_line(&self.answer),
            None => self.answer.to_line(),
        }
    }
}

/// Judges every line.
pub fn run(args: &DecideArgs) -> anyhow::Result<Exit> {
    let at = args.at.as_deref().map(instant).transpose()?;
    let contract = args.contract.as_deref().map(|path| contract(path, args)).transpose()?;
    let context = args.context.as_deref().map(context).transpose()?.unwrap_or_default();
    match (named_store(args), contract) {
        (Some(location), contract) => {
            let wait = args.wait.as_deref().map(followed::bound).transpose()?;
            let run = StoredRun::open(args, location, contract, &context, at)?;
            note_store(args);
            let mut decided = Vec::new();
            let exit = judge_lines(args, |number, line| {
                let judged = followed::follow(run.keeper(), run.judge(number, line), wait, args.quiet);
                if args.receipts.is_some() && judged.is_decided && decided.len() < RECEIPTS_MAX {
                    decided.push(judged.answer.id.clone());
                }
                Some(judged)
            })?;
            if let Some(folder) = args.receipts.as_deref().filter(|_| !decided.is_empty()) {
                ledger::write_receipts(location, &decided, folder)?;
            }
            Ok(exit)
        }
        (None, Some(contract)) => {
            note_store(args);
            let mut run = PureRun::new(contract, context, at, args.trust_provenance);
            let mut advise = |submission| runtime::advised(submission, Some(&PluginAdvisor));
            judge_lines(args, |line_number, line| {
                // What was judged so far stands; after a fault nothing more can be trusted.
                let done = catch_unwind(AssertUnwindSafe(|| run.judge_advised(line_number, line, &mut advise))).ok()?;
                let Done { answer, records, .. } = done;
                Some(Judged { answer, records, told: Vec::new(), is_decided: true, followed: None })
            })
        }
        (None, None) => Err(UsageError("give --contract, or --store with agents in it".to_owned()).into()),
    }
}

/// The store of the command line or the environment; an empty name is none.
fn named_store(args: &DecideArgs) -> Option<&str> {
    args.keeping.store.as_deref().filter(|location| !location.is_empty())
}

/// Says where the decisions are kept: whoever forgot to name a store hears that nothing is.
fn note_store(args: &DecideArgs) {
    match named_store(args).filter(|_| !args.quiet) {
        Some(location) => terminal::note(&format!("decisions are kept in `{}`", kernel::finding::visible(location))),
        None if !args.quiet => terminal::note("nothing is kept: name a store with --store or WRITKEEPER_STORE"),
        None => {}
    }
}

fn judge_lines(args: &DecideArgs, mut judge: impl FnMut(u64, &[u8]) -> Option<Judged>) -> anyhow::Result<Exit> {
    let mut records = args.records.as_deref().map(|path| records_file::open(path, args)).transpose()?;
    let mut input = Lines::open(args.proposals.as_deref())?;
    let mut output = std::io::stdout().lock();
    let mut tally = Tally::default();
    let mut is_damaged = false;
    while let Some((line_number, line)) = input.next_line()? {
        let Some(judged) = judge(line_number, line) else { return kernel_fault(&mut output, line) };
        is_damaged |= !judged.is_decided && store::is_damaged(&judged.answer);
        tally.count(&judged);
        writeln!(output, "{}", judged.to_line())?;
        write_records(records.as_mut(), &judged)?;
    }
    if let Some(mut file) = records {
        file.flush().context("cannot write the records")?;
    }
    if std::io::stderr().is_terminal() && !args.quiet {
        tally.print();
    }
    if tally.total() == 0 {
        return Err(InvalidData("there was nothing to decide: the input has no lines".to_owned()).into());
    }
    // Nobody has to try again later.
    Ok(if is_damaged { Exit::Invalid } else { tally.exit() })
}

fn contract(path: &Path, args: &DecideArgs) -> anyhow::Result<Arc<Compiled>> {
    let file = contract_file::open(path)?;
    if !file.loaded.inert.is_empty() {
        let inert = contract_file::inert_paths(&file.loaded.inert);
        if named_store(args).is_some() && !args.allow_inert {
            let problem = format!("`{}` has keys that are not enforced yet: {inert}", path.display());
            return Err(InvalidData(format!("{problem}; to put it in force all the same, add --allow-inert")).into());
        }
        if !args.quiet {
            terminal::note(&format!("not enforced yet: {inert}"));
        }
    }
    if file.loaded.compiled.contract.mode == Mode::Observe && !args.quiet {
        terminal::note("the contract says `mode: observe`: verdicts are decided and recorded, and stop nothing");
    }
    Ok(Arc::new(file.loaded.compiled))
}

/// The answer to a proposal the kernel broke on: refused, and named by its digest.
fn kernel_fault(output: &mut impl Write, line: &[u8]) -> anyhow::Result<Exit> {
    let finding =
        Finding::reject(Gate::Shape, Reason::KernelFault).with("problem", format!("sha256 {}", Digest::of(line)));
    let id = Digest::of(line).to_uuid_text();
    let (verdict, findings) = (Verdict::Reject, Arc::from([finding]));
    let answer = Answer { id, verdict, findings, intent: None, question: None };
    writeln!(output, "{}", answer.to_line())?;
    Ok(Exit::Internal)
}

fn instant(text: &str) -> anyhow::Result<Instant> {
    if Instant::is_too_late(text) {
        let end = Instant::DECISIONS_END;
        return Err(UsageError(format!("--at `{text}` is out of range: no decision is taken from {end} on")).into());
    }
    let problem = || {
        let text = terminal::echo(text);
        UsageError(format!("--at `{text}` is not an RFC 3339 time with an offset, such as 2026-01-01T12:00:00Z"))
    };
    Instant::parse(text).ok_or_else(|| problem().into())
}

/// State, snapshots and agents from a file.
pub fn context(path: &Path) -> anyhow::Result<Context> {
    let bytes = files::read(path)?;
    let invalid = |problem: String| InvalidData(format!("`{}`: {problem}", path.display()));
    let json = Json::parse_within(&bytes, &Bounds::FILE).map_err(|refusal| invalid(refusal.to_string()))?;
    Ok(Context::from_json(&json).map_err(invalid)?)
}

fn write_records(file: Option<&mut BufWriter<File>>, judged: &Judged) -> anyhow::Result<()> {
    let Some(file) = file else { return Ok(()) };
    let lines = judged.records.iter().map(Record::to_canonical).chain(judged.told.iter().map(Json::to_canonical));
    for line in lines {
        writeln!(file, "{line}").context("cannot write the records")?;
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    accepted: u64,
    rejected: u64,
    escalated: u64,
    undecided: u64,
    /// Accepted, and not over when the time to wait was.
    open: u64,
}

impl Tally {
    fn count(&mut self, judged: &Judged) {
        if !judged.is_decided {
            self.undecided += 1;
            return;
        }
        match judged.followed.as_ref().and_then(followed::end) {
            Some(followed::End::Open) => self.open += 1,
            Some(followed::End::Verdict(verdict)) => self.add(verdict),
            None => self.add(judged.answer.verdict),
        }
    }

    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Accept => self.accepted += 1,
            Verdict::Reject => self.rejected += 1,
            Verdict::Escalate => self.escalated += 1,
        }
    }

    fn exit(&self) -> Exit {
        if self.undecided > 0 {
            return Exit::Unavailable;
        }
        match (self.rejected, self.escalated, self.open) {
            (0, 0, 0) => Exit::Fine,
            (0, 0, _) => Exit::StillOpen,
            (0, _, _) => Exit::Escalated,
            _ => Exit::Rejected,
        }
    }

    fn total(&self) -> u64 {
        self.accepted + self.rejected + self.escalated + self.undecided + self.open
    }

    fn print(&self) {
        let total = self.total();
        let open = if self.open > 0 { format!(", {} accepted and still open", self.open) } else { String::new() };
        let undecided = if self.undecided > 0 { format!(", {} not decided", self.undecided) } else { String::new() };
        let proposals = terminal::counted(total, "proposal");
        let _ = writeln!(
            anstream::stderr(),
            "{proposals}: {} accepted, {} rejected, {} escalated{open}{undecided}",
            self.accepted,
            self.rejected,
            self.escalated
        );
    }
}
