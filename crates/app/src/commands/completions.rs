//! `writkeeper completions`

use crate::cli::{Cli, CompletionsArgs, Shell};
use crate::exit::Exit;
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
    clap_complete::generate(shell, &mut Cli::command(), "writkeeper", &mut std::io::stdout());
    Ok(Exit::Fine)
}
