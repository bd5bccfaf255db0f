//! `writkeeper contract backtest`: what a candidate would have done to history.

use crate::cli::BacktestArgs;
use crate::commands::verify;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::store;
use crate::terminal::{self, ATTENTION, FAINT, STRONG, counted, paint, say, verdict_style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::finding::visible;
use kernel::outcome::Answer;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Instant as Stopwatch;
use values::time::{Duration, Instant};
use writkeeper::ExportPath;
use writkeeper::backtest::{Candidate, Counts, Flip, Listener, against, counts_json, flip_json, of_export, of_store};
use writkeeper::report::has_decisions;

/// Prints every decision that flips, and how many there are.
pub fn run(args: &BacktestArgs) -> anyhow::Result<Exit> {
    let contract = Arc::new(contract_file::open(&args.candidate)?.loaded.compiled);
    let since = args.since.as_deref().map(ago).transpose()?;
    let candidate = Candidate { contract, since, counted: None };
    let mut printing = Printing { json: args.kept.json, bar: bar(), broken: None };
    let counts = match &args.export {
        Some(path) if !verify::is_export(path)? => {
            let problem = format!("`{}` is no exported ledger; `writkeeper ledger export` makes one", path.display());
            return Err(InvalidData(problem).into());
        }
        Some(path) => of_export(&ExportPath::at(path), candidate, &mut printing)?,
        None => {
            let runtime = store::view(&args.kept.store)?;
            printing.bar.set_length(runtime.size()?);
            let (agent, since) = (candidate.contract.contract.agent.clone(), candidate.since);
            let counts = of_store(&runtime, candidate, &mut printing)?;
            // What flips was decided; only where nothing did, the name may be a typo.
            if counts.flipped == 0 && !has_decisions(&runtime, &agent, since)? {
                terminal::note(&format!("agent `{}` has no decision in this history", visible(&agent)));
            }
            counts
        }
    };
    printing.bar.finish_and_clear();
    if let Some(error) = printing.broken {
        return Err(error);
    }
    if args.kept.json {
        say!("{}", counts_json(&counts).to_canonical());
    } else {
        sum_up(&counts)?;
    }
    Ok(match (counts.flipped, counts.unknown()) {
        (0, 0) => Exit::Fine,
        (0, _) => Exit::Escalated,
        (_, _) => Exit::Rejected,
    })
}

fn ago(text: &str) -> anyhow::Result<Instant> {
    let problem = || UsageError(format!("--since `{}` is no duration, such as 30d, 12h or 30m", terminal::echo(text)));
    Ok(store::now().minus(Duration::parse(text).ok_or_else(problem)?))
}

/// Shown on a terminal only.
pub fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} of {len} entries decided again {per_sec}") {
        bar.set_style(style);
    }
    bar
}

/// The longest backtest beside something else: whoever waits longer runs it as a command of its own.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// Reads `--backtest`: how long one may take beside something else; none where it is left out.
pub fn wait(text: &str) -> anyhow::Result<Option<std::time::Duration>> {
    if text == "0s" {
        return Ok(None);
    }
    let problem = || UsageError(format!("--backtest `{}` is no duration up to 1h, such as 30s", terminal::echo(text)));
    let wait = Duration::parse(text).filter(|wait| *wait <= WAIT_MAX).ok_or_else(problem)?;
    Ok(Some(std::time::Duration::from_micros(wait.micros().unsigned_abs())))
}

/// Shows how far a backtest is, and breaks it off when time is over.
pub struct Waiting {
    pub bar: ProgressBar,
    begun: Stopwatch,
    wait: std::time::Duration,
    read: u64,
    size: u64,
    is_over: bool,
}

impl Waiting {
    /// Begins to wait for so many entries.
    pub fn new(size: u64, wait: std::time::Duration) -> Waiting {
        let bar = bar();
        bar.set_length(size);
        Waiting { bar, begun: Stopwatch::now(), wait, read: 0, size, is_over: false }
    }

    /// The entries that were read, of so many, where time was over.
    pub fn cut_off(&self) -> Option<(u64, u64)> {
        self.is_over.then_some((self.read, self.size))
    }
}

impl Listener for Waiting {
    fn passed(&mut self, entries: u64) -> bool {
        self.bar.set_position(entries);
        self.read = entries;
        // Who has read everything is not late.
        self.is_over = entries < self.size && self.begun.elapsed() >= self.wait;
        !self.is_over
    }

    fn flipped(&mut self, _: &Flip) -> bool {
        true
    }
}

/// Prints flips as they are found.
struct Printing {
    json: bool,
    bar: ProgressBar,
    /// Why nothing more can be printed.
    broken: Option<anyhow::Error>,
}

impl Listener for Printing {
    fn passed(&mut self, entries: u64) -> bool {
        self.bar.set_position(entries);
        true
    }

    fn flipped(&mut self, flip: &Flip) -> bool {
        let printed = self.bar.suspend(|| if self.json { line(flip) } else { print(flip) });
        self.broken = printed.err();
        self.broken.is_none()
    }
}

fn line(flip: &Flip) -> anyhow::Result<()> {
    say!("{}", flip_json(flip).to_canonical());
    Ok(())
}

fn print(flip: &Flip) -> anyhow::Result<()> {
    let verdict = |answer: &Answer| {
        let word = answer.verdict.word();
        paint(verdict_style(word), word).to_string()
    };
    let (proposal, agent, action) = (visible(&flip.proposal), visible(&flip.agent), visible(&flip.action));
    let when = paint(FAINT, terminal::at(flip.at)).to_string();
    say!("{when}  {} -> {}  {agent} {action}  {proposal}", verdict(&flip.before), verdict(&flip.after));
    for finding in against(&flip.after) {
        say!("    {}: {}", finding.code.as_str(), visible(&finding.message()));
    }
    for finding in against(&flip.before) {
        say!("    {} {}: {}", paint(FAINT, "was"), finding.code.as_str(), visible(&finding.message()));
    }
    Ok(())
}

/// How many decisions flip, and of how many nobody can tell.
pub fn sum_up(counts: &Counts) -> anyhow::Result<()> {
    let decisions = counted(counts.decisions, "decision");
    say!("{}", paint(STRONG, format!("this change flips {} of {decisions}", counts.flipped)));
    for (why, count) in &counts.unknown {
        say!("  {} {count}: {}", paint(ATTENTION, "unknown"), why.words());
    }
    if counts.unread > 0 {
        let others = counted(counts.unread, "other record");
        say!("  {} {others}: what they did to budgets and state is missing", paint(ATTENTION, "not read"));
    }
    Ok(())
}
