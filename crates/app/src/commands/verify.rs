//! `writkeeper verify`: no store, no network, only what is in the files and whom you believe.

mod beside;
mod export;
mod single;
mod sniff;
mod trust;

use crate::cli::proof::VerifyArgs;
use crate::exit::{Exit, InvalidData};
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, paint, say};
use beside::{Carried, contradicted};
use export::{Demands, Verified};
use ledger::checkpoint::Checkpoint;
use ledger::keyring::Keyring;
use ledger::note::Note;
use ledger::receipt::Receipt;
use single::Beside;
use sniff::Kind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trust::Trust;
use values::json::{Json, Object};

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
    let mut exports: BTreeMap<usize, Verified> = BTreeMap::new();
    for (file, (path, _)) in files.iter().enumerate().filter(|(_, (_, kind))| matches!(kind, Kind::Export)) {
        exports.insert(file, export::verify(path, &trust, &checkpoints, demands)?);
    }
    let carried = carried(&files, &exports);
    for (file, export) in &mut exports {
        export.compare(&of_others(&carried, *file));
    }
    let rings: Vec<Keyring> = exports.values().flat_map(Verified::rings).collect();
    let beside = match exports.values().map(|export| export.report.outcome).max() {
        None => Beside::Nothing,
        Some(Outcome::Damaged) => Beside::DamagedExport,
        Some(Outcome::Clean | Outcome::Incomplete) => Beside::Export,
    };
    let mut worst = Outcome::Clean;
    for (file, (path, kind)) in files.iter().enumerate() {
        let keys = own_rings(kind, exports.get(&file), &rings);
        let report = match kind {
            Kind::Export => exports.remove(&file).map_or_else(|| Report::of("exported ledger"), |export| export.report),
            Kind::Receipt(bytes) => single::receipt(bytes, &trust),
            Kind::Envelope(json) => single::envelope(json, &trust),
            Kind::Intent(bytes) => single::intent(bytes, &trust),
            Kind::Checkpoint(note) => single::checkpoint(note, &trust, &checkpoints, beside, &rings),
        };
        let report = compared(report, (file, kind), &carried, &trust, &keys);
        worst = worst.max(report.outcome);
        print(path, &report, args.json)?;
    }
    Ok(match worst {
        Outcome::Clean => Exit::Fine,
        Outcome::Incomplete => Exit::Escalated,
        Outcome::Damaged => Exit::Rejected,
    })
}

/// Whether it is an exported ledger, whole or not; the error says what cannot be verified at all.
pub fn is_export(path: &Path) -> anyhow::Result<bool> {
    Ok(matches!(sniff::kind(path)?, Kind::Export))
}

/// Whether a file is an export or a receipt, whole or not.
pub fn is_handed_out(path: &Path) -> bool {
    matches!(sniff::kind(path), Ok(Kind::Export | Kind::Receipt(_)))
}

/// The checkpoints that stand inside of receipts and exports.
fn carried(files: &[(&PathBuf, Kind)], exports: &BTreeMap<usize, Verified>) -> Vec<Carried> {
    let mut found = Vec::new();
    for (file, (path, kind)) in files.iter().enumerate() {
        let name = path.display().to_string();
        let one = |note: Note, is_receipt: bool| Carried { file, name: name.clone(), note, is_receipt };
        if let Kind::Receipt(bytes) = kind {
            found.extend(Receipt::parse(bytes).ok().map(|receipt| one(receipt.checkpoint().clone(), true)));
        }
        let seen = exports.get(&file).and_then(|export| export.seen.as_ref());
        let notes = seen.into_iter().flat_map(|(_, seen)| &seen.header.logs).flat_map(|log| &log.checkpoints);
        found.extend(notes.map(|note| one(note.clone(), false)));
    }
    found
}

/// What is said about a file, once the checkpoints inside of the others were seen.
fn compared(
    report: Report,
    (file, kind): (usize, &Kind),
    carried: &[Carried],
    trust: &Trust,
    keys: &[Keyring],
) -> Report {
    let own: Vec<&Note> = match kind {
        Kind::Checkpoint(note) => vec![note],
        Kind::Export | Kind::Receipt(_) | Kind::Envelope(_) | Kind::Intent(_) => {
            carried.iter().filter(|one| one.file == file).map(|one| &one.note).collect()
        }
    };
    let mut others = of_others(carried, file);
    others.retain(|other| is_believed(&other.note, trust, keys));
    match contradicted(&own, &others).filter(|_| report.outcome != Outcome::Damaged) {
        Some(problem) => report.damaged(problem),
        None => report,
    }
}

/// The keys by which a file believes what others say about its log.
fn own_rings(kind: &Kind, export: Option<&Verified>, rings: &[Keyring]) -> Vec<Keyring> {
    match kind {
        Kind::Export => export.map(Verified::rings).unwrap_or_default(),
        Kind::Receipt(bytes) => {
            let receipt = Receipt::parse(bytes).ok();
            receipt.and_then(|receipt| receipt.carried().map(|carried| carried.keyring.clone())).into_iter().collect()
        }
        Kind::Checkpoint(_) => rings.to_vec(),
        Kind::Envelope(_) | Kind::Intent(_) => Vec::new(),
    }
}

/// Anybody can write down another root; only whoever signs for the log contradicts itself.
fn is_believed(note: &Note, trust: &Trust, rings: &[Keyring]) -> bool {
    let Ok(stated) = Checkpoint::parse(note.text()) else { return false };
    trust.checkpoint(note, rings.iter().find(|ring| ring.origin() == stated.origin())).is_ok()
}

fn of_others(carried: &[Carried], file: usize) -> Vec<Carried> {
    carried.iter().filter(|one| one.file != file).cloned().collect()
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
