//! Programs that wait for text when they are started without any. What is typed into them later no caller sees.

use crate::answer::Span;
use crate::call::Options;
use crate::rules::Style;
use crate::stream::Stream;
use crate::walk::{Arg, Walker};

/// When a program waits.
struct Row {
    names: &'static str,
    /// Options that give it something to do, so that it ends by itself.
    busy: &'static str,
    /// Options that take a value.
    valued: &'static str,
    /// Operands that it may have and wait nevertheless.
    operands: usize,
    /// Options with which it waits whatever it is given.
    waiting: &'static str,
    style: Style,
}

const ANY: usize = usize::MAX;

const fn row(names: &'static str, busy: &'static str, valued: &'static str, operands: usize) -> Row {
    Row { names, busy, valued, operands, waiting: "", style: Style::Gnu }
}

impl Row {
    const fn waiting(mut self, waiting: &'static str) -> Self {
        self.waiting = waiting;
        self
    }

    const fn words(mut self) -> Self {
        self.style = Style::Word;
        self
    }
}

const ROWS: &[Row] = &[
    row(
        "sh bash dash zsh ksh ksh93 mksh ash fish csh tcsh rbash yash oksh pdksh posh elvish xonsh nu rksh rzsh",
        "-c --command",
        "-c --command -o -O --rcfile --init-file",
        0,
    )
    .waiting("-s"),
    row(
        "python python2 pypy ipython jython micropython bpython ptpython",
        "-c -m",
        "-c -m -W -X --check-hash-based-pycs",
        0,
    )
    .waiting("-i"),
    row("perl", "-e -E", "-e -E -I -F -i? -0? -l?", 0).waiting("-d"),
    row("ruby jruby", "-e", "-e -r -I -C -E -i? -F?", 0),
    row("irb pry ghci utop iex jshell groovysh", "-e", "-e", ANY),
    row(
        "node nodejs tsx ts-node",
        "-e --eval -p --print -pe --test --run --check",
        "-e --eval -p --print -r --require --import --loader -C --run",
        0,
    )
    .waiting("-i --interactive"),
    row("php php-cli", "-r -B -R -E -f -S -i -m --ini", "-r -B -R -E -d -c -f -S", 0).waiting("-a --interactive"),
    row("lua luajit texlua", "-e", "-e -l", 0).waiting("-i"),
    row(
        "r julia octave ocaml guile racket sbcl clisp ecl swipl gprolog gp maxima sage scala clojure clj gnuplot dc tclsh wish expect gjs pwsh powershell bc",
        "-e --eval -E --expr -c --command -Command -File -f --file -g",
        "-e --eval -E --expr -c --command -f --file -g",
        0,
    ),
    row("erl", "-noshell -noinput -eval -version", "", ANY).words(),
    row("gdb lldb cgdb", "-batch --batch -b", "", ANY).words(),
    row("sqlite3 sqlite litecli", "-version", "-separator -nullvalue -cmd -init", 1).words(),
    row("duckdb", "-version -c -s", "-separator -nullvalue -cmd -init -c -s", 1).words(),
    row("psql pgcli", "-c --command -f --file -l --list", "-c --command -f --file -d -h -U -p -o -v -P -F -R -L", ANY),
    row("mysql mariadb mycli mysqlsh", "-e --execute --file --sql", "-e --execute -h -u -P -D -S --file", ANY),
    row(
        "redis-cli valkey-cli keydb-cli",
        "--eval --pipe --scan --bigkeys --stat --latency --rdb --cluster",
        "-h -p -a -n -u --user --pass -r -i",
        0,
    ),
    row("mongo mongosh", "--eval -f --file", "--eval --host --port -u -p", 1),
    row(
        "sqlcmd osql isql tsql clickhouse-client cqlsh snowsql usql impala-shell trino presto influx sqlplus",
        "-q -Q -e --execute --query -f -i --file -c --command --queries-file",
        "-q -Q -e --execute --query -f -i --file -c --command -S -U -P -d -h",
        1,
    ),
    row("ssh", "-N -W -O -Q -G", "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", 1),
    row("telnet mosh rlogin", "", "-l -p", ANY),
    row("sftp ftp lftp ncftp", "-b -e -c -f", "-b -e -c -f -P -i -o", ANY),
    row("script", "-c --command", "-c --command -I -O -B -T -E -o", 1),
    row("screen byobu zellij", "-X -ls -list -d -dm -wipe", "-S -t -c -s", 0),
    row(
        "vi vim nvim view vimdiff ex ed emacs nano pico micro helix hx kak joe jed mcedit mc ranger nnn lf vifm",
        "-c -es -Es -e -s --headless -batch --batch --cmd",
        "-c --cmd",
        ANY,
    ),
    row("nix-shell", "--run --command", "--run --command -p -A -I", ANY),
];

/// Words of programs behind which somebody types.
const VERBS: &[(&str, &str)] = &[
    ("rails", "console c dbconsole db"),
    ("poetry pipenv hatch devbox", "shell"),
    ("deno bun", "repl"),
    ("docker podman nerdctl kubectl oc", "attach"),
    ("nix", "develop shell repl"),
    ("guix", "shell repl"),
    ("tmux", "attach attach-session a new new-session"),
    ("python python3 manage.py django-admin", "shell dbshell shell_plus"),
    ("php", "tinker"),
];

