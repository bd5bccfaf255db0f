//! A key for a person: the private half in a file of theirs, the public half in the store or on a line to copy.

use super::known;
use crate::exit::{InvalidData, UsageError};
use crate::hint;
use crate::key_file::{self, Owner};
use crate::store;
use crate::terminal::{STRONG, echo, paint, say};
use kernel::change::{Act, Write};
use kernel::person::{Person, person_key_text};
use std::path::{Path, PathBuf};
use values::ids::folded;
use values::json::Json;

/// Makes the key; nothing is made if the store would refuse it.
pub fn run(location: &str, person: &str, file: Option<&Path>, replace: bool, json: bool) -> anyhow::Result<()> {
    if let Some(problem) = values::ids::identifier_problem(person) {
        return Err(UsageError(format!("`{}` is no name: it {problem}", echo(person))).into());
    }
    let file = file.map_or_else(|| PathBuf::from(format!("{}.key", own_file_name(person))), Path::to_path_buf);
    let stored = if store::is_named(location) { Some(store::begin(&store::location(location))?) } else { None };
    let before = match &stored {
        Some(runtime) => known(runtime)?.remove(&folded(person)).unwrap_or_default(),
        None => Person::default(),
    };
    if before.key.is_some() && !replace {
        let problem = format!("`{}` has a key already; to let a new one take its place, add --replace", echo(person));
        return Err(InvalidData(problem).into());
    }
    let key = key_file::make(&file, Owner::Person)?.public();
    let text = person_key_text(&key);
    if let Some(runtime) = &stored {
        let after = Person { groups: before.groups.clone(), key: Some(key) };
        store::done(runtime.change(store::operator(), Act::Merge(vec![Write::person(person, &after)])))?;
    }
    if json {
        let told = Json::object([
            ("person", Json::text(person)),
            ("key", Json::text(text)),
            ("file", Json::text(file.to_string_lossy())),
            ("stored", Json::Bool(stored.is_some())),
        ]);
        say!("{}", told.to_canonical());
        return Ok(());
    }
    say!("private key of {} in {}; keep it where no agent can read it", paint(STRONG, person), file.display());
    match &stored {
        Some(_) if before.groups.is_empty() => {
            let command = hint::next("writkeeper people set FILE");
            say!("the store knows the key {text}; {person} is in no group yet: {command}");
        }
        Some(_) => say!("the store knows the key {text}"),
        None => say!("for the people file: {{ name: {person}, key: \"{text}\" }}"),
    }
    Ok(())
}

/// A name may hold a slash; a file name may not.
fn own_file_name(person: &str) -> String {
    let plain = |letter: char| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    person.chars().map(plain).collect()
}
