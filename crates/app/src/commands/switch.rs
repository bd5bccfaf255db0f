//! `writkeeper halt` and `writkeeper resume`: the kill switch.

use crate::cli::kept::SwitchArgs;
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{BAD, GOOD, paint, say};
use kernel::change::Act;
use kernel::finding::visible;

/// While it is pulled nothing is accepted.
pub fn halt(args: &SwitchArgs) -> anyhow::Result<Exit> {
    let said = carry_out(args, Act::Halt { group: args.group.clone(), because: args.because.clone() })?;
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
    let said = carry_out(args, Act::Resume { group: args.group.clone(), because: args.because.clone() })?;
    if !said {
        let whose = args.group.as_ref().map(|group| format!(" of group `{}`", visible(group))).unwrap_or_default();
        say!("{}: proposals{whose} are judged again", paint(GOOD, "resumed"));
    }
    Ok(Exit::Fine)
}

/// Whether the answer was printed as JSON.
fn carry_out(args: &SwitchArgs, act: Act) -> anyhow::Result<bool> {
    let runtime = store::open(&args.kept.store)?;
    let event = store::told(runtime.change(store::operator(), act))?;
    if args.kept.json {
        say!("{}", event.to_json().to_canonical());
    }
    Ok(args.kept.json)
}
