//! The command line that hosts run. It is written so that whatever happens to the binary, the host hears a refusal:
//! a crash, a kill, a timeout, a missing file and an answer that is not ours all end in the host's blocking answer.

use crate::command_line::Task;
use crate::hooks::{Event, Host, Reply, write};
use crate::place::Guard;
use crate::wiring::Source;
use std::path::Path;

/// Every command line of ours begins with this; it does nothing.
pub const MARK: &str = ": writkeeper-guard;";

/// What stands before an answer that is really ours.
pub const FRAME: &str = "writkeeper:";

/// Seconds the binary has; hosts are told to wait much longer, because a host's own timeout lets the call run.
const DEADLINE_SECONDS: u32 = 10;

/// Seconds a check before stopping may take in all.
const STOP_SECONDS: u32 = 900;

/// Seconds a host waits at an event.
pub fn host_timeout(event: Event) -> u32 {
    deadline(event) + 50
}

fn deadline(event: Event) -> u32 {
    match event {
        Event::Stop => STOP_SECONDS,
        Event::PreTool | Event::PostTool | Event::SessionStart | Event::Prompt => DEADLINE_SECONDS,
    }
}

/// The command line for one host and event.
pub fn command(source: &Source, host: Host, event: Event) -> String {
    let seconds = deadline(event);
    let run = format!(
        "if command -v timeout >/dev/null 2>&1;then timeout -s KILL {seconds} \"$0\" \"$@\";\
         elif command -v perl >/dev/null 2>&1;then perl -e \"alarm {seconds};exec {{\\$ARGV[0]}} @ARGV\" \"$0\" \"$@\";\
         else \"$0\" \"$@\";fi"
    );
    // Some hosts show the command line to the agent if it is killed.
    let diagnose = (source.program.typed)(&Task::Diagnose);
    let script = format!(
        "{MARK} : Writkeeper was ended while it judged a call, a person should run: {diagnose};\
         o=$({run})&&case $o in \"{FRAME}{{\"*\"}}\")printf %s \"${{o#{FRAME}}}\";exit 0;;esac;{}",
        otherwise(source, host, event)
    );
    let arguments = (source.program.hook)(host, event);
    format!("/bin/sh -c '{script}' {} {arguments} {}", quoted(&source.binary), quoted(&source.guard))
}

/// What the script prints if the binary printed no answer of ours.
fn otherwise(source: &Source, host: Host, event: Event) -> String {
    let passed = escaped(&write(host, event, "", &Reply::Pass).stdout);
    if event != Event::PreTool {
        // The call has run, or there is none.
        return format!("printf %s \"{passed}\";exit 0");
    }
    // Whether nothing is to be stopped stands in the guard's folder, the last of the arguments.
    let observed = Guard::observed_name(host);
    let unless = format!("for g;do :;done;if [ -e \"$g/{observed}\" ];then printf %s \"{passed}\";exit 0;fi;");
    let command = (source.program.typed)(&Task::Diagnose);
    let why = format!("Writkeeper did not answer, so this call does not run. A person should run: {command}");
    let printed = write(host, event, "", &Reply::Deny(why.clone())).stdout;
    let code = if host.blocks_by_exit { 2 } else { 0 };
    format!("{unless}printf %s \"{}\";echo \"{why}\" >&2;exit {code}", escaped(&printed))
}

/// Escapes a text for double quotes inside single quotes; none of our texts contains a single quote.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`").replace('\'', "")
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}
