//! The one binary `writkeeper`. It reads, calls the kernel and prints; no rule lives here.

mod cli;
mod commands;
mod contract_file;
mod diagnostics;
mod exit;
mod files;
mod hint;
mod key_file;
mod login;
mod store;
mod terminal;

use crate::terminal::say;
use clap::Parser;
use cli::{Cli, Command};
use contract_file::InvalidContract;
use exit::Exit;
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
                terminal::error_json(&exit::to_json(&error));
            } else {
                if let Some(invalid) = error.downcast_ref::<InvalidContract>() {
                    invalid.print();
                }
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
    commands::run(command)
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
        terminal::error_json(&exit::to_json(&exit::UsageError(said).into()));
        return Exit::Usage.into();
    }
    let _ = error.print();
    if is_server_unknown(error) {
        terminal::note("this verb works beside the store only: run it on the machine of the store, with --store");
    }
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Fine.into() }
}

/// Whether somebody asked for a server where a verb knows none.
fn is_server_unknown(error: &clap::Error) -> bool {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let named = error.get(ContextKind::InvalidArg);
    error.kind() == ErrorKind::UnknownArgument && named == Some(&ContextValue::String("--server".to_owned()))
}
