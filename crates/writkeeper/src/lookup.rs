//! Names and ids as people type them: in full, by a short beginning, or slightly wrong.

mod meant;

pub(crate) use meant::came_to_something;
pub use meant::{Found, anything, each, flow, intent, question};

use crate::error::Error;
use kernel::agent::AgentRow;
use kernel::nearest::nearest;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::Runtime;

/// Shortest beginning of an id that is ever printed.
const SHORT_MIN: usize = 8;

/// Letters that say when an id was minted: no id that is minted later starts with them, so what is unique stays so.
const TIME_CHARS: usize = 13;

/// Ids that are shortened at once; of longer lists whole ids are printed.
const SHORTENED_MAX: usize = 256;

/// Ids with one beginning that are looked at; where there are more, more of the id is shown.
const ALIKE_MAX: usize = 8;

/// Candidates an ambiguous beginning is answered with.
const CANDIDATES_MAX: usize = 5;

/// Agents looked through for a mistyped name.
const AGENTS_MAX: usize = 1_000;

/// The one entity of a kind that is called this or starts like this; `None` if there is none.
///
/// An id that other ids start with is not silently taken for the whole: agents choose ids too. `=ID` is.
pub fn look_up(runtime: &Runtime, kind: Kind, text: &str) -> Result<Option<(String, Row)>, Error> {
    let (text, is_whole) = typed(text)?;
    let exact = match Entity::from_parts(kind, text, None) {
        Some(entity) => runtime.read(entity)?.map(|row| (text.to_owned(), row)),
        None => None,
    };
    if is_whole {
        return Ok(exact);
    }
    let mut longer = runtime.scan(kind, Some(text), CANDIDATES_MAX + 1)?;
    longer.retain(|(key, _)| name(key).starts_with(text) && name(key) != text);
    match (exact, longer.len()) {
        (exact, 0) => Ok(exact),
        (None, 1) => Ok(longer.pop().map(|(key, row)| (name(&key).to_owned(), row))),
        (exact, _) => {
            let exact = exact.map(|(name, _)| name);
            let names = exact.as_deref().into_iter().chain(longer.iter().map(|(key, _)| name(key)));
            Err(ambiguous(text, names))
        }
    }
}

/// The one entity of a kind that is called this or starts like this.
pub fn find(runtime: &Runtime, kind: Kind, text: &str) -> Result<(String, Row), Error> {
    match look_up(runtime, kind, text)? {
        Some(found) => Ok(found),
        None => Err(Error::NotFound { kind, id: text.to_owned() }),
    }
}

/// What was typed without the sign for a whole id, and whether the sign was there.
pub fn typed(text: &str) -> Result<(&str, bool), Error> {
    let (text, is_whole) = text.strip_prefix('=').map_or((text, false), |whole| (whole, true));
    if text.trim().is_empty() {
        return Err(Error::Usage("an id must not be empty".to_owned()));
    }
    Ok((text, is_whole))
}

/// An agent by its name, for looking at it: a beginning will do.
pub fn agent_like(runtime: &Runtime, text: &str) -> Result<(String, Box<AgentRow>), Error> {
    match look_up(runtime, Kind::Agent, text)? {
        Some((name, Row::Agent(row))) => Ok((name, row)),
        Some(_) | None => Err(no_agent(runtime, text)?),
    }
}

/// An agent by its whole name, for everything that changes something; a name that is nearly right is suggested.
pub fn agent_named(runtime: &Runtime, text: &str) -> Result<(String, Box<AgentRow>), Error> {
    let (text, _) = typed(text)?;
    match runtime.read(Entity::Agent(text.to_owned()))? {
        Some(Row::Agent(row)) => Ok((text.to_owned(), row)),
        Some(_) | None => Err(no_agent(runtime, text)?),
    }
}

fn no_agent(runtime: &Runtime, text: &str) -> Result<Error, Error> {
    let known = runtime.scan(Kind::Agent, None, AGENTS_MAX)?;
    let names = || known.iter().map(|(key, _)| name(key));
    let longer = names().find(|name| !text.is_empty() && name.starts_with(text));
    let nearest = longer.or_else(|| nearest(text, names())).map(str::to_owned);
    Ok(Error::AgentUnknown { agent: text.to_owned(), nearest })
}

