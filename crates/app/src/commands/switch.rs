//! `writkeeper halt` and `writkeeper resume`: the kill switch.

use crate::cli::kept::SwitchArgs;
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{self, BAD, GOOD, paint, say};
use kernel::change::Act;
use kernel::finding::visible;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::Runtime;

/// Agents read at a time.
const PAGE: usize = 512;

/// While it is pulled nothing is accepted.
pub fn halt(args: &SwitchArgs) -> anyhow::Result<Exit> {
    let runtime = store::open(&args.kept.store)?;
    let said = carry_out(&runtime, args, Act::Halt { group: args.group.clone(), because: args.because.clone() })?;
    if let Some(group) = args.group.as_deref().filter(|_| !args.kept.json)
        && !has_agents(&runtime, group)?
    {
        let group = visible(group);
        terminal::note(&format!("no agent is in group `{group}` now; the switch stays in force for agents to come"));
    }
    if said {
        return Ok(Exit::Fine);
    }
    let halted = paint(BAD, "halted");
    match &args.group {
        None => {
            let resume = hint::next("writkeeper resume --because TEXT");
            say!("{halted}: nothing is accepted until `{resume}`");
        }
        Some(group) => {
            let resume = hint::next(&format!("writkeeper resume --group {} --because TEXT", visible(group)));
            say!("{halted}: nothing of group `{}` is accepted until `{resume}`", visible(group));
        }
    }
    Ok(Exit::Fine)
}

/// Lifts the switch.
pub fn resume(args: &SwitchArgs) -> anyhow::Result<Exit> {
    let runtime = store::open(&args.kept.store)?;
    let said = carry_out(&runtime, args, Act::Resume { group: args.group.clone(), because: args.because.clone() })?;
    if !said {
        let whose = args.group.as_ref().map(|group| format!(" of group `{}`", visible(group))).unwrap_or_default();
        say!("{}: proposals{whose} are judged again", paint(GOOD, "resumed"));
        still_stopped(&runtime)?;
    }
    Ok(Exit::Fine)
}

/// What other switches still stop: each one is lifted by itself.
fn still_stopped(runtime: &Runtime) -> anyhow::Result<()> {
    let Some(Row::Tenant(row)) = runtime.read(Entity::Tenant).map_err(store::unread)? else { return Ok(()) };
    if row.halted.is_some() {
        say!("but everything is still halted: `{}`", hint::next("writkeeper resume --because TEXT"));
    }
    for group in row.halted_groups.keys() {
        let resume = hint::next(&format!("writkeeper resume --group {} --because TEXT", hint::quoted(group)));
        say!("but group `{}` is still halted: `{resume}`", visible(group));
    }
    Ok(())
}

/// Whether any agent is in a group. An operator who mistypes it would believe that something is stopped.
fn has_agents(runtime: &Runtime, group: &str) -> anyhow::Result<bool> {
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(Kind::Agent, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { return Ok(false) };
        after = Some(last.entity.parts().0.to_owned());
        let is_in = |row: &Row| matches!(row, Row::Agent(row) if row.group.as_deref() == Some(group));
        if page.iter().any(|(_, row)| is_in(row)) {
            return Ok(true);
        }
    }
}

/// Whether the answer was printed as JSON.
fn carry_out(runtime: &Runtime, args: &SwitchArgs, act: Act) -> anyhow::Result<bool> {
    let event = store::told(runtime.change(store::operator(), act))?;
    if args.kept.json {
        say!("{}", event.to_json().to_canonical());
    }
    Ok(args.kept.json)
}
