//! `writkeeper completions`

use crate::cli::{Cli, CompletionsArgs, Shell};
use crate::exit::Exit;
use crate::terminal;
use clap::CommandFactory;

/// Prints the completion script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Elvish => clap_complete::Shell::Elvish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "writkeeper", &mut script);
    terminal::write_data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
