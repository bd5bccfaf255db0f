//! Retention: bodies are erased once they are old enough, or once somebody asks to be forgotten.

use super::Site;
use super::upkeep::{ERASED_MAX, Told};
use crate::commands::run::duration;
use crate::store;
use crate::terminal::{GOOD, counted, paint, say};
use kernel::change::upkeep::Upkeep;
use kernel::change::{Act, ActKind};
use kernel::escalation::EscalationState;
use kernel::intent::IntentState;
use kernel::record::RecordKind;
use kernel::world::{Entity, LegalHold, Row};
use runtime::Runtime;
use runtime::crash::around;
use runtime::ports::store::StoredRecord;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Records read at once.
const PAGE: usize = 1_000;

/// What is to be erased.
pub struct Wanted<'a> {
    /// What is older than this.
    pub keep: Option<&'a str>,
    /// What names this.
    pub subject: Option<&'a str>,
    /// Only count.
    pub dry_run: bool,
}

/// What was found on the way.
#[derive(Default)]
struct Tally {
    erased: u64,
    held: u64,
    open: u64,
}

/// Entries that follow one another and are erased by one record.
#[derive(Default)]
struct Run {
    from: u64,
    to: u64,
    told: Told,
}

/// Erases what is wanted, run by run: each is recorded first, and its bodies are removed after that.
pub fn run(site: &Site, wanted: &Wanted<'_>, because: &str) -> anyhow::Result<()> {
    let runtime = site.open()?;
    let end = match wanted.keep {
        Some(keep) => {
            let kept = duration("--keep", keep)?.micros();
            let before = Instant::from_micros(store::now().micros().saturating_sub(kept));
            runtime.first_at(before).map_err(store::unread)?
        }
        None => runtime.size().map_err(store::unread)?,
    };
    let mut tally = Tally::default();
    let runs = found(&runtime, wanted, end, &mut tally)?;
    if !wanted.dry_run {
        for run in &runs {
            let Run { from, to, told } = run;
            let (intents, questions) = (told.intents.clone(), told.questions.clone());
            let erase = Upkeep::Erase { from: *from, to: *to, intents, questions, because: because.to_owned() };
            store::told(runtime.change(store::operator(), Act::Upkeep(erase)))?;
        }
        drop(runtime);
        remove(site, &runs)?;
    }
    said(site, wanted, &tally, runs.len() as u64)
}

/// A server removes bodies with the record; of a store they are removed here, those that follow one another at once.
fn remove(site: &Site, runs: &[Run]) -> anyhow::Result<()> {
    if runs.is_empty() || writkeeper::is_server(&site.location) {
        return Ok(());
    }
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for run in runs {
        match spans.last_mut().filter(|(_, to)| *to == run.from) {
            Some((_, to)) => *to = run.to,
            None => spans.push((run.from, run.to)),
        }
    }
    let mut store = store::open_file(&site.location)?;
    for (from, to) in spans {
        around("erase.bodies", || store.erase(from, to)).map_err(store::unread)?;
    }
    Ok(())
}

fn found(runtime: &Runtime, wanted: &Wanted<'_>, end: u64, tally: &mut Tally) -> anyhow::Result<Vec<Run>> {
    let holds = match runtime.read(Entity::Tenant).map_err(store::unread)? {
        Some(Row::Tenant(row)) => row.holds,
        Some(_) | None => Vec::new(),
    };
    let (mut runs, mut next): (Vec<Run>, u64) = (Vec::new(), 0);
    while next < end {
        let page = runtime.records(next, PAGE).map_err(store::unread)?;
        let Some(last) = page.last() else { break };
        next = last.index.saturating_add(1);
        for record in page.iter().filter(|record| record.index < end) {
            let Some(told) = erasable(runtime, wanted, &holds, record, tally)? else { continue };
            tally.erased += 1;
            let (from, to) = (record.index, record.index.saturating_add(1));
            match runs.last_mut().filter(|run| run.to == from && to - run.from <= ERASED_MAX) {
                Some(run) => {
                    run.to = to;
                    run.told.intents.extend(told.intents);
                    run.told.questions.extend(told.questions);
                }
                None => runs.push(Run { from, to, told }),
            }
        }
    }
    Ok(runs)
}

