//! `writkeeper flows ask`, `reserve`, `release` and `note`.

use crate::exit::{InvalidData, UsageError};
use crate::files;
use crate::store;
use crate::terminal::{STRONG, paint, say};
use anyhow::Context;
use kernel::event::Event;
use kernel::finding::visible;
use std::path::Path;
use std::time::Duration;
use values::json::{Bounds, Json, Object};
use writkeeper::{Answered, Keeper, lookup, own_flow};

/// What is said when a person is asked.
pub struct Said<'a> {
    pub reason: &'a str,
    pub context: Option<&'a str>,
    pub proposal: Option<&'a Path>,
    pub impact: Option<&'a str>,
}

/// Asks a person in the name of the flow's agent.
pub fn ask(keeper: &Keeper, flow: &str, said: &Said<'_>, json: bool) -> anyhow::Result<()> {
    let (flow, row) = lookup::flow(keeper.runtime(), flow)?;
    let mut members = Object::from([("reason".to_owned(), Json::text(said.reason))]);
    if let Some(context) = said.context {
        members.insert("context".to_owned(), object(context, "--context")?);
    }
    if let Some(file) = said.proposal {
        let problem = |refusal: values::json::Refusal| InvalidData(format!("`{}`: {refusal}", file.display()));
        let read = Json::parse_within(&files::read(file)?, &Bounds::FILE).map_err(problem)?;
        members.insert("proposal".to_owned(), read);
    }
    members.extend(said.impact.map(|impact| ("impact".to_owned(), Json::text(impact))));
    let inquiry = own_flow::inquiry(&row.agent, &flow, &members)?;
    let answered = keeper.ask(&store::operator(), inquiry)?;
    tell(&answered, json, |event| {
        let Event::QuestionAsked { question, deadline, .. } = event else { return None };
        let until = crate::terminal::at(*deadline);
        Some(format!("asked question {}, until {until}", paint(STRONG, visible(question))))
    })
}

/// Holds amounts of resources.
pub fn reserve(
    keeper: &Keeper,
    flow: &str,
    (resources, available): (&[String], &[String]),
    (length, wait): (Option<&str>, Option<&str>),
    json: bool,
) -> anyhow::Result<()> {
    let (flow, _) = lookup::flow(keeper.runtime(), flow)?;
    let mut members =
        Object::from([("resources".to_owned(), amounts(resources)?), ("available".to_owned(), amounts(available)?)]);
    for (key, span) in [("for", length), ("wait", wait)] {
        members.extend(span.map(|span| (key.to_owned(), Json::text(span))));
    }
    let (wanted, wait) = own_flow::reservation(&flow, &members, keeper.now())?;
    let wait = Duration::from_micros(u64::try_from(wait.micros()).unwrap_or_default());
    let answered = keeper.reserve(&store::operator(), &wanted, wait)?;
    tell(&answered, json, |event| {
        let Event::Reserved { held, .. } = event else { return None };
        let held = held.iter().map(|(name, amount)| format!("{amount} of {}", visible(name)));
        Some(format!("the flow holds {}", held.collect::<Vec<_>>().join(", ")))
    })
}

/// Gives resources back.
pub fn release(keeper: &Keeper, flow: &str, resources: &[String], json: bool) -> anyhow::Result<()> {
    let (flow, _) = lookup::flow(keeper.runtime(), flow)?;
    let answered = keeper.release(&store::operator(), &flow, resources.to_vec())?;
    tell(&answered, json, |event| {
        let Event::Released { resources, .. } = event else { return None };
        if resources.is_empty() {
            return Some("the flow held nothing of that".to_owned());
        }
        Some(format!("released {}", resources.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ")))
    })
}

/// Writes something down.
pub fn note(keeper: &Keeper, flow: &str, name: &str, details: Option<&str>, json: bool) -> anyhow::Result<()> {
    let (flow, _) = lookup::flow(keeper.runtime(), flow)?;
    let details = details.map(|details| object(details, "--details")).transpose()?;
    let details = details.and_then(|details| details.as_object().cloned()).unwrap_or_default();
    let answered = keeper.note(&store::operator(), &flow, name, details)?;
    tell(&answered, json, |event| {
        let Event::Noted { name, .. } = event else { return None };
        Some(format!("noted {} in flow {}", visible(name), paint(STRONG, &flow)))
    })
}

fn tell(answered: &Answered, json: bool, words: impl Fn(&Event) -> Option<String>) -> anyhow::Result<()> {
    let event = answered.event.as_deref().ok_or_else(store::other_event)?;
    if json {
        say!("{}", event.to_json().to_canonical());
        return Ok(());
    }
    say!("{}", words(event).ok_or_else(store::other_event)?);
    Ok(())
}

fn object(text: &str, option: &str) -> anyhow::Result<Json> {
    let read = Json::parse_within(text.as_bytes(), &Bounds::FILE);
    let read = read.map_err(|refusal| UsageError(format!("{option} is no JSON: {refusal}")))?;
    let is_object = read.as_object().is_some();
    is_object.then_some(read).with_context(|| UsageError(format!("{option} is no JSON object")))
}

/// `NAME=AMOUNT`, each name once.
fn amounts(written: &[String]) -> anyhow::Result<Json> {
    let mut amounts = Object::new();
    for pair in written {
        let problem = || UsageError(format!("`{pair}` is not written as RESOURCE=AMOUNT"));
        let (name, amount) = pair.split_once('=').ok_or_else(problem)?;
        if amounts.insert(name.to_owned(), Json::text(amount)).is_some() {
            return Err(UsageError(format!("`{name}` stands there twice")).into());
        }
    }
    Ok(Json::Object(amounts))
}
