//! A whole ledger: hashes and signatures first, then every decision again, then what is left open.

use super::beside::{Carried, Compared};
use super::trust::{Trust, Unbelieved};
use super::{Outcome, Report, beside, unreadable};
use crate::terminal::counted;
use adapters::export_files::{AuditedExport, ExportPath, Unread};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ledger::audit::{Damage, Place};
use ledger::checkpoint::Checkpoint;
use ledger::keyring::Keyring;
use ledger::note::Note;
use runtime::verify::Completeness;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;
use values::json::Json;
use writkeeper::verification::replay;

/// Entries between two looks at the progress bar.
const STEP: u64 = 256;

/// How many of a kind are named on a line that people read; the rest are counted.
const SHOWN_MAX: usize = 16;

/// What has to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Demands {
    /// Every decision is made again.
    pub replay: bool,
    /// Whoever was handed an intent has said what became of it.
    pub reports: bool,
}

/// What came of an export.
pub struct Verified {
    /// What is said about it.
    pub report: Report,
    /// What it holds, as far as its hashes and signatures fit.
    pub seen: Option<(ExportPath, AuditedExport)>,
}

impl Verified {
    /// The logs it tells of.
    pub fn rings(&self) -> Vec<Keyring> {
        let seen = self.seen.iter().flat_map(|(_, seen)| seen.header.logs.iter());
        seen.map(|log| log.keyring.clone()).collect()
    }

    /// Compares it with checkpoints that other files carry inside of them.
    pub fn compare(&mut self, others: &[Carried]) {
        let Some((export, seen)) = &self.seen else { return };
        match beside::compare_carried(export, seen, others) {
            Ok(compared) => noted(&mut self.report, compared),
            Err(damage) => self.report = damaged(std::mem::replace(&mut self.report, Report::of("")), &damage),
        }
    }
}

/// Verifies an export, and the checkpoints that were given beside it.
pub fn verify(path: &Path, trust: &Trust, beside: &[(String, Note)], demands: Demands) -> anyhow::Result<Verified> {
    let export = ExportPath::at(path);
    let bar = bar();
    let seen = export.audit(&mut |passed| {
        if passed.is_multiple_of(STEP) {
            bar.set_position(passed);
        }
    });
    let seen = match seen {
        Ok(seen) => seen,
        Err(Unread::Damage(damage)) => {
            return Ok(Verified { report: damaged(Report::of("exported ledger"), &damage), seen: None });
        }
        Err(Unread::Io(path, error)) => return Err(unreadable(&path, &format!("cannot be read: {error}"))),
    };
    let report = judged(&export, &seen, trust, beside, demands, &bar)?;
    Ok(Verified { report, seen: Some((export, seen)) })
}

fn judged(
    export: &ExportPath,
    seen: &AuditedExport,
    trust: &Trust,
    beside: &[(String, Note)],
    demands: Demands,
    bar: &ProgressBar,
) -> anyhow::Result<Report> {
    let Demands { replay, reports } = demands;
    let begin = Instant::now();
    let mut report = Report::of("exported ledger");
    describe(&mut report, seen, trust);
    if let Err(damage) = believed(&mut report, seen, trust) {
        return Ok(damaged(report, &damage));
    }
    match beside::compare(export, seen, beside) {
        Ok(compared) => noted(&mut report, compared),
        Err(damage) => return Ok(damaged(report, &damage)),
    }
    if seen.audited.checkpoints == 0 {
        report.at_least(Outcome::Incomplete);
        report.line("unsigned", "there is no checkpoint: nothing here is signed");
    }
    if seen.audited.unsigned > 0 {
        report.at_least(Outcome::Incomplete);
        report.line("unsigned", format!("{} behind the last checkpoint", counted(seen.audited.unsigned, "entry")));
    }
    if replay {
        bar.set_length(seen.audited.entries);
        bar.set_message("deciding again");
        match again(export, seen, bar)? {
            Ok(found) => tell(&mut report, &found, reports),
            Err(damage) => return Ok(damaged(report, &damage)),
        }
    }
    bar.finish_and_clear();
    let seconds = begin.elapsed().as_secs_f64();
    let rate = (seen.audited.entries as f64 / seconds.max(1e-6)).round() as u64;
    report.put("entries", seen.audited.entries);
    report.put("entries_per_s", rate);
    report.put("replayed", replay);
    report.sum = format!("{} in {seconds:.2} s, {rate} entries/s", counted(seen.audited.entries, "entry"));
    Ok(report)
}

