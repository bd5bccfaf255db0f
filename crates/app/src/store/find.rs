//! Names and ids as people type them: in full, by a short beginning, or slightly wrong.

use super::unread;
use crate::exit::InvalidData;
use kernel::nearest::suggestion;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::Runtime;

/// Shortest beginning of an id that is ever printed.
const SHORT_MIN: usize = 8;

/// Candidates an ambiguous beginning is answered with.
const CANDIDATES_MAX: usize = 5;

/// Agents looked through for a mistyped name.
const AGENTS_MAX: usize = 1_000;

/// The one entity of a kind whose id starts like this.
pub fn find(runtime: &Runtime, kind: Kind, what: &str, text: &str) -> anyhow::Result<(String, Row)> {
    if let Some(entity) = Entity::from_parts(kind, text, None)
        && let Some(row) = runtime.read(entity).map_err(unread)?
    {
        return Ok((text.to_owned(), row));
    }
    let mut fitting = runtime.scan(kind, Some(text), CANDIDATES_MAX + 1).map_err(unread)?;
    fitting.retain(|(key, _)| name(key).starts_with(text));
    if fitting.len() > 1 {
        let names: Vec<&str> = fitting.iter().map(|(key, _)| name(key)).take(CANDIDATES_MAX).collect();
        let problem = format!("`{text}` could be any of these {what}s, type more of it: {}", names.join(", "));
        return Err(InvalidData(problem).into());
    }
    match fitting.pop().filter(|_| !text.is_empty()) {
        Some((key, row)) => Ok((name(&key).to_owned(), row)),
        None => Err(InvalidData(format!("no {what} has an id that starts with `{text}`")).into()),
    }
}

/// An agent by its name; a name that is nearly right is suggested.
pub fn agent_named(runtime: &Runtime, text: &str) -> anyhow::Result<(String, Box<kernel::agent::AgentRow>)> {
    if let Ok((name, Row::Agent(row))) = find(runtime, Kind::Agent, "agent", text) {
        return Ok((name, row));
    }
    let known = runtime.scan(Kind::Agent, None, AGENTS_MAX).map_err(unread)?;
    let hint = suggestion(text, known.iter().map(|(key, _)| name(key)));
    let advice = if hint.is_empty() { "; `writkeeper agents` lists those there are" } else { hint.as_str() };
    Err(InvalidData(format!("there is no agent `{text}`{advice}")).into())
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
