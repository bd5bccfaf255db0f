//! `writkeeper people …`: who is in which group, and with which key they sign.

mod attention;
mod enrol;
mod file;

use crate::cli::kept::{PeopleArgs, PeopleCommand};
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{FAINT, STRONG, paint, say};
use guard::hooks::HOSTS;
use guard::judge::at_host;
use kernel::change::{Act, Write};
use kernel::escalation::PEOPLE;
use kernel::person::{Person, person_key_text};
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;

/// People read at a time.
const PAGE: usize = 512;

/// Digits of a key that people compare.
const SHOWN_KEY_CHARS: usize = 16;

/// Everyone by name.
type People = BTreeMap<String, Person>;

/// Lists, sets and enrols.
pub fn run(args: &PeopleArgs) -> anyhow::Result<Exit> {
    let json = args.kept.json;
    match args.command.as_ref().unwrap_or(&PeopleCommand::List) {
        PeopleCommand::List => list(&known(&store::open(&args.kept.store)?)?, json)?,
        PeopleCommand::Set { file } => {
            let stated = file::read(file)?;
            let runtime = store::begin(&store::location(&args.kept.store))?;
            let count = set(&runtime, &stated)?;
            if json {
                say!("{}", Json::object([("changed", Json::from(count as u64))]).to_canonical());
            } else {
                say!("{count} {} changed", if count == 1 { "person" } else { "people" });
            }
        }
        PeopleCommand::Attention { group, questions, per, spent, unbounded } => {
            let told = attention::Told { questions: *questions, per: per.as_deref(), spent: spent.as_deref() };
            attention::run(&args.kept, group.as_deref(), &told, *unbounded)?;
        }
        PeopleCommand::Enrol { person, key, replace } => {
            enrol::run(&args.kept.store, person, key.as_deref(), *replace, json)?;
        }
    }
    Ok(Exit::Fine)
}

/// Puts a people file in force; how many people changed.
fn set(runtime: &Runtime, stated: &BTreeMap<String, file::Stated>) -> anyhow::Result<usize> {
    let known = known(runtime)?;
    let everyone: BTreeSet<&String> = known.keys().chain(stated.keys()).collect();
    // Who answers in a host's own dialog is in no file: `init` put them there.
    let at_hosts = HOSTS.map(at_host);
    let mut writes = Vec::new();
    for name in everyone {
        let before = known.get(name).cloned().unwrap_or_default();
        let after = match stated.get(name) {
            Some(stated) => stated.person(&before),
            None if at_hosts.contains(name) => continue,
            None => Person::default(),
        };
        if after != before {
            writes.push(Write::person(name, &after));
        }
    }
    let count = writes.len();
    if count > 0 {
        store::done(runtime.change(store::operator(), Act::Merge(writes)))?;
    }
    Ok(count)
}

/// What the store says.
pub fn known(runtime: &Runtime) -> anyhow::Result<People> {
    let mut people = People::new();
    let mut after = PEOPLE.to_owned();
    loop {
        let page = runtime.scan(Kind::State, Some(&after), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { return Ok(people) };
        after = last.entity.parts().0.to_owned();
        for (key, row) in page {
            let (Some(name), Row::State(row)) = (key.entity.parts().0.strip_prefix(PEOPLE), row) else {
                return Ok(people);
            };
            people.insert(name.to_owned(), Person::from_json(&row.value).unwrap_or_default());
        }
    }
}

fn list(people: &People, json: bool) -> anyhow::Result<()> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, person) in people {
        person.groups.iter().for_each(|group| groups.entry(group).or_default().push(name));
    }
    if json {
        let keys = people.iter().filter_map(|(name, person)| {
            let key = person.key.as_ref()?;
            Some((name.clone(), Json::Text(person_key_text(key))))
        });
        let keys: BTreeMap<String, Json> = keys.collect();
        let lists = groups.iter().map(|(group, members)| ((*group).to_owned(), Json::texts(members.iter().copied())));
        let told = Json::object([("groups", Json::Object(lists.collect())), ("keys", Json::Object(keys))]);
        say!("{}", told.to_canonical());
        return Ok(());
    }
    if groups.is_empty() {
        say!("nobody is in any group, so nobody can answer; next: {}", hint::next("writkeeper people set FILE"));
    }
    let shown = |name: &&str| match people.get(*name).and_then(|person| person.key.as_ref()) {
        Some(key) => {
            let short: String = person_key_text(key).chars().take(SHOWN_KEY_CHARS).collect();
            format!("{name} {}", paint(FAINT, format!("({short}…)")))
        }
        None => (*name).to_owned(),
    };
    for (group, members) in &groups {
        say!("{}  {}", paint(STRONG, group), members.iter().map(shown).collect::<Vec<_>>().join(", "));
    }
    Ok(())
}