fn noted(report: &mut Report, compared: Compared) {
    if compared.is_open {
        report.at_least(Outcome::Incomplete);
    }
    compared.lines.into_iter().for_each(|line| report.line("checkpoint", line));
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} of {len} entries {msg} {per_sec}") {
        bar.set_style(style);
    }
    bar.set_message("hashing");
    bar
}

fn damaged(mut report: Report, damage: &Damage) -> Report {
    let index = match damage.place {
        Place::Entry(index) => Json::from(index),
        Place::Header | Place::Below(_) | Place::Checkpoint(_) => Json::Null,
    };
    let place = Json::text(damage.place.to_string());
    let members = [("index", index), ("place", place), ("problem", Json::text(damage.problem.as_str()))];
    report.put("damage", Json::object(members));
    report.damaged(damage.to_string())
}

fn describe(report: &mut Report, seen: &AuditedExport, trust: &Trust) {
    let AuditedExport { header, audited } = seen;
    if let Some(log) = header.logs.last() {
        report.line("log", log.keyring.origin());
        report.put("origin", log.keyring.origin());
    }
    if let Some(last) = &audited.last {
        report.line(
            "tree",
            format!("{}, root {}, {}", counted(audited.entries, "entry"), last.root(), agree(audited.checkpoints)),
        );
        report.put("root", last.root().to_string());
    }
    report.put("checkpoints", audited.checkpoints);
    if header.logs.len() > 1 {
        report.line(
            "broken",
            format!("{} ended with a declared discontinuity", counted((header.logs.len() - 1) as u64, "earlier log")),
        );
        report.put("discontinuities", (header.logs.len() - 1) as u64);
    }
    let keys = header
        .logs
        .last()
        .map(|log| log.keyring.valid_at(seen.audited.entries - log.from).map(ToString::to_string).collect::<Vec<_>>());
    if audited.checkpoints > 0 {
        report.line("signed by", keys.unwrap_or_default().join(" and "));
    }
    if !trust.is_stated() {
        report.line("trust", "the key is the export's own; compare it with the one you know, or give --key");
    }
    report.put("own_key", !trust.is_stated());
}

fn agree(checkpoints: u64) -> String {
    let agree = if checkpoints == 1 { "agrees" } else { "agree" };
    format!("{} {agree}", counted(checkpoints, "checkpoint"))
}

/// The newest checkpoint is signed by someone the reader believes.
fn believed(report: &mut Report, seen: &AuditedExport, trust: &Trust) -> Result<(), Damage> {
    let Some((log, ended)) = seen.header.logs.split_last() else { return Ok(()) };
    let Some(note) = log.checkpoints.last() else { return Ok(()) };
    let size = seen.audited.last.as_ref().map_or(0, Checkpoint::size);
    let is_followed = ended.iter().any(|log| trust.knows_log(&log.keyring));
    let open = match trust.checkpoint(note, Some(&log.keyring)) {
        Ok(_) => return Ok(()),
        Err(Unbelieved::NotGiven(problem)) => problem,
        Err(Unbelieved::OtherLog(_)) if is_followed => {
            let log = log.keyring.origin();
            format!("log `{log}` says that it follows the one whose key was given; give its own key too with --key")
        }
        Err(problem @ (Unbelieved::NoKey(_) | Unbelieved::OtherLog(_) | Unbelieved::Wrong(_))) => {
            return Err(Damage { place: Place::Checkpoint(size), problem: problem.text() });
        }
    };
    report.at_least(Outcome::Incomplete);
    report.line("unknown", open);
    Ok(())
}

/// Makes every decision again.
fn again(export: &ExportPath, seen: &AuditedExport, bar: &ProgressBar) -> anyhow::Result<Result<Completeness, Damage>> {
    let replayed = replay(export, seen, &mut |passed| {
        if passed.is_multiple_of(STEP) {
            bar.set_position(passed);
        }
    });
    Ok(replayed?)
}

