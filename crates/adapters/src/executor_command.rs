//! Effects by a program: its arguments as the contract lists them, with params in braces put in, never a shell; all params
//! on standard input.
//!
//! Exit code 0 means that it happened, 3 that it did not and will not; anything else is unknown. What it writes to standard
//! output is its answer; its standard error is dropped, because diagnostics tend to quote what they were given.

use crate::program::Running;
use kernel::argument;
use kernel::contract;
use kernel::intent::Order;
use kernel::result::{Response, ResponseStatus};
use runtime::crash::around;
use runtime::ports::executor::{Attempt, Executor, Missing, Observation};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use values::json::Json;

/// The longest output that is read.
const OUTPUT_BYTES_MAX: u64 = 1_024 * 1_024;

/// What a program says with its exit code when nothing happened, and nothing will.
const DID_NOT: i32 = 3;

/// Runs programs.
#[derive(Clone, Debug, Default)]
pub struct CommandExecutor;

impl Executor for CommandExecutor {
    fn can_perform(&self, order: &Order) -> Result<(), Missing> {
        argv(order).map(drop)
    }

    fn perform(&self, attempt: &Attempt) -> Observation {
        let begin = std::time::Instant::now();
        let (program, arguments) = match argv(&attempt.order) {
            Ok(argv) => argv,
            Err(problem) => return Observation::negative(problem.to_string()),
        };
        let put_in = arguments.iter().map(|word| argument::render(word, &attempt.params));
        let arguments = match put_in.collect::<Result<Vec<String>, String>>() {
            Ok(arguments) => arguments,
            Err(problem) => return Observation::negative(format!("not run: {problem}")),
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().process_group(0);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("WRITKEEPER_KEY", &attempt.key).env("WRITKEEPER_INTENT", &attempt.intent);
        command.env("WRITKEEPER_EPOCH", attempt.epoch.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        match around("command.spawn", || command.spawn()) {
            Ok(child) => watch(child, attempt, begin),
            Err(error) => Observation::negative(format!("`{program}` did not start: {}", error.kind())),
        }
    }
}

/// Feeds it, reads it, and ends all of it at the deadline.
fn watch(mut child: Child, attempt: &Attempt, begin: std::time::Instant) -> Observation {
    let input = Json::Object(attempt.params.clone()).to_canonical();
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // A program that does not read, or whose children keep the pipe open, must hold nothing up but its own threads.
    std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    let (sender, output) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.map(|stdout| stdout.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes));
        let complete = read.is_some_and(|read| read.is_ok()) && bytes.len() as u64 <= OUTPUT_BYTES_MAX;
        let _ = sender.send((bytes, complete));
    });
    // Also what it left running is ended: nothing of it may act later.
    let status = match Running::of(child).status(begin + attempt.deadline) {
        Some(Ok(status)) => status,
        Some(Err(error)) => return Observation::unknown(format!("it cannot be waited for: {}", error.kind())),
        None => return Observation::unknown("it was ended at its deadline"),
    };
    let (body, complete) = output.recv_timeout(std::time::Duration::from_secs(1)).unwrap_or_default();
    let (observation, status) = match status.code() {
        Some(0) => (Observation::positive("exit code 0"), ResponseStatus::Exit(0)),
        Some(DID_NOT) => (Observation::negative("exit code 3"), ResponseStatus::Exit(DID_NOT)),
        Some(code) => (Observation::unknown(format!("exit code {code}")), ResponseStatus::Exit(code)),
        None => {
            let signal = ResponseStatus::Signal(status.signal().unwrap_or_default());
            (Observation::unknown("it was ended by a signal"), signal)
        }
    };
    observation.answered(Response { status, content_type: None, body, complete, secrets: Vec::new() })
}

fn argv(order: &Order) -> Result<(&str, &[String]), Missing> {
    match order.executor() {
        Some(contract::Executor::Command(words)) => match words.as_slice() {
            [program, arguments @ ..] => Ok((program, arguments)),
            [] => Err(Missing::Other("the intent names no program".to_owned())),
        },
        Some(contract::Executor::Http(_) | contract::Executor::Function(_) | contract::Executor::Host) | None => {
            Err(Missing::Other("the intent names no program".to_owned()))
        }
    }
}
