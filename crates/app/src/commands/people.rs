//! `writkeeper people …`: who is in which group.

use crate::cli::kept::{PeopleArgs, PeopleCommand};
use crate::exit::{Exit, InvalidData};
use crate::files;
use crate::store;
use crate::terminal::{STRONG, paint, say};
use guard::hooks::Host;
use guard::judge::at_host;
use kernel::change::{Act, Write};
use kernel::escalation::PEOPLE;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use values::json::Json;

/// People read at a time.
const PAGE: usize = 512;

/// More people than this belong into a directory of their own.
const PEOPLE_MAX: usize = 10_000;

/// Groups by person.
type People = BTreeMap<String, BTreeSet<String>>;

/// Lists and sets.
pub fn run(args: &PeopleArgs) -> anyhow::Result<Exit> {
    match args.command.as_ref().unwrap_or(&PeopleCommand::List) {
        PeopleCommand::List => list(&known(&store::open(&args.kept.store)?)?, args.kept.json)?,
        PeopleCommand::Set { file } => {
            let wanted = read(file)?;
            let runtime = store::create(&store::location(&args.kept.store))?;
            let known = known(&runtime)?;
            let nowhere = BTreeSet::new();
            let everyone: BTreeSet<&String> = known.keys().chain(wanted.keys()).collect();
            let groups = |people: &People, person: &String| people.get(person).unwrap_or(&nowhere).clone();
            // Who answers in a host's own dialog is in no file: `init` put them there.
            let at_hosts = Host::ALL.map(at_host);
            let left_alone = |person: &String| at_hosts.contains(person) && !wanted.contains_key(person);
            let changed = everyone
                .into_iter()
                .filter(|person| groups(&known, person) != groups(&wanted, person) && !left_alone(person));
            let writes: Vec<Write> = changed.map(|person| Write::groups(person, groups(&wanted, person))).collect();
            let count = writes.len();
            if count > 0 {
                store::done(runtime.change(store::operator(), Act::Merge(writes)))?;
            }
            if args.kept.json {
                say!("{}", Json::object([("changed", Json::from(count as u64))]).to_canonical());
            } else {
                say!("{count} {} changed", if count == 1 { "person" } else { "people" });
            }
        }
    }
    Ok(Exit::Fine)
}

/// A people file: groups and their members.
fn read(path: &Path) -> anyhow::Result<People> {
    let invalid = |problem: String| InvalidData(format!("`{}`: {problem}", path.display()));
    let node = engines::yaml::parse(&files::read_text(path)?).map_err(|fault| invalid(fault.to_string()))?;
    let json = node.to_json();
    let expected =
        || invalid("a people file is a map of groups, each a list of names: `refund-desk: [ann]`".to_owned());
    let mut people = People::new();
    for (group, members) in json.as_object().ok_or_else(expected)? {
        for member in members.as_list().ok_or_else(expected)? {
            let name = member.as_text().ok_or_else(expected)?;
            people.entry(name.to_owned()).or_default().insert(group.clone());
        }
    }
    if people.len() > PEOPLE_MAX {
        return Err(invalid(format!("more than {PEOPLE_MAX} people")).into());
    }
    Ok(people)
}

/// What the store says.
fn known(runtime: &Runtime) -> anyhow::Result<People> {
    let mut people = People::new();
    let mut after = PEOPLE.to_owned();
    loop {
        let page = runtime.scan(Kind::State, Some(&after), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { return Ok(people) };
        after = last.entity.parts().0.to_owned();
        for (key, row) in page {
            let (Some(person), Row::State(row)) = (key.entity.parts().0.strip_prefix(PEOPLE), row) else {
                return Ok(people);
            };
            let groups = row.value.as_list().into_iter().flatten().filter_map(Json::as_text).map(str::to_owned);
            people.insert(person.to_owned(), groups.collect());
        }
    }
}

fn list(people: &People, json: bool) -> anyhow::Result<()> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (person, of) in people {
        of.iter().for_each(|group| groups.entry(group).or_default().push(person));
    }
    if json {
        let lists = groups.iter().map(|(group, members)| ((*group).to_owned(), Json::texts(members.iter().copied())));
        say!("{}", Json::Object(lists.collect()).to_canonical());
        return Ok(());
    }
    if groups.is_empty() {
        say!("nobody is in any group, so nobody can answer; next: writkeeper people set FILE");
    }
    for (group, members) in &groups {
        say!("{}  {}", paint(STRONG, group), members.join(", "));
    }
    Ok(())
}