fn tell(report: &mut Report, found: &Completeness, reports: bool) {
    let Completeness { replayed, intents, never_executed, unreported, named, in_doubt, never_accepted, .. } = found;
    let others = replayed.same - replayed.decisions;
    let (decisions, others) = (counted(replayed.decisions, "decision"), counted(others, "other record"));
    report.line("decided again", format!("{decisions} and {others}: the same bytes"));
    report.put("decisions", replayed.decisions);
    report.put("same", replayed.same);
    if found.answers > 0 {
        report.line("answers", format!("{} of people, {} signed", found.answers, found.signed_answers));
        report.put("answers", found.answers);
        report.put("signed_answers", found.signed_answers);
    }
    if !intents.is_empty() {
        let states: Vec<String> = intents.iter().map(|(state, count)| format!("{count} {state}")).collect();
        report.line("intents", states.join(", "));
        let states = intents.iter().map(|(state, count)| (state.clone(), Json::from(*count))).collect();
        report.put("intents", Json::Object(states));
    }
    tell_results(report, found);
    let secret = replayed.withheld - replayed.erased;
    let erased = format!("not replayable: erased{}", places(&found.erased_at));
    let gone = format!("bodies are gone, and no record says that they were erased{}", places(&found.gone_at));
    let contradicted = if found.contradicted == 1 {
        "report says the opposite of how its intent ended"
    } else {
        "reports say the opposite of how their intent ended"
    };
    let contradicted = format!("{contradicted}{}", places(&found.contradicted_at));
    let open = [
        (replayed.erased, "erased", erased.as_str()),
        (found.gone, "gone", gone.as_str()),
        (secret, "withheld", "not replayable: secrets that are not kept, or records that depend on what is missing"),
        (*never_executed, "never_executed", "accepted and never executed, and their time is over"),
        (*in_doubt, "in_doubt", "in doubt, and nobody settled them"),
        (*never_accepted, "never_accepted", "reported as performed and never accepted"),
        (found.contradicted, "contradicted", contradicted.as_str()),
    ];
    for (count, key, sentence) in open {
        report.put(key, count);
        if count > 0 {
            report.at_least(Outcome::Incomplete);
            report.line("open", format!("{count} {sentence}"));
        }
    }
    let ranges =
        [("erased_at", &found.erased_at), ("gone_at", &found.gone_at), ("contradicted_at", &found.contradicted_at)];
    for (key, ranges) in ranges {
        report.put(key, Json::texts(ranges.iter().map(range)));
    }
    report.put("unreported", *unreported);
    if *unreported > 0 {
        report
            .line("unreported", format!("{unreported} handed out, and nobody said what became of them in their time"));
        if reports {
            report.at_least(Outcome::Incomplete);
        }
    }
    report.put("named", Json::texts(named.iter().map(String::as_str)));
    report.put("unnamed", found.unnamed);
    if !named.is_empty() {
        let first: Vec<&str> = named.iter().map(String::as_str).take(SHOWN_MAX).collect();
        report.line("", format!("{}{}", first.join(", "), more(named.len() as u64 + found.unnamed, first.len())));
    }
}

fn tell_results(report: &mut Report, found: &Completeness) {
    let replayed = &found.replayed;
    report.put("results", replayed.results);
    report.put("results_erased", replayed.results_erased);
    if replayed.results + replayed.results_erased > 0 {
        let erased = match replayed.results_erased {
            0 => String::new(),
            count => format!(", {count} erased{}", places(&found.results_erased_at)),
        };
        report.line("results", format!("{} kept beside their outcomes{erased}", replayed.results));
    }
}

/// Where, for a line that people read.
fn places(ranges: &[(u64, u64)]) -> String {
    let first: Vec<String> = ranges.iter().take(SHOWN_MAX).map(range).collect();
    match first.as_slice() {
        [] => String::new(),
        [one] if ranges.len() == 1 && !one.contains('-') => format!(": entry {one}"),
        several => format!(": entries {}{}", several.join(", "), more(ranges.len() as u64, several.len())),
    }
}

fn range((from, to): &(u64, u64)) -> String {
    if from + 1 == *to { from.to_string() } else { format!("{from}-{}", to.saturating_sub(1)) }
}

fn more(all: u64, shown: usize) -> String {
    match all.saturating_sub(shown as u64) {
        0 => String::new(),
        more => format!(" and {more} more (see --json)"),
    }
}
