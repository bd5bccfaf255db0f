//! One file per verb, and which command runs which.

pub mod agents;
pub mod always;
pub mod bench;
pub mod break_glass;
pub mod completions;
pub mod context;
pub mod contract;
pub mod daemon;
pub mod decide;
pub mod demo;
pub mod demo_bank;
pub mod doctor;
pub mod escalations;
pub mod eval;
pub mod explain;
pub mod flows;
mod happened;
pub mod help;
pub mod hook;
pub mod init;
pub mod intents;
pub mod keys;
pub mod leases;
pub mod ledger;
pub mod lines;
pub mod login;
pub mod monitors;
pub mod notify;
pub mod people;
pub mod relay;
pub mod report;
pub mod run;
pub mod serve;
pub mod shell;
pub mod sign;
pub mod signature;
mod store_files;
mod switch;
pub mod tick;
pub mod top;
pub mod verify;

use crate::cli::Command;
use crate::exit::Exit;

/// Runs a command.
pub fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::DemoBank(args) => demo_bank::run(&args),
        Command::BenchWriter(args) => bench::write_until_killed(&args),
        Command::Decide(args) => decide::run(&args),
        Command::Contract(command) => contract::run(&command),
        Command::Explain(args) => explain::run(&args),
        Command::Shell(command) => shell::run(&command),
        Command::Init(args) => init::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Always(args) => always::run(&args),
        Command::BreakGlass(args) => break_glass::run(&args),
        Command::Hook(args) => hook::run(&args),
        Command::Daemon(args) => daemon::run(&args),
        Command::Agents(args) => agents::run(&args),
        Command::Top(args) => top::run(&args),
        Command::People(args) => people::run(&args),
        Command::Store(command) => store_files::run(&command),
        Command::Tick(args) => tick::run(&args),
        Command::Notify(args) => notify::run(&args),
        Command::Relay(args) => relay::run(&args),
        Command::Flows(args) => flows::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Intents(args) => intents::run(&args),
        Command::Leases(args) => leases::run(&args),
        Command::Monitors(args) => monitors::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Context(args) => context::run(&args),
        Command::Login(args) => login::log_in(&args),
        Command::Logout(args) => login::log_out(&args),
        Command::Escalations(args) => escalations::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Halt(args) => switch::halt(&args),
        Command::Resume(args) => switch::resume(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Help(args) => help::run(&args),
    }
}
