//! A people file: groups, their members, and the keys of those who sign.

use crate::exit::InvalidData;
use crate::files;
use kernel::person::{Person, read_person_key};
use ledger::ed25519::PublicKey;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use values::ids::folded;
use values::json::Json;

/// More people than this belong into a directory of their own.
const PEOPLE_MAX: usize = 10_000;

/// What the file says of someone.
#[derive(Default)]
pub struct Stated {
    groups: BTreeSet<String>,
    key: StatedKey,
}

/// What the file says of someone's key.
#[derive(Clone, PartialEq, Eq, Default)]
enum StatedKey {
    /// Nothing: a key the store knows stays.
    #[default]
    Unsaid,
    /// `key: null`.
    Removed,
    Is(PublicKey),
}

impl Stated {
    /// The person afterwards. A file that only names someone does not take away the key they enrolled.
    pub fn person(&self, before: &Person) -> Person {
        let key = match &self.key {
            StatedKey::Unsaid => before.key.clone(),
            StatedKey::Removed => None,
            StatedKey::Is(key) => Some(key.clone()),
        };
        Person { groups: self.groups.clone(), key }
    }
}

/// Reads a people file.
pub fn read(path: &Path) -> anyhow::Result<BTreeMap<String, Stated>> {
    let invalid = |problem: String| InvalidData(format!("`{}`: {problem}", path.display()));
    let node = engines::yaml::parse(&files::read_text(path)?).map_err(|fault| invalid(fault.to_string()))?;
    let json = node.to_json();
    let expected = || {
        let example = "`refund-desk: [ann, { name: bob, key: \"ed25519:…\" }]`";
        invalid(format!("a people file is a map of groups, each a list of members: {example}"))
    };
    let mut people: BTreeMap<String, Stated> = BTreeMap::new();
    for (group, members) in json.as_object().ok_or_else(expected)? {
        for member in members.as_list().ok_or_else(expected)? {
            let (name, key) = read_member(member).ok_or_else(expected)?.map_err(invalid)?;
            // Ann and ann are one person.
            let name = folded(&name);
            let stated = people.entry(name.clone()).or_default();
            stated.groups.insert(group.clone());
            match (&stated.key, key) {
                (_, StatedKey::Unsaid) => {}
                (StatedKey::Unsaid, key) => stated.key = key,
                (known, key) if *known == key => {}
                _ => return Err(invalid(format!("there are two different keys of `{name}`")).into()),
            }
        }
    }
    if people.len() > PEOPLE_MAX {
        return Err(invalid(format!("more than {PEOPLE_MAX} people")).into());
    }
    Ok(people)
}

/// A name, or a map of `name` and `key`; the inner error is about the key.
fn read_member(member: &Json) -> Option<Result<(String, StatedKey), String>> {
    if let Some(name) = member.as_text() {
        return Some(Ok((name.to_owned(), StatedKey::Unsaid)));
    }
    let members = member.as_object().filter(|members| members.keys().all(|key| key == "name" || key == "key"))?;
    let name = members.get("name")?.as_text()?.to_owned();
    let key = match members.get("key") {
        None => StatedKey::Unsaid,
        Some(Json::Null) => StatedKey::Removed,
        Some(key) => match key.as_text().and_then(read_person_key) {
            Some(key) => StatedKey::Is(key),
            None => {
                let expected = "`ed25519:` and 64 hexadecimal digits, as `writkeeper people enrol` prints";
                return Some(Err(format!("the key of `{name}` is not {expected}")));
            }
        },
    };
    Some(Ok((name, key)))
}
