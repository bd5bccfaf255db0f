//! What an answer proves in a store that is a plain file: who could give it, and which contracts demand signatures.

use crate::commands::people;
use crate::store;
use crate::terminal::{ATTENTION, FAINT, GOOD, paint, say};
use adapters::store_postgres::Address;
use kernel::stored::Kind;
use kernel::world::Row;
use std::path::{Path, PathBuf};

/// Agents read at once.
const PAGE: usize = 256;

/// What was found in one store.
pub struct Answers {
    store: PathBuf,
    people: usize,
    with_key: usize,
    /// Agents whose contract counts only signed answers, and the others.
    signed: Vec<String>,
    unsigned: Vec<String>,
}

/// Looks at a store; `None` if it cannot be read, which others say.
pub fn look(store: &Path) -> Option<Answers> {
    let runtime = store::view(&store.to_string_lossy()).ok()?;
    let known = people::known(&runtime).ok()?;
    let known = known.values().filter(|person| !person.groups.is_empty());
    let keys: Vec<bool> = known.map(|person| person.key.is_some()).collect();
    let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(Kind::Agent, after.as_deref(), PAGE).ok()?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in &page {
            let Row::Agent(row) = row else { continue };
            let Some(contract) = row.contract.and_then(|digest| runtime.contract(digest).ok()) else { continue };
            let list = if contract.contract.escalation.signed { &mut signed } else { &mut unsigned };
            list.push(key.entity.parts().0.to_owned());
        }
    }
    let with_key = keys.iter().filter(|has| **has).count();
    Some(Answers { store: store.to_path_buf(), people: keys.len(), with_key, signed, unsigned })
}

/// Says it.
pub fn tell(answers: &Answers) -> anyhow::Result<()> {
    let Answers { store, people, with_key, signed, unsigned } = answers;
    let file = paint(FAINT, store.display());
    let keys = format!("{with_key} of {people} {} a key", if *people == 1 { "person has" } else { "people have" });
    if unsigned.is_empty() && !signed.is_empty() {
        say!("answers {} every contract counts only signed ones; {keys}  {file}", paint(GOOD, "signed"));
        return Ok(());
    }
    let place = if Address::is_meant(&store.to_string_lossy()) { "database" } else { "file" };
    say!(
        "answers {}: whoever can write this {place} can answer in anybody's name; {keys}  {file}",
        paint(ATTENTION, "unauthenticated")
    );
    if !signed.is_empty() {
        say!("        only signed answers count for {}", signed.join(", "));
    }
    Ok(())
}

/// For programs.
pub fn to_json(answers: &Answers) -> serde_json::Value {
    serde_json::json!({
        "store": answers.store,
        "authenticated": answers.unsigned.is_empty() && !answers.signed.is_empty(),
        "people": answers.people,
        "people_with_key": answers.with_key,
        "signed": answers.signed,
        "unsigned": answers.unsigned,
    })
}
