//! A whole ledger: hashes and signatures first, then every decision again, then what is left open.

use super::trust::Trust;
use super::{Outcome, Report, unreadable};
use crate::store;
use adapters::export_files::{ExportPath, Seen, Unread};
use adapters::spilled_rows::SpilledRows;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::json::Json;
use kernel::ledger::audit::{Damage, Place};
use kernel::ledger::checkpoint::Checkpoint;
use kernel::ledger::note::Note;
use runtime::ports::store::StoreFault;
use runtime::verify::{Completeness, Verify};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

/// Entries between two looks at the progress bar.
const STEP: u64 = 256;

/// What has to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Demands {
    /// Every decision is made again.
    pub replay: bool,
    /// Whoever was handed an intent has said what became of it.
    pub reports: bool,
}

/// Verifies an export, and the checkpoints that were given beside it.
pub fn verify(path: &Path, trust: &Trust, beside: &[(String, Note)], demands: Demands) -> anyhow::Result<Report> {
    let Demands { replay, reports } = demands;
    let begin = Instant::now();
    let mut report = Report::of("exported ledger");
    let bar = bar();
    let export = ExportPath::at(path);
    let seen = export.audit(&mut |passed| {
        if passed.is_multiple_of(STEP) {
            bar.set_position(passed);
        }
    });
    let seen = match seen {
        Ok(seen) => seen,
        Err(Unread::Damage(damage)) => return Ok(damaged(report, &damage)),
        Err(Unread::Io(path, error)) => return Err(unreadable(&path, &format!("cannot be read: {error}"))),
    };
    describe(&mut report, &seen, trust);
    if let Err(damage) = believed(&seen, trust, beside) {
        return Ok(damaged(report, &damage));
    }
    if let Err(damage) = beside_export(&export, &seen, beside) {
        return Ok(damaged(report, &damage));
    }
    if seen.audited.checkpoints == 0 {
        report.at_least(Outcome::Incomplete);
        report.line("unsigned", "there is no checkpoint: nothing here is signed");
    }
    if seen.audited.unsigned > 0 {
        report.at_least(Outcome::Incomplete);
        report.line("unsigned", format!("{} entries behind the last checkpoint", seen.audited.unsigned));
    }
    if replay {
        bar.set_length(seen.audited.entries);
        bar.set_message("deciding again");
        match again(&export, &seen, &bar)? {
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
    report.sum = format!("{} entries in {seconds:.2} s, {rate} entries/s", seen.audited.entries);
    Ok(report)
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

fn describe(report: &mut Report, seen: &Seen, trust: &Trust) {
    let Seen { header, audited } = seen;
    if let Some(log) = header.logs.last() {
        report.line("log", log.keyring.origin());
        report.put("origin", log.keyring.origin());
    }
    if let Some(last) = &audited.last {
        report.line(
            "tree",
            format!("{} entries, root {}, {} checkpoints agree", audited.entries, last.root(), audited.checkpoints),
        );
        report.put("root", last.root().to_string());
    }
    report.put("checkpoints", audited.checkpoints);
    if header.logs.len() > 1 {
        report.line("broken", format!("{} earlier logs ended with a declared discontinuity", header.logs.len() - 1));
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

/// The newest checkpoint is signed by someone the reader believes.
fn believed(seen: &Seen, trust: &Trust, _: &[(String, Note)]) -> Result<(), Damage> {
    let Some(log) = seen.header.logs.last() else { return Ok(()) };
    let Some(note) = log.checkpoints.last() else { return Ok(()) };
    let size = seen.audited.last.as_ref().map_or(0, Checkpoint::size);
    trust
        .checkpoint(note, Some(&log.keyring))
        .map(|_| ())
        .map_err(|problem| Damage { place: Place::Checkpoint(size), problem })
}

/// Checkpoints that someone kept elsewhere must be roots of this very tree.
fn beside_export(export: &ExportPath, seen: &Seen, beside: &[(String, Note)]) -> Result<(), Damage> {
    let Some(log) = seen.header.logs.last() else { return Ok(()) };
    let mut wanted = Vec::new();
    for (name, note) in beside {
        let damaged =
            |problem: String| Damage { place: Place::Checkpoint(runtime::export::stated_size(note)), problem };
        let trusted = log.keyring.verify(note).map_err(|problem| damaged(format!("`{name}`: {problem}")))?;
        if trusted.checkpoint.size() > seen.audited.entries - log.from {
            return Err(damaged(format!("`{name}` states more entries than were exported: the tail is missing")));
        }
        wanted.push((name, trusted.checkpoint));
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let mut frontier = kernel::ledger::merkle::Frontier::default();
    let (mut index, mut differs) = (0, None);
    let read = export.each(&seen.header, &mut |entry| {
        if index >= log.from {
            let _ = frontier.append(kernel::ledger::merkle::TreeHash::of_leaf(entry.leaf.as_bytes()));
            let other =
                |(_, one): &&(&String, Checkpoint)| one.size() == frontier.size() && one.root() != frontier.root();
            differs = wanted.iter().find(other).map(|(name, one)| (name.to_string(), one.size()));
        }
        index += 1;
        differs.is_none()
    });
    match (read, differs) {
        (_, Some((name, size))) => {
            let problem = format!("`{name}` has another root: two histories were signed");
            Err(Damage { place: Place::Checkpoint(size), problem })
        }
        (Err(Unread::Damage(damage)), None) => Err(damage),
        (Ok(()) | Err(Unread::Io(..)), None) => Ok(()),
    }
}

/// Makes every decision again.
fn again(export: &ExportPath, seen: &Seen, bar: &ProgressBar) -> anyhow::Result<Result<Completeness, Damage>> {
    let mut verify = Verify::new(Box::new(SpilledRows::default())).map_err(store::unread)?;
    let mut found: Result<Option<Damage>, StoreFault> = Ok(None);
    let mut passed = 0_u64;
    let read = export.each(&seen.header, &mut |entry| {
        passed += 1;
        if passed.is_multiple_of(STEP) {
            bar.set_position(passed);
        }
        found = verify.entry(entry);
        matches!(found, Ok(None))
    });
    if let Err(Unread::Io(path, error)) = read {
        return Err(unreadable(&path, &format!("cannot be read: {error}")));
    }
    if let Some(damage) = found.map_err(store::unread)? {
        return Ok(Err(damage));
    }
    let last = seen.header.logs.last();
    if let Some((ring, log)) = verify.keyring().zip(last)
        && ring.origin() == log.keyring.origin()
        && *ring != log.keyring
    {
        let problem = "its keys are not those that the ledger records".to_owned();
        return Ok(Err(Damage { place: Place::Header, problem }));
    }
    Ok(Ok(verify.finish().map_err(store::unread)?))
}

fn tell(report: &mut Report, found: &Completeness, reports: bool) {
    let Completeness { replayed, intents, never_executed, unreported, named, in_doubt, never_accepted, gone } = found;
    let others = replayed.same - replayed.decisions;
    report
        .line("decided again", format!("{} decisions and {others} other records: the same bytes", replayed.decisions));
    report.put("decisions", replayed.decisions);
    report.put("same", replayed.same);
    if !intents.is_empty() {
        let states: Vec<String> = intents.iter().map(|(state, count)| format!("{count} {state}")).collect();
        report.line("intents", states.join(", "));
        let states = intents.iter().map(|(state, count)| (state.clone(), Json::from(*count))).collect();
        report.put("intents", Json::Object(states));
    }
    let secret = replayed.withheld - replayed.erased;
    let open = [
        (replayed.erased, "erased", "not replayable: erased"),
        (*gone, "gone", "bodies are gone, and no record says that they were erased"),
        (secret, "withheld", "not replayable: secrets that are not kept, or records that depend on what is missing"),
        (*never_executed, "never_executed", "accepted and never executed, and their time is over"),
        (*in_doubt, "in_doubt", "in doubt, and nobody settled them"),
        (*never_accepted, "never_accepted", "reported as performed and never accepted"),
    ];
    for (count, key, sentence) in open {
        report.put(key, count);
        if count > 0 {
            report.at_least(Outcome::Incomplete);
            report.line("open", format!("{count} {sentence}"));
        }
    }
    report.put("unreported", *unreported);
    if *unreported > 0 {
        report
            .line("unreported", format!("{unreported} handed out, and nobody said what became of them in their time"));
        if reports {
            report.at_least(Outcome::Incomplete);
        }
    }
    if !named.is_empty() {
        report.line("", named.join(", "));
    }
}
