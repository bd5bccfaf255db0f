//! Names of agents that would overlap. What is called after an agent begins with its name and a separator (the state
//! `agents/bot/seen`, the lease of `bot:7`), so an agent `bot/7` beside an agent `bot` would have things that are both's.

use crate::error::Error;
use kernel::agent::SEPARATORS;
use kernel::stored::Kind;
use kernel::world::Entity;
use runtime::Runtime;

/// Refuses the name of a new agent that overlaps with one that is there.
pub fn demand_apart(runtime: &Runtime, name: &str) -> Result<(), Error> {
    if is_there(runtime, name)? {
        return Ok(());
    }
    let Some(other) = overlapping(runtime, name)? else { return Ok(()) };
    let [other, name] = [&other, name].map(kernel::finding::visible);
    Err(Error::Invalid(format!(
        "the agent's name `{name}` overlaps with agent `{other}`: what is called after the one would belong to the other; \
         take a name in which `/` and `:` do not part the two"
    )))
}

fn is_there(runtime: &Runtime, name: &str) -> Result<bool, Error> {
    Ok(runtime.read(Entity::Agent(name.to_owned()))?.is_some())
}

/// An agent whose name is the beginning of this one up to a separator, or the other way round.
fn overlapping(runtime: &Runtime, name: &str) -> Result<Option<String>, Error> {
    for (at, _) in name.match_indices(SEPARATORS) {
        let shorter = name.get(..at).filter(|shorter| !shorter.is_empty()).unwrap_or(name);
        if is_there(runtime, shorter)? {
            return Ok(Some(shorter.to_owned()));
        }
    }
    for separator in SEPARATORS {
        let start = format!("{name}{separator}");
        if is_there(runtime, &start)? {
            return Ok(Some(start));
        }
        let rows = runtime.scan(Kind::Agent, Some(&start), 1)?;
        let longer = rows.first().map(|(key, _)| key.entity.parts().0).filter(|longer| longer.starts_with(&start));
        if let Some(longer) = longer {
            return Ok(Some(longer.to_owned()));
        }
    }
    Ok(None)
}
