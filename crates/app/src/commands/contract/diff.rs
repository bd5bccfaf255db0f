//! `writkeeper contract diff`

use crate::cli::DiffArgs;
use crate::contract_file;
use crate::exit::Exit;
use crate::terminal::say;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, paint};
use kernel::contract::diff::{Change, Effect, diff};
use kernel::finding::{shown, visible};
use values::json::Json;

/// Says what a change widens and narrows. Exit code 1 if anything widens or may.
pub fn run(args: &DiffArgs) -> anyhow::Result<Exit> {
    let old = contract_file::open(&args.old)?;
    let new = contract_file::open(&args.new)?;
    let changes = diff(&old.loaded.compiled.contract, &new.loaded.compiled.contract);
    if args.json {
        let list = Json::List(changes.iter().map(to_json).collect());
        say!("{}", list.to_canonical());
    } else {
        print(&changes)?;
    }
    // What cannot be told to be narrower must not slip through a pipeline.
    let worrying = |change: &Change| matches!(change.effect, Effect::Widens | Effect::Unclear);
    Ok(if changes.iter().any(worrying) { Exit::Rejected } else { Exit::Fine })
}

fn print(changes: &[Change]) -> anyhow::Result<()> {
    if changes.is_empty() {
        say!("no difference: both expand to the same contract");
        return Ok(());
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
        say!("{}  {}  {old} -> {new}", paint(style, format!("{:<7}", change.effect.word())), visible(&change.path));
    }
    Ok(())
}

fn to_json(change: &Change) -> Json {
    Json::object([
        ("path", Json::text(visible(&change.path).as_str())),
        ("direction", Json::text(change.effect.word())),
        ("old", change.old.clone().unwrap_or(Json::Null)),
        ("new", change.new.clone().unwrap_or(Json::Null)),
    ])
}
