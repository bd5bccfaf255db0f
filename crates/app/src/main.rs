//! The one binary `writkeeper`. It reads, calls the kernel and prints; no rule lives here.

mod cli;
mod commands;
mod contract_file;
mod diagnostics;
mod exit;
mod files;
mod hint;
mod key_file;
mod store;
mod terminal;

use crate::terminal::say;
use clap::Parser;
use cli::{Cli, Command};
use exit::{Exit, Failure};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack that programs get elsewhere.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    // Hosts wait for a hook: the parser that knows every command takes longer than the rest of it, and a second thread
    // as long as a third of it.
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if let Some(args) = commands::hook::typed(&words) {
        return ended(Some(Command::Hook(args)));
    }
    let parsed = || match Cli::try_parse() {
        Ok(cli) => ended(cli.command),
        Err(error) => usage(&error),
    };
    // Of its first thread's stack musl tells only what is used so far: whoever looks how much is left, as policies do
    // before they go deeper, would take another stack each time.
    if cfg!(target_env = "musl")
        && let Ok(thread) = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK_BYTES).spawn(parsed)
    {
        return thread.join().unwrap_or_else(|_| Exit::Internal.into());
    }
    parsed()
}

fn ended(command: Option<Command>) -> ExitCode {
    std::panic::set_hook(Box::new(|fault| {
        if !shell::is_caught_panic(fault) {
            terminal::error(&format!("internal fault: {fault}"));
        }
    }));
    let result = std::panic::catch_unwind(|| run(command));
    match result {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) if exit::is_broken_pipe(&error) => Exit::Fine.into(),
        Ok(Err(error)) => {
            if wants_json() {
                terminal::error_json(&Failure::of_error(&error).to_json());
            } else {
                terminal::error(&exit::sentence(&error));
            }
            exit::of_error(&error).into()
        }
        Err(_) => Exit::Internal.into(),
    }
}

fn run(command: Option<Command>) -> anyhow::Result<Exit> {
    let Some(command) = command else {
        say!("{}", cli::WELCOME);
        return Ok(Exit::Fine);
    };
    match command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::DemoBank(args) => commands::demo_bank::run(&args),
        Command::BenchWriter(args) => commands::bench::write_until_killed(&args),
        Command::Decide(args) => commands::decide::run(&args),
        Command::Contract(command) => commands::contract::run(&command),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Shell(command) => commands::shell::run(&command),
        Command::Init(args) => commands::init::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Always(args) => commands::always::run(&args),
        Command::BreakGlass(args) => commands::break_glass::run(&args),
        Command::Hook(args) => commands::hook::run(&args),
        Command::Daemon(args) => commands::daemon::run(&args),
        Command::Agents(args) => commands::agents::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::People(args) => commands::people::run(&args),
        Command::Tick(args) => commands::tick::run(&args),
        Command::Flows(args) => commands::flows::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Intents(args) => commands::intents::run(&args),
        Command::Leases(args) => commands::leases::run(&args),
        Command::Context(args) => commands::context::run(&args),
        Command::Escalations(args) => commands::escalations::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Ledger(args) => commands::ledger::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Sign(args) => commands::sign::run(&args),
        Command::Halt(args) => commands::switch::halt(&args),
        Command::Resume(args) => commands::switch::resume(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Help(args) => commands::help::run(&args),
    }
}

/// Whether whoever called reads JSON; what was typed wrongly has to be answered too.
fn wants_json() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}

/// Help and version are fine; everything else the parser says is a usage error.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && wants_json() {
        let said = error.render().to_string();
        let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        terminal::error_json(&Failure::of_error(&exit::UsageError(said).into()).to_json());
        return Exit::Usage.into();
    }
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Fine.into() }
}
