//! `writkeeper contract …`

pub mod backtest;
mod canary;
mod check;
mod diff;
mod draft;
mod expand;
mod import;
mod new;
mod shadow;
mod test;

use crate::cli::ContractCommand;
use crate::exit::Exit;
use crate::terminal;

/// Runs one of the contract tools.
pub fn run(command: &ContractCommand) -> anyhow::Result<Exit> {
    match command {
        ContractCommand::New(args) => new::run(args),
        ContractCommand::Draft(args) => draft::run(args),
        ContractCommand::Import(args) => import::run(args),
        ContractCommand::Check(args) => check::run(args),
        ContractCommand::Test(args) => test::run(args),
        ContractCommand::Expand(args) => expand::run(args),
        ContractCommand::Diff(args) => diff::run(args),
        ContractCommand::Backtest(args) => backtest::run(args),
        ContractCommand::Shadow(args) => shadow::run(args),
        ContractCommand::Canary(args) => canary::run(args),
        ContractCommand::Schema => {
            terminal::write_data(contract::SCHEMA)?;
            Ok(Exit::Fine)
        }
    }
}
