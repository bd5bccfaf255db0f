//! `writkeeper decide`: proposals in, one line of answer each.

use crate::cli::DecideArgs;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::terminal;
use anyhow::Context as _;
use kernel::context::Context;
use kernel::json::{Bounds, Json};
use kernel::outcome::{Done, Verdict};
use kernel::pure::PureRun;
use kernel::time::Instant;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Longest line kept; one byte more than a proposal may have is enough to refuse it.
const LINE_BYTES_KEPT: usize = 256 * 1024 + 1;

/// Judges every line.
pub fn run(args: &DecideArgs) -> anyhow::Result<Exit> {
    let at = args.at.as_deref().map(instant).transpose()?;
    let file = contract_file::open(&args.contract)?;
    if !file.loaded.inert.is_empty() && !args.quiet {
        terminal::note(&format!("not enforced yet: {}", contract_file::inert_paths(&file.loaded.inert)));
    }
    let context = args.context.as_deref().map(context).transpose()?.unwrap_or_default();
    let mut run = PureRun::new(Arc::new(file.loaded.compiled), context, at, args.trust_provenance);
    let mut records = args.records.as_deref().map(create).transpose()?;
    let mut input = open_input(args.proposals.as_deref())?;
    let mut output = std::io::stdout().lock();
    let mut tally = Tally::default();
    let mut line_number = 0;
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        line_number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let done = run.judge(line_number, &line);
        tally.count(done.answer.verdict);
        if let Err(error) = writeln!(output, "{}", done.answer.to_line()) {
            // Whoever listened has left; that is their right.
            return if error.kind() == std::io::ErrorKind::BrokenPipe { Ok(tally.exit()) } else { Err(error.into()) };
        }
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

fn open_input(path: Option<&Path>) -> anyhow::Result<Box<dyn BufRead>> {
    match path {
        None => Ok(Box::new(std::io::stdin().lock())),
        Some(path) if path == Path::new("-") => Ok(Box::new(std::io::stdin().lock())),
        Some(path) => {
            let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
            Ok(Box::new(BufReader::new(file)))
        }
    }
}

/// Reads one line without its end; what is too long to be a proposal is cut, so memory stays bounded.
fn read_line(mut input: &mut dyn BufRead, line: &mut Vec<u8>) -> anyhow::Result<bool> {
    line.clear();
    let read = Read::take(&mut input, LINE_BYTES_KEPT as u64 + 1)
        .read_until(b'\n', line)
        .context("cannot read the proposals")?;
    if read == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(true);
    }
    if line.len() > LINE_BYTES_KEPT {
        line.truncate(LINE_BYTES_KEPT);
        skip_line(input)?;
    }
    Ok(true)
}

fn skip_line(input: &mut dyn BufRead) -> anyhow::Result<()> {
    loop {
        let buffer = input.fill_buf().context("cannot read the proposals")?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |position| position + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
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
        anstream::eprintln!(
            "{total} {proposals}: {} accepted, {} rejected, {} escalated",
            self.accepted,
            self.rejected,
            self.escalated
        );
    }
}