/// Several could be meant.
pub fn ambiguous<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Error {
    // Whole ids, or the list could not be typed.
    let candidates = names.take(CANDIDATES_MAX).map(str::to_owned).collect();
    Error::Ambiguous { id: text.to_owned(), candidates }
}

fn name(key: &Key) -> &str {
    key.entity.parts().0
}

/// How much of each id must be shown so that every command finds it: its shortest beginning that no other id of its kind
/// has, nor a flow, question or intent of another flow. What was minted in the same moment for the same flow may share it:
/// commands look at their own kind first. An id that others start with gets the sign for a whole id.
pub fn short_ids(runtime: &Runtime, kind: Kind, ids: &[String]) -> Result<Vec<String>, Error> {
    if ids.len() > SHORTENED_MAX {
        return Ok(ids.to_vec());
    }
    ids.iter().map(|id| short_id(runtime, kind, id)).collect()
}

fn short_id(runtime: &Runtime, kind: Kind, id: &str) -> Result<String, Error> {
    let row = Entity::from_parts(kind, id, None).map(|entity| runtime.read(entity)).transpose()?;
    let flow = row.flatten().and_then(|row| flow_of(id, &row));
    // What stands before a colon says whose it is, and not which.
    let own = id.find(':').map_or(0, |colon| colon + 1);
    let is_minted = id.get(own..).is_some_and(is_time_ordered);
    let mut length = own + if is_minted { TIME_CHARS } else { SHORT_MIN };
    loop {
        let short: String = id.chars().take(length).collect();
        match other_like(runtime, &short, (kind, id), flow.as_deref())? {
            None if short.ends_with('-') => length += 1,
            None => return Ok(short),
            Some(_) if short == id => return Ok(format!("={id}")),
            Some(other) => length = (shared(id, &other) + 1).max(length + 1),
        }
    }
}

/// Whether an id starts with the time at which it was minted (UUIDv7).
fn is_time_ordered(id: &str) -> bool {
    let is_of_form = |(place, letter): (usize, char)| match place {
        8 | 13 | 18 | 23 => letter == '-',
        14 => letter == '7',
        _ => letter.is_ascii_hexdigit(),
    };
    id.len() == 36 && id.chars().enumerate().all(is_of_form)
}

/// How many characters two ids have in common at their beginning.
fn shared(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// The flow that something belongs to.
fn flow_of(name: &str, row: &Row) -> Option<String> {
    if let Row::Escalation(row) = row {
        return Some(row.flow.clone());
    }
    if let Row::Intent(row) = row {
        return Some(row.facts.to_kept().flow);
    }
    matches!(row, Row::Flow(_)).then(|| name.to_owned())
}

/// Another id that this beginning could mean.
fn other_like(
    runtime: &Runtime,
    short: &str,
    (own, id): (Kind, &str),
    flow: Option<&str>,
) -> Result<Option<String>, Error> {
    for kind in [Kind::Flow, Kind::Escalation, Kind::Intent] {
        let differs = |name: &str, row: &Row| match kind == own {
            true => name != id,
            false => flow_of(name, row).as_deref() != flow,
        };
        // A beginning may be an id of its own; those that start with it follow.
        let exact = Entity::from_parts(kind, short, None).map(|entity| runtime.read(entity));
        let exact = exact.transpose()?.flatten();
        if exact.is_some_and(|row| differs(short, &row)) {
            return Ok(Some(short.to_owned()));
        }
        let mut longer = runtime.scan(kind, Some(short), ALIKE_MAX)?;
        longer.retain(|(key, _)| name(key).starts_with(short));
        let is_crowded = longer.len() == ALIKE_MAX;
        let other = longer.iter().find(|(key, row)| differs(name(key), row));
        let other = other.or(longer.last().filter(|(key, _)| is_crowded && name(key) != id));
        if let Some((key, _)) = other {
            return Ok(Some(name(key).to_owned()));
        }
    }
    Ok(None)
}
