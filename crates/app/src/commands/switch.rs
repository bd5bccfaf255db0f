//! `writkeeper halt` and `writkeeper resume`: the kill switch.

use crate::cli::kept::SwitchArgs;
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{BAD, GOOD, paint, say};
use kernel::change::Act;

/// While it is pulled nothing is accepted.
pub fn halt(args: &SwitchArgs) -> anyhow::Result<Exit> {
    let said = carry_out(args, Act::Halt { because: args.because.clone() })?;
    if !said {
        let resume = hint::next("writkeeper resume --because TEXT");
        say!("{}: nothing is accepted until `{resume}`", paint(BAD, "halted"));
    }
    Ok(Exit::Fine)
}

/// Lifts the switch.
pub fn resume(args: &SwitchArgs) -> anyhow::Result<Exit> {
    let said = carry_out(args, Act::Resume { because: args.because.clone() })?;
    if !said {
        say!("{}: proposals are judged again", paint(GOOD, "resumed"));
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
