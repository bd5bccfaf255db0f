//! Builtins of the shell.

use super::{Files, Program, read, write};
use crate::act::{builtin, filter, wrapper};
use crate::answer::Capability::{Exec, Persistence};

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("cd chdir pushd", "changes the working directory").act(builtin::cd),
    read("popd", "returns to an earlier directory").act(builtin::popd),
    read(
        "dirs jobs times caller help suspend logout fg bg disown ulimit umask compopt print whence where rehash logname",
        "looks at or steers the shell",
    ),
    read(
        ": true false break continue return exit [[ ]] shopt setopt unsetopt emulate zmodload autoload done fi esac",
        "steers the shell",
    )
    .act(builtin::quiet),
    read("test [", "compares").act(builtin::test),
    read("let getopts wait", "evaluates numbers and names").act(builtin::evaluated),
    read("compgen complete", "completes words").act(builtin::complete).valued("-C -F -W -A -G -P -S -X -o"),
    read("hash", "remembers where programs lie").act(builtin::hash).valued("-p"),
    read("echo", "prints its words").act(filter::echo),
    read("printf", "prints a format").act(filter::printf).valued(""),
    read("pwd", "prints the working directory").act(filter::pwd),
    read("type which whereis", "looks a name up").act(filter::which),
    read("read", "reads a line into variables").act(builtin::read).valued("-a -d -i -n -N -p -t -u"),
    read("mapfile readarray", "reads lines into a list").act(builtin::mapfile).valued("-d -n -O -s -u -C -c"),
    read("set", "sets positional parameters and options").act(builtin::set),
    read("shift", "drops positional parameters").act(builtin::shift),
    read("unset", "forgets variables").act(builtin::unset),
    read("export declare typeset local readonly integer float setenv unsetenv", "declares variables")
        .act(builtin::declare),
    read("alias abbr", "defines an alias").act(builtin::alias),
    read("unalias", "forgets an alias").act(builtin::unalias),
    read("eval", "runs its words as shell text").act(builtin::eval).can(&[Exec]),
    read("source .", "runs a file in this shell").act(builtin::source).can(&[Exec]),
    read("trap", "runs a text on a signal").act(builtin::trap),
    read("bind enable", "hooks into the shell").act(builtin::hook).valued("-x -f"),
    read("history fc", "shows or changes the history").act(builtin::history).valued("-d -e"),
    read("command", "runs a program without functions").act(wrapper::command),
    read("builtin exec nocorrect noglob then do", "runs a program").act(wrapper::unwrap),
    read("sleep usleep", "waits").files(Files::None),
    read("at batch atq", "schedules a job").act(crate::act::system::at).valued("-f -q -t -r -d"),
    write("atrm", "removes a scheduled job"),
    read("crontab", "changes scheduled jobs").act(crate::act::system::crontab).valued("-u"),
    write("launchctl", "manages services that start by themselves").can(&[Persistence]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("cd src && pwd", "read", &[]);
        check("export A=1", "read", &[]);
        check("eval 'ls -l'", "read", &["exec"]);
        check("eval \"$X\"", "unknown", &["exec"]);
        check("source ./env.sh", "write", &["exec"]);
        check("alias g=git; g status", "read", &["exec"]);
        check("set -- rm -rf /; \"$@\"", "catastrophic", &[]);
        check("trap 'rm -rf /' EXIT", "catastrophic", &[]);
        check("read x <<< /; rm -rf $x", "catastrophic", &[]);
        check("crontab -l", "read", &[]);
        check("crontab -r", "catastrophic", &[]);
        check("echo '* * * * * id' | crontab -", "write", &["persistence"]);
        check("echo 'rm -rf /' | at now", "catastrophic", &["persistence"]);
        check("history -c", "write", &[]);
    }
}
