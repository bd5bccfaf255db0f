//! `writkeeper decide`: proposals in, one line of answer each.

use crate::cli::DecideArgs;
use crate::commands::lines::Lines;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::terminal;
use anyhow::Context as _;
use kernel::context::Context;
use kernel::contract::Mode;
use kernel::finding::{Finding, Gate};
use kernel::ids::Digest;
use kernel::json::{Bounds, Json};
use kernel::outcome::{Answer, Done, Verdict};
use kernel::pure::PureRun;
use kernel::reasons::Reason;
use kernel::time::Instant;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Judges every line.
pub fn run(args: &DecideArgs) -> anyhow::Result<Exit> {
    let at = args.at.as_deref().map(instant).transpose()?;
    let file = contract_file::open(&args.contract)?;
    if !file.loaded.inert.is_empty() && !args.quiet {
        terminal::note(&format!("not enforced yet: {}", contract_file::inert_paths(&file.loaded.inert)));
    }
    if file.loaded.compiled.contract.mode == Mode::Observe && !args.quiet {
        terminal::note("the contract says `mode: observe`: verdicts are decided and recorded, and stop nothing");
    }
    let context = args.context.as_deref().map(context).transpose()?.unwrap_or_default();
    let mut run = PureRun::new(Arc::new(file.loaded.compiled), context, at, args.trust_provenance);
    let mut records = args.records.as_deref().map(create).transpose()?;
    let mut input = Lines::open(args.proposals.as_deref())?;
    let mut output = std::io::stdout().lock();
    let mut tally = Tally::default();
    while let Some((line_number, line)) = input.next_line()? {
        let done = match catch_unwind(AssertUnwindSafe(|| run.judge(line_number, line))) {
            Ok(done) => done,
            // What was judged so far stands; after a fault nothing more can be trusted.
            Err(_) => return kernel_fault(&mut output, line),
        };
        tally.count(done.answer.verdict);
        writeln!(output, "{}", done.answer.to_line())?;
        write_records(records.as_mut(), &done)?;
    }
    if let Some(mut file) = records {
        file.flush().context("cannot write the records")?;
    }
    if std::io::stderr().is_terminal() && !args.quiet {
        tally.print();
    }
    Ok(tally.exit())
}

/// The answer to a proposal the kernel broke on: refused, and named by its digest.
fn kernel_fault(output: &mut impl Write, line: &[u8]) -> anyhow::Result<Exit> {
    let finding =
        Finding::reject(Gate::Shape, Reason::KernelFault).with("problem", format!("sha256 {}", Digest::of(line)));
    let id = Digest::of(line).to_uuid_text();
    let answer = Answer { id, verdict: Verdict::Reject, findings: Arc::from([finding]), intent: None };
    writeln!(output, "{}", answer.to_line())?;
    Ok(Exit::Internal)
}

fn instant(text: &str) -> anyhow::Result<Instant> {
    let problem =
        || UsageError(format!("--at `{text}` is not an RFC 3339 time with an offset, such as 2026-01-01T12:00:00Z"));
    Instant::parse(text).ok_or_else(|| problem().into())
}

fn context(path: &Path) -> anyhow::Result<Context> {
    let bytes = files::read(path)?;
    let invalid = |problem: String| InvalidData(format!("`{}`: {problem}", path.display()));
    let json = Json::parse_within(&bytes, &Bounds::FILE).map_err(|refusal| invalid(refusal.to_string()))?;
    Ok(Context::from_json(&json).map_err(invalid)?)
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok(BufWriter::new(file))
}

fn write_records(file: Option<&mut BufWriter<File>>, done: &Done) -> anyhow::Result<()> {
    let Some(file) = file else { return Ok(()) };
    for record in &done.records {
        writeln!(file, "{}", record.body().to_canonical()).context("cannot write the records")?;
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    accepted: u64,
    rejected: u64,
    escalated: u64,
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Accept => self.accepted += 1,
            Verdict::Reject => self.rejected += 1,
            Verdict::Escalate => self.escalated += 1,
        }
    }

    fn exit(&self) -> Exit {
        match (self.rejected, self.escalated) {
            (0, 0) => Exit::Fine,
            (0, _) => Exit::Escalated,
            _ => Exit::Rejected,
        }
    }

    fn print(&self) {
        let total = self.accepted + self.rejected + self.escalated;
        let proposals = if total == 1 { "proposal" } else { "proposals" };
        let _ = writeln!(
            anstream::stderr(),
            "{total} {proposals}: {} accepted, {} rejected, {} escalated",
            self.accepted,
            self.rejected,
            self.escalated
        );
    }
}
