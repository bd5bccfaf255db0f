//! This program's own command line, as far as the guard has to know it.

use ::guard::command_line::{CommandLine, Task};
use ::guard::hooks::{self, Event, Host};

/// Verbs that change nothing of a guard. `decide` is none of them: with a store it puts contracts in force.
const LOOKING: &[&str] = &["bench", "completions", "contract", "demo", "doctor", "explain", "help", "report", "shell"];

/// What the guard is told.
pub static PROGRAM: CommandLine = CommandLine {
    program: "writkeeper",
    hook,
    daemon: |idle| ["daemon", "--detached", "--idle", idle, "--guard"].map(str::to_owned).to_vec(),
    daemon_pattern: "daemon --guard",
    only_looks,
    is_unmistakable,
    typed,
};

fn hook(host: Host, event: Event) -> String {
    format!("hook {} --host {} --framed --guard", event.word(), host.word)
}

fn only_looks(arguments: &[&str]) -> bool {
    let verb = arguments.iter().find(|word| !word.starts_with('-')).unwrap_or(&"help");
    LOOKING.contains(verb)
}

fn is_unmistakable(arguments: &[&str]) -> bool {
    let names_host = |word: &&str| hooks::host(word.strip_prefix("--host=").unwrap_or(word)).is_some();
    match arguments.first() {
        Some(&"break-glass") => true,
        Some(&"init") => arguments.contains(&"--undo") || arguments.iter().any(names_host),
        Some(&"always") => arguments.contains(&"--yes"),
        Some(_) | None => false,
    }
}

fn typed(task: &Task<'_>) -> String {
    match task {
        Task::Install(host) => format!("writkeeper init --host {}", host.word),
        Task::Uninstall(host) => format!("writkeeper init --host {} --undo", host.word),
        Task::Diagnose => "writkeeper doctor".to_owned(),
        Task::AllowOnce { proposal, store, is_signed } => {
            let key = if *is_signed { " --key FILE" } else { "" };
            let store = store.display();
            format!("writkeeper escalations answer {proposal} override --as NAME --because WHY{key} --store {store}")
        }
        Task::AllowForAWhile { proposal, store } => {
            format!("writkeeper always {proposal} --store {}", store.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn what_the_guard_runs_and_says_can_be_typed() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
        let host = hooks::HOSTS[0];
        // Versions before this one wrote the mode into the command line.
        for observe in [false, true] {
            let line = format!("writkeeper {} /w/.writkeeper", hook(host, Event::PreTool));
            let line = if observe { line.replace("--framed", "--framed --observe") } else { line };
            assert!(
                matches!(parse(&line), Ok(Some(Command::Hook(args))) if args.host == host && args.observe == observe)
            );
        }
        let daemon = format!("writkeeper {} /w/.writkeeper", (PROGRAM.daemon)("30m").join(" "));
        assert!(matches!(parse(&daemon), Ok(Some(Command::Daemon(args))) if args.detached && args.guard.is_some()));
        let store = std::path::Path::new("/w/guard.db");
        let tasks = [
            Task::Install(host),
            Task::Uninstall(host),
            Task::Diagnose,
            Task::AllowOnce { proposal: "a1", store, is_signed: false },
            Task::AllowOnce { proposal: "a1", store, is_signed: true },
            Task::AllowForAWhile { proposal: "a1", store },
        ];
        for task in &tasks {
            assert!(matches!(parse(&typed(task)), Ok(Some(_))), "{}", typed(task));
        }
    }

    #[test]
    fn verbs_that_look_are_verbs() {
        use clap::CommandFactory;
        for verb in LOOKING {
            assert!(Cli::command().find_subcommand(verb).is_some(), "{verb}");
        }
        for line in ["help", "--version", "doctor --live", "report --json"] {
            assert!(only_looks(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        for line in ["init --host codex", "decide", "--quiet decide", "break-glass"] {
            assert!(!only_looks(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
    }
}
