//! `writkeeper contract diff`

use crate::cli::DiffArgs;
use crate::contract_file;
use crate::exit::Exit;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, paint};
use kernel::contract::diff::{Change, Effect, diff};
use kernel::finding::shown;
use kernel::json::Json;

/// Says what a change widens and narrows. Exit code 1 if anything widens.
pub fn run(args: &DiffArgs) -> anyhow::Result<Exit> {
    let old = contract_file::open(&args.old)?;
    let new = contract_file::open(&args.new)?;
    let changes = diff(&old.loaded.compiled.contract, &new.loaded.compiled.contract);
    if args.json {
        let list = Json::List(changes.iter().map(to_json).collect());
        anstream::println!("{}", list.to_canonical());
    } else {
        print(&changes);
    }
    let widens = changes.iter().any(|change| change.effect == Effect::Widens);
    Ok(if widens { Exit::Rejected } else { Exit::Fine })
}

fn print(changes: &[Change]) {
    if changes.is_empty() {
        anstream::println!("no difference: both expand to the same contract");
        return;
    }
    let absent = || "absent".to_owned();
    for change in changes {
        let style = match change.effect {
            Effect::Widens => BAD,
            Effect::Narrows => GOOD,
            Effect::Unclear => ATTENTION,
            Effect::Neutral => FAINT,
        };
        let old = change.old.as_ref().map_or_else(absent, shown);
        let new = change.new.as_ref().map_or_else(absent, shown);
        anstream::println!("{}  {}  {old} -> {new}", paint(style, format!("{:<7}", change.effect.word())), change.path);
    }
}

fn to_json(change: &Change) -> Json {
    Json::object([
        ("path", Json::text(change.path.as_str())),
        ("direction", Json::text(change.effect.word())),
        ("old", change.old.clone().unwrap_or(Json::Null)),
        ("new", change.new.clone().unwrap_or(Json::Null)),
    ])
}
