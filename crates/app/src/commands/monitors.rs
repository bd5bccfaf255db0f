//! `writkeeper monitors …`: what watches agents, and a monitor over numbers of one's own.

mod trial;

use crate::cli::monitors::{MonitorsArgs, MonitorsCommand};
use crate::exit::Exit;

/// Lists, or tries one.
pub fn run(args: &MonitorsArgs) -> anyhow::Result<Exit> {
    match args.command.as_ref().unwrap_or(&MonitorsCommand::List) {
        MonitorsCommand::List => Ok(Exit::Fine),
        MonitorsCommand::Try { kind, settings } => trial::run(kind, settings),
    }
}
