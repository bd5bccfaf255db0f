//! Erasing bodies, and forbidding to.

use super::Site;
use crate::exit::{InvalidData, UsageError};
use crate::store;
use crate::terminal::{GOOD, counted, paint, say};
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::event::Event;
use kernel::result::ResultRecord;
use runtime::crash::around;
use runtime::ports::store::Reader;
use std::sync::Arc;
use values::json::{Bounds, Json};
use writkeeper::entries::all_entries_of;
use writkeeper::lookup;

/// Records read at once.
const PAGE: usize = 1_000;

/// Entries one command erases: its record names every intent and question they tell of.
pub(super) const ERASED_MAX: u64 = 500;

/// What is erased.
pub enum Erased<'a> {
    /// The record that tells of an id.
    Record(&'a str),
    /// The latest result of an intent.
    Result(&'a str),
    /// Entries, from one up to, not including, another.
    Range(u64, u64),
}

/// Records the erasure, then removes the bodies: a crash in between leaves a record and bodies that are still there, and
/// the same command again removes them.
pub fn erase(site: &Site, what: &Erased<'_>, because: &str) -> anyhow::Result<()> {
    let ranges = match what {
        Erased::Record(id) => ranges_of(&all_entries_of(site.reader()?.as_mut(), id)?),
        Erased::Result(id) => {
            let (intent, _) = lookup::intent(&store::view(&site.location)?, id)?;
            ranges_of(&[result_of(site.reader()?.as_mut(), &intent)?])
        }
        Erased::Range(from, to) => vec![(*from, *to)],
    };
    let mut erased = 0;
    for (from, to) in ranges {
        erased += erase_range(site, from, to, because)?;
    }
    if site.json {
        say!("{}", Json::object([("erased", Json::from(erased))]).to_canonical());
    } else {
        let bodies = if erased == 1 { "body" } else { "bodies" };
        let then = match what {
            Erased::Result(_) => "everything can still be judged again",
            Erased::Record(_) | Erased::Range(..) => "`verify` will say \"not replayable: erased\"",
        };
        say!("{} {erased} {bodies}; proofs stay, and {then}", paint(GOOD, "erased"));
    }
    Ok(())
}

/// Entries as ranges: those that follow one another are one.
fn ranges_of(entries: &[u64]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for index in entries {
        match ranges.last_mut().filter(|(_, to)| to == index) {
            Some((_, to)) => *to += 1,
            None => ranges.push((*index, index + 1)),
        }
    }
    ranges
}

/// Records that a range is erased, then erases it; how many bodies were there.
fn erase_range(site: &Site, from: u64, to: u64, because: &str) -> anyhow::Result<u64> {
    let size = site.reader()?.size().map_err(store::unread)?;
    if to > size {
        return Err(InvalidData(format!(
            "the ledger has {}, so nothing can be erased up to {to}",
            counted(size, "entry")
        ))
        .into());
    }
    if to.saturating_sub(from) > ERASED_MAX {
        let problem = format!("one command erases at most {ERASED_MAX} entries; {from} to {to} are more: go in steps");
        return Err(InvalidData(problem).into());
    }
    let Told { intents, questions, bodies } = told_of(site.reader()?.as_mut(), from, to)?;
    done(site, Upkeep::Erase { from, to, intents, questions, because: because.to_owned() })?;
    // A server removes them with the same call; what is still there it did not.
    if writkeeper::is_server(&site.location) {
        let left = told_of(site.reader()?.as_mut(), from, to)?.bodies;
        return Ok(bodies.saturating_sub(left));
    }
    let mut store = store::open_file(&site.location)?;
    around("erase.bodies", || store.erase(from, to)).map_err(store::unread)
}

/// The entry with the latest result of an intent.
fn result_of(reader: &mut dyn Reader, intent: &str) -> anyhow::Result<u64> {
    let (mut next, mut found) = (0, None);
    loop {
        let page = reader.records(next, PAGE).map_err(store::unread)?;
        let Some(last) = page.last() else { break };
        next = last.index + 1;
        for record in &page {
            let body = record.body.as_ref().filter(|(body, _)| body.contains(intent));
            let json = body.and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok());
            let result = json.as_ref().and_then(ResultRecord::from_record);
            if result.is_some_and(|result| result.intent == intent) {
                found = Some(record.index);
            }
        }
    }
    found.ok_or_else(|| InvalidData(format!("no result of intent `{intent}` is kept")).into())
}

/// What the bodies in a range tell of.
#[derive(Default)]
pub(super) struct Told {
    pub(super) intents: Vec<String>,
    pub(super) questions: Vec<String>,
    pub(super) bodies: u64,
}

/// The intents and questions that decisions in a range tell of: rows keep some of what the bodies say.
fn told_of(reader: &mut dyn Reader, from: u64, to: u64) -> anyhow::Result<Told> {
    let mut told = Told::default();
    let mut next = from;
    while next < to {
        let page = reader.records(next, PAGE.min(usize::try_from(to - next).unwrap_or(PAGE))).map_err(store::unread)?;
        let Some(last) = page.last() else { break };
        next = last.index + 1;
        for (body, _) in page.iter().filter_map(|record| record.body.as_ref()) {
            told.bodies += 1;
            let Ok(json) = Json::parse_within(body.as_bytes(), &Bounds::OWN) else { continue };
            told.add(&json);
        }
    }
    Ok(told)
}

impl Told {
    /// The intent and the question that a body tells of.
    pub(super) fn add(&mut self, body: &Json) {
        let id = |key: &str| Some(body.get(key)?.get("id")?.as_text()?.to_owned());
        self.intents.extend(id("intent"));
        self.questions.extend(id("escalation"));
    }
}

/// Forbids to erase.
pub fn hold(site: &Site, name: &str, from: u64, to: Option<u64>, because: &str) -> anyhow::Result<()> {
    if let Some(to) = to.filter(|to| *to <= from) {
        return Err(UsageError(format!("from {from} to {to} there are no entries, so nothing would be held")).into());
    }
    let event = done(site, Upkeep::Hold { hold: name.to_owned(), from, to, because: because.to_owned() })?;
    told(site, &event, "held")
}

/// Ends a hold.
pub fn release(site: &Site, name: &str, because: &str) -> anyhow::Result<()> {
    let event = done(site, Upkeep::Release { hold: name.to_owned(), because: because.to_owned() })?;
    told(site, &event, "released")
}

fn done(site: &Site, upkeep: Upkeep) -> anyhow::Result<Arc<Event>> {
    let runtime = site.open()?;
    store::told(runtime.change(store::operator(), Act::Upkeep(upkeep)))
}

fn told(site: &Site, event: &Event, what: &str) -> anyhow::Result<()> {
    if site.json {
        say!("{}", event.to_json().to_canonical());
    } else {
        say!("{}", paint(GOOD, what));
    }
    Ok(())
}
