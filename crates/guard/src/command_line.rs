//! The command line of the program that a guard is built into. This crate knows what has to be done; which verbs and flags do
//! it is known to that program alone.

use crate::hooks::{Event, Host};
use std::path::Path;

/// What a program tells the guard about its own command line.
#[derive(Debug)]
pub struct CommandLine {
    /// The program's name, by which its processes are found.
    pub program: &'static str,
    /// The arguments of a hook for a host and a moment, up to the guard's folder, which follows.
    pub hook: fn(Host, Event) -> String,
    /// The arguments of a daemon that ends after so long without a call, up to the guard's folder, which follows.
    pub daemon: fn(&str) -> Vec<String>,
    /// What the command lines of all daemons hold behind the program.
    pub daemon_pattern: &'static str,
    /// Whether the program changes nothing of a guard under these arguments.
    pub only_looks: fn(&[&str]) -> bool,
    /// Whether only this program is told something like this, whatever the name that it was called by.
    pub is_unmistakable: fn(&[&str]) -> bool,
    /// What a person types to get something done.
    pub typed: fn(&Task<'_>) -> String,
}

/// Something that a person has to do.
#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// Guard a host, or put its contract in force.
    Install(Host),
    /// Guard a host no longer.
    Uninstall(Host),
    /// Find out what is wrong.
    Diagnose,
    /// Allow a call once.
    AllowOnce {
        /// The proposal of the call.
        proposal: &'a str,
        /// The guard's store.
        store: &'a Path,
        /// Whether only signed answers count.
        is_signed: bool,
    },
    /// Allow exactly this call for a while.
    AllowForAWhile {
        /// The proposal of the call.
        proposal: &'a str,
        /// The guard's store.
        store: &'a Path,
    },
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The command line of a program that nobody has.
    pub(crate) static PROGRAM: CommandLine = CommandLine {
        program: "keeper",
        hook: |host, event| format!("answer {} {} in", host.word, event.word()),
        daemon: |idle| vec!["stay".to_owned(), idle.to_owned(), "in".to_owned()],
        daemon_pattern: "stay in",
        only_looks: |arguments| arguments == ["look"],
        is_unmistakable: |arguments| arguments == ["open-everything"],
        typed: |task| format!("keeper {task:?}"),
    };
}
