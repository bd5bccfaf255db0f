//! `writkeeper context …`: state with versions, and snapshots.

use crate::cli::kept::{ContextArgs, ContextCommand};
use crate::exit::{Exit, Failure, UsageError};
use crate::store;
use crate::terminal::{self, FAINT, STRONG, echo, paint, say};
use kernel::change::{Act, Write};
use kernel::event::Event;
use kernel::finding::{Finding, Gate, visible};
use kernel::nearest::suggestion;
use kernel::reasons::Reason;
use kernel::snapshot::Snapshot;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use values::json::{Json, Problem, Refusal};

/// Keys looked through for a mistyped one.
const KEYS_MAX: usize = 1_000;

/// Reads and writes state, and freezes it.
pub fn run(args: &ContextArgs) -> anyhow::Result<Exit> {
    let json = args.kept.json;
    let runtime = match &args.command {
        ContextCommand::Get { .. } | ContextCommand::Show { .. } => store::view(&args.kept.store)?,
        ContextCommand::Set { .. } | ContextCommand::Snapshot { .. } => store::open(&args.kept.store)?,
    };
    match &args.command {
        ContextCommand::Get { key } => get(&runtime, key, json)?,
        ContextCommand::Set { key, value, expect } => set(&runtime, key, value, *expect, json)?,
        ContextCommand::Snapshot { keys, flow } => freeze(&runtime, keys, flow.as_ref(), json)?,
        ContextCommand::Show { snapshot } => {
            let (name, row) = store::find(&runtime, Kind::Snapshot, snapshot)?;
            if let Row::Snapshot(snapshot) = row {
                show(&name, &snapshot, json)?;
            }
        }
    }
    Ok(Exit::Fine)
}

fn get(runtime: &Runtime, key: &str, json: bool) -> anyhow::Result<()> {
    let Some(Row::State(row)) = runtime.read(Entity::State(key.to_owned())).map_err(store::unread)? else {
        let known = runtime.scan(Kind::State, None, KEYS_MAX).map_err(store::unread)?;
        let hint = suggestion(key, known.iter().map(|(key, _)| key.entity.parts().0));
        let finding = Finding::reject(Gate::Shape, Reason::StateUnknown).with("key", key).with("nearest", hint);
        return Err(Failure::of(Exit::Invalid, &finding).into());
    };
    if json {
        let body = Json::object([("key", Json::text(key)), ("value", row.value), ("version", Json::from(row.version))]);
        say!("{}", body.to_canonical());
    } else {
        say!("{}  {}", visible(&row.value.to_canonical()), paint(FAINT, format!("version {}", row.version)));
    }
    Ok(())
}

fn set(runtime: &Runtime, key: &str, value: &str, expect: Option<u64>, json: bool) -> anyhow::Result<()> {
    if let Some(problem) = values::ids::identifier_problem(key) {
        return Err(UsageError(format!("the key `{}` {problem}", echo(key))).into());
    }
    let parsed = Json::parse(value.as_bytes());
    let problem = |refusal: Refusal| {
        let value = echo(value);
        UsageError(if matches!(refusal.problem, Problem::NumberNotExact) {
            format!("`{value}` is refused: {refusal}; write fewer digits, or put it into double quotes as text")
        } else {
            format!("`{value}` is not JSON: {refusal}; put text into double quotes: '\"text\"'")
        })
    };
    let write = Write { key: key.to_owned(), value: parsed.map_err(problem)?, expect };
    let event = store::told(runtime.change(store::operator(), Act::Merge(vec![write])))?;
    let Event::StateMerged { versions } = event.as_ref() else { return Err(store::other_event()) };
    let version = versions.get(key).copied().unwrap_or_default();
    if json {
        say!("{}", Json::object([("key", Json::text(key)), ("version", Json::from(version))]).to_canonical());
    } else {
        say!("{} is version {version}", paint(STRONG, key));
    }
    Ok(())
}

fn freeze(runtime: &Runtime, keys: &[String], flow: Option<&String>, json: bool) -> anyhow::Result<()> {
    let flow = match flow {
        Some(flow) => Some(store::find(runtime, Kind::Flow, flow)?.0),
        None => None,
    };
    if keys.is_empty() && flow.is_none() {
        return Err(UsageError("name the keys to freeze, or a flow whose session is frozen".to_owned()).into());
    }
    let event = store::told(runtime.change(store::operator(), Act::Freeze { flow, keys: keys.to_vec() }))?;
    let Event::SnapshotFrozen { snapshot, at, state } = event.as_ref() else { return Err(store::other_event()) };
    if json {
        say!("{}", event.to_json().to_canonical());
        return Ok(());
    }
    for key in keys.iter().filter(|key| !state.contains_key(*key)) {
        crate::terminal::note(&format!("state has no key `{key}`; the snapshot says nothing about it"));
    }
    say!("snapshot {} at {}", paint(STRONG, snapshot), terminal::at(*at));
    Ok(())
}

fn show(name: &str, snapshot: &Snapshot, json: bool) -> anyhow::Result<()> {
    let id = snapshot.id();
    if json {
        let body = Json::object([
            ("name", Json::text(name)),
            ("snapshot", Json::text(id)),
            ("at", Json::text(snapshot.at.to_string())),
            ("source", Json::text(snapshot.source.as_str())),
            ("flow", Json::from(snapshot.flow.clone())),
            ("state", Json::Object(snapshot.state.clone())),
            ("session", Json::Object(snapshot.session.clone())),
        ]);
        say!("{}", body.to_canonical());
        return Ok(());
    }
    say!("snapshot {}", paint(STRONG, id));
    say!("  taken {} by {}", terminal::at(snapshot.at), visible(&snapshot.source));
    if let Some(flow) = &snapshot.flow {
        say!("  for flow {flow}");
    }
    for (layer, values) in [("state", &snapshot.state), ("session", &snapshot.session)] {
        for (key, value) in values {
            say!("  {layer:<8} {} = {}", visible(key), visible(&value.to_canonical()));
        }
    }
    Ok(())
}
