//! `writkeeper help`

use crate::cli::{Cli, HelpArgs, overview};
use crate::exit::{Exit, UsageError};
use crate::terminal::say;
use clap::{Command, CommandFactory};
use kernel::nearest::suggestion;

/// Prints the overview, the help of one command, or everything.
pub fn run(args: &HelpArgs) -> anyhow::Result<Exit> {
    let mut root = Cli::command();
    root.build();
    if args.all {
        say!("{}", overview());
        print_all(&mut root)?;
        return Ok(Exit::Fine);
    }
    if args.command.is_empty() {
        say!("{}", overview());
        return Ok(Exit::Fine);
    }
    let mut found = &mut root;
    for name in &args.command {
        let known: Vec<String> = visible(found);
        let Some(next) = found.find_subcommand_mut(name) else {
            return Err(UsageError(unknown(name, &known)).into());
        };
        found = next;
    }
    say!("{}", found.render_long_help().ansi());
    Ok(Exit::Fine)
}

fn visible(command: &Command) -> Vec<String> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_owned()).collect()
}

fn unknown(name: &str, known: &[String]) -> String {
    format!("there is no command `{name}`{}", suggestion(name, known.iter().map(String::as_str)))
}

fn print_all(command: &mut Command) -> anyhow::Result<()> {
    for name in visible(command) {
        let Some(sub) = command.find_subcommand_mut(&name) else { continue };
        let title = sub.get_bin_name().unwrap_or(&name).to_owned();
        say!("\n── {title} ──\n{}", sub.render_help().ansi());
        print_all(sub)?;
    }
    Ok(())
}
