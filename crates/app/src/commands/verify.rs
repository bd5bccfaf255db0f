//! `writkeeper verify`: no store, no network, only what is in the files and whom you believe.

mod beside;
mod export;
mod single;
mod sniff;
mod trust;

use crate::cli::proof::VerifyArgs;
use crate::exit::{Exit, InvalidData};
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, paint, say};
use export::Demands;
use kernel::json::{Json, Object};
use kernel::ledger::note::Note;
use single::Beside;
use sniff::Kind;
use std::path::Path;
use trust::Trust;

/// Verifies every file; the worst of them decides how it ends.
pub fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let trust = Trust::read(args)?;
    let mut files = Vec::with_capacity(args.files.len());
    for path in &args.files {
        files.push((path, sniff::kind(path)?));
    }
    let mut checkpoints: Vec<(String, Note)> = Vec::new();
    for (path, kind) in &files {
        if let Kind::Checkpoint(note) = kind {
            checkpoints.push((path.display().to_string(), note.clone()));
        }
    }
    let demands = Demands { replay: !args.no_replay, reports: args.demand_reports };
    // What is said about a checkpoint depends on the ledgers beside it.
    let (mut exports, mut rings) = (Vec::new(), Vec::new());
    for (path, _) in files.iter().filter(|(_, kind)| matches!(kind, Kind::Export)) {
        let (report, logs) = export::verify(path, &trust, &checkpoints, demands)?;
        exports.push(report);
        rings.extend(logs);
    }
    let beside = match exports.iter().map(|report| report.outcome).max() {
        None => Beside::Nothing,
        Some(Outcome::Damaged) => Beside::DamagedExport,
        Some(Outcome::Clean | Outcome::Incomplete) => Beside::Export,
    };
    let mut exports = exports.into_iter();
    let mut worst = Outcome::Clean;
    for (path, kind) in &files {
        let report = match kind {
            Kind::Export => exports.next().unwrap_or_else(|| Report::of("exported ledger")),
            Kind::Receipt(bytes) => single::receipt(bytes, &trust),
            Kind::Envelope(json) => single::envelope(json, &trust),
            Kind::Intent(bytes) => single::intent(bytes, &trust),
            Kind::Checkpoint(note) => single::checkpoint(note, &trust, &checkpoints, beside, &rings),
        };
        worst = worst.max(report.outcome);
        print(path, &report, args.json)?;
    }
    Ok(match worst {
        Outcome::Clean => Exit::Fine,
        Outcome::Incomplete => Exit::Escalated,
        Outcome::Damaged => Exit::Rejected,
    })
}

/// How a check ended, the worse the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Clean,
    Incomplete,
    Damaged,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Outcome::Clean => "clean",
            Outcome::Incomplete => "incomplete",
            Outcome::Damaged => "damaged",
        }
    }
}

/// What is said about one file.
struct Report {
    outcome: Outcome,
    /// What it is.
    what: String,
    /// Label and sentence, in order.
    lines: Vec<(&'static str, String)>,
    /// The last words.
    sum: String,
    /// For programs.
    members: Object,
}

impl Report {
    fn of(what: impl Into<String>) -> Report {
        let (lines, sum, members) = (Vec::new(), String::new(), Object::new());
        Report { outcome: Outcome::Clean, what: what.into(), lines, sum, members }
    }

    fn line(&mut self, label: &'static str, text: impl Into<String>) {
        self.lines.push((label, text.into()));
    }

    fn put(&mut self, key: &str, value: impl Into<Json>) {
        self.members.insert(key.to_owned(), value.into());
    }

    fn at_least(&mut self, outcome: Outcome) {
        self.outcome = self.outcome.max(outcome);
    }

    fn damaged(mut self, problem: impl Into<String>) -> Report {
        self.outcome = Outcome::Damaged;
        self.sum = problem.into();
        self
    }
}

fn print(path: &Path, report: &Report, json: bool) -> anyhow::Result<()> {
    if json {
        let mut members = report.members.clone();
        members.insert("file".to_owned(), Json::text(path.to_string_lossy()));
        members.insert("what".to_owned(), Json::text(report.what.as_str()));
        members.insert("outcome".to_owned(), Json::text(report.outcome.word()));
        members.insert("summary".to_owned(), Json::text(report.sum.as_str()));
        say!("{}", Json::Object(members).to_canonical());
        return Ok(());
    }
    say!("{}: {}", path.display(), paint(STRONG, &report.what));
    for (label, text) in &report.lines {
        say!("  {} {text}", paint(FAINT, format!("{label:<12}")));
    }
    let style = match report.outcome {
        Outcome::Clean => GOOD,
        Outcome::Incomplete => ATTENTION,
        Outcome::Damaged => BAD,
    };
    say!("  {}: {}", paint(style, report.outcome.word()), report.sum);
    Ok(())
}

fn unreadable(path: &Path, problem: &str) -> anyhow::Error {
    InvalidData(format!("`{}` {problem}", path.display())).into()
}