/// What an entry tells of, if its body is to be erased and may be.
fn erasable(
    runtime: &Runtime,
    wanted: &Wanted<'_>,
    holds: &[LegalHold],
    record: &StoredRecord,
    tally: &mut Tally,
) -> anyhow::Result<Option<Told>> {
    let Some((body, _)) = &record.body else { return Ok(None) };
    let Ok(json) = Json::parse_within(body.as_bytes(), &Bounds::OWN) else { return Ok(None) };
    if is_upkeep(&json) || wanted.subject.is_some_and(|subject| !names(&json, subject)) {
        return Ok(None);
    }
    if holds.iter().any(|hold| hold.covers(record.index, record.index.saturating_add(1))) {
        tally.held += 1;
        return Ok(None);
    }
    let mut told = Told::default();
    told.add(&json);
    if is_open(runtime, &told)? {
        tally.open += 1;
        return Ok(None);
    }
    Ok(Some(told))
}

/// Who erased, held and signed is told for as long as the ledger stands.
fn is_upkeep(body: &Json) -> bool {
    match RecordKind::of(body) {
        Some(RecordKind::Change(kind)) => matches!(
            kind,
            ActKind::Erase
                | ActKind::LegalHold
                | ActKind::ReleaseHold
                | ActKind::RotateKeys
                | ActKind::EnrolKey
                | ActKind::KeepKeys
                | ActKind::ForgetKeys
        ),
        Some(RecordKind::Discontinuity) => true,
        Some(RecordKind::Decision | RecordKind::Refusal | RecordKind::Result | RecordKind::Consequence(_)) => false,
        // A later program wrote it, and knows what it is for.
        None => true,
    }
}

/// Whether a text stands somewhere in a body, as a whole.
fn names(json: &Json, text: &str) -> bool {
    match json {
        Json::Text(own) => own == text,
        Json::List(items) => items.iter().any(|item| names(item, text)),
        Json::Object(members) => members.values().any(|member| names(member, text)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Whether something is still to happen that an entry tells of.
fn is_open(runtime: &Runtime, told: &Told) -> anyhow::Result<bool> {
    for intent in &told.intents {
        if let Some(Row::Intent(row)) = runtime.read(Entity::Intent(intent.clone())).map_err(store::unread)? {
            let open = [IntentState::Ready, IntentState::Claimed, IntentState::InFlight, IntentState::InDoubt];
            if open.contains(&row.state) {
                return Ok(true);
            }
        }
    }
    for question in &told.questions {
        let row = runtime.read(Entity::Escalation(question.clone())).map_err(store::unread)?;
        if matches!(row, Some(Row::Escalation(row)) if row.state == EscalationState::Open) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn said(site: &Site, wanted: &Wanted<'_>, tally: &Tally, runs: u64) -> anyhow::Result<()> {
    let Tally { erased, held, open } = *tally;
    if site.json {
        let members = Json::object([
            ("dry_run", Json::Bool(wanted.dry_run)),
            ("erased", Json::from(erased)),
            ("held", Json::from(held)),
            ("open", Json::from(open)),
            ("records", Json::from(if wanted.dry_run { 0 } else { runs })),
        ]);
        say!("{}", members.to_canonical());
        return Ok(());
    }
    let bodies = if erased == 1 { "body" } else { "bodies" };
    let what = if wanted.dry_run { "would erase" } else { "erased" };
    say!("{} {erased} {bodies}; {held} under a legal hold and {open} still open stay", paint(GOOD, what));
    if !wanted.dry_run && runs > 0 {
        say!("{} who asked and why", counted(runs, "record") + if runs == 1 { " says" } else { " say" });
    }
    Ok(())
}
