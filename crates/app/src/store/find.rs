//! Names and ids as people type them: in full, by a short beginning, or slightly wrong.

use super::unread;
use crate::exit::{Exit, Failure, UsageError};
use crate::terminal::echo;
use kernel::agent::AgentRow;
use kernel::finding::{Finding, Gate};
use kernel::nearest::suggestion;
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::Runtime;

/// Shortest beginning of an id that is ever printed.
const SHORT_MIN: usize = 8;

/// Candidates an ambiguous beginning is answered with.
const CANDIDATES_MAX: usize = 5;

/// Agents looked through for a mistyped name.
const AGENTS_MAX: usize = 1_000;

/// The one entity of a kind that is called this or starts like this; `None` if there is none.
///
/// An id that other ids start with is not silently taken for the whole: agents choose ids too. `=ID` is.
pub fn look_up(runtime: &Runtime, kind: Kind, text: &str) -> anyhow::Result<Option<(String, Row)>> {
    let (text, is_whole) = typed(text)?;
    let exact = match Entity::from_parts(kind, text, None) {
        Some(entity) => runtime.read(entity).map_err(unread)?.map(|row| (text.to_owned(), row)),
        None => None,
    };
    if is_whole {
        return Ok(exact);
    }
    let mut longer = runtime.scan(kind, Some(text), CANDIDATES_MAX + 1).map_err(unread)?;
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
pub fn find(runtime: &Runtime, kind: Kind, text: &str) -> anyhow::Result<(String, Row)> {
    match look_up(runtime, kind, text)? {
        Some(found) => Ok(found),
        None => Err(not_found(kind, text)),
    }
}

/// What was typed without the sign for a whole id, and whether the sign was there.
pub fn typed(text: &str) -> anyhow::Result<(&str, bool)> {
    let (text, is_whole) = text.strip_prefix('=').map_or((text, false), |whole| (whole, true));
    if text.trim().is_empty() {
        return Err(UsageError("an id must not be empty".to_owned()).into());
    }
    Ok((text, is_whole))
}

/// Several could be meant.
pub fn ambiguous<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> anyhow::Error {
    let names: Vec<String> = names.take(CANDIDATES_MAX).map(echo).collect();
    let finding = Finding::reject(Gate::Shape, Reason::IdAmbiguous).with("id", echo(text));
    // Whole ids, or the list could not be typed.
    let mut failure = Failure::of(Exit::Invalid, &finding);
    failure.message.push_str(&names.join(", "));
    failure.into()
}

/// Nothing could be meant.
pub fn not_found(kind: Kind, text: &str) -> anyhow::Error {
    const NAMES: [(Kind, &str, Reason, &str); 4] = [
        (Kind::Escalation, "question", Reason::ApprovalUnknown, "escalations"),
        (Kind::Flow, "flow", Reason::FlowUnknown, "flows"),
        (Kind::Intent, "intent", Reason::IntentUnknown, "flows"),
        (Kind::Snapshot, "snapshot", Reason::SnapshotUnknown, "help context"),
    ];
    let named = NAMES.into_iter().find(|(known, ..)| *known == kind);
    let (_, what, reason, list) = named.unwrap_or((kind, kind.word(), Reason::InvalidData, "report"));
    let message = format!("no {what} has an id that starts with `{}`", echo(text));
    let fix = format!("run `writkeeper {list}` to see what there is");
    Failure { exit: Exit::Invalid, code: reason.code().to_owned(), message, fix }.into()
}

/// An agent by its name, for looking at it: a beginning will do.
pub fn agent_like(runtime: &Runtime, text: &str) -> anyhow::Result<(String, Box<AgentRow>)> {
    match look_up(runtime, Kind::Agent, text)? {
        Some((name, Row::Agent(row))) => Ok((name, row)),
        Some(_) | None => Err(no_agent(runtime, text)?),
    }
}

/// An agent by its whole name, for everything that changes something; a name that is nearly right is suggested.
pub fn agent_named(runtime: &Runtime, text: &str) -> anyhow::Result<(String, Box<AgentRow>)> {
    let (text, _) = typed(text)?;
    match runtime.read(Entity::Agent(text.to_owned())).map_err(unread)? {
        Some(Row::Agent(row)) => Ok((text.to_owned(), row)),
        Some(_) | None => Err(no_agent(runtime, text)?),
    }
}

fn no_agent(runtime: &Runtime, text: &str) -> anyhow::Result<anyhow::Error> {
    let known = runtime.scan(Kind::Agent, None, AGENTS_MAX).map_err(unread)?;
    let names = || known.iter().map(|(key, _)| name(key));
    let longer = names().find(|name| !text.is_empty() && name.starts_with(text));
    let hint = match longer {
        Some(longer) => format!("; did you mean `{longer}`?"),
        None => suggestion(text, names()),
    };
    let finding = Finding::reject(Gate::Agent, Reason::AgentNotRegistered).with("agent", echo(text));
    Ok(Failure::of(Exit::Invalid, &finding.with("nearest", hint)).into())
}

fn name(key: &Key) -> &str {
    key.entity.parts().0
}

/// How much of each id must be shown so that it can be typed: its shortest beginning no other one here has.
pub fn short_ids(ids: &[String]) -> Vec<String> {
    let mut sorted: Vec<&String> = ids.iter().collect();
    sorted.sort();
    let shared =
        |left: &str, right: &str| left.chars().zip(right.chars()).take_while(|(one, other)| one == other).count();
    let short = |id: &String| {
        let place = sorted.partition_point(|other| *other < id);
        let before = place.checked_sub(1).and_then(|place| sorted.get(place));
        let neighbours = before.into_iter().chain(sorted.get(place + 1));
        let longest = neighbours.map(|other| shared(id, other)).max().unwrap_or(0);
        id.chars().take((longest + 1).max(SHORT_MIN)).collect::<String>()
    };
    ids.iter().map(short).map(|id| id.trim_end_matches('-').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_can_be_typed_back() {
        let ids = ["0199a1b2-c3d4-7000", "0199a1b2-c3d5-7000", "f1", "0200a1b2-c3d5-7000"].map(str::to_owned);
        assert_eq!(short_ids(&ids), ["0199a1b2-c3d4", "0199a1b2-c3d5", "f1", "0200a1b2"]);
        assert_eq!(short_ids(&["abcdefghijk".to_owned()]), ["abcdefgh"]);
    }
}