/// Modules of Python that wait for text.
const MODULES: &[&str] = &["code", "pdb", "asyncio", "idlelib", "ipython", "ptpython", "bpython", "sqlite3"];

/// Reports a program that waits for text which the caller does not see.
pub(crate) fn typed(walker: &mut Walker<'_>, name: &str, args: &[Arg], stdin: &Stream, span: Span) {
    if walker.view.is_typed_into && *stdin == Stream::Absent && waits(name, args) {
        waiting(walker, name, span);
    }
}

/// The same for a program of which it is known that it waits.
pub(crate) fn waiting(walker: &mut Walker<'_>, name: &str, span: Span) {
    if walker.view.is_typed_into {
        let sentence = format!("`{name}` waits for text, and what is typed into it later is not seen");
        walker.report.unknown("TYPED", sentence, span);
    }
}

fn waits(name: &str, args: &[Arg]) -> bool {
    if args.iter().any(|arg| matches!(arg.text.as_str(), "--version" | "--help" | "-V" | "-version")) {
        return false;
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    let is_named = |names: &str| names.split(' ').any(|known| known == name || !stem.is_empty() && known == stem);
    // What asks most programs for their version makes Python talk more.
    if matches!(args, [only] if only.text == "-v") && !is_named("python") {
        return false;
    }
    let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
    let has_word = |words: &str| texts.iter().take(3).any(|text| words.split(' ').any(|word| word == *text));
    if VERBS.iter().any(|(names, words)| is_named(names) && has_word(words)) {
        return !(name == "tmux" && texts.contains(&"-d"));
    }
    if name == "tmux" {
        return texts.is_empty();
    }
    if let ["-m", module, ..] = texts.as_slice() {
        return is_named("python") && MODULES.contains(&module.to_ascii_lowercase().as_str());
    }
    let Some(row) = ROWS.iter().find(|row| is_named(row.names)) else { return false };
    let options = Options::parse(args, row.valued, row.style, true);
    let operands = options.operands.iter().filter(|operand| operand.text != "-").count();
    !row.waiting.is_empty() && options.has(row.waiting)
        || operands <= row.operands && (row.busy.is_empty() || !options.has(row.busy))
}

#[cfg(test)]
mod tests {
    use crate::view::View;
    use crate::{Class, classify};

    #[track_caller]
    fn check(commands: &[&str], expected: bool) {
        for command in commands {
            let (still, typed) = (View::default(), View { is_typed_into: true, ..View::default() });
            let found = |view: &View<'_>| {
                classify(command, view)
                    .reasons
                    .iter()
                    .any(|reason| reason.code == "TYPED" && reason.class == Class::Unknown)
            };
            assert_eq!((found(&typed), found(&still)), (expected, false), "{command}");
        }
    }

    #[test]
    fn what_waits_for_text_is_unknown_where_somebody_types() {
        check(
            &[
                "bash",
                "sh",
                "bash -i",
                "bash -l",
                "zsh --login",
                "bash -s x",
                "bash -",
                "exec bash",
                "env FOO=1 bash",
                "nohup bash",
                "timeout 60 python3",
                "python3",
                "python3 -i",
                "python3 -i x.py",
                "python3 -q",
                "python3.12",
                "python3 -m pdb x.py",
                "python3 -m code",
                "node",
                "node -i",
                "irb",
                "ghci Main.hs",
                "perl",
                "perl -d x.pl",
                "php -a",
                "lua",
                "R",
                "julia",
                "iex -S mix",
                "sqlite3",
                "sqlite3 app.db",
                "psql",
                "psql -d app",
                "mysql app",
                "redis-cli",
                "mongosh",
                "gdb ./app",
                "ssh host",
                "telnet host 80",
                "vim a.txt",
                "ed a.txt",
                "tmux",
                "tmux attach",
                "rails console",
                "python manage.py shell",
                "docker run -it ubuntu",
                "docker exec -it box bash",
                "ls; bash",
                "(python3)",
                "script",
            ],
            true,
        );
        check(
            &[
                "bash -c ls",
                "bash -lc 'npm test'",
                "bash x.sh",
                "sh -x x.sh",
                "echo ls | bash",
                "bash <<< ls",
                "bash <<'E'\nls\nE",
                "python3 x.py",
                "python3 -c 'print(1)'",
                "python3 -m pytest",
                "python3 --version",
                "python3 < x.py",
                "python manage.py test",
                "node x.js",
                "node --test",
                "node -e 1",
                "node -v",
                "sqlite3 app.db 'select 1'",
                "psql -c 'select 1'",
                "redis-cli ping",
                "gdb -batch -ex bt ./app",
                "ssh host uptime",
                "ssh -N -L 1:h:1 host",
                "vim -es -c ':wq' a.txt",
                "tmux ls",
                "tmux new -d -s x 'npm start'",
                "docker run alpine ls",
                "docker exec box ls",
                "cat",
                "npm test",
                "cargo run",
                "git commit -m x",
                "make",
            ],
            false,
        );
    }
}
