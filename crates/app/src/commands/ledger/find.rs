//! `writkeeper ledger find`: every entry that names something, out of an export or the store.

use super::Site;
use crate::exit::{Exit, InvalidData};
use crate::store;
use crate::terminal::{FAINT, STRONG, at_text, echo, paint, say, verdict_style};
use adapters::export_files::ExportPath;
use kernel::finding::visible;
use runtime::ports::store::Reader;
use std::path::Path;
use values::json::{Bounds, Json};

/// Shortest beginning of an id that is looked for: less would fit nearly everything.
const ID_CHARS_MIN: usize = 2;

/// Records read at once.
const PAGE: usize = 512;

/// Members whose text names what an entry is about; everything else is what was said about it.
const NAMING: [&str; 12] = [
    "agent",
    "effect_key",
    "escalation",
    "flow",
    "id",
    "intent",
    "name",
    "parent",
    "person",
    "proposal",
    "proposal_id",
    "question",
];

/// Prints what names the id; ends with 1 where nothing does.
pub fn run(site: &Site, id: &str, export: Option<&Path>) -> anyhow::Result<Exit> {
    if id.chars().count() < ID_CHARS_MIN {
        return Err(InvalidData(format!("`{}` is too short to look for", echo(id))).into());
    }
    let found = match export {
        Some(path) => in_export(path, id, site.json)?,
        None => in_store(site.reader()?.as_mut(), id, site.json)?,
    };
    if found == 0 && !site.json {
        say!("no entry names `{}`", echo(id));
    }
    Ok(if found == 0 { Exit::Rejected } else { Exit::Fine })
}

fn in_export(path: &Path, id: &str, json: bool) -> anyhow::Result<u64> {
    let export = ExportPath::at(path);
    let audited = export.audit(&mut |_| {}).map_err(|unread| InvalidData(unread.to_string()))?;
    let (mut index, mut found, mut failed) = (0_u64, 0_u64, None);
    let read = export.each(&audited.header, &mut |entry| {
        let shown = show(index, entry.body.map(|(body, _)| body), id, json);
        index += 1;
        match shown {
            Ok(is_found) => found += u64::from(is_found),
            Err(error) => failed = Some(error),
        }
        failed.is_none()
    });
    read.map_err(|unread| InvalidData(unread.to_string()))?;
    failed.map_or(Ok(found), Err)
}

fn in_store(reader: &mut dyn Reader, id: &str, json: bool) -> anyhow::Result<u64> {
    let (mut next, mut found) = (0, 0);
    loop {
        let page = reader.records(next, PAGE).map_err(store::unread)?;
        let Some(last) = page.last() else { return Ok(found) };
        next = last.index + 1;
        for record in &page {
            found += u64::from(show(record.index, record.body.as_ref().map(|(body, _)| body.as_str()), id, json)?);
        }
    }
}

/// Prints an entry if it names the id. What was erased names nothing any more.
fn show(index: u64, body: Option<&str>, id: &str, json: bool) -> anyhow::Result<bool> {
    let Some(text) = body.filter(|body| body.contains(id)) else { return Ok(false) };
    let Some(body) = Json::parse_within(text.as_bytes(), &Bounds::OWN).ok().filter(|body| names(body, id)) else {
        return Ok(false);
    };
    if json {
        say!("{}", Json::object([("index", Json::from(index)), ("record", body)]).to_canonical());
        return Ok(true);
    }
    let said = |key: &str| body.get(key).and_then(Json::as_text);
    let verdict = said("verdict").map(|word| format!("  {}", paint(verdict_style(word), word))).unwrap_or_default();
    let about = [said("agent"), said("actor"), said("proposal_id"), said("flow")];
    let about: Vec<String> = about.into_iter().flatten().map(visible).collect();
    say!(
        "{index:>6}  {}  {}{verdict}  {}",
        paint(FAINT, at_text(said("at").unwrap_or_default())),
        paint(STRONG, said("kind").unwrap_or_default()),
        about.join("  ")
    );
    Ok(true)
}

/// Whether a record names an id or the beginning of one, at whatever depth.
fn names(json: &Json, id: &str) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(key, value)| match value {
            Json::Text(text) => NAMING.contains(&key.as_str()) && text.starts_with(id),
            Json::Object(_) | Json::List(_) => names(value, id),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }),
        Json::List(items) => items.iter().any(|item| names(item, id)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => false,
    }
}
